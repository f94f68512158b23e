package main

import (
	"os"
	"testing"
)

// TestAnEntryThatTheDiskDoesNotHaveIsAnError has a file that cannot be synced: a pipe.
func TestAnEntryThatTheDiskDoesNotHaveIsAnError(t *testing.T) {
	_, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	j := journal{file: out, orgs: map[string]entry{}}
	for range 2 { // nothing may follow it either
		if j.add(entry{Do: ended}) == nil {
			t.Error("an entry that was not synced counts as written")
		}
	}
}
