package outbound

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestGetReturnsOnlyAWholeAnswerOfItsServer: Get follows no redirect, and returns no part of an answer.
func TestGetReturnsOnlyAWholeAnswerOfItsServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
			return
		case "/limited":
			w.WriteHeader(http.StatusForbidden)
		case "/cut":
			w.Header().Set("Content-Length", "100")
		case "/slow":
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("User-Agent"))
	}))
	defer server.Close()
	s := NewSender(onLoopback(t), WithTimeouts(200*time.Millisecond, 100*time.Millisecond))
	if text, err := s.Get(context.Background(), server.URL, 14); string(text) != "GET Latchkey/1" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for path, want := range map[string]string{
		"/moved": errAnswer.Error(), "/limited": errAnswer.Error(), "/cut": errAnswer.Error(), "/larger": errAnswer.Error(), "/slow": FailTimeout,
	} {
		most := map[bool]int64{true: 13, false: 1000}[path == "/larger"]
		if text, err := s.Get(context.Background(), server.URL+path, most); text != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if text, err := NewSender(NewGuard(nil)).Get(context.Background(), server.URL, 1000); text != nil || err == nil || !strings.HasPrefix(err.Error(), FailRefused) {
		t.Errorf("an address that is not public: %q, %v", text, err)
	}
}
