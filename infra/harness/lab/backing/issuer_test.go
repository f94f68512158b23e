package backing_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"latchkey/infra/harness/lab/backing"
)

// TestIssuersKeySurvivesARestart starts the issuer twice with the same file for its key.
func TestIssuersKeySurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.json")
	kid := func() string {
		issuer, err := backing.StartIssuer(t.Context(), backing.IssuerOptions{ID: "id", KeyPath: path})
		if err != nil {
			t.Fatal(err)
		}
		defer issuer.Stop()
		assertOnlyLoopback(t, issuer.Port)
		res, err := http.Get(backing.IssuerURL(issuer.Port, "id") + "/jwks")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var set struct{ Keys []struct{ Kid string } }
		if err := json.NewDecoder(res.Body).Decode(&set); err != nil || len(set.Keys) != 1 {
			t.Fatalf("%+v, %v", set, err)
		}
		return set.Keys[0].Kid
	}
	if first, second := kid(), kid(); first != second || first == "" {
		t.Errorf("kid %v, then %v", first, second)
	}
}
