package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOnlyTheKitWritesExpressions reads the store's files without their comments: a text in
// DynamoDB's language, or an import of the SDK, belongs in pkg/table.
func TestOnlyTheKitWritesExpressions(t *testing.T) {
	language := regexp.MustCompile(`attribute_(not_)?exists|if_not_exists|begins_with|\b(SET|REMOVE|ADD|BETWEEN) |size\(| AND `)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && (language.MatchString(text.Value) || strings.Contains(text.Value, "aws-sdk-go")) {
				t.Errorf("%s: %s", file, text.Value)
			}
			return true
		})
	}
}
