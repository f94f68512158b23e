package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/infra/harness/contract"
	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/faults"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// world is the stack with a faulty network, the doors of the owner's own endpoints, and users.
type world struct {
	*stack.Stack
	network faults.Network
	tally   tally
	api     *site
	doors   []door
	members []door // the doors that check members
	db      *dynamodb.Client
	billing string // a service's token
	people  []person
	checks  checks
	started time.Time

	drawings string           // the folder for drawings of histories
	dir      string           // the folder of the stack, and of programs
	keys     *httptest.Server // serves the issuer's keys
	servers  []*exec.Cmd
}

// person is a user who has signed in.
type person struct{ email, token, id string }

// newWorld starts the stack, the doors and the proxy of the issuer's keys. copies is the most processes of a function. The caller must call
// Close, also after an error.
func newWorld(ctx context.Context, copies int, say tools.Progress) (*world, error) {
	w := &world{started: time.Now()}
	root, err := tools.Root()
	if err != nil {
		return w, err
	}
	documented, err := contract.Load()
	if err != nil {
		return w, err
	}
	w.drawings = filepath.Join(root, ".local", "prove")
	if w.dir, err = backing.MemoryDir("prove-"); err != nil {
		return w, err
	}
	port, err := tools.FreePorts(12)
	if err != nil {
		return w, err
	}
	// The issuer's address is needed before the start. It follows from the first port.
	if err := w.serveKeys(stack.IssuerURL(lab.PortsFrom(port).Issuer)); err != nil {
		return w, err
	}
	w.Stack, err = stack.Start(ctx, stack.Options{
		Port: port, Dir: w.dir, Consumer: filepath.Join(root, "infra/examples/consumer/template.yaml"), MaxCopies: copies,
		Minute: 5 * time.Second, Progress: say, Network: w.network.Between,
		Parameters: map[string]string{"ForwardAuth": "true", "ImportedKeys": "true", "JwksUrl": w.keys.URL},
	})
	if err != nil {
		return w, err
	}
	w.api, w.db = newSite(w.URL, documented, &w.tally), backing.NewDynamoDBClient(w.DataPlane.DynamoDB)
	if w.billing, err = w.Token(ctx, stack.Service, "", "", ""); err != nil {
		return w, err
	}
	if err := w.signIn(ctx); err != nil {
		return w, err
	}
	return w, w.openDoors(ctx, root)
}

// Close ends everything that newWorld has started.
func (w *world) Close() error {
	var errs []error
	for _, server := range w.servers {
		errs = append(errs, server.Process.Kill())
		_ = server.Wait() // it was killed
	}
	if w.Stack != nil {
		errs = append(errs, w.Stack.Close())
	}
	if w.keys != nil {
		w.keys.CloseClientConnections() // Close waits for running requests, and a fault can make one hang
		w.keys.Close()
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// serveKeys serves the issuer's keys by a proxy that makes faults.
func (w *world) serveKeys(issuer string) error {
	to, err := url.Parse(issuer + "/jwks")
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL, r.Out.Host = to, to.Host }}
	w.keys = httptest.NewServer(w.network.Before(proxy))
	return nil
}

// signIn makes four users, who sign in. It reads their ids from the list of an org's members.
func (w *world) signIn(ctx context.Context) error {
	org := w.api.send(ctx, request{method: "POST", path: "/v1/orgs", bearer: w.billing, body: `{"name":"Users"}`}).str("id")
	for n := range 4 {
		p := person{email: fmt.Sprintf("user%d@example.com", n)}
		var err error
		if p.token, err = w.Token(ctx, stack.User, "", p.email, fmt.Sprint("User ", n)); err != nil {
			return err
		}
		in := w.api.send(ctx, request{method: "GET", path: "/v1/orgs", bearer: p.token})
		added := w.api.send(ctx, request{method: "POST", path: "/v1/orgs/" + org + "/members", bearer: w.billing, body: `{"subject":"` + p.email + `","role":"viewer"}`})
		for _, m := range w.api.send(ctx, request{method: "GET", path: "/v1/orgs/" + org + "/members", bearer: w.billing}).list("members") {
			if m["email"] == p.email {
				p.id, _ = m["userId"].(string)
			}
		}
		if p.id == "" {
			return fmt.Errorf("a user has no id; the sign-in: %d %s; the new membership: %d %s", in.status, in.text, added.status, added.text)
		}
		w.people = append(w.people, p)
	}
	return nil
}

