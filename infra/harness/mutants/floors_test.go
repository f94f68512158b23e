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

// unmeasured has the packages without a floor, each with its reason.
var unmeasured = map[string]string{
	"pkg/authn/authntest": "only tests use it: an issuer of tokens",
	"pkg/servicetest":     "only tests use it: the services of AWS on this machine",
	"pkg/store/storetest": "only tests use it: a table on this machine",
	"pkg/guard/shared":    "guard's own tests call its two functions",
	"pkg/plainjson":       "gremlins finds nothing to change in it",
}

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
