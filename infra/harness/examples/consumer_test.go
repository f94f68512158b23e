// Package examples checks that the documents and the proxies' configurations in infra/examples/consumer agree with the code: the
// fields of a principal, and the cost of a check. The end-to-end tests run the example programs (`make doors`).
package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"latchkey/infra/docs/cost"
	"latchkey/pkg/forwardauth"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
)

// folder is the folder of the examples.
const folder = "../../examples/consumer/"

const schemaFile = folder + "principal.schema.json"

// key returns the principal of an API key, with every field set.
func key() guard.Principal {
	o := id.Source{}.NewOrg()
	return guard.Principal{
		Kind: guard.Key, OrgID: string(o), AppID: string(id.DefaultApp(o)), KeyID: "key_" + strings.Repeat("0", 26), KeyPrefix: "lk_a", KeyName: "Büro",
		Scopes: []string{"invoices:read", "invoices:write"}, Metadata: map[string]string{"plan": "free"}, ExpiresAt: 1_800_000_000_000, Plan: "pro-2",
	}
}

// limited returns the principal of an API key that has limits.
func limited() guard.Principal {
	p := key()
	p.Limit = guard.Limit{Policy: `"minute";q=100;w=60`, State: `"minute";r=0;t=17`}
	return p
}

// user returns the principal of a user, with every field set.
func user() guard.Principal {
	return guard.Principal{Kind: guard.User, OrgID: string(id.Source{}.NewOrg()), UserID: string(id.Source{}.NewUser()), Role: "admin", Email: "a@b.c"}
}

func TestPrincipalsFitTheirSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(fields map[string]string) error {
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	// A key without a name, scopes, metadata and expiry: its principal has the same fields, most of them empty.
	bare := guard.Principal{Kind: guard.Key, OrgID: key().OrgID, AppID: key().AppID, KeyID: key().KeyID, KeyPrefix: "lk_a"}
	principals := []guard.Principal{key(), bare}
	for _, role := range org.AllRoles() {
		p := user()
		p.Role = string(role)
		principals = append(principals, p)
	}
	for _, p := range principals {
		fields := p.Fields()
		if err := valid(fields); err != nil {
			t.Error(err)
		}
		for name := range fields { // the schema must require every field that the code sends
			incomplete := maps.Clone(fields)
			delete(incomplete, name)
			if valid(incomplete) == nil {
				t.Errorf("%s without %s is valid", p.Kind, name)
			}
		}
	}
	spent := limited()
	spent.Limit.Violated, spent.Limit.RetryAfter = "minute", 17
	for _, p := range []guard.Principal{limited(), spent} {
		if err := valid(p.Fields()); err != nil {
			t.Error(err)
		}
	}
	if err := valid(map[string]string{"code": "key_revoked", "title": "T", "detail": "D"}); err != nil {
		t.Error(err)
	}
}

// TestTheMembersExampleRefusesUnknownRoles includes roles that Latchkey does not have today.
func TestTheMembersExampleRefusesUnknownRoles(t *testing.T) {
	const program = `import { handler } from './members/index.mjs'
		const authorizer = { v: '1', kind: 'user', orgId: 'org_1', userId: 'usr_1', role: JSON.parse(process.argv[1]) }
		console.log((await handler({ requestContext: { authorizer } })).statusCode)`
	for role, want := range map[string]string{
		`"admin"`: "200", `"member"`: "200", `"viewer"`: "403", `"guest"`: "403", `"Viewer"`: "403", `""`: "403", `null`: "403", `["admin"]`: "403",
	} {
		cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", program, role)
		cmd.Dir = folder
		got, err := cmd.CombinedOutput()
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %s %v, want %s", role, got, err, want)
		}
	}
}

