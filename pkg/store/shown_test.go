package store_test

import (
	"fmt"
	"testing"

	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
)

// TestMakeGenerateChangesNothing makes the table of infra/docs/design.md from the access patterns of the code.
func TestMakeGenerateChangesNothing(t *testing.T) {
	table := "| Item | PK | SK | Serves |\n|---|---|---|---|\n"
	for _, p := range store.AccessPatterns() {
		table += fmt.Sprintf("| %s | `%s` | `%s` | %s |\n", p.Item, p.PK, p.SK, p.Serves)
	}
	servicetest.Generated(t, "../../infra/docs/design.md", func(text string) (string, error) {
		return servicetest.Insert(text, "access patterns", table)
	})
}
