// Package standin plays the part of AWS that `make deploy` meets, on loopback, for
// tests: STS, CloudFormation's stacks and change sets, the bucket that the SAM CLI
// uploads to, Lambda's settings and calls of the rotation, and the deployed API. It
// deploys nothing: what a stack consists of is its template's text and parameters. Lead
// makes it the front of a stack that runs elsewhere.
package standin

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Account is the account that every credential is of.
const Account = "123456789012"

// Standin is a running stand-in. AWS_ENDPOINT_URL leads clients to its URL.
type Standin struct {
	URL    string
	server *httptest.Server

	mu      sync.Mutex
	faults  Faults
	calls   []string
	regions map[string]bool
	stacks  map[string]*Stack
	objects map[string][]byte // by bucket/key
	rotated map[string]bool   // by stack
	clock   int
	live    *Live // nil: nothing is deployed
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	Refuse      map[string]string // by a call (cloudformation:CreateChangeSet), the message it is refused with, but for the bucket's stack
	ChangeSet   string            // why every change set of a stack of Latchkey fails
	Execution   string            // why a resource of the template fails
	Rotations   []string          // with what the next calls of the rotation fail
	NoKey       bool              // the rotation makes no key
	KeyAtOnce   bool              // there is one before the rotation
	Answers     map[string]int    // by path, the status that the API answers instead
	Concurrency int               // of the account; 0: 1000
}

// Start starts a stand-in.
func Start() *Standin {
	s := &Standin{regions: map[string]bool{}, stacks: map[string]*Stack{}, objects: map[string][]byte{}, rotated: map[string]bool{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.server.URL
	return s
}

// Close ends it.
func (s *Standin) Close() { s.server.Close() }

// Set changes what goes wrong.
func (s *Standin) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Calls lists, once each, the calls so far, as a policy names them.
func (s *Standin) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := slices.Clone(s.calls)
	slices.Sort(calls)
	return slices.Compact(calls)
}

// Regions lists the regions that calls were signed for.
func (s *Standin) Regions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.regions))
}

// Stack returns a copy of a stack; nil is none.
func (s *Standin) Stack(name string) *Stack {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.stacks[name]
	if !ok {
		return nil
	}
	clone := *found
	clone.Parameters = maps.Clone(found.Parameters)
	return &clone
}

// Put puts a stack there as if it had been deployed.
func (s *Standin) Put(name, status string, parameters map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stacks[name] = &Stack{Name: name, Status: status, Parameters: maps.Clone(parameters)}
}

// scope is what a signature names: the region and the service.
var scope = regexp.MustCompile(`Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request`)

// serve tells AWS's services apart by the signature. What has none is for the API.
func (s *Standin) serve(w http.ResponseWriter, r *http.Request) {
	found := scope.FindStringSubmatch(r.Header.Get("Authorization"))
	if found != nil && s.live != nil && s.serveLive(w, r, found[2]) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found == nil {
		s.serveAPI(w, r)
		return
	}
	s.regions[found[1]] = true
	switch service := found[2]; service {
	case "sts", "cloudformation":
		s.serveQuery(w, r, service)
	case "s3":
		s.serveS3(w, r)
	case "lambda":
		s.serveLambda(w, r)
	default:
		http.Error(w, "the stand-in has no service "+service, http.StatusNotImplemented)
	}
}

// noted records a call, and gives the message it is to be refused with; "" is none.
func (s *Standin) noted(call string) string {
	s.calls = append(s.calls, call)
	return s.faults.Refuse[call]
}

// serveAPI answers as the deployed API would that has no credential.
func (s *Standin) serveAPI(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	path = "/" + path
	status, body := http.StatusNotFound, `{"code":"route_not_found"}`
	switch path {
	case "/.well-known/jwks.json":
		status, body = http.StatusOK, `{"keys":[]}`
		if (s.rotated[name] || s.faults.KeyAtOnce) && !s.faults.NoKey {
			body = `{"keys":[{"kid":"one"}]}`
		}
	case "/v1/orgs":
		status, body = http.StatusUnauthorized, `{"code":"missing_credentials"}`
	}
	if other, ok := s.faults.Answers[path]; ok {
		status = other
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a client that went away is no matter
}
