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

// unmeasured has the packages without a floor (the least share of mutants that its tests find), and the reasons.
var unmeasured = map[string]string{
	"pkg/authn/authntest": "an issuer of tokens that only tests use",
	"pkg/servicetest":     "local services of AWS that only tests use",
	"pkg/store/storetest": "a local table that only tests use",
	"pkg/guard/shared":    "the tests of guard call its two functions",
	"pkg/plainjson":       "gremlins finds no code to change",
	"pkg/clock":           "gremlins finds no code to change",
}

// TestEveryPackageHasAFloorOrAReason compares the folders of pkg with the two lists.
func TestEveryPackageHasAFloorOrAReason(t *testing.T) {
	listed := map[string]bool{}
	for _, f := range floors {
		listed[f.pkg] = true
		if unmeasured[f.pkg] != "" {
			t.Errorf("%s is in both lists", f.pkg)
		}
	}
	for pkg, reason := range unmeasured {
		listed[pkg] = reason != ""
	}
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../../.."), "pkg", func(file string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/testdata/") && path.Dir(file) != "pkg" {
			found[path.Dir(file)] = true
		}
		return err
	})
	if err != nil || !maps.Equal(found, listed) {
		t.Errorf("%v: packages %v, listed %v", err, slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(listed)))
	}
}
