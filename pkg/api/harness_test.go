package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/api"
	"latchkey/pkg/id"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// TestMain reports a route without a handler once, so that the first test need not panic.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if missing := withoutHandler(); missing != "" {
		fmt.Println(missing)
		os.Exit(1)
	}
	servicetest.Main(m)
}

// withoutHandler returns a sentence about a route that no function serves; "": each route is served.
func withoutHandler() (missing string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			missing = fmt.Sprint(panicked)
		}
	}()
	functions := handlers(nil, nil, nil)
	for _, r := range route.All() {
		if functions[r.Function] == nil {
			return fmt.Sprintf("function %s of route %s is not among the tests' handlers", r.Function, r.Name())
		}
	}
	return ""
}

// handlers returns the handler of every function that serves HTTP, by the name of the function's folder. console is the
// template's parameter ConsoleOrigins.
func handlers(s *store.Store, queue *recordingQueue, console []string) map[string]http.Handler {
	return handlersFor(s, queue, console, settings{})
}

// settings are parameters of a deployment. Zero values switch them off.
type settings struct {
	maxAuthAge, maxKeyLife time.Duration
	consoleClient          string
	issuerDown             bool
	revocation             string // endpoint of the issuer
	maxKeyDays             int    // shown to the console
	rights                 route.Rights
	orgsBy                 string
	imports                bool                                                                               // imported keys are accepted
	leaks                  string                                                                             // the effect of a report of a leaked key; "": off
	prefix                 string                                                                             // the beginning of keys; "": lk
	gitHub                 func(ctx context.Context, identifier, signature string, body []byte) (bool, error) // nil: signedByGitHub
}

func handlersFor(s *store.Store, queue *recordingQueue, console []string, params settings) map[string]http.Handler {
	if params.gitHub == nil {
		params.gitHub = signedByGitHub
	}
	return map[string]http.Handler{
		"orgs": api.Orgs(s, console, params.rights, issuer, serviceSubjects, params.orgsBy == "services"), "deleteorg": api.DeleteOrg(s, console, params.rights, params.maxAuthAge), "members": api.Members(s, console, params.rights, params.maxAuthAge, issuer, serviceSubjects),
		"users": api.Users(s, console, params.rights, issuer),
		"keys":  api.Keys(s, cmp.Or(params.prefix, "lk"), params.imports, params.maxKeyLife, console, params.rights, params.maxAuthAge), "apps": api.Apps(s, "lk", console, params.rights),
		"webhookkeys": api.WebhookKeys(s, []byte(contractText), console), "links": api.Links(s, console, params.rights),
		"console":  consoleOf(params),
		"leaks":    api.Leaks(s, cmp.Or(params.leaks, "off"), params.gitHub, params.imports),
		"webhooks": api.Webhooks(s, outbound.NewGuard(nil).Refusal, queue, console, params.rights, params.maxAuthAge),
	}
}

// issuer signs the users' access tokens in these tests.
const issuer = "https://issuer.test"

// serviceSubjects are the subjects of the issuer's services in these tests.
var serviceSubjects = []string{"m2m@clients", "a-service"}

// contractText is the document that the API's own route serves in these tests.
const contractText = "openapi: 3.0.3\n"

// contract starts the program that checks answers against infra/openapi.yaml, once for all tests.
var contract = sync.OnceValues(func() (*servicetest.Service, error) { return servicetest.Start("check-answers") })

// server is the whole API behind net/http. The test sets the caller of a request: the authorizer has tests of its own.
type server struct {
	*storetest.Table
	queue *recordingQueue
	mux   *http.ServeMux
}

// recordingQueue is a queue that only records its messages.
type recordingQueue struct {
	mu       sync.Mutex
	messages []webhook.Message
	down     error // returned by each Send, which still records the message
}

func (w *recordingQueue) Send(_ context.Context, _ time.Duration, messages ...webhook.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, messages...)
	return w.down
}

func newServer(t *testing.T, console ...string) *server {
	t.Helper()
	return newServerFor(t, settings{}, console...)
}

