package e2e_test

import (
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
