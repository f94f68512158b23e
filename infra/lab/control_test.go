package lab

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAPageMayNotUseTheControlEndpoint sends what a browser sends for a page, of this machine or of another.
func TestAPageMayNotUseTheControlEndpoint(t *testing.T) {
	h := (&Stack{Site: &Site{}, Services: &Services{}}).controlHandler()
	for origin, want := range map[string]int{"": 200, "null": 403, "https://evil.example": 403, "http://127.0.0.1:3000": 403} {
		r := httptest.NewRequest(http.MethodGet, "/info", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("the origin %q: %d, want %d", origin, w.Code, want)
		}
	}
}
