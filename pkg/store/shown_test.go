package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"latchkey/pkg/store"
)

// TestTheDesignShowsTheTableAsItIs compares the table of infra/docs/design.md with
// the code. With UPDATE_DOCS=1 it writes the table.
func TestTheDesignShowsTheTableAsItIs(t *testing.T) {
	const begin, end, path = "<!-- access patterns: printed by pkg/store -->\n", "<!-- end of access patterns -->", "../../infra/docs/design.md"
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
		t.Fatal("the document has no place for the table")
	}
	if shown == table.String() {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatal("the document shows another table; UPDATE_DOCS=1 go test ./pkg/store -run TestTheDesignShowsTheTableAsItIs writes it")
	}
	if err := os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
