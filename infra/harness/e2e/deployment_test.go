package e2e_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/deploy/proof"
	"latchkey/infra/harness/local/stack"
)

// TestTheProofFindsADeploymentThatAcceptsNoCredential runs the proof of `make deploy` on three faulty stacks: the issuer does not answer,
// the issuer's discovery document names another issuer, or the authorizer may not read API keys. Only one request of the proof fails.
func TestTheProofFindsADeploymentThatAcceptsNoCredential(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"https://another.example","jwks_uri":"https://another.example/jwks"}`))
	}))
	defer other.Close()
	noRight := filepath.Join(t.TempDir(), "template.yaml")
	root, err := filepath.Rel(filepath.Dir(noRight), rootOf(t))
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer loses the right to read rows of API keys. The code is still in the repository.
	without := strings.NewReplacer("['KEYS#*', 'IMP#*', 'IDN#*', 'EMAIL#*', 'USER#*']", "['IMP#*', 'IDN#*', 'EMAIL#*', 'USER#*']", "CodeUri: ", "CodeUri: "+root+"/")
	if err := os.WriteFile(noRight, []byte(without.Replace(repositoryFile(t, "template.yaml"))), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		template, issuer string
		words            string // of the only fault
	}{
		"a dead issuer":                {"", "http://127.0.0.1:1/dead", "cannot read the keys of the issuer http://127.0.0.1:1/dead"},
		"another issuer's document":    {"", other.URL, "cannot read the keys of the issuer " + other.URL},
		"an authorizer without rights": {noRight, "", "cannot read the table, so no API key works"},
	} {
		t.Run(name, func(t *testing.T) {
			o := stack.Options{Template: c.template, InMemory: true, Progress: func(line string) { t.Log(line) }, Parameters: maps.Clone(patient)}
			if c.issuer != "" {
				o.Parameters["Issuer"], o.Parameters["Audience"] = c.issuer, stack.Audience
			}
			s, err := stack.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			tokens := proof.TokensOf(func(name string) string { return s.Template.Parameters[name] })
			requests, err := proof.Deployment{API: s.URL, Tokens: tokens, KeyPrefix: "lk"}.Requests()
			if err != nil {
				t.Fatal(err)
			}
			var faults []string
			for _, r := range requests {
				if err := r.Send(t.Context(), http.DefaultClient); err != nil {
					faults = append(faults, err.Error())
				}
			}
			if len(faults) != 1 || !strings.Contains(faults[0], c.words) {
				t.Errorf("%q, want only %q", faults, c.words)
			}
		})
	}
}
