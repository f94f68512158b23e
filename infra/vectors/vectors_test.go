package vectors_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"latchkey/infra/vectors"
)

// TestFileIsWhatTheGeneratorMakes fails when webhooks.json is not made anew. With UPDATE_GENERATED=1, as
// in `make generate`, it writes the file.
func TestFileIsWhatTheGeneratorMakes(t *testing.T) {
	want, err := vectors.File()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GENERATED") != "" {
		if err := os.WriteFile("webhooks.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("webhooks.json is not what the generator makes; run make generate")
	}
	var v vectors.Vectors
	if err := json.Unmarshal(got, &v); err != nil {
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
