package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"latchkey/pkg/fetch"
)

// TestOnlyAWholeAnswerIsReturned: Do returns a whole answer within the size limit, or an error. A redirect is an answer like
// any other.
func TestOnlyAWholeAnswerIsReturned(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("text"))
		default:
			w.Header().Set("A", "b")
			_, _ = w.Write([]byte("text"))
		}
	}))
	defer server.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx    context.Context
		path   string
		most   int64
		status int
		words  string // the text of the error; "": there is none
	}{
		"the largest answer": {t.Context(), "/", 4, 200, ""},
		"a larger answer":    {t.Context(), "/", 3, 0, fetch.ErrTooLarge.Error()},
		"a redirect":         {t.Context(), "/moved", 100, 301, ""},
		"a cut answer":       {t.Context(), "/cut", 100, 0, "unexpected EOF"},
		"a canceled context": {ended, "/", 100, 0, "context canceled"},
	} {
		req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("not used") }} // Do must neither use nor change this policy
		a, err := fetch.Do(client, req, c.most)
		if a.Status != c.status || (err == nil) != (c.words == "") || err != nil && err.Error() != c.words {
			t.Errorf("%s: %d, %v", name, a.Status, err)
		}
		if c.status == 200 && (string(a.Body) != "text" || a.Header.Get("A") != "b") {
			t.Errorf("%s: %s, %v", name, a.Body, a.Header)
		}
		if err := client.CheckRedirect(nil, nil); err == nil {
			t.Errorf("%s: the caller's client was changed", name)
		}
	}
}

func TestOnlyLoopbackIsSafeWithoutTLS(t *testing.T) {
	for _, safe := range []string{"https://id.example/a", "HTTPS://id.example", "http://localhost:3000/", "http://127.0.0.1", "http://127.8.9.1:1", "http://[::1]:80/a"} {
		if !fetch.IsSafe(safe) {
			t.Errorf("%s is refused", safe)
		}
	}
	for _, unsafe := range strings.Fields(`http://id.example http://localhost.example http://127.0.0.1.example http://10.0.0.1 http://localhost@id.example
		http://[::ffff:10.0.0.1] http://0.0.0.0 ftp://localhost id.example //id.example https:id.example https:///a http://%zz`) {
		if fetch.IsSafe(unsafe) {
			t.Errorf("%s is accepted", unsafe)
		}
	}
	if fetch.IsSafe("") {
		t.Error("an empty address is accepted")
	}
}
