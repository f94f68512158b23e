package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnEntryThatCannotBeSyncedIsAnError writes to a pipe, which has no sync.
func TestAnEntryThatCannotBeSyncedIsAnError(t *testing.T) {
	_, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	j := journal{file: out}
	for range 2 { // the second entry must fail too
		if j.add(entry{Do: ended}) == nil {
			t.Error("add returns no error for an entry that was not synced")
		}
	}
}

// TestTheFileOfAnotherRunIsRefused gives the file of a suspension, which has orgs, to a journal of listen, which has none.
func TestTheFileOfAnotherRunIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	lines := `{"do":"suspend","api":"http://a.example","at":1000}` + "\n" + `{"do":"done","org":"org_1","at":2000}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var l listener
	err := l.open(path, entry{Do: "listen to app_1", API: "http://a.example", At: 3000})
	if want := "belongs to another run: suspend at http://a.example"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
