package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"latchkey/pkg/store"
)

// TestTheREADMEShowsTheTableAsItIs holds the README's data model to the code.
// With UPDATE_README=1 it writes it.
func TestTheREADMEShowsTheTableAsItIs(t *testing.T) {
	const begin, end, path = "<!-- access patterns: printed by pkg/store -->\n", "<!-- end of access patterns -->", "../../README.md"
	var table strings.Builder
	table.WriteString("| Item | PK | SK | Serves |\n|---|---|---|---|\n")
	for _, p := range store.AccessPatterns() {
		fmt.Fprintf(&table, "| %s | `%s` | `%s` | %s |\n", p.Item, p.PK, p.SK, p.Serves)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	shown, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatal("the README has no place for the data model")
	}
	if shown == table.String() {
		return
	}
	if os.Getenv("UPDATE_README") == "" {
		t.Fatal("the README shows another data model; UPDATE_README=1 go test ./pkg/store -run README writes it")
	}
	if err := os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