// newServerFor returns a server of a deployment with these settings.
func newServerFor(t *testing.T, params settings, console ...string) *server {
	t.Helper()
	tb, queue := storetest.New(t), &recordingQueue{}
	functions := handlersFor(tb.Store, queue, console, params)
	tb.Faults.Next = roleCheck{t, tb.Name, tb.Faults.Next} // fails the test if a function makes a call that its role does not allow
	mux := http.NewServeMux()
	for _, r := range route.All() {
		mux.Handle(strings.Replace(r.Name(), "+}", "...}", 1), inFunction(r, functions[r.Function]))
	}
	return &server{Table: tb, queue: queue, mux: mux}
}

// beforeTransaction calls change right before a transaction. passed transactions come before it.
func (s *server) beforeTransaction(passed int, change func()) {
	for range passed {
		s.Faults.Before("TransactWriteItems", func() {})
	}
	s.Faults.Before("TransactWriteItems", change)
}

// reply is an answer, decoded.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// code returns the problem code of the answer, "" for an answer that is not an error.
func (r reply) code() string { s, _ := r.body["code"].(string); return s }

// str returns a text member of the body.
func (r reply) str(name string) string { s, _ := r.body[name].(string); return s }

// request is one call.
type request struct {
	as          *principal.Principal // the caller; nil: the request has no authorizer's context
	method      string
	path        string
	body        string
	contentType string // "" is application/json when there is a body; "none" sends no header
	header      map[string]string
}

// user returns a user who has just signed in.
func user(u id.User) *principal.Principal {
	return &principal.Principal{Kind: principal.User, UserID: u, SignedInAt: time.Now().Unix()}
}

// do sends a request, and checks the answer against infra/openapi.yaml.
func (s *server) do(t *testing.T, r request) reply {
	t.Helper()
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	req := httptest.NewRequestWithContext(context.Background(), r.method, "http://api.test"+r.path, body)
	switch {
	case r.contentType == "none":
	case r.contentType != "":
		req.Header.Set("Content-Type", r.contentType)
	case r.body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	ctx := problem.WithTrace(problem.WithRequestID(req.Context(), "request-1"), "trace-1")
	if r.as != nil {
		ctx = principal.NewContext(ctx, *r.as)
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, req.WithContext(ctx))
	checkContract(t, r, w)
	out := reply{status: w.Code, header: w.Header(), text: w.Body.String()}
	if w.Body.Len() > 0 && strings.HasSuffix(w.Header().Get("Content-Type"), "json") {
		d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
		d.UseNumber()
		var array []any // only the answer to a report of GitHub is an array
		into := map[bool]any{false: &out.body, true: &array}[r.path == leaksPath && w.Code == http.StatusOK]
		if err := d.Decode(into); err != nil {
			t.Fatalf("%s %s: the answer is not JSON: %q", r.method, r.path, out.text)
		}
	}
	return out
}

// checkContract checks the answer, and the body of a request that was accepted, against
// infra/openapi.yaml. It accepts any answer to a path without a route: on AWS, the gateway answers it.
func checkContract(t *testing.T, r request, w *httptest.ResponseRecorder) {
	t.Helper()
	service, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	var fault string
	if err := service.Ask(map[string]any{
		"method": r.method, "path": r.path, "request": []byte(r.body), "status": w.Code, "header": w.Header(), "body": w.Body.Bytes(),
	}, &fault); err != nil {
		t.Fatal(err)
	}
	if fault != "" {
		t.Error(fault)
	}
}

// want sends a request, and checks the status and the code of the answer.
func (s *server) want(t *testing.T, r request, status int, code problem.Code) reply {
	t.Helper()
	out := s.do(t, r)
	if out.status != status || out.code() != string(code) {
		t.Errorf("%s %s %.80q: %d %s, want %d %s\n%s", r.method, r.path, r.body, out.status, out.code(), status, code, out.text)
	}
	if code != "" {
		checkProblem(t, out)
	}
	return out
}

// checkProblem checks the form of an error answer.
func checkProblem(t *testing.T, r reply) {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	for _, name := range []string{"type", "title", "detail", "code", "requestId"} {
		if r.str(name) == "" {
			t.Errorf("%s is missing: %s", name, r.text)
		}
	}
	if n, _ := r.body["status"].(json.Number); n.String() != strconv.Itoa(r.status) {
		t.Errorf("status is missing: %s", r.text)
	}
}
