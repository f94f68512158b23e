package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestNoMonotonicClockIsHandedOn: a process keeps keys and other facts for a time that it reads from a clock that it was given. time.Now
// as this clock has a monotonic reading, which stops while Lambda freezes the process, so the facts would be kept for hours. A call of
// time.Now is allowed: it measures the time of one request.
func TestNoMonotonicClockIsHandedOn(t *testing.T) {
	read := 0
	for _, root := range []string{".", "../functions"} {
		for name := range importsOf(t, root, goFile) {
			read++
			path, files := filepath.Join(root, name), token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			called := map[ast.Node]bool{}
			ast.Inspect(f, func(n ast.Node) bool { // a call comes before its function
				switch n := n.(type) {
				case *ast.CallExpr:
					called[n.Fun] = true
				case *ast.SelectorExpr:
					if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" && n.Sel.Name == "Now" && !called[n] {
						t.Errorf("%s: time.Now is handed on: use clock.Now", files.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	if read < 100 { // the walk found too little, so the test would prove nothing
		t.Fatalf("%d files were read", read)
	}
}
