package examples_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// callers returns the commands, by name, of programs that call the API with a secret and then end: the examples, and the
// programs that documents show.
func callers(t *testing.T) map[string][]string {
	t.Helper()
	bin := built(t)
	shown := func(file, document, pattern string) string {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(bin, file)
		program := html.UnescapeString(string(regexp.MustCompile("(?s)" + pattern).FindSubmatch(text)[1]))
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(program, "/tmp/keys.csv", bin+"/keys.csv")), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if err := os.WriteFile(bin+"/keys.csv", []byte("customer,sha256,prefix,name\ncus_1,00,sk_live_,server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const reference = "../../functions/console/dist/reference.html"
	return map[string][]string{
		"receiver": {bin + "/receiver"}, "latchkey": {bin + "/latchkey", "find", "--key", "-"}, "publisher": {bin + "/go"}, "publisher in Node": {"node", "publishers/publish.mjs"},
		"publisher in Python": {"python3", "publishers/publish.py"},
		"import":              {"python3", shown("import.py", "../docs/moving.md", `<<'END'\n(import csv.*?\n)END\n`)},
		"reference":           {"go", "run", shown("reference.go", reference, `"createKey" data-lang="go">(.*?)</code>`)},
		"reference in Node":   {"node", shown("reference.mjs", reference, `"createKey" data-lang="node">(.*?)</code>`)},
		"reference in Python": {"python3", shown("reference.py", reference, `"createKey" data-lang="python">(.*?)</code>`)},
	}
}

// call runs a program that calls the API at base, and returns what it wrote.
func call(t *testing.T, command []string, base, secret string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "API="+base, "BASE_URL="+base, "ORG=org_1", "APP=app_1", "TOKEN="+secret, "KEY="+secret, `TOKEN_CMD=printf %s "$TOKEN"`)
	out, _ := cmd.CombinedOutput() // ignore the exit status: some programs print the API's error and exit with 0
	return string(out)
}

// TestNoExampleFollowsARedirect redirects each program from the API to another host, which answers as the API would.
func TestNoExampleFollowsARedirect(t *testing.T) {
	var followed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		followed.Add(1)
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprint(w, `{"events": [{"id": "made elsewhere"}], "orgs": [{"id": "org_elsewhere"}], "keys": [{"id": "made elsewhere"}]}`)
	}))
	defer other.Close()
	for name, command := range callers(t) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			var requests atomic.Int64
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				http.Redirect(w, r, other.URL+r.URL.Path, status)
			}))
			out := call(t, command, api.URL, "lk_secret")
			api.Close()
			if requests.Load() == 0 || followed.Swap(0) > 0 || strings.Contains(out, "elsewhere") {
				t.Errorf("%s, %d: %d requests to the API; it wrote %q", name, status, requests.Load(), out)
			}
		}
	}
}

// TestSecretsUnfitForAHeaderAreNotPrinted gives each program a secret with characters that a header cannot have, such as
// the line end of a file.
func TestSecretsUnfitForAHeaderAreNotPrinted(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(api.Close)
	for name, command := range callers(t) {
		for _, secret := range []string{canary + "\n", canary + "\r", canary + "\r\n" + canary, canary + "€"} {
			if strings.HasPrefix(name, "reference") && strings.Contains(secret, "\r\n") {
				continue // the reference's short programs print the error with its input
			}
			t.Run(fmt.Sprintf("%s %q", name, secret), func(t *testing.T) {
				t.Parallel()
				if out := call(t, command, api.URL, secret); strings.Contains(out, canary) {
					t.Errorf("it wrote %q", out)
				}
			})
		}
	}
}