// openDoors starts the owner's server with package guard twice, and lists the doors.
func (w *world) openDoors(ctx context.Context, root string) error {
	program := filepath.Join(w.dir, "server")
	if _, err := tools.Output(ctx, root, nil, "go", "build", "-buildvcs=false", "-o", program, "./infra/examples/consumer/server"); err != nil {
		return err
	}
	gateway, forward := newSite(w.Consumer, nil, &w.tally), newSite(w.FunctionURLs["ForwardAuthFunction"], nil, &w.tally)
	doors := []door{
		{"API", w.api, request{method: "POST", path: "/app/get", body: "{}"}},
		{"API Gateway", gateway, request{method: "GET", path: "/invoices"}},
		{"forward auth", forward, request{method: "GET", path: "/authorize?scope=" + scope}},
	}
	w.members = []door{
		{"API Gateway", gateway, ofMember}, {"forward auth", forward, request{method: "GET", path: "/authorize-member?role=member&org={org}"}},
	}
	for n := range 2 {
		port, err := tools.FreePort(0)
		if err != nil {
			return err
		}
		address := fmt.Sprint("127.0.0.1:", port)
		server := exec.Command(program)
		server.Env = append(os.Environ(), "LISTEN="+address, "TABLE="+w.TableName, "ISSUER="+w.Issuer, "JWKS_URL="+w.keys.URL,
			"AUDIENCE="+stack.Audience, "AWS_ENDPOINT_URL="+w.AWS, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=GuardPolicy",
			"AWS_SECRET_ACCESS_KEY=x", "IMPORTED_KEYS=true")
		if err := server.Start(); err != nil {
			return err
		}
		w.servers = append(w.servers, server)
		d := door{fmt.Sprint("Go ", n+1), newSite("http://"+address, nil, &w.tally), request{method: "GET", path: "/invoices"}}
		if err := d.waitForAnswer(ctx); err != nil {
			return err
		}
		doors, w.members = append(doors, d), append(w.members, door{d.name, d.site, ofMember})
	}
	w.doors = doors
	return nil
}

// waitForAnswer waits until a door answers.
func (d door) waitForAnswer(ctx context.Context) error {
	for range 200 {
		if d.site.try(ctx, d.request).status != 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer", d.name)
}

// must repeats a request with the same Idempotency-Key until its answer is sure, and notes the audit action that it
// causes ("": none). A refusal is a violation; then the reply is empty.
func (h *history) must(q request, action, target string) reply {
	if q.once == "" && q.method == http.MethodPost {
		q.once = h.text(40)
	}
	for try := range tries {
		r := h.api.send(h.ctx, q)
		if r.unsure() && h.ctx.Err() == nil {
			if q.each {
				h.note(action, target, r)
			}
			pause(try)
			continue
		}
		if !r.ok() {
			h.violate("%s %s: %d %.300s", q.method, q.path, r.status, r.text)
			return reply{}
		}
		if action != "" {
			if target == "" {
				target = r.str("id")
			}
			h.note(action, target, r)
		}
		return r
	}
	h.violate("%s %s was answered 503 %d times", q.method, q.path, tries)
	return reply{}
}

// tries is how often a client sends a request to get a sure answer. With the pauses, all tries take at least 7.8 s. For some seconds the
// issuer's keys cannot be read: then every token is answered 503 at once.
const tries = 40

// pause waits after a try without a sure answer. The second try follows at once.
func pause(try int) { time.Sleep(time.Duration(10*try) * time.Millisecond) }

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// text returns n characters that follow from the seed and the order of calls.
func (h *history) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(letters[h.chance(len(letters))])
	}
	return b.String()
}

// org makes an org as the service. more is JSON to add to the request, such as an admin.
func (h *history) org(more string) string {
	id := h.must(request{method: "POST", path: "/v1/orgs", bearer: h.billing, body: `{"name":"Acme"` + more + `}`}, "org.created", "").str("id")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.orgs = append(h.orgs, id)
	return id
}

// app returns the id of a key's app.
func (h *history) app(key string) string {
	app, _ := h.must(request{method: "POST", path: "/app/get", bearer: key, body: "{}"}, "", "").body["app"].(map[string]any)
	id, _ := app["id"].(string)
	return id
}

// key makes an API key.
func (h *history) key(org, body string) (id, key string) {
	r := h.must(request{method: "POST", path: "/v1/orgs/" + org + "/keys", bearer: h.billing, body: body}, "key.created", "")
	return r.str("id"), r.str("key")
}
