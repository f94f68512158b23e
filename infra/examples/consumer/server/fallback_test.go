package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestTheFallbackFollowsNoRedirect redirects from the earlier system, then from Latchkey's API, to another host.
func TestTheFallbackFollowsNoRedirect(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"orgId": "org_1", "name": "a"}`))
	}
	var followed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		followed.Add(1)
		answer(w, r)
	}))
	defer other.Close()
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		redirects, good := httptest.NewServer(http.RedirectHandler(other.URL, code)), httptest.NewServer(http.HandlerFunc(answer))
		for _, e := range []earlier{{system: redirects.URL, api: good.URL}, {system: good.URL, api: redirects.URL}} {
			e.token = func(context.Context) (string, error) { return "token", nil }
			if err := e.importIfGood(t.Context(), "sk_live_key"); !errors.Is(err, status(code)) || followed.Swap(0) > 0 {
				t.Errorf("%d: %v", code, err)
			}
		}
		redirects.Close()
		good.Close()
	}
}
