// Package local_test tests that the generic part of the local stack knows nothing of the product.
package local_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generic are the packages that run any translated template.
var generic = []string{"backing", "build", "gateway", "iam", "lambda", "pump", "translated"}

// TestTheGenericPartDoesNotNameTheProduct reads the Go, Python and Java files, with imports left out.
func TestTheGenericPartDoesNotNameTheProduct(t *testing.T) {
	for _, pkg := range generic {
		read := 0
		err := filepath.WalkDir(pkg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".py", ".java"}, filepath.Ext(path)) {
				return err
			}
			read++
			text, err := os.ReadFile(path)
			for n, line := range bytes.Split(text, []byte("\n")) {
				if bytes.Contains(bytes.ToLower(line), []byte("latchkey")) && !bytes.Contains(line, []byte("/infra/local/")) {
					t.Errorf("%s:%d: %s", path, n+1, line)
				}
			}
			return err
		})
		if err != nil || read == 0 {
			t.Errorf("%s: %d files, %v", pkg, read, err)
		}
	}
}

// TestTheGenericPartImportsOnlyItself reads the imports of every file, tests included.
func TestTheGenericPartImportsOnlyItself(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Fields(string(mod))[1] + "/"
	for _, pkg := range generic {
		comment := ""
		for _, f := range parse(t, pkg) {
			comment += f.Doc.Text()
			for _, i := range f.Imports {
				path, _ := strconv.Unquote(i.Path.Value)
				if name, ours := strings.CutPrefix(path, own); ours && !slices.Contains(generic, strings.TrimPrefix(name, "infra/local/")) {
					t.Errorf("%s imports %s", pkg, path)
				}
			}
		}
		if !strings.Contains(strings.ReplaceAll(comment, "\n", " "), "The package is generic") {
			t.Errorf("the comment of %s does not say that it is generic", pkg)
		}
	}
}

// parse returns the package comment and the imports of each Go file below a folder.
func parse(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		files = append(files, f)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	return files
}
