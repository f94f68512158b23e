package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestEveryPackageHasAFloorOrAReason compares the folders of pkg with the two lists.
func TestEveryPackageHasAFloorOrAReason(t *testing.T) {
	listed := map[string]bool{}
	for _, f := range floors {
		listed[f.pkg] = true
		if unmeasured[f.pkg] != "" {
			t.Errorf("%s has a floor, and a reason to have none", f.pkg)
		}
	}
	for pkg, reason := range unmeasured {
		listed[pkg] = reason != ""
	}
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../.."), "pkg", func(file string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/testdata/") && path.Dir(file) != "pkg" {
			found[path.Dir(file)] = true
		}
		return err
	})
	if err != nil || !maps.Equal(found, listed) {
		t.Errorf("%v: packages %v, listed %v", err, slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(listed)))
	}
}
