package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"latchkey/infra/harness/contract"
)

// exchange is a request and the answer that the client gets.
type exchange struct {
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
	orgs             = `{"orgs":[{"id":"org_1","name":"Acme","role":"admin","createdAt":1790000000000,"addedBy":null}]}`
	orgMissing       = `{"type":"urn:latchkey:problem:org_not_found","title":"No such org","status":404,"detail":"D.","code":"org_not_found","requestId":"r"}`
	noRoute          = `{"type":"urn:latchkey:problem:route_not_found","title":"No such route","status":404,"detail":"D.","code":"route_not_found","requestId":"r"}`
	event            = `{"id":"evt_1","type":"test","createdAt":1790000000000,"data":{"message":"M."}}`
	ownEvent         = `{"id":"evt_1","type":"invoice.paid","createdAt":1790000000000,"data":{"amount":5}}`
	events           = `{"events":[` + event + `],"nextCursor":"c"}`
	unknownParameter = `{"type":"urn:latchkey:problem:unknown_parameter","title":"The query has an unknown parameter","status":400,"detail":"D.","code":"unknown_parameter","requestId":"r","errors":[{"pointer":"?page","code":"unknown","message":"M."}]}`
	notJSON          = `{"type":"urn:latchkey:problem:invalid_json","title":"The body is not valid JSON","status":400,"detail":"D.","code":"invalid_json","requestId":"r"}`
	unknownMember    = `{"type":"urn:latchkey:problem:invalid_json","title":"The body is not valid JSON","status":400,"detail":"D.","code":"invalid_json","requestId":"r","errors":[{"pointer":"/x","code":"unknown","message":"M."}]}`
	delivery         = `{"deliveries":[{"eventId":"evt_1","endpointId":"whe_1","eventType":"test","status":"held","attempts":0,"nextAttemptAt":null,"deliveredAt":null,"createdAt":1790000000000,"lastAttempt":null,"endpointOrigin":null,"earlierAttempts":[]}]}`
	endpoints        = `{"endpoints":[{"id":"whe_1","url":"u","description":"","events":["*","invoice.*","link.*","a.b"],"enabled":true,"disabledReason":null,"disabledAt":null,"failingSince":null,"pausedUntil":null,"createdAt":1790000000000,"updatedAt":1790000000000,"createdByKey":"key_1","urlSetByKey":null}]}`
	invalid          = `{"type":"urn:latchkey:problem:validation_failed","title":"The input is not valid","status":422,"detail":"D.","code":"validation_failed","requestId":"r","errors":[{"pointer":"/name","code":"required","message":"M."}]}`
)

// answers returns documented answers by name.
func answers() map[string]exchange {
	anyOrigin := headers("application/problem+json")
	anyOrigin.Set("Access-Control-Allow-Origin", "*")
	all := map[string]exchange{
		"orgs":              {"GET", "/v1/orgs?limit=1", 200, headers("application/json"), orgs},
		"missing":           {"GET", "/v1/orgs/a%2Fb", 404, headers("application/problem+json"), orgMissing},
		"invalid":           {"POST", "/v1/orgs", 422, headers("application/problem+json"), invalid},
		"unknown parameter": {"GET", "/v1/orgs?page=1", 400, headers("application/problem+json"), unknownParameter},
		"not JSON":          {"POST", "/v1/orgs", 400, headers("application/problem+json"), notJSON},
		"unknown member":    {"POST", "/v1/orgs", 400, headers("application/problem+json"), unknownMember},
		"done":              {"DELETE", "/v1/orgs/o/keys/k", 204, headers(""), ""},
		"event":             {"POST", "/webhook_event/get", 200, headers("application/json"), event},
		"events":            {"POST", "/webhook_event/list", 200, headers("application/json"), events},
		"own event":         {"POST", "/webhook_event/get", 200, headers("application/json"), ownEvent},
		"delivery":          {"POST", "/webhook_delivery/list", 200, headers("application/json"), delivery},
		"endpoint":          {"POST", "/webhook_endpoint/list", 200, headers("application/json"), endpoints},
		"no route":          {"GET", "/nope", 404, anyOrigin, noRoute},
		"no such method":    {"PUT", "/v1/orgs", 404, anyOrigin, noRoute},
	}
	for name, s := range all {
		if s.body != "" {
			s.body += "\n"
			all[name] = s
		}
	}
	all["contract"] = exchange{"GET", "/openapi.yaml", 200, contractHeader("application/yaml; charset=utf-8"), "openapi: 3.0.3"}
	all["contract, its head"] = exchange{"HEAD", "/openapi.yaml", 200, contractHeader("application/yaml; charset=utf-8"), ""}
	all["contract, unchanged"] = exchange{"GET", "/openapi.yaml", 304, contractHeader(""), ""}
	return all
}

