// Package standin is a local replacement, for tests, for the services of AWS that `make deploy` uses: STS, IAM's policies,
// CloudFormation's stacks and change sets, the bucket for the SAM CLI's uploads, Lambda's settings and calls of the rotation, API
// Gateway's authorizers, and the deployed API. It deploys nothing: a stack is only a template's text and its parameters. With Lead
// it passes calls on to a stack that runs elsewhere.
package standin

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Account is the account of every credential.
const Account = "123456789012"
const region = "eu-central-1"                                    // of the deployments in tests
const restAPIs = "arn:aws:apigateway:" + region + "::/restapis/" // begins the ARN of a REST API; the API's id follows

// Standin is a running stand-in. With its URL in AWS_ENDPOINT_URL the clients of AWS call it.
type Standin struct {
	URL    string
	server *httptest.Server

	mu      sync.Mutex
	faults  Faults
	calls   map[string]bool
	regions map[string]bool
	stacks  map[string]*Stack
	objects map[string][]byte // by bucket/key
	markers map[string]bool   // delete markers, by bucket/key
	rotated map[string]bool   // by stack
	apis    []*API
	clock   int
	live    *Live               // nil: no stack runs
	tables  map[string]bool     // by name, the tables of deleted stacks; true: protected from deletion
	tags    map[string][]fields // by ARN, the tags of tables and keys
	keys    map[string]string   // by ARN, the stack of each signing key; "": the key's deletion is scheduled
	others  map[string]string   // by name, the resources of other people as Settle made them
	events  []string            // of all event buses
	unknown []string            // calls that the stand-in does not know

	// Deployed, if set, runs a stack that was deployed. Later calls go to the running stack. With an error the deployment fails.
	Deployed func(name string, parameters map[string]string) (*Live, error)
	// Echo is the URL of an API that answers with the event of the request. "": there is no such API.
	Echo string
	// Deleted, if set, ends the stack that Deployed runs.
	Deleted func(name string) error
}

// Faults are the faults to inject. The zero value injects none.
type Faults struct {
	Refuse       map[string]string // messages of refusals, by call (cloudformation:CreateChangeSet); not for the bucket's stack
	ChangeSet    string            // the reason why every change set of a stack of Latchkey fails
	Execution    string            // the reason why a resource of the template fails
	Undoing      string            // the reason why a deployment that failed cannot be undone
	Rotations    []string          // the errors of the next calls of the rotation
	NoKey        bool              // the rotation makes no key
	KeyAtOnce    bool              // there is a key before the rotation
	Answers      map[string]int    // wrong statuses of the API, by path, with " with a credential" after the path if the request has one
	Concurrency  int               // the account's Lambda concurrency; 0: 1000
	Others       []string          // before each of these calls (cloudformation:CreateChangeSet) another program makes a change set
	Swapped      bool              // that change set replaces the waiting one, under its name
	PolicyRoles  []string          // roles that have the stack's policy
	Certificate  string            // the status of every certificate; "": ISSUED
	NoSubscriber bool              // no one subscribes to any topic
	NoBus        bool              // there is no event bus
	BusLost      bool              // the event bus is deleted before the stack is made
	NoLogRole    bool              // API Gateway has no role to write logs
	Warm         string            // reads,writes that the table of a stack accepts at once; "": the deployed WarmThroughput, or a new table's
	WarmIndex    string            // the same for its index; "": as the table
}

// Start starts a stand-in.
func Start() *Standin {
	s := &Standin{calls: map[string]bool{}, regions: map[string]bool{}, stacks: map[string]*Stack{}, objects: map[string][]byte{}, markers: map[string]bool{}, rotated: map[string]bool{}, tables: map[string]bool{}, keys: map[string]string{}, tags: map[string][]fields{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.server.URL
	return s
}

// Close stops the stand-in.
func (s *Standin) Close() { s.server.Close() }

// Set replaces the faults.
func (s *Standin) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Calls returns the calls so far, each once, as a policy names them.
func (s *Standin) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.calls))
}

// Regions returns the regions that calls were signed for.
func (s *Standin) Regions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.regions))
}

// Stack returns a copy of a stack, or nil.
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

// Put adds a stack as if it had been deployed.
func (s *Standin) Put(name, status string, parameters map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stacks[name] = &Stack{Name: name, Status: status, Parameters: maps.Clone(parameters)}
}

// scope matches the scope of a signature: the region and the service.
var scope = regexp.MustCompile(`Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request`)