// row matches a row of the table of fields in infra/docs/protect.md: the field, the kinds of callers, the header.
var (
	row    = regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)` \\| ([a-z, ]+) \\| `(X-Latchkey-[A-Za-z-]+)` \\|")
	header = regexp.MustCompile(`X-Latchkey-[A-Z][A-Za-z-]*`)
)

// TestTheTableOfFieldsIsComplete compares the table with the code: the fields, the kinds of callers that have each, and the headers.
func TestTheTableOfFieldsIsComplete(t *testing.T) {
	documented := map[string]string{}
	var headers []string
	for _, m := range row.FindAllStringSubmatch(file(t, "../../docs/protect.md"), -1) {
		documented[m[1]] = m[2]
		headers = append(headers, m[3])
	}
	want := map[string]string{"code": "refusal"}
	for name := range limited().Fields() {
		want[name] = "key with limits"
	}
	for name := range key().Fields() {
		want[name] = "key"
	}
	for name := range user().Fields() {
		if want[name] != "" {
			want[name] = "key, user"
		} else {
			want[name] = "user"
		}
	}
	if !maps.Equal(documented, want) {
		t.Errorf("the table has %v, want %v", documented, want)
	}
	if slices.Sort(headers); !slices.Equal(headers, slices.Sorted(slices.Values(forwardauth.Headers()))) {
		t.Errorf("the table has the headers %v", headers)
	}
}

// TestProxiesSetOrRemoveEveryHeader looks for each header in both configurations. With a header that a proxy neither sets nor
// removes, a client could pretend to be another caller.
func TestProxiesSetOrRemoveEveryHeader(t *testing.T) {
	for _, name := range []string{"Caddyfile", "nginx.conf"} {
		named := map[string]bool{}
		for line := range strings.Lines(file(t, name)) {
			line, _, _ = strings.Cut(line, "#")
			for _, h := range header.FindAllString(line, -1) {
				named[h] = true
			}
		}
		for _, h := range append(forwardauth.Headers(), "X-Latchkey-Secret", "X-Latchkey-Client-Ip", "X-Latchkey-Proxy-Secret") {
			if name == "Caddyfile" && h == "X-Latchkey-Code" {
				continue // only refusals have this header, and Caddy copies all headers of a refusal to the client
			}
			if !named[h] {
				t.Errorf("%s does not name %s", name, h)
			}
		}
	}
}

// TestProxiesRefuseTheSamePaths compares the two patterns for bad paths in nginx.conf and Caddyfile.
func TestProxiesRefuseTheSamePaths(t *testing.T) {
	pattern := func(name, before, after string) string {
		_, rest, found := strings.Cut(file(t, name), before)
		text, _, ends := strings.Cut(rest, after)
		if !found || !ends {
			t.Fatalf("%s has no pattern", name)
		}
		return text
	}
	nginx := strings.ReplaceAll(pattern("nginx.conf", `if ($request_uri ~* "`, `") {`), `\\`, `\`)
	if caddy := pattern("Caddyfile", "@unclean vars_regexp {http.request.uri} `(?i)", "`\n"); nginx != caddy {
		t.Errorf("nginx has %s, Caddy %s", nginx, caddy)
	}
	utf8 := pattern("nginx.conf", `if ($request_uri !~* "`, `") {`)
	if caddy := pattern("Caddyfile", "@malformed not vars_regexp {http.request.uri} `(?i)", "`\n"); utf8 != caddy {
		t.Errorf("the pattern of UTF-8 is %s in nginx, %s in Caddy", utf8, caddy)
	}
}

// TestDocumentedCostsOfDoorsAreRight computes the dollars for a million checks. The check of a key costs one read, of a role three.
// An introspection costs one more, for the caller's key. The end-to-end tests count these reads.
func TestDocumentedCostsOfDoorsAreRight(t *testing.T) {
	const seconds, gigabytes = 0.005, 0.5 // of a call: the time that infra/docs/costs.md assumes, and the template's MemorySize
	// calls is the number of Lambda calls: 0 for the Go middleware, which runs in the owner's program.
	dollars := func(calls, reads float64) string {
		return fmt.Sprintf("$%.2f", cost.Use{Invocations: calls, GBSeconds: calls * seconds * gigabytes, Reads: reads}.Million())
	}
	doc, readme := file(t, "../../docs/protect.md"), file(t, "../../../README.md")
	for _, want := range []string{
		"without code | " + dollars(1, 1) + " | " + dollars(1, 3) + " |",
		"Kubernetes | " + dollars(0, 1) + " | " + dollars(0, 3) + " |",
		"everything else | " + dollars(1, 1) + "; introspection " + dollars(1, 2) + " | " + dollars(1, 3) + "; introspection " + dollars(1, 4) + " |",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("infra/docs/protect.md lacks %q", want)
		}
	}
	for _, want := range []string{"without code | " + dollars(1, 1) + " |", "AWS role | " + dollars(0, 1) + " |", "everything else | " + dollars(1, 1) + " to " + dollars(1, 4) + " |"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the README lacks %q", want)
		}
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(folder + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
