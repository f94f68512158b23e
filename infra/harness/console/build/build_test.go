package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/tools"
)

// TestDistIsCurrent builds dist again, and compares it with the committed files byte for byte.
func TestDistIsCurrent(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := build(filepath.Join(root, "infra/console"))
	if err != nil {
		t.Fatal(err)
	}
	const advice = "run: make generate"
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, distFolder, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s differs from the built file; %s", distFolder, name, advice)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, distFolder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := files[e.Name()]; !ok {
			t.Errorf("%s/%s is not built any more; %s", distFolder, e.Name(), advice)
		}
	}
}

func TestAChangedTarballIsRefused(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	npm := t.TempDir()
	if err := os.CopyFS(npm, os.DirFS(filepath.Join(root, "infra/console/npm"))); err != nil {
		t.Fatal(err)
	}
	tarballs, err := filepath.Glob(filepath.Join(npm, "lit-3*.tgz"))
	if err != nil || len(tarballs) != 1 {
		t.Fatalf("want one package lit, got %v, %v", tarballs, err)
	}
	path := tarballs[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1 // one bit differs
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unpack(npm, t.TempDir()); err == nil || !strings.Contains(err.Error(), "integrity") {
		t.Errorf("want an error about the integrity, got %v", err)
	}
}
