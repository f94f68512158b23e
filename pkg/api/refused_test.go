package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// fields returns the errors of an answer, as "pointer code".
func fields(r reply) (out []string) {
	list, _ := r.body["errors"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		pointer, _ := m["pointer"].(string)
		code, _ := m["code"].(string)
		out = append(out, pointer+" "+code)
	}
	return out
}

// TestAnUnknownMemberIsNamedByItsPointer: RFC 6901, section 3.
func TestAnUnknownMemberIsNamedByItsPointer(t *testing.T) {
	s := newServer(t)
	const token = `"token":"x","claimKey":"0123456789abcdefghijkl"`
	for body, want := range map[string]string{
		`{"x":1}`: "/x", `{"":1}`: "/", `{"a/b":1}`: "/a~1b", `{"m~n":1}`: "/m~0n", `{"~1":1}`: "/~01", `{"\u00e4":1}`: "/ä",
		`{"\"":1}`: `/"`, `{` + token + `,"device":{"a/b":1}}`: "/device/a~1b", `{"token":"x","y":1,"z":1}`: "/y",
	} {
		out := s.want(t, request{method: "POST", path: "/link/claim", body: body}, 400, problem.InvalidJSON)
		if got := strings.Join(fields(out), ", "); got != want+" unknown" {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for _, body := range []string{`[]`, `{"token":"x"}x`} {
		if out := s.want(t, request{method: "POST", path: "/link/claim", body: body}, 400, problem.InvalidJSON); fields(out) != nil {
			t.Errorf("%s: %v", body, fields(out))
		}
	}
}

// TestAnEscapedReplacementCharacterIsAccepted, because the client wrote the escape itself. The plain character is refused: API
// Gateway writes it in place of bytes that are not UTF-8.
func TestAnEscapedReplacementCharacterIsAccepted(t *testing.T) {
	s := newServer(t)
	ada := user(s.NewUser(t, "ada@example.com"))
	for _, escaped := range []string{`\ufffd`, `\uFFFD`} {
		out := s.want(t, request{as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"a` + escaped + `b"}`}, 201, "")
		if out.str("name") != "a\uFFFDb" {
			t.Errorf("%s: %q", escaped, out.str("name"))
		}
	}
}

// TestRoutesWithCredentialsRefuseUnknownParameters calls every route. The bodies are not JSON, which shows that the query is
// checked first.
func TestRoutesWithCredentialsRefuseUnknownParameters(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	before := len(w.Rows(t))
	for _, route := range route.All() {
		caller, body := user(w.byRole[org.Viewer]), `{"no":"JSON"`
		if route.Takes == principal.APIKey {
			caller = w.caller("key")
		}
		if route.Takes == principal.Public || route.Method == http.MethodGet {
			body = ""
		}
		r := w.request(route.Method, route.Pattern+"?b=1&Limit=2&b=2&a%26", caller, body)
		if route.Takes == principal.Public {
			if out := w.do(t, r); out.code() == string(problem.UnknownParameter) {
				t.Errorf("%s: %s", route.Name(), out.text)
			}
			continue
		}
		out := w.want(t, r, 400, problem.UnknownParameter)
		if got := strings.Join(fields(out), ", "); got != "?Limit unknown, ?a& unknown, ?b unknown" {
			t.Errorf("%s: %s", route.Name(), got)
		}
	}
	if after := len(w.Rows(t)); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
}

// TestARepeatedParameterIsRefused, because the server cannot know which value to use.
func TestARepeatedParameterIsRefused(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	next := url.QueryEscape(w.want(t, w.request("GET", "/v1/orgs/{orgId}/members?limit=1", ada, ""), 200, "").str("nextCursor"))
	for query, code := range map[string]problem.Code{
		"limit=1&limit=1": problem.ValidationFailed, "limit=1&limit=": problem.ValidationFailed, "cursor=" + next + "&cursor=" + next: problem.InvalidCursor,
	} {
		w.want(t, w.request("GET", "/v1/orgs/{orgId}/members?"+query, ada, ""), code.Status(), code)
	}
}

func TestABodyWithAContentCodingIsRefused(t *testing.T) {
	s := newServer(t)
	ada := user(s.NewUser(t, "ada@example.com"))
	for coding, status := range map[string]int{
		"gzip": 415, "GZIP": 415, "br": 415, "deflate": 415, "zstd": 415, "identity, gzip": 415, "identity": 201, "Identity": 201, "": 201, "identity, identity": 201, "identityidentity": 415,
	} {
		r := request{as: ada, method: "POST", path: "/v1/orgs", body: `{"name":"x"}`, header: map[string]string{"Content-Encoding": coding}}
		if out := s.do(t, r); out.status != status || status == 415 && out.code() != string(problem.UnsupportedMediaType) {
			t.Errorf("%q: %d %s", coding, out.status, out.text)
		}
	}
	// The first bytes of gzip data.
	gzipped := request{as: ada, method: "POST", path: "/v1/orgs", body: "\x1f\x8b\x08", header: map[string]string{"Content-Encoding": "gzip"}}
	s.want(t, gzipped, 415, problem.UnsupportedMediaType)
	s.want(t, request{as: ada, method: "GET", path: "/v1/orgs", header: map[string]string{"Content-Encoding": "gzip"}}, 200, "")
}

func TestMembersThatExcludeEachOtherConflict(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	const list, redeliver = "/webhook_delivery/list", "/webhook_delivery/redeliver"
	for _, c := range []struct{ path, body, want string }{
		{list, `{"eventId":"{eventId}","endpointId":"{endpointId}"}`, "/eventId conflict"},
		{list, `{"eventId":"x","endpointId":"x"}`, "/eventId conflict"},
		{list, `{}`, "/eventId required"},
		{list, `{"eventId":null,"endpointId":null}`, "/eventId required"},
		{redeliver, `{"endpointId":"{endpointId}","eventId":"{eventId}","since":1790000000000}`, "/eventId conflict"},
		{redeliver, `{"endpointId":"{endpointId}"}`, "/eventId required"},
		{redeliver, `{"eventId":"{eventId}"}`, "/endpointId required"},
	} {
		out := w.want(t, w.request("POST", c.path, w.caller("key"), c.body), 422, problem.ValidationFailed)
		if got := strings.Join(fields(out), ", "); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.path, c.body, got, c.want)
		}
	}
}

// TestTheLogOfARefusalNamesTheSourceAddress: only the log lines of refused requests (4xx) have the source address. It does not
// come from X-Forwarded-For, which any client can write. Each line names the request and its trace.
func TestTheLogOfARefusalNamesTheSourceAddress(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	w := newWorld(t, newServer(t), "")
	const from = "192.0.2.1:1234" // the RemoteAddr of requests of httptest
	for _, c := range []struct {
		as                    *principal.Principal
		method, pattern, body string
		status                int
		code                  problem.Code
		caller, source        string
	}{
		{user(w.byRole[org.Viewer]), "GET", "/v1/orgs/{orgId}/keys", "", 403, problem.InsufficientRole, string(w.byRole[org.Viewer]), from},
		{user(w.orgless), "GET", "/v1/orgs/{orgId}", "", 404, problem.OrgNotFound, string(w.orgless), from},
		{w.caller("none"), "GET", "/v1/orgs", "", 403, problem.IdentityIncomplete, "", from},
		{w.caller("key"), "POST", "/link/get", `{"linkId":"lnk_x"}`, 404, problem.LinkNotFound, string(w.key), from},
		{nil, "POST", "/link/claim", `{"token":"lkt_x","claimKey":"0123456789abcdefghijkl"}`, 404, problem.LinkNotFound, "", from},
		{user(w.byRole[org.Admin]), "GET", "/v1/orgs", "", 200, "", string(w.byRole[org.Admin]), ""},
		{nil, "GET", "/v1/orgs", "", 500, problem.Internal, "", ""}, // no authorizer was called: our fault, and not a fault of the caller
	} {
		out.Reset()
		r := w.request(c.method, c.pattern, c.as, c.body)
		r.header = map[string]string{"X-Forwarded-For": "198.51.100.1"}
		w.want(t, r, c.status, c.code)
		line := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		source, _ := line["sourceIp"].(string)
		code, _ := line["code"].(string)
		if line["requestId"] != "request-1" || line["trace"] != "trace-1" {
			t.Errorf("%s %s: %v", c.method, c.pattern, line)
		}
		if source != c.source || line["caller"] != c.caller || code != string(c.code) {
			t.Errorf("%s %s: %v", c.method, c.pattern, line)
		}
	}
}

// TestARefusalIsShortForAnyInput: it does not repeat long or many inputs. An answer over 6 MB would end the function's process.
func TestARefusalIsShortForAnyInput(t *testing.T) {
	s := newServer(t)
	stranger := user(s.NewUser(t, "stranger@example.com"))
	w := newWorld(t, s, "")
	w.connect(t)
	for _, r := range route.All() {
		if r.Method == http.MethodOptions {
			continue
		}
		as := stranger
		switch r.Takes {
		case principal.APIKey:
			as = w.caller("key")
		case principal.Public:
			as = nil
		case principal.UserToken:
		}
		long := strings.Repeat("<", max(r.MaxBody, route.DefaultMaxBody)-100)
		name, half := `{"`+long+`":1}`, long[len(long)/2:]
		bodies := []string{name, `{"a":{"` + half + `":1,"` + half + `":2}}`, `{"metadata":` + name + `}`, `{"events":[{"data":` + `{"` + half + `":1,"` + half + `":2}}]}`}
		if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodDelete {
			bodies = bodies[:1]
		}
		for _, body := range bodies {
			if out := s.do(t, w.request(r.Method, r.Pattern, as, body)); r.Method != http.MethodGet && len(out.text) > 16<<10 {
				t.Errorf("%s %.12s: %d with %d bytes", r.Name(), body, out.status, len(out.text))
			}
		}
		if r.Takes != principal.Public {
			q := w.request(r.Method, r.Pattern, as, "")
			q.path += "?" + strings.Repeat("%3C", 1000)
			for i := range 3000 {
				q.path += "&x" + strconv.Itoa(i)
			}
			if out := s.do(t, q); out.status != 400 || len(out.text) > 16<<10 {
				t.Errorf("%s with many parameters: %d with %d bytes", r.Name(), out.status, len(out.text))
			}
		}
	}
}

// TestARefusalDistinguishesRolesAndServices: another role does not help on a route of services.
func TestARefusalDistinguishesRolesAndServices(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	for _, c := range []struct{ role, path, body, detail string }{
		{"admin", publishPath, `{"events":[{"type":"invoice.paid","data":{}}]}`, "Only a service of the owner can do this."},
		{"viewer", keysOfOrg, `{}`, "Your role in this org does not allow this."},
	} {
		if out := w.want(t, w.request("POST", c.path, w.caller(c.role), c.body), 403, problem.InsufficientRole); !strings.Contains(out.text, c.detail) {
			t.Errorf("%s %s: %s", c.role, c.path, out.text)
		}
	}
}
