package main

import (
	"errors"
	"testing"
	"testing/fstest"
)

func TestActionsArePinnedByTheirCommit(t *testing.T) {
	workflow := func(action string) fstest.MapFS {
		return fstest.MapFS{"ci.yml": {Data: []byte("jobs:\n  gate:\n    steps:\n      - uses: " + action + "\n")}}
	}
	if err := pinned(workflow("actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2")); err != nil {
		t.Error(err)
	}
	for _, action := range []string{"actions/checkout@v4", "actions/checkout@main", "actions/checkout", "actions/checkout@11bd719"} {
		if err := pinned(workflow(action)); !errors.Is(err, errNotPinned) {
			t.Errorf("%s: %v", action, err)
		}
	}
}