// serve finds the service by the request's signature. The deployed API gets a request without a signature.
func (s *Standin) serve(w http.ResponseWriter, r *http.Request) {
	found := scope.FindStringSubmatch(r.Header.Get("Authorization"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if found == nil && r.URL.Query().Has("X-Amz-Signature") {
		s.serveS3(w, r)
		return
	}
	if found == nil {
		s.serveAPI(w, r)
		return
	}
	region, service := found[1], found[2]
	if s.live != nil && s.live.Services[service] != "" {
		serveLive(w, r, s.live.Services[service])
		return
	}
	s.regions[region] = true
	switch service {
	case "sts", "cloudformation", "iam", "sns":
		s.serveQuery(w, r, service)
	case "s3":
		s.serveS3(w, r)
	case "sqs":
		s.serveQueue(w)
	case "acm":
		s.serveCertificates(w)
	case "events":
		s.serveBuses(w)
	case "dynamodb", "kms", "tagging":
		s.serveRetained(w, r)
	case "lambda":
		s.serveLambda(w, r)
	case "apigateway":
		s.serveGateway(w, r)
	default:
		s.unknown = append(s.unknown, "a call of "+service)
		http.Error(w, "the stand-in has no service "+service, http.StatusNotImplemented)
	}
}

// noted records a call. It returns the message of its refusal, or "".
func (s *Standin) noted(call string) string {
	s.calls[call] = true
	return s.faults.Refuse[call]
}

// serveAPI answers a request to the deployed API. It refuses every credential.
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
	case "/v1/orgs", "/app/get":
		status, body = http.StatusUnauthorized, `{"code":"missing_credentials"}`
	}
	if r.Header.Get("Authorization") != "" {
		path += " with a credential"
	}
	if other, ok := s.faults.Answers[path]; ok {
		status = other
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // an error means that the client has closed the connection
}

// fault is an error answer of AWS.
type fault struct{ code, message string }

func (f *fault) Error() string { return f.code + ": " + f.message }

func invalid(format string, a ...any) error {
	return &fault{"ValidationError", fmt.Sprintf(format, a...)}
}

// serveQuery answers a call of the query protocol: the request is a form, the answer is XML.
func (s *Standin) serveQuery(w http.ResponseWriter, r *http.Request, service string) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	action := r.Form.Get("Action")
	result, err := s.act(service, action, r.Form)
	w.Header().Set("Content-Type", "text/xml")
	if f, ok := err.(*fault); ok { //nolint:errorlint // actions do not wrap their errors
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse>%s<RequestId>r</RequestId></ErrorResponse>", element("Error", fields{{"Type", "Sender"}, {"Code", f.code}, {"Message", f.message}}))
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", action, result)
}

func (s *Standin) act(service, action string, in url.Values) (string, error) {
	if refused := s.noted(service + ":" + action); refused != "" && in.Get("StackName") != bucketStack {
		return "", &fault{"AccessDenied", refused}
	}
	if name := in.Get("StackName"); slices.Contains(s.faults.Others, service+":"+action) && name != bucketStack {
		s.intrude(name)
	}
	do, ok := s.actions()[action]
	if !ok {
		return "", &fault{"InvalidAction", "the stand-in has no " + action}
	}
	return do(in)
}

func (s *Standin) actions() map[string]func(url.Values) (string, error) {
	return map[string]func(url.Values) (string, error){
		"GetCallerIdentity":     s.getCallerIdentity,
		"DescribeStacks":        s.describeStacks,
		"DescribeStackEvents":   s.onStack(s.describeEvents),
		"ListStackResources":    s.onStack(s.listResources),
		"GetTemplate":           s.onStack(s.getTemplate),
		"GetTemplateSummary":    s.onStack(s.getTemplateSummary),
		"DeleteStack":           s.onStack(s.deleteStack),
		"CreateStack":           s.createStack,
		"CreateChangeSet":       s.createChangeSet,
		"DescribeChangeSet":     s.onStack(s.describeChangeSet),
		"ExecuteChangeSet":      s.onStack(s.executeChangeSet),
		"ListChangeSets":        s.onStack(s.listChangeSets),
		"DeleteChangeSet":       s.onStack(s.deleteChangeSet),
		"SetStackPolicy":        s.onStack(s.setStackPolicy),
		"GetStackPolicy":        s.onStack(s.getStackPolicy),
		"ListEntitiesForPolicy": s.listEntitiesForPolicy,
		"GetTopicAttributes":    s.getTopicAttributes,

		"UpdateTerminationProtection": s.onStack(s.updateTerminationProtection),
	}
}

func (s *Standin) getCallerIdentity(url.Values) (string, error) {
	return xml(fields{{"Arn", "arn:aws:iam::" + Account + ":user/ada"}, {"UserId", "AIDA"}, {"Account", Account}}), nil
}

func (s *Standin) listEntitiesForPolicy(url.Values) (string, error) {
	var roles []fields
	for _, name := range s.faults.PolicyRoles {
		roles = append(roles, fields{{"RoleName", name}, {"RoleId", "AROA"}})
	}
	return xml(fields{{"PolicyRoles", roles}, {"IsTruncated", "false"}}), nil
}

func (s *Standin) getTopicAttributes(url.Values) (string, error) {
	confirmed, pending := "1", "0"
	if s.faults.NoSubscriber {
		confirmed, pending = pending, confirmed
	}
	return xml(fields{{"Attributes", []entry{{"SubscriptionsConfirmed", confirmed}, {"SubscriptionsPending", pending}}}}), nil
}

// onStack returns an action that finds the stack by its name or its id, and then calls do.
func (s *Standin) onStack(do func(*Stack, url.Values) (string, error)) func(url.Values) (string, error) {
	return func(in url.Values) (string, error) {
		name := in.Get("StackName")
		for _, stack := range s.stacks {
			if stack.Name == name || stack.id() == name {
				return do(stack, in)
			}
		}
		return "", invalid("Stack with id %s does not exist", name)
	}
}

// field is an element of an answer. Its value is a text, fields or a list of fields.
type field struct {
	name  string
	value any
}

type fields []field

// entry is an entry of a map.
type entry struct{ key, value string }

func xml(all fields) string {
	var out strings.Builder
	for _, f := range all {
		out.WriteString(element(f.name, f.value))
	}
	return out.String()
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func element(name string, value any) string {
	var inner string
	switch v := value.(type) {
	case fields:
		inner = xml(v)
	case []fields:
		for _, member := range v {
			inner += element("member", member)
		}
	case []entry:
		for _, e := range v {
			inner += element("entry", fields{{"key", e.key}, {"value", e.value}})
		}
	default:
		inner = escape.Replace(fmt.Sprint(v))
	}
	return "<" + name + ">" + inner + "</" + name + ">"
}
