package main

import (
	"os"
	"testing"
)

// TestAnEntryThatCannotBeSyncedIsAnError writes to a pipe, which has no sync.
func TestAnEntryThatCannotBeSyncedIsAnError(t *testing.T) {
	_, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	j := journal{file: out, orgs: map[string]entry{}}
	for range 2 { // the second entry must fail too
		if j.add(entry{Do: ended}) == nil {
			t.Error("add returns no error for an entry that was not synced")
		}
	}
}
