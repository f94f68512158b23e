package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"latchkey/infra/harness/local/stack"
)

// TestAnExternalIssuerIsCheckedAtTheStart checks the address that the functions will use.
func TestAnExternalIssuerIsCheckedAtTheStart(t *testing.T) {
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" && r.URL.Path != "/keys" {
			http.NotFound(w, r)
		}
	}))
	for keys, want := range map[string]bool{"": true, issuer.URL + "/keys": true, issuer.URL + "/none": false, "http://127.0.0.1:1/keys": false, "http://[": false} {
		if err := checkIssuer(t.Context(), &stack.Stack{Issuer: issuer.URL}, keys); (err == nil) != want {
			t.Errorf("%q: %v", keys, err)
		}
	}
	issuer.Close()
	if err := checkIssuer(t.Context(), &stack.Stack{Issuer: issuer.URL}, ""); err == nil {
		t.Error("no error for an issuer that has stopped")
	}
	if err := checkIssuer(t.Context(), &stack.Stack{}, ""); err != nil {
		t.Errorf("a stack that has no issuer: %v", err)
	}
}
