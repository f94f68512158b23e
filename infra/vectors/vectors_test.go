package vectors_test

import (
	"encoding/json"
	"testing"
	"time"

	"latchkey/infra/vectors"
	"latchkey/pkg/servicetest"
)

func TestMakeGenerateChangesNothing(t *testing.T) {
	made, err := vectors.File()
	if err != nil {
		t.Fatal(err)
	}
	servicetest.Generated(t, "webhooks.json", func(string) (string, error) { return string(made), nil })
	var v vectors.Vectors
	if err := json.Unmarshal(made, &v); err != nil {
		t.Fatal(err)
	}
	valid := 0
	for _, c := range v.Cases {
		if c.Valid {
			valid++
		}
	}
	if valid < 10 || len(v.Cases)-valid < 40 {
		t.Errorf("%d valid and %d hostile cases", valid, len(v.Cases)-valid)
	}
}

// TestCasesDiffer finds a case that is the same as another by mistake.
func TestCasesDiffer(t *testing.T) {
	names, tokens := map[string]bool{}, map[string]string{}
	for _, c := range vectors.Mint(time.Unix(vectors.FixedNow, 0)).Cases {
		if names[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		if other, ok := tokens[c.Token]; ok {
			t.Errorf("%q and %q are the same token", other, c.Name)
		}
		names[c.Name], tokens[c.Token] = true, c.Name
	}
}