func contractHeader(contentType string) http.Header {
	h := headers(contentType)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", `W/"0123456789abcdef0123456789abcdef"`)
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

func (s exchange) check(c *contract.Contract) error {
	return c.Check(s.method, s.path, s.status, s.header, []byte(s.body))
}

func TestDocumentedAnswersAreAccepted(t *testing.T) {
	c := load(t)
	for name, s := range answers() {
		if err := s.check(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUndocumentedAnswersAreRefused changes good answers in one place.
func TestUndocumentedAnswersAreRefused(t *testing.T) {
	c := load(t)
	replace := func(old, changed string) func(*exchange) {
		return func(s *exchange) {
			if !strings.Contains(s.body, old) {
				panic("the body does not have " + old)
			}
			s.body = strings.Replace(s.body, old, changed, 1)
		}
	}
	for name, tc := range map[string]struct {
		answer  string // a name in answers
		spoil   func(*exchange)
		wantErr string // a part of the error
	}{
		"another status":                     {"orgs", func(s *exchange) { s.status = 201 }, "no answer 201"},
		"another status of an error":         {"missing", func(s *exchange) { s.status = 403 }, "status is 404"},
		"a member of another type":           {"orgs", replace(`1790000000000`, `"today"`), "createdAt"},
		"a time in seconds":                  {"orgs", replace(`1790000000000`, `1790000000`), "createdAt"},
		"an extra member":                    {"orgs", replace(`"name"`, `"colour":"x","name"`), "colour"},
		"an extra member next to the list":   {"orgs", replace(`{"orgs"`, `{"total":1,"orgs"`), "total"},
		"a missing member":                   {"orgs", replace(`"name":"Acme",`, ``), "name"},
		"null for a member":                  {"orgs", replace(`"Acme"`, `null`), "name"},
		"an unknown role":                    {"orgs", replace(`admin`, `owner`), "role"},
		"a charset of JSON":                  {"orgs", func(s *exchange) { s.header.Set("Content-Type", "application/json; charset=utf-8") }, "content type"},
		"a text without a charset":           {"contract", func(s *exchange) { s.header.Set("Content-Type", "application/yaml") }, "content type"},
		"another content type":               {"orgs", func(s *exchange) { s.header.Set("Content-Type", "text/html") }, "content type"},
		"a content type with a parameter":    {"orgs", func(s *exchange) { s.header.Set("Content-Type", "application/json; charset=utf-8") }, "content type"},
		"an error as plain JSON":             {"missing", func(s *exchange) { s.header.Set("Content-Type", "application/json") }, "content type"},
		"no Cache-Control":                   {"orgs", func(s *exchange) { s.header.Del("Cache-Control") }, "Cache-Control is missing"},
		"another Cache-Control":              {"orgs", func(s *exchange) { s.header.Set("Cache-Control", "max-age=60") }, "Cache-Control"},
		"a header twice":                     {"orgs", func(s *exchange) { s.header.Add("Cache-Control", "no-store") }, "2 times"},
		"no JSON":                            {"orgs", func(s *exchange) { s.body = "<html>" }, "not JSON"},
		"no newline at the end":              {"orgs", func(s *exchange) { s.body = strings.TrimSpace(s.body) }, "newline"},
		"no ETag":                            {"contract", func(s *exchange) { s.header.Del("ETag") }, "ETag is missing"},
		"the contract as JSON":               {"contract", func(s *exchange) { s.header.Set("Content-Type", "application/json") }, "content type"},
		"a body with a 304":                  {"contract, unchanged", func(s *exchange) { s.body = "x" }, "has a body"},
		"data after the JSON":                {"orgs", func(s *exchange) { s.body += "{}" }, "not JSON"},
		"no body":                            {"orgs", func(s *exchange) { s.body = "" }, "not JSON"},
		"a body of a 204":                    {"done", func(s *exchange) { s.body = "{}" }, "has a body"},
		"a code of another route":            {"missing", replace(`"code":"org_not_found"`, `"code":"key_not_found"`), "key_not_found"},
		"an unknown code":                    {"missing", replace(`"code":"org_not_found"`, `"code":"lost"`), "code"},
		"a code of another status":           {"missing", replace(`"code":"org_not_found"`, `"code":"internal"`), "internal"},
		"another title":                      {"missing", replace(`No such org`, `Not found`), "title"},
		"another type":                       {"missing", replace(`problem:org_not_found`, `problem:not_found`), "type"},
		"another status in the body":         {"missing", replace(`"status":404`, `"status":400`), "status is 400"},
		"no request id":                      {"missing", replace(`"requestId":"r"`, `"requestId":""`), "requestId"},
		"a cause, which is for the log":      {"missing", replace(`"detail"`, `"cause":"x","detail"`), "cause"},
		"validation_failed without errors":   {"invalid", replace(`,"errors":[{"pointer":"/name","code":"required","message":"M."}]`, ``), "0 errors"},
		"unknown_parameter without errors":   {"unknown parameter", replace(`,"errors":[{"pointer":"?page","code":"unknown","message":"M."}]`, ``), "0 errors"},
		"an unknown code of a pointer":       {"invalid", replace(`"required"`, `"odd"`), "code"},
		"errors of a code that has none":     {"missing", replace(`"requestId":"r"`, `"requestId":"r","errors":[{"pointer":"/x","code":"type","message":"M."}]`), "1 errors"},
		"an event without its data":          {"event", replace(`"message":"M."`, ``), "message"},
		"an extra member of an event's data": {"event", replace(`"message":"M."`, `"message":"M.","secret":"x"`), "secret"},
		"the data of another type":           {"event", replace(`"type":"test"`, `"type":"link.claimed"`), "the data of link.claimed"},
		"an unknown type of event":           {"event", replace(`"type":"test"`, `"type":"link.lost"`), "type"},
		"a bad event in a list":              {"events", replace(`"message"`, `"text"`), "the data of test"},
		"a malformed type of the owner":      {"own event", replace(`invoice.paid`, `Invoice.paid`), "type"},
		"an unknown status":                  {"delivery", replace(`"held"`, `"lost"`), "status"},
		"a malformed filter":                 {"endpoint", replace(`"*"`, `"**"`), "events"},
		"an unknown type in a delivery":      {"delivery", replace(`"test"`, `"tested"`), "eventType"},
		"an unknown route that answers":      {"no route", func(s *exchange) { s.status = 200 }, "no answer 200"},
		"an unknown route that is a 403":     {"no such method", func(s *exchange) { s.status = 403 }, "no answer 403"},
		"another code for an unknown route":  {"no route", func(s *exchange) { s.body = orgMissing + "\n" }, "org_not_found"},
		"route_not_found on a known route":   {"missing", func(s *exchange) { s.body = noRoute + "\n" }, "route_not_found"},
		// An empty parameter fits no route, so the only right code is route_not_found.
		"a path with an empty parameter": {"missing", func(s *exchange) { s.path = "/v1/orgs//keys" }, "org_not_found"},
		"a path that ends with a slash":  {"missing", func(s *exchange) { s.path = "/v1/orgs/" }, "no answer 404"}, // the list has this path
	} {
		s := answers()[tc.answer]
		tc.spoil(&s)
		err := s.check(c)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if !strings.Contains(err.Error(), tc.wantErr) {
			t.Errorf("%s: %v, want an error with %q", name, err, tc.wantErr)
		}
	}
}

func TestUndocumentedRequestBodiesAreRefused(t *testing.T) {
	c := load(t)
	for body, good := range map[string]bool{ // whether the document allows the body
		`{"name":"x"}`: true, `{"name":"  x "}`: true, ``: false, `{}`: false, `{"name":""}`: false, `{"name":7}`: false,
		`{"name":"x","x":1}`: false, `{"name":"` + strings.Repeat("x", 101) + `"}`: false, `x`: false,
	} {
		if err := c.CheckRequest("POST", "/v1/orgs", []byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, good := range map[string]bool{ // the document requires exactly one of eventId and endpointId
		`{"eventId":"e"}`: true, `{"endpointId":"w"}`: true, `{"endpointId":"w","eventId":null}`: true, `{"eventId":"e","endpointId":"w"}`: false,
	} {
		if err := c.CheckRequest("POST", "/webhook_delivery/list", []byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, good := range map[string]bool{ // the document does not allow both eventId and since
		`{"endpointId":"w","eventId":"e"}`: true, `{"endpointId":"w","since":5}`: true, `{"endpointId":"w","eventId":"e","since":null}`: true,
		`{"endpointId":"w","eventId":"e","since":5}`: false,
	} {
		if err := c.CheckRequest("POST", "/webhook_delivery/redeliver", []byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
	if err := c.CheckRequest("POST", "/v1/orgs/o/keys", nil); err != nil { // no member is required
		t.Error(err)
	}
	if c.CheckRequest("POST", "/nope", nil) == nil || c.Has("POST", "/nope") || !c.Has("GET", "/v1/orgs?limit=1") {
		t.Error("CheckRequest or Has: an unknown route is known, or a known one is not")
	}
}
