package route_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
)

func TestEveryRouteOfTheConsoleHasOnePreflight(t *testing.T) {
	preflights, patterns := map[string]int{}, map[string]bool{}
	for _, r := range route.All() {
		switch {
		case r.Method == "OPTIONS":
			preflights[r.Pattern]++
			if r.Operation != route.Preflight || r.Takes != principal.Public || r.May != route.NoOrg {
				t.Errorf("%+v", r)
			}
			if r.Function != "webhookkeys" && !strings.HasPrefix(r.Pattern, "/link/") { // links answers its own
				t.Errorf("%+v", r)
			}
		case r.ForConsole():
			patterns[r.Pattern] = true
		}
	}
	for pattern := range patterns {
		if preflights[pattern] != 1 {
			t.Errorf("%s: %d preflights", pattern, preflights[pattern])
		}
	}
	for pattern := range preflights {
		if !patterns[pattern] && pattern != "/link/claim" && pattern != "/webhook_verification_key/get" {
			t.Errorf("%s has a preflight", pattern)
		}
	}
	if len(patterns) < 10 {
		t.Errorf("only %d patterns for the console", len(patterns))
	}
}

func TestTheTableIsFoundByMethodAndPath(t *testing.T) {
	if got := route.Methods("/v1/orgs"); !slices.Equal(got, []string{"GET", "POST"}) {
		t.Errorf("%v", got)
	}
	if got := route.Methods("/link/claim"); !slices.Equal(got, []string{"POST"}) { // its OPTIONS is in the table too
		t.Errorf("%v", got)
	}
	if got := route.Methods("/v1"); got != nil { // no route has this path
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		method, pattern string
		takes           principal.Credential
		ok              bool
	}{
		{"GET", "/v1/orgs", principal.UserToken, true}, {"POST", "/link/create", principal.APIKey, true}, {"POST", "/link/claim", principal.Public, true},
		{"POST", "/link/revoke", principal.UnlimitedAPIKey, true}, {"POST", "/webhook_endpoint/delete", principal.UnlimitedAPIKey, true},
		{"POST", "/webhook_endpoint/update", principal.DeferredAPIKey, true}, {"POST", "/webhook_endpoint/test", principal.APIKey, true},
		{"PUT", "/v1/orgs", "", false}, {"GET", "/link/create", "", false}, {"GET", "/none", "", false},
	} {
		if takes, ok := route.CredentialOf(c.method, c.pattern); takes != c.takes || ok != c.ok {
			t.Errorf("%s %s: %q, %v", c.method, c.pattern, takes, ok)
		}
	}
	for _, r := range route.All() {
		method, pattern, _ := strings.Cut(r.Name(), " ")
		if method != r.Method || pattern != r.Pattern {
			t.Errorf("%+v is named %q", r, r.Name())
		}
	}
}

// TestASetOfRolesIsOneForNoWeakerRole: a set has exactly these roles, and none that may do less.
func TestASetOfRolesIsOneForNoWeakerRole(t *testing.T) {
	for set, want := range map[route.Roles][]org.Role{
		route.NoOrg: nil, route.ServicesOnly: nil, route.AdminsOnly: {org.Admin}, route.MayRead: {org.Admin, org.Member}, route.AnyMember: {org.Admin, org.Member, org.Viewer},
	} {
		if got := set.List(); !slices.Equal(got, want) {
			t.Errorf("%d: %v", set, got)
		}
	}
}

// TestABodyIsAsLargeAsTheDocumentsSay: infra/docs/api.md has the bounds of the routes that differ, and of all others.
func TestABodyIsAsLargeAsTheDocumentsSay(t *testing.T) {
	text, err := os.ReadFile("../../infra/docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string]int{"importKeys": 256 << 10, "publishEvents": 1280 << 10}
	said := fmt.Sprintf("of at most %d KB, of %d KB for imported keys, and of %d KB for published events.",
		route.DefaultMaxBody>>10, bounds["importKeys"]>>10, bounds["publishEvents"]>>10)
	if !strings.Contains(string(text), said) || route.DefaultMaxBody != 16*1024 {
		t.Errorf("the document does not say: %s", said)
	}
	for _, r := range route.All() {
		if r.MaxBody != bounds[r.Operation] {
			t.Errorf("%s takes %d bytes", r.Operation, r.MaxBody)
		}
	}
}

// TestEachRouteIsServedByItsFunction: what the functions serve is the whole table, and nothing twice.
func TestEachRouteIsServedByItsFunction(t *testing.T) {
	served := map[string]int{}
	functions := map[string]bool{}
	for _, r := range route.All() {
		functions[r.Function] = true
	}
	for function := range functions {
		for _, r := range route.ServedBy(function) {
			served[r.Name()]++
			if r.Function != function {
				t.Errorf("%s serves %+v", function, r)
			}
		}
	}
	for _, r := range route.All() {
		if served[r.Name()] != 1 {
			t.Errorf("%s is served by %d functions", r.Name(), served[r.Name()])
		}
	}
}
