package e2e_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/harness/lab/proxy"
)

// reads checks that each door reads exactly once, strongly consistent, to check a key, and exactly three times to check a role.
// The first check of a key also writes its last use.
func (f *frontDoor) reads(t *testing.T) {
	_, key := f.key(t)
	var mu sync.Mutex
	calls := map[string][]string{}
	f.Proxy.Watch(func(c proxy.Call) {
		if !slices.Contains([]string{"KeyAuthorizerFunction", "MemberAuthorizerFunction", "ForwardAuthFunction", "GuardPolicy"}, c.Function) {
			return // a call of the pipeline, which runs at the same time
		}
		text := c.Operation
		if c.Operation == "UpdateItem" && strings.Contains(string(c.Request), "USAGE#") {
			text = "Count" // the parameter CountRequests makes the doors count requests
		}
		if c.Operation == "GetItem" && !strings.Contains(string(c.Request), `"ConsistentRead":true`) {
			text = "eventual " + text
		}
		if strings.HasSuffix(c.Operation, "Item") && c.Read > 1 {
			text += fmt.Sprintf(" of %v units", c.Read)
		}
		mu.Lock()
		defer mu.Unlock()
		calls[c.Function] = append(calls[c.Function], text)
	})
	defer f.Proxy.Watch(nil)
	// newCalls returns the calls since it was last called, by function.
	newCalls := func() map[string][]string {
		mu.Lock()
		defer mu.Unlock()
		out := calls
		calls = map[string][]string{}
		return out
	}
	const uses = 3
	for _, d := range f.doors {
		// The calls are recorded by function. A server with package guard has the name of its policy.
		by := map[string]string{"API Gateway": "KeyAuthorizerFunction", "Go": "GuardPolicy", "forward auth": "ForwardAuthFunction"}[d.name]
		for range uses {
			d.want(t, d.keyPath, key, 200, "")
		}
		got := newCalls()
		line := strings.Join(got[by], " ")
		all, reads, counts := len(got[by]), strings.Count(line, "GetItem"), strings.Count(line, "Count")
		// In addition to the reads, only the first check writes the last use, and each copy counts its first check.
		fewWrites := all-counts <= uses+1 && slices.Index(got[by], "UpdateItem") <= 1 && counts <= uses
		if len(got) != 1 || reads != uses || !fewWrites || strings.Contains(line, "eventual") || strings.Contains(line, "units") {
			t.Errorf("%s: %d checks of a key make %v", d.name, uses, got)
		}
		if d.name == "API Gateway" {
			by = "MemberAuthorizerFunction"
		}
		for range uses {
			d.want(t, d.member(f.org), f.ada.token, 200, "")
		}
		if got := newCalls(); len(got) != 1 || len(got[by]) != 3*uses || strings.Join(slices.Compact(got[by]), " ") != "GetItem" {
			t.Errorf("%s: %d checks of a role make %v", d.name, uses, got)
		}
	}
}

// httpAPIs sends the shared authorizers events of HTTP APIs, in the formats 1.0 and 2.0 of AWS's documentation. The local
// gateway cannot send them: it serves REST APIs only.
func (f *frontDoor) httpAPIs(t *testing.T) {
	id, key := f.key(t)
	const arn = `"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/orgs/x/invoices"`
	format1 := func(credential string) string {
		return `{"version":"1.0","type":"REQUEST","methodArn":` + arn + `,"identitySource":"","authorizationToken":"","resource":"/orgs/{orgId}/invoices","path":"/orgs/x/invoices",
"httpMethod":"GET","headers":{"authorization":"Bearer ` + credential + `"},"queryStringParameters":{},"pathParameters":{"orgId":"` + f.org + `"},"stageVariables":{},"requestContext":{"identity":{"sourceIp":"192.0.2.1"}}}`
	}
	format2 := func(credential string) string {
		return `{"version":"2.0","type":"REQUEST","routeArn":` + arn + `,"identitySource":null,"routeKey":"GET /orgs/{orgId}/invoices","rawPath":"/orgs/x/invoices","rawQueryString":"","cookies":[],
"headers":{"authorization":"Bearer ` + credential + `"},"requestContext":{"http":{"method":"GET","sourceIp":"192.0.2.1"},"requestId":"r"},"pathParameters":{"orgId":"` + f.org + `"}}`
	}
	for _, c := range []struct{ function, event, want string }{
		{"KeyAuthorizerFunction", format1(key), `{"principalId":"` + id + `","policyDocument":{"Version":"2012-10-17","Statement":[{"Action":"execute-api:Invoke","Effect":"Allow","Resource":` + arn + `}]}`},
		{"KeyAuthorizerFunction", format2(key), `{"isAuthorized":true,"context":{"appId":"`},
		{"KeyAuthorizerFunction", format2(f.ada.token), `{"isAuthorized":false,"context":{"code":"api_key_required"`},
		{"MemberAuthorizerFunction", format2(f.ada.token), `{"isAuthorized":true,"context":{"email":"` + f.ada.email + `","kind":"user","orgId":"` + f.org + `","role":"admin"`},
		{"MemberAuthorizerFunction", format1(key), `{"principalId":"anonymous","policyDocument":{"Version":"2012-10-17","Statement":[{"Action":"execute-api:Invoke","Effect":"Deny"`},
	} {
		out, err := f.Lambda.Invoke(t.Context(), c.function, []byte(c.event))
		if err != nil || !strings.HasPrefix(string(out), c.want) {
			t.Errorf("%s: %s, %v, want %s", c.function, out, err, c.want)
		}
	}
	// With an identity source, the gateway caches answers: the authorizer must refuse to work.
	cached := strings.Replace(format2(key), `"identitySource":null`, `"identitySource":["Bearer x"]`, 1)
	if out, err := f.Lambda.Invoke(t.Context(), "KeyAuthorizerFunction", []byte(cached)); err == nil || !strings.Contains(err.Error(), "authorizer_misconfigured") {
		t.Errorf("an identity source: %s, %v", out, err)
	}
}

