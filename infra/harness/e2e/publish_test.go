package e2e_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"latchkey/infra/harness/local/stack"
)

// publishers runs every program that infra/docs/webhooks.md shows to publish an event. They send the same event with the same
// id, so the endpoint that registered for it gets it once. Other endpoints do not get it.
func publishers(t *testing.T, s *stack.Stack, tg *target) {
	c, billing := tg.server(t), serviceOf(t, s, tg)
	hook, other := c.receiver(t, nil, "invoice.*"), c.receiver(t, nil, "link.*", "invoice.void")
	_, section, _ := strings.Cut(repositoryFile(t, "infra/docs/webhooks.md"), "\n## Webhooks of your own\n")
	shown := stepsOf(t, section, 1, 0)
	ids := map[string]bool{}
	for _, command := range []string{
		shown[0].commands, "go run ./infra/examples/publishers/go", "node infra/examples/publishers/publish.mjs", "python3 infra/examples/publishers/publish.py",
	} {
		shell := exec.CommandContext(t.Context(), "bash", "-ec", command)
		shell.Dir, shell.Env = "../../..", append(os.Environ(), "API="+tg.url, "TOKEN="+billing.token, "ORG="+c.org, "APP="+c.appID)
		out, err := shell.Output()
		if err != nil {
			t.Fatalf("%s: %v %s", command, err, out)
		}
		id := strings.Trim(string(out), "\n")
		if normal(id) == normal(shown[0].answer) { // curl prints the whole answer, the programs print the id only
			_, id, _ = strings.Cut(id, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
		}
		ids[id] = true
	}
	got := hook.one(t, "invoice.paid", "")
	if !ids[got.ID] || len(ids) != 1 || string(got.Data) != `{"invoice":"in_4711","amount":4900}` {
		t.Errorf("%v arrived as %s %s", ids, got.ID, got.Data)
	}
	events := "/v1/orgs/" + c.org + "/apps/" + c.appID + "/events"
	again := call{
		method: "POST", path: events, bearer: billing.token, body: `{"events":[{"type":"other.event","data":{}}]}`,
		header: map[string][]string{"Idempotency-Key": {strings.Repeat("k", 32)}},
	}
	if first, second := tg.want(t, again, 202, ""), tg.want(t, again, 202, ""); first.text != second.text {
		t.Errorf("%s, then %s", first.text, second.text)
	}
	billing.want(t, "POST", "/v1/orgs/"+c.org+"/apps/app_00000000000000000000000000/events", `{"events":[{"type":"a.b","data":{}}]}`, 404, "app_not_found")
	stranger := tg.server(t)
	billing.want(t, "POST", "/v1/orgs/"+c.org+"/apps/"+stranger.appID+"/events", `{"events":[{"type":"a.b","data":{}}]}`, 404, "app_not_found")
	c.owner.want(t, "POST", events, `{"events":[{"type":"a.b","data":{}}]}`, 403, "insufficient_role")
	if n := len(other.arrivals()); n != 0 {
		t.Errorf("%d webhooks arrived at an endpoint with filters for other types", n)
	}
}
