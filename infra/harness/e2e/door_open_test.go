package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// door is a way in which an endpoint of the owner checks credentials: API Gateway, a server or the function URL.
type door struct {
	name     string
	copies   func() map[int]int      // the number of requests that each copy of the checking program has answered
	targets  []*target               // each serves both paths
	keyPath  string                  // accepts an API key with the scope invoices:read
	member   func(org string) string // the path that accepts an access token of a member of the org
	noMember int                     // the status for a user who is not a member
	allows   string                  // added to member's path, it allows suspended orgs; "": the door has no such path
}

// send sends request number n. Successive numbers go to the door's targets in turn.
func (d *door) send(t *testing.T, n int, path, credential string, header http.Header) (reply, error) {
	return d.targets[n%len(d.targets)].try(t.Context(), call{method: "GET", path: path, bearer: credential, header: header})
}

// want sends a request, and checks the status and the code of the answer ("": none).
func (d *door) want(t *testing.T, path, credential string, status int, code string) reply {
	t.Helper()
	r, err := d.send(t, 0, path, credential, nil)
	if err != nil || r.status != status || d.code(r) != code {
		t.Errorf("%s %s: %d %s %s %v, want %d %s", d.name, path, r.status, d.code(r), r.text, err, status, code)
	}
	return r
}

// code returns the code of a refusal, from the header or the body.
func (d *door) code(r reply) string {
	if code := r.header.Get("X-Latchkey-Code"); code != "" {
		return code
	}
	return r.code()
}

// doorRoles are the roles of the doors, and the policy of programs with package guard.
var doorRoles = []string{"KeyAuthorizerRole", "MemberAuthorizerRole", "ForwardAuthRole", "GuardPolicy"}

// frontDoor is a stack with the API of an owner, and its doors.
type frontDoor struct {
	*stack.Stack
	tg    *target
	doors []*door
	ada   *person
	org   string // ada's org, which is also the parameter OwnerOrgId: its keys may introspect

	billing *person // a service
	earlier earlierSystem
}

// openDoors starts the stack, the owner's API and the servers. It deploys twice: the second deployment makes ada's org
// the owner's org, which must exist before.
func openDoors(t *testing.T) *frontDoor {
	t.Helper()
	s, tg := startLocal(t, stack.Options{
		Dir: memoryDir(t), Consumer: filepath.Join(rootOf(t), "infra/examples/consumer/template.yaml"),
		Parameters: map[string]string{"ForwardAuth": "true", "ImportedKeys": "true", "CountRequests": "true"},
	})
	f := &frontDoor{Stack: s, tg: tg, ada: tg.person(t, "ada")}
	f.org, f.billing = f.ada.org(t), serviceOf(t, s, tg)
	f.earlier.listen(t)
	if err := s.Deploy(t.Context(), map[string]string{"OwnerOrgId": f.org}); err != nil {
		t.Fatal(err)
	}
	f.doors = []*door{
		{
			name: "API Gateway", copies: copiesOf(s, "KeyAuthorizerFunction"), targets: []*target{newTarget("api", s.Consumer, nil)},
			keyPath: "/invoices", member: func(org string) string { return "/orgs/" + org + "/invoices" }, noMember: 401,
		},
		f.servers(t),
		{
			name: "forward auth", copies: copiesOf(s, "ForwardAuthFunction"), targets: []*target{newTarget("url", s.FunctionURLs["ForwardAuthFunction"], nil)},
			keyPath: "/authorize?scope=invoices:read", member: func(org string) string { return "/authorize-member?role=member&org=" + url.QueryEscape(org) }, noMember: 403, allows: "&suspended=allow",
		},
	}
	return f
}

func rootOf(t *testing.T) string {
	t.Helper()
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// servers starts four processes of the example with package guard. Each process counts as a copy.
func (f *frontDoor) servers(t *testing.T) *door {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./infra/examples/consumer/server")
	build.Dir = rootOf(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := &door{name: "Go", keyPath: "/invoices", member: func(org string) string { return "/orgs/" + org + "/invoices" }, noMember: 403, allows: "/payment"}
	var served [4]atomic.Int64
	for i := range served {
		address := freeAddress(t)
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(f.documentedEnvironment(t, address),
			"IMPORTED_KEYS=true", "COUNT_REQUESTS=true", "EARLIER_SYSTEM="+f.earlier.url, "LATCHKEY_API="+f.URL, "SERVICE_TOKEN="+f.billing.token)
		serve(t, cmd)
		tg := newTarget("go", "http://"+address, nil)
		tg.client.Transport = counting{tg.client.Transport, &served[i]}
		eventually(t, 10*time.Second, "the server answers", func() bool { _, err := tg.try(t.Context(), call{method: "GET", path: "/"}); return err == nil })
		d.targets = append(d.targets, tg)
	}
	d.copies = func() map[int]int {
		out := map[int]int{}
		for i := range served {
			out[i] = int(served[i].Load())
		}
		return out
	}
	return d
}

// documentedEnvironment returns the variables with which infra/docs/protect.md starts the example. It sets the ports of this stack.
func (f *frontDoor) documentedEnvironment(t *testing.T, address string) []string {
	t.Helper()
	_, rest, found := strings.Cut(repositoryFile(t, "infra/docs/protect.md"), "```sh\nenv ")
	line, _, ends := strings.Cut(rest, " go run ./infra/examples/consumer/server\n")
	if !found || !ends {
		t.Fatal("infra/docs/protect.md does not start the example")
	}
	issuer, err := url.Parse(f.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	line = strings.NewReplacer("127.0.0.1:8080", address, "http://127.0.0.1:3007", f.AWS, "127.0.0.1:3004", issuer.Host, "\\\n", "").Replace(line)
	return strings.Fields(line)
}

// freeAddress returns an address that nothing listens on, and that no outgoing connection uses.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := tools.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", port)
}

// counting counts the answers of a server.
type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		c.n.Add(1)
	}
	return res, err
}
