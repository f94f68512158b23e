package pkg_test

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/servicetest"
)

// TestMakeGenerateChangesNothing prints README.md from the list of imports and the first sentence of each package's comment.
func TestMakeGenerateChangesNothing(t *testing.T) {
	sentences := map[string]string{}
	for file := range importsOf(t, ".", goFile) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			pkg := filepath.ToSlash(filepath.Dir(file))
			_, does, _ := strings.Cut(new(doc.Package).Synopsis(f.Doc.Text()), " "+f.Name.Name+" ")
			sentences[pkg] = "`" + pkg + "` " + does
		}
	}
	var tops []string
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		if sentences[pkg] == "" {
			t.Errorf("package %s has no comment", pkg)
		}
		if top, _, isBelow := strings.Cut(pkg, "/"); isBelow { // pkg follows the package of its folder, and shares its line
			sentences[top] += " " + sentences[pkg]
		} else {
			tops = append(tops, pkg)
		}
	}
	slices.SortStableFunc(tops, func(a, b string) int { return floor(a) - floor(b) })
	text := "# The packages of Latchkey\n\n" +
		"Two are promised to owners: [guard](guard) for their own API, and [verify](verify) for receivers of webhooks. The others may change " +
		"with each release. A package imports from lower floors only (`arch_test.go`).\n\n"
	for _, pkg := range tops {
		text += fmt.Sprintf("- floor %d: %s\n", floor(pkg), sentences[pkg])
	}
	servicetest.Generated(t, "README.md", func(string) (string, error) { return text, nil })
}

// floor returns the number of packages below a package in its longest chain of imports.
func floor(pkg string) (n int) {
	for _, imported := range mayImport[pkg] {
		n = max(n, 1+floor(imported))
	}
	return n
}
