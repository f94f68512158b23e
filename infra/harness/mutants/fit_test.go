package main

import (
	"errors"
	"path/filepath"
	"testing"

	"latchkey/infra/tools"
)

// TestThePlantedBugsFitTheCode also checks the planted faults of make prove.
func TestThePlantedBugsFitTheCode(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, lists := range []string{"infra/harness/mutants/planted", "infra/harness/e2e/prove/planted"} {
		bugs, err := readBugs(filepath.Join(root, lists))
		if err := errors.Join(err, fit(root, bugs)); err != nil || len(bugs) == 0 {
			t.Errorf("%s: %d bugs, %v", lists, len(bugs), err)
		}
	}
}
