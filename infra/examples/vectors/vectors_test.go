package vectors_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"latchkey/infra/examples/vectors"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/verify"
)

// TestMakeGenerateChangesNothing compares webhooks.json with the output of File.
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

// TestVerifyAcceptsAndRefusesTheVectors includes the cases that are too large for the file. Each case gets a new
// Verifier, because one Verifier looks up only a few unknown keys.
func TestVerifyAcceptsAndRefusesTheVectors(t *testing.T) {
	v := vectors.Mint(time.Now())
	server := httptest.NewServer(v.Handler())
	defer server.Close()
	large := false
	for _, c := range v.Cases {
		large = large || len(c.Token) > verify.MaxBody
		check, err := verify.New(verify.Config{
			BaseURL: server.URL, Issuer: v.Issuer, EndpointID: v.EndpointID, Now: func() time.Time { return time.Unix(v.Now, 0) },
		})
		if err != nil {
			t.Fatal(err)
		}
		event, err := check.Verify(t.Context(), []byte(c.Token))
		var refused *verify.RefusedError
		status, reason := http.StatusNoContent, ""
		switch {
		case errors.As(err, &refused):
			status, reason = http.StatusUnauthorized, string(refused.Reason)
		case errors.Is(err, verify.ErrUnavailable):
			status = http.StatusServiceUnavailable
		}
		if status != c.Status || reason != c.Reason || (event.ID == "") != (err != nil) {
			t.Errorf("%s: %v, %+v; want %d %s", c.Name, err, event, c.Status, c.Reason)
		}
	}
	if !large {
		t.Error("no case is too large")
	}
}
