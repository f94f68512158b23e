package e2e_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/gateway"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/template/translated"
)

// plantedCache starts a second gateway for the same functions, which caches the authorizer's answers for 300 s. The function
// violations must find accepted requests. One copy is enough: with the cache, few requests reach the authorizer.
func plantedCache(t *testing.T, s *stack.Stack, tg *target) {
	template := repositoryFile(t, "template.yaml")
	const from, to = "Identity: { ReauthorizeEvery: 0 }", "Identity: { ReauthorizeEvery: 300, Headers: [Authorization] }"
	if strings.Count(template, from) != 1 {
		t.Fatalf("the template has no single %q", from)
	}
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(template, from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := translated.Translate(t.Context(), path, translated.Options{StackName: stack.StackName, Parameters: s.Template.Parameters})
	if err != nil {
		t.Fatal(err)
	}
	api, err := changed.API()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := gateway.New(api, s.Lambda, log.New(io.Discard, "", 0), "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if n := violations(t, s, newTarget(tg.name, server.URL, tg.token), 1); n == 0 {
		t.Error("a cache of 300 s was not found: all 1,000 requests after a revocation were refused")
	}
}

// TestUndocumentedAnswersAreFound checks an answer of a server that the OpenAPI document does not have. The suite must find it on
// every target but SAM local.
func TestUndocumentedAnswersAreFound(t *testing.T) {
	var answer string // the server's answer; each case below sets it
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, answer+"\n")
	}))
	t.Cleanup(server.Close)
	for _, name := range []string{"local", "deployed", "sam"} {
		tg := newTarget(name, server.URL, nil)
		for text, documented := range map[string]bool{`{"orgs":[]}`: true, `{"orgs":[],"total":0}`: false} {
			answer = text
			c := call{method: "GET", path: "/v1/orgs"}
			r, err := tg.try(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			passes := documented || name == "sam"
			if err := tg.undocumented(c, r); (err == nil) != passes {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
	}
}
