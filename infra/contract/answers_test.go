package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"latchkey/infra/contract"
)

// seen is an answer as a client gets it, and the request.
type seen struct {
	method, path string
	status       int
	header       http.Header
	body         string
}

func headers(contentType string) http.Header {
	h := http.Header{"Cache-Control": {"no-store"}}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return h
}

const (
	orgs       = `{"orgs":[{"id":"org_1","name":"Acme","role":"admin","createdAt":1790000000000,"addedBy":null}]}`
	orgMissing = `{"type":"urn:latchkey:problem:org_not_found","title":"No such org","status":404,"detail":"D.","code":"org_not_found","requestId":"r"}`
	noRoute    = `{"type":"urn:latchkey:problem:route_not_found","title":"No such route","status":404,"detail":"D.","code":"route_not_found","requestId":"r"}`
	event      = `{"id":"evt_1","type":"test","createdAt":1790000000000,"data":{"message":"M."}}`
	events     = `{"events":[` + event + `],"nextCursor":"c"}`
	unknown    = `{"type":"urn:latchkey:problem:unknown_parameter","title":"The query has an unknown parameter","status":400,"detail":"D.","code":"unknown_parameter","requestId":"r","errors":[{"pointer":"?page","code":"unknown","message":"M."}]}`
	notJSON    = `{"type":"urn:latchkey:problem:invalid_json","title":"The body is not valid JSON","status":400,"detail":"D.","code":"invalid_json","requestId":"r"}`
	member     = `{"type":"urn:latchkey:problem:invalid_json","title":"The body is not valid JSON","status":400,"detail":"D.","code":"invalid_json","requestId":"r","errors":[{"pointer":"/x","code":"unknown","message":"M."}]}`
	delivery   = `{"deliveries":[{"eventId":"evt_1","endpointId":"whe_1","eventType":"test","status":"held","attempts":0,"nextAttemptAt":null,"deliveredAt":null,"createdAt":1790000000000,"lastAttempt":null}]}`
	endpoints  = `{"endpoints":[{"id":"whe_1","url":"u","description":"","events":["*"],"enabled":true,"disabledReason":null,"disabledAt":null,"createdAt":1790000000000,"updatedAt":1790000000000,"createdByKey":"key_1","urlSetByKey":null}]}`
	invalid    = `{"type":"urn:latchkey:problem:validation_failed","title":"The input is not valid","status":422,"detail":"D.","code":"validation_failed","requestId":"r","errors":[{"pointer":"/name","code":"required","message":"M."}]}`
)

// answers returns documented answers by name.
func answers() map[string]seen {
	anyOrigin := headers("application/problem+json")
	anyOrigin.Set("Access-Control-Allow-Origin", "*")
	all := map[string]seen{
		"orgs":     {"GET", "/v1/orgs?limit=1", 200, headers("application/json"), orgs},
		"missing":  {"GET", "/v1/orgs/a%2Fb", 404, headers("application/problem+json"), orgMissing},
		"invalid":  {"POST", "/v1/orgs", 422, headers("application/problem+json"), invalid},
		"unknown":  {"GET", "/v1/orgs?page=1", 400, headers("application/problem+json"), unknown},
		"not JSON": {"POST", "/v1/orgs", 400, headers("application/problem+json"), notJSON},
		"member":   {"POST", "/v1/orgs", 400, headers("application/problem+json"), member},
		"done":     {"DELETE", "/v1/orgs/o/keys/k", 204, headers(""), ""},
		"event":    {"POST", "/webhook_event/get", 200, headers("application/json"), event},
		"events":   {"POST", "/webhook_event/list", 200, headers("application/json"), events},
		"delivery": {"POST", "/webhook_delivery/list", 200, headers("application/json"), delivery},
		"endpoint": {"POST", "/webhook_endpoint/list", 200, headers("application/json"), endpoints},
		"no route": {"GET", "/nope", 404, anyOrigin, noRoute},
		"method":   {"PUT", "/v1/orgs", 404, anyOrigin, noRoute},
	}
	for name, s := range all {
		if s.body != "" {
			s.body += "\n"
			all[name] = s
		}
	}
	all["contract"] = seen{"GET", "/openapi.yaml", 200, ofContract("application/yaml"), "openapi: 3.0.3"}
	all["contract, its head"] = seen{"HEAD", "/openapi.yaml", 200, ofContract("application/yaml"), ""}
	all["contract, unchanged"] = seen{"GET", "/openapi.yaml", 304, ofContract(""), ""}
	return all
}

