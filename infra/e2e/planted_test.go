package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/stack"
)

// TestAPlantedCacheIsFound puts a cache of 300 s before the authorizer, in a copy
// of the template, and demands that the test of revocation sees it: a check that
// cannot fail proves nothing.
func TestAPlantedCacheIsFound(t *testing.T) {
	root, err := backing.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	toRoot, err := filepath.Rel(dir, root)
	if err != nil {
		t.Fatal(err)
	}
	planted := string(text)
	for from, to := range map[string]string{
		"Identity: { ReauthorizeEvery: 0 }": "Identity: { ReauthorizeEvery: 300, Headers: [Authorization] }",
		"CodeUri: functions/":               "CodeUri: " + toRoot + "/functions/",
	} {
		if !strings.Contains(planted, from) {
			t.Fatalf("the template has no %q", from)
		}
		planted = strings.ReplaceAll(planted, from, to)
	}
	path := filepath.Join(dir, "template.yaml")
	if err := os.WriteFile(path, []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	s, tg := startLocal(t, stack.Options{Template: path})
	if n := violations(t, s, tg); n == 0 {
		t.Error("1,000 requests after a revocation were refused behind a cache of 300 s: the test sees nothing")
	}
}

// TestAPlantedAnswerIsFound has a server answer what the document does not have,
// and demands that the suite sees it on every target but SAM local.
func TestAPlantedAnswerIsFound(t *testing.T) {
	answer := `{"orgs":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, answer)
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
			if err := tg.undocumented(c, r); (err == nil) != (documented || name == "sam") {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
	}
}