// readme writes the API of infra/docs/protect.md into an empty folder and serves it next to the stack. It runs the README's walk
// through, and in the same shell the commands of infra/docs/protect.md, and of infra/docs/webhooks.md that register a receiver.
func (f *frontDoor) readme(t *testing.T) {
	walk := stepsOf(t, ofREADME(t, "A walk through"), 5, 0)
	_, protect, _ := strings.Cut(repositoryFile(t, "infra/docs/protect.md"), "\n### Try it\n")
	protect, _, _ = strings.Cut(protect, "\n### ")
	own := stepsOf(t, protect, 2, 0)
	if len(own) != 2 || own[1].answer == "" {
		t.Fatalf("%d steps", len(own))
	}
	dir := t.TempDir()
	paste := exec.CommandContext(t.Context(), "bash", "-ec", own[0].commands)
	paste.Dir = dir
	if out, err := paste.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := f.DeployConsumer(t.Context(), filepath.Join(dir, "template.yaml")); err != nil {
		t.Fatal(err)
	}
	own[1].commands = strings.Replace(own[1].commands, "http://127.0.0.1:3008", f.Consumer, 1) // the port in the page
	at, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, receivers, _ := strings.Cut(repositoryFile(t, "infra/docs/webhooks.md"), "\n## Receivers\n")
	receivers, _, _ = strings.Cut(receivers, "\n### Go\n")
	registered := stepsOf(t, receivers, 1, 0)
	if len(registered) != 1 {
		t.Fatalf("infra/docs/webhooks.md registers a receiver in %d steps", len(registered))
	}
	registered[0].commands = `KEY=$(curl -s -X POST $API/v1/orgs/$ORG/keys -H "Authorization: Bearer $ADA" | field key)` + "\n" + registered[0].commands
	runSteps(t, f.tg, at.Port(), slices.Concat(walk, registered, own[1:]))
	// The pasted API also answers a problem document if its authorizer cannot be called.
	_, key := f.key(t)
	if err := f.Reserve("KeyAuthorizerFunction", 0); err != nil {
		t.Fatal(err)
	}
	f.doors[0].want(t, "/invoices", key, 503, "unavailable")
	if err := f.Reserve("KeyAuthorizerFunction", -1); err != nil {
		t.Fatal(err)
	}
}

// misconfigured changes the template of the owner's API so that its gateway may cache answers. The authorizer sees this mistake in
// its event, and refuses every request. make check-consumers finds the mistakes that the authorizer cannot see.
func (f *frontDoor) misconfigured(t *testing.T) {
	_, key := f.key(t)
	const good = "            FunctionPayloadType: REQUEST\n            Identity: { ReauthorizeEvery: 0 }\n            DisableFunctionDefaultPermissions: true # "
	root := rootOf(t)
	text := consumerFile(t, "template.yaml")
	if strings.Count(text, good) != 1 {
		t.Fatalf("the consumer's template has no single %q", good)
	}
	for name, bad := range map[string]string{
		"TOKEN": "            FunctionPayloadType: TOKEN\n            Identity: { ReauthorizeEvery: 300 }\n            DisableFunctionDefaultPermissions: true # ",
	} {
		dir := t.TempDir()
		code, err := filepath.Rel(dir, filepath.Join(root, "infra/examples/consumer"))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(strings.Replace(text, good, bad, 1), "CodeUri: ", "CodeUri: "+code+"/")
		path := filepath.Join(dir, "template.yaml")
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.DeployConsumer(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		f.doors[0].want(t, f.doors[0].keyPath, key, 503, "unavailable")
		if !strings.Contains(f.logOf(t, "KeyAuthorizerFunction"), `"code":"authorizer_misconfigured"`) {
			t.Errorf("%s: the authorizer's log does not name the mistake", name)
		}
	}
}