func ofContract(contentType string) http.Header {
	h := headers(contentType)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", `"0123456789abcdef0123456789abcdef"`)
	h.Set("Access-Control-Allow-Origin", "*")
	return h
}

func load(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s seen) check(c *contract.Contract) error {
	return c.Check(s.method, s.path, s.status, s.header, []byte(s.body))
}

func TestAnAnswerAsDocumentedIsTaken(t *testing.T) {
	c := load(t)
	for name, s := range answers() {
		if err := s.check(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnAnswerThatIsNotDocumentedIsRefused spoils good answers in one place.
func TestAnAnswerThatIsNotDocumentedIsRefused(t *testing.T) {
	c := load(t)
	replace := func(old, changed string) func(*seen) {
		return func(s *seen) {
			if !strings.Contains(s.body, old) {
				panic("nothing to spoil: " + old)
			}
			s.body = strings.Replace(s.body, old, changed, 1)
		}
	}
	for name, f := range map[string]struct {
		of    string
		spoil func(*seen)
		says  string
	}{
		"another status":                  {"orgs", func(s *seen) { s.status = 201 }, "no answer 201"},
		"another status of an error":      {"missing", func(s *seen) { s.status = 403 }, "status is 404"},
		"a member of another type":        {"orgs", replace(`1790000000000`, `"today"`), "createdAt"},
		"a time in seconds":               {"orgs", replace(`1790000000000`, `1790000000`), "createdAt"},
		"an extra member":                 {"orgs", replace(`"name"`, `"plan":"x","name"`), "plan"},
		"an extra member beside the list": {"orgs", replace(`{"orgs"`, `{"total":1,"orgs"`), "total"},
		"a member that is not there":      {"orgs", replace(`"name":"Acme",`, ``), "name"},
		"null for a member":               {"orgs", replace(`"Acme"`, `null`), "name"},
		"a role that there is not":        {"orgs", replace(`admin`, `owner`), "role"},
		"another content type":            {"orgs", func(s *seen) { s.header.Set("Content-Type", "text/html") }, "content type"},
		"a content type with a parameter": {"orgs", func(s *seen) { s.header.Set("Content-Type", "application/json; charset=utf-8") }, "content type"},
		"an error as plain JSON":          {"missing", func(s *seen) { s.header.Set("Content-Type", "application/json") }, "content type"},
		"no Cache-Control":                {"orgs", func(s *seen) { s.header.Del("Cache-Control") }, "Cache-Control is missing"},
		"another Cache-Control":           {"orgs", func(s *seen) { s.header.Set("Cache-Control", "max-age=60") }, "Cache-Control"},
		"a header twice":                  {"orgs", func(s *seen) { s.header.Add("Cache-Control", "no-store") }, "2 times"},
		"no JSON":                         {"orgs", func(s *seen) { s.body = "<html>" }, "not JSON"},
		"no newline at the end":           {"orgs", func(s *seen) { s.body = strings.TrimSpace(s.body) }, "newline"},
		"no ETag":                         {"contract", func(s *seen) { s.header.Del("ETag") }, "ETag is missing"},
		"the contract as JSON":            {"contract", func(s *seen) { s.header.Set("Content-Type", "application/json") }, "content type"},
		"a body of what is unchanged":     {"contract, unchanged", func(s *seen) { s.body = "x" }, "has a body"},
		"data behind the JSON":            {"orgs", func(s *seen) { s.body += "{}" }, "not JSON"},
		"no body":                         {"orgs", func(s *seen) { s.body = "" }, "not JSON"},
		"a body where there is none":      {"done", func(s *seen) { s.body = "{}" }, "has a body"},
		"a code the route has not":        {"missing", replace(`"code":"org_not_found"`, `"code":"key_not_found"`), "key_not_found"},
		"a code that there is not":        {"missing", replace(`"code":"org_not_found"`, `"code":"lost"`), "code"},
		"a code of another status":        {"missing", replace(`"code":"org_not_found"`, `"code":"internal"`), "internal"},
		"another title":                   {"missing", replace(`No such org`, `Not found`), "title"},
		"another type":                    {"missing", replace(`problem:org_not_found`, `problem:not_found`), "type"},
		"another status in the body":      {"missing", replace(`"status":404`, `"status":400`), "status is 400"},
		"no request id":                   {"missing", replace(`"requestId":"r"`, `"requestId":""`), "requestId"},
		"a cause that slips out":          {"missing", replace(`"detail"`, `"cause":"x","detail"`), "cause"},
		"invalid without a pointer":       {"invalid", replace(`,"errors":[{"pointer":"/name","code":"required","message":"M."}]`, ``), "0 errors"},
		"a parameter without its name":    {"unknown", replace(`,"errors":[{"pointer":"?page","code":"unknown","message":"M."}]`, ``), "0 errors"},
		"a pointer's unknown code":        {"invalid", replace(`"required"`, `"odd"`), "code"},
		"errors where none belong":        {"missing", replace(`"requestId":"r"`, `"requestId":"r","errors":[{"pointer":"/x","code":"type","message":"M."}]`), "1 errors"},
		"an event without its data":       {"event", replace(`"message":"M."`, ``), "message"},
		"an extra member of its data":     {"event", replace(`"message":"M."`, `"message":"M.","secret":"x"`), "secret"},
		"the data of another type":        {"event", replace(`"type":"test"`, `"type":"link.claimed"`), "the data of link.claimed"},
		"a type of event there is not":    {"event", replace(`"type":"test"`, `"type":"link.lost"`), "type"},
		"an event of a list, its data":    {"events", replace(`"message"`, `"text"`), "the data of test"},
		"a status that there is not":      {"delivery", replace(`"held"`, `"lost"`), "status"},
		"a filter that there is not":      {"endpoint", replace(`"*"`, `"**"`), "events"},
		"an event's type in a delivery":   {"delivery", replace(`"test"`, `"tested"`), "eventType"},
		"an unknown route that answers":   {"no route", func(s *seen) { s.status = 200 }, "no answer 200"},
		"an unknown route that is a 403":  {"method", func(s *seen) { s.status = 403 }, "no answer 403"},
		"an unknown route's other code":   {"no route", func(s *seen) { s.body = orgMissing + "\n" }, "org_not_found"},
		"a known route as unknown":        {"missing", func(s *seen) { s.body = noRoute + "\n" }, "route_not_found"},
		"a path with an empty parameter":  {"missing", func(s *seen) { s.path = "/v1/orgs/" }, "org_not_found"},
	} {
		s := answers()[f.of]
		f.spoil(&s)
		err := s.check(c)
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if !strings.Contains(err.Error(), f.says) {
			t.Errorf("%s: %v; want it to say %q", name, err, f.says)
		}
	}
}

func TestAnAcceptedBodyThatIsNotDocumentedIsRefused(t *testing.T) {
	c := load(t)
	for body, good := range map[string]bool{
		`{"name":"x"}`: true, `{"name":"  x "}`: true, ``: false, `{}`: false, `{"name":""}`: false, `{"name":7}`: false,
		`{"name":"x","x":1}`: false, `{"name":"` + strings.Repeat("x", 101) + `"}`: false, `x`: false,
	} {
		if err := c.CheckRequest("POST", "/v1/orgs", []byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, good := range map[string]bool{
		`{"eventId":"e"}`: true, `{"endpointId":"w"}`: true, `{"endpointId":"w","eventId":null}`: true, `{"eventId":"e","endpointId":"w"}`: false,
	} {
		if err := c.CheckRequest("POST", "/webhook_delivery/list", []byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, good := range map[string]bool{
		`{"endpointId":"w","eventId":"e"}`: true, `{"endpointId":"w","since":5}`: true, `{"endpointId":"w","eventId":"e","since":null}`: true,
		`{"endpointId":"w","eventId":"e","since":5}`: false,
	} {
		if err := c.CheckRequest("POST", "/webhook_delivery/redeliver", []byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
	if err := c.CheckRequest("POST", "/v1/orgs/o/keys", nil); err != nil {
		t.Error(err)
	}
	if c.CheckRequest("POST", "/nope", nil) == nil || c.Has("POST", "/nope") || !c.Has("GET", "/v1/orgs?limit=1") {
		t.Error("routes are not what they are")
	}
}
