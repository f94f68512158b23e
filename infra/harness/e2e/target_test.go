// Package e2e_test has the end-to-end tests. The suite is a black-box test: it only needs a base
// URL and a command that prints an access token. TestLocal runs the suite on the stack of `make
// run`, TestSAM on `sam local start-api`, and TestDeployed on BASE_URL with TOKEN_CMD. Other tests
// need a local stack: webhooks under load, killed functions, the costs, and the runbook's commands.
package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/harness/contract"
)

// loadContract reads infra/openapi.yaml once for all targets.
var loadContract = sync.OnceValues(contract.Load)

// target is an API that the suite runs on.
type target struct {
	name   string // local, sam or deployed
	url    string
	token  func(ctx context.Context, kind, email, name string) (string, error)
	client *http.Client
	run    string // a part of each email, so that no other run has the same users

	clients int // how many clients send requests at once in a storm

	mu  sync.Mutex
	met map[string]bool // the entries of samDifferences that occurred
}

func newTarget(name, url string, token func(ctx context.Context, kind, email, name string) (string, error)) *target {
	return &target{
		name: name, url: strings.TrimSuffix(url, "/"), token: token, run: strings.ToLower(rand.Text()[:8]), clients: 16,
		client: &http.Client{
			Timeout:       30 * time.Second,
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		met: map[string]bool{},
	}
}

// person is a user with an access token.
type person struct {
	tg    *target
	email string
	token string
}

// person returns a new user, who has not signed in yet.
func (tg *target) person(t *testing.T, name string) *person { return tg.kind(t, "", name) }

// kind returns a new user with a token of a kind of the local issuer, such as unverified, service
// or idtoken.
func (tg *target) kind(t *testing.T, kind, name string) *person {
	t.Helper()
	email := name + "-" + tg.run + "-" + strings.ToLower(rand.Text()[:6]) + "@example.com"
	token, err := tg.token(t.Context(), kind, email, name)
	if err != nil {
		t.Fatalf("no token for %s: %v", email, err)
	}
	return &person{tg, email, token}
}

// reply is a decoded answer.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (r reply) str(name string) string { s, _ := r.body[name].(string); return s }
func (r reply) code() string           { return r.str("code") }

// list returns the objects of a list in the body.
func (r reply) list(name string) []map[string]any {
	rows, _ := r.body[name].([]any)
	out := make([]map[string]any, 0, len(rows))
	for _, row := range rows {
		if m, ok := row.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// call is a request. With the body "" it has no body. The contentType "" means JSON if there is a body, and "none"
// means no header.
type call struct {
	method, path, body string
	bearer             string
	contentType        string
	header             http.Header
}

// do sends a request. It fails the test if there is no answer, or an answer that infra/openapi.yaml
// does not have. It does not check answers of SAM local, because some are not documented.
func (tg *target) do(t *testing.T, c call) reply {
	t.Helper()
	r, err := tg.try(t.Context(), c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	if err := tg.undocumented(c, r); err != nil {
		t.Error(err)
	}
	return r
}

// undocumented returns an error if the answer, or the body of an accepted request, differs from infra/openapi.yaml.
func (tg *target) undocumented(c call, r reply) error {
	if tg.name == "sam" {
		return nil
	}
	documented, err := loadContract()
	if err != nil {
		return err
	}
	err = documented.Check(c.method, c.path, r.status, r.header, []byte(r.text))
	if r.status >= http.StatusOK && r.status < http.StatusMultipleChoices {
		err = errors.Join(err, documented.CheckRequest(c.method, c.path, []byte(c.body)))
	}
	return err
}

// try sends a request, and returns its answer without a check. It returns an error if there is no answer.
func (tg *target) try(ctx context.Context, c call) (reply, error) {
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, tg.url+c.path, body)
	if err != nil {
		return reply{}, err
	}
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	switch {
	case c.contentType == "none":
	case c.contentType != "":
		req.Header.Set("Content-Type", c.contentType)
	case c.body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := tg.client.Do(req)
	for begun := time.Now(); tg.name == "deployed" && neverSent(err) && time.Since(begun) < time.Minute && ctx.Err() == nil; res, err = tg.client.Do(req) {
		time.Sleep(time.Second) // the name of a new API is not known everywhere yet
		req.Body = io.NopCloser(strings.NewReader(c.body))
	}
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	if len(text) > 0 {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&out.body); err != nil {
			out.body = nil // the body is not JSON, so later checks of it fail
		}
	}
	return out, nil
}

// neverSent reports whether a request failed before it was sent: the host's name was not found, or no server listened there.
func neverSent(err error) bool {
	var connection *net.OpError
	return errors.As(err, &connection) && connection.Op == "dial"
}

// do sends a request as the person.
func (p *person) do(t *testing.T, method, path, body string) reply {
	t.Helper()
	return p.tg.do(t, call{method: method, path: path, body: body, bearer: p.token})
}

// want sends a request as the person and checks the answer, as target.want does.
func (p *person) want(t *testing.T, method, path, body string, status int, code string) reply {
	t.Helper()
	return p.tg.want(t, call{method: method, path: path, body: body, bearer: p.token}, status, code)
}

// want sends a request and fails the test unless the answer has the status and the problem code ("" for a good
// answer). An answer with a code must also have the form of a problem.
func (tg *target) want(t *testing.T, c call, status int, code string) reply {
	t.Helper()
	r := tg.do(t, c)
	for begun := time.Now(); tg.name == "deployed" && r.status != status && isThrottle(r.status) && time.Since(begun) < time.Minute; r = tg.do(t, c) {
		t.Logf("%s %s: %d, the request is repeated: a small account runs few functions at once", c.method, c.path, r.status)
		time.Sleep(time.Second)
	}
	tg.check(t, c, r, status, code)
	return r
}

// isThrottle reports whether an answer may come from a throttle: 429 of the gateway, or 503, also of a function that may not run.
func isThrottle(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// check fails the test unless the answer has the status and the code, or is a known difference of the target.
func (tg *target) check(t *testing.T, c call, r reply, status int, code string) {
	t.Helper()
	if tg.differs(c, status, code, r) {
		return
	}
	if r.status != status || r.code() != code {
		t.Errorf("%s %s %.80q: %d %.300s, want %d %s", c.method, c.path, c.body, r.status, r.text, status, code)
		return
	}
	if code == "" {
		return
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("%s %s: content type %q", c.method, c.path, got)
	}
	for _, name := range []string{"type", "title", "detail", "requestId"} {
		if r.str(name) == "" {
			t.Errorf("%s %s: no %s in %s", c.method, c.path, name, r.text)
		}
	}
	if status == http.StatusServiceUnavailable && r.header.Get("Retry-After") == "" {
		t.Errorf("%s %s: a 503 without Retry-After", c.method, c.path)
	}
}

// key makes an API key and returns its id and its text.
func (p *person) key(t *testing.T, org, body string) (id, text string) {
	t.Helper()
	r := p.want(t, "POST", "/v1/orgs/"+org+"/keys", body, http.StatusCreated, "")
	return r.str("id"), r.str("key")
}

// org makes an org and returns its id.
func (p *person) org(t *testing.T) string {
	t.Helper()
	return p.want(t, "POST", "/v1/orgs", `{"name":"Acme"}`, http.StatusCreated, "").str("id")
}

// invite adds another person, who has signed in, to an org.
func (p *person) invite(t *testing.T, org string, other *person, role string) {
	t.Helper()
	other.want(t, "GET", "/v1/orgs", "", http.StatusOK, "")
	p.want(t, "POST", "/v1/orgs/"+org+"/members", `{"email":"`+other.email+`","role":"`+role+`"}`, http.StatusCreated, "")
}

// userID returns the id of a member.
func (p *person) userID(t *testing.T, org, email string) string {
	t.Helper()
	for _, m := range p.want(t, "GET", "/v1/orgs/"+org+"/members", "", http.StatusOK, "").list("members") {
		if m["email"] == email {
			id, _ := m["userId"].(string)
			return id
		}
	}
	t.Fatalf("%s is not a member of %s", email, org)
	return ""
}
