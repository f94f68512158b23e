package vectors_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"latchkey/infra/vectors"
	"latchkey/pkg/verify"
)

// check gives one case to a Verifier that has seen no kid yet.
func check(t *testing.T, v vectors.Vectors, c vectors.Case) {
	t.Helper()
	server := httptest.NewServer(v.Handler())
	defer server.Close()
	r, err := verify.New(verify.Config{
		BaseURL: server.URL, Issuer: v.Issuer, EndpointID: v.EndpointID,
		Now: func() time.Time { return time.Unix(v.Now, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	event, err := r.Verify(t.Context(), []byte(c.Token))
	var no *verify.RefusedError
	switch c.Status {
	case http.StatusNoContent:
		if err != nil || event.ID == "" || event.Type != "link.claimed" || event.Attempt == "" {
			t.Errorf("%s: %v, %+v", c.Name, err, event)
		}
	case http.StatusUnauthorized:
		if !errors.As(err, &no) || !errors.Is(err, verify.ErrRefused) || errors.Is(err, verify.ErrUnavailable) || string(no.Reason) != c.Reason {
			t.Errorf("%s: %v instead of %s", c.Name, err, c.Reason)
		}
	default:
		if !errors.Is(err, verify.ErrUnavailable) || errors.Is(err, verify.ErrRefused) {
			t.Errorf("%s: %v instead of ErrUnavailable", c.Name, err)
		}
	}
	if err != nil && event.ID != "" {
		t.Errorf("%s: refused, and yet an event", c.Name)
	}
}

// TestVectorsOfThisHourAreVerifiedAndRefused has the cases that are too large for the file.
func TestVectorsOfThisHourAreVerifiedAndRefused(t *testing.T) {
	v := vectors.Mint(time.Now())
	large := false
	for _, c := range v.Cases {
		large = large || len(c.Token) > verify.MaxBody
		check(t, v, c)
	}
	if !large {
		t.Error("no case is too large")
	}
}
