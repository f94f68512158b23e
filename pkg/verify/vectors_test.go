package verify_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
)

// vectors are those of infra/vectors/webhooks.json. infra/vectors documents the members.
type vectors struct {
	Now                int64
	Issuer, EndpointID string
	Lookups            map[string]lookup // by kid
	Otherwise          lookup
	Cases              []vectorCase
}

type lookup struct {
	Status, MaxAge int
	Body           json.RawMessage
}

type vectorCase struct {
	Name, Token string
	Status      int
	Reason      string
}

// readVectors reads the file as any receiver's test would.
func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("../../infra/vectors/webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Handler answers key lookups from the vectors.
func (v vectors) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook_verification_key/get", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Kid string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, ok := v.Lookups[in.Kid]
		if !ok {
			a = v.Otherwise
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", a.MaxAge))
		w.WriteHeader(a.Status)
		w.Write(a.Body)
	})
	return mux
}
