// Package lab_test tests that the lab knows nothing of the product.
package lab_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestTheLabDoesNotNameTheProduct reads the Go, Python and Java files, with imports left out.
func TestTheLabDoesNotNameTheProduct(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "generic_test.go" || !slices.Contains([]string{".go", ".py", ".java"}, filepath.Ext(path)) {
			return err
		}
		read++
		text, err := os.ReadFile(path)
		for n, line := range bytes.Split(text, []byte("\n")) {
			if bytes.Contains(bytes.ToLower(line), []byte("latchkey")) && !bytes.Contains(line, []byte("/infra/lab")) && !bytes.Contains(line, []byte("/infra/tools")) {
				t.Errorf("%s:%d: %s", path, n+1, line)
			}
		}
		return err
	})
	if err != nil || read < 50 {
		t.Errorf("%d files, %v", read, err)
	}
}
