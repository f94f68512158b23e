package e2e_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pointers returns the errors of an answer, each as "pointer code".
func (r reply) pointers() string {
	var out []string
	for _, e := range r.list("errors") {
		pointer, _ := e["pointer"].(string)
		code, _ := e["code"].(string)
		out = append(out, pointer+" "+code)
	}
	return strings.Join(out, ", ")
}

// unknownNames sends unknown members and parameters. The answer must name them.
func unknownNames(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	_, key := ada.key(t, org, `{}`)
	for _, c := range []struct {
		call
		code, pointers string
	}{
		{call{method: "POST", path: "/v1/orgs", body: `{"title":"x"}`, bearer: ada.token}, "invalid_json", "/title unknown"},
		{call{method: "POST", path: "/link/get", body: `{"a/b~":"x"}`, bearer: key}, "invalid_json", "/a~1b~0 unknown"},
		{call{method: "GET", path: "/v1/orgs?page=2&Limit=1&limit=1", bearer: ada.token}, "unknown_parameter", "?Limit unknown, ?page unknown"},
		{call{method: "GET", path: "/v1/orgs/" + org + "?x", bearer: ada.token}, "unknown_parameter", "?x unknown"},
		{call{method: "POST", path: "/app/get?limit=1", bearer: key}, "unknown_parameter", "?limit unknown"},
	} {
		if r := tg.want(t, c.call, 400, c.code); r.pointers() != c.pointers {
			t.Errorf("%s %s: %s, want %s", c.method, c.path, r.pointers(), c.pointers)
		}
	}
	ada.want(t, "GET", "/v1/orgs?limit=1&limit=2", "", 422, "validation_failed")
	for _, path := range []string{"/.well-known/jwks.json?v=1&v=2", "/openapi.yaml?utm_source=x"} {
		tg.want(t, call{method: "GET", path: path}, 200, "")
	}
	both := `{"eventId":"evt_x","endpointId":"whe_x"}`
	if r := tg.want(t, call{method: "POST", path: "/webhook_delivery/list", body: both, bearer: key}, 422, "validation_failed"); r.pointers() != "/eventId conflict" {
		t.Errorf("both ids: %s", r.text)
	}
}

// plainText sends U+FFFD. It is refused unless it is escaped, because a gateway writes it for bytes that are not UTF-8.
func plainText(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	ada.want(t, "POST", "/v1/orgs", "{\"name\":\"a\uFFFDb\"}", 400, "invalid_json")
	if r := ada.want(t, "POST", "/v1/orgs", `{"name":"a\ufffdb"}`, 201, ""); r.str("name") != "a\uFFFDb" {
		t.Errorf("escaped: %s", r.text)
	}
	coded := call{method: "POST", path: "/v1/orgs", body: `{"name":"x"}`, bearer: ada.token, header: http.Header{"Content-Encoding": {"gzip"}}}
	tg.want(t, coded, 415, "unsupported_media_type")
}

// challenges checks the header WWW-Authenticate for missing, wrong and invalid credentials.
func challenges(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	_, key := ada.key(t, ada.org(t), `{}`)
	for _, c := range []struct{ sent, code, challenge string }{
		{"", "missing_credentials", "Bearer"},
		{"Basic YTpi", "invalid_credentials", "Bearer"},
		{"Bearer " + key[:len(key)-1], "invalid_credentials", `Bearer error="invalid_token"`},
		{"Bearer " + ada.token, "api_key_required", `Bearer error="invalid_token"`},
	} {
		request := call{method: "POST", path: "/app/get", header: http.Header{}}
		if c.sent != "" {
			request.header.Set("Authorization", c.sent)
		}
		if got := tg.want(t, request, 401, c.code).header.Get("WWW-Authenticate"); tg.name != "sam" && got != c.challenge {
			t.Errorf("%.12s: WWW-Authenticate %q, want %q", c.sent, got, c.challenge)
		}
	}
	twice := http.Header{"Authorization": {"Bearer " + key, "Bearer " + key}}
	if two := (call{method: "POST", path: "/app/get", header: twice}); tg.name == "deployed" {
		note(t, "TwoCredentials", "%s", shortly(tg.try(t.Context(), two)))
	} else {
		tg.want(t, two, 401, "invalid_credentials")
	}
	for _, spaces := range []string{"  ", "    "} {
		tg.want(t, call{method: "POST", path: "/app/get", header: http.Header{"Authorization": {"Bearer" + spaces + key}}}, 200, "")
	}
}

// publicReads reads the contract and the key set by GET and HEAD. It also reads the contract compressed, and with its ETag.
func publicReads(t *testing.T, tg *target) {
	for path, mediaType := range map[string]string{"/openapi.yaml": "application/yaml; charset=utf-8", "/.well-known/jwks.json": "application/json"} {
		get, head := tg.want(t, call{method: "GET", path: path}, 200, ""), tg.want(t, call{method: "HEAD", path: path}, 200, "")
		if head.text != "" || get.header.Get("Content-Type") != mediaType {
			t.Errorf("%s: %v; the answer to HEAD has a body of %d bytes", path, get.header, len(head.text))
		}
		for _, name := range []string{"Content-Type", "Cache-Control", "ETag"} {
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("HEAD %s: %s %q, want %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
		if got := head.header.Get("Content-Length"); tg.name == "deployed" {
			note(t, "HeadLength", "%q where GET has %d bytes", got, len(get.text))
		} else if got != strconv.Itoa(len(get.text)) {
			t.Errorf("HEAD %s: Content-Length %s, want %d", path, got, len(get.text))
		}
	}
	contract := tg.want(t, call{method: "GET", path: "/openapi.yaml"}, 200, "")
	if !strings.HasPrefix(contract.text, "openapi: 3.") || !strings.Contains(contract.text, "\n  /openapi.yaml:\n") {
		t.Errorf("the contract: %.100s", contract.text)
	}
	if got := contract.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("Access-Control-Allow-Origin %q", got)
	}
	if packed := tg.want(t, call{method: "GET", path: "/openapi.yaml", header: http.Header{"Accept-Encoding": {"gzip"}}}, 200, ""); tg.name != "sam" {
		unpacked, err := gzip.NewReader(strings.NewReader(packed.text))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(unpacked)
		if string(text) != contract.text || err != nil || packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("compressed: %d of %d bytes, %v %v", len(text), len(contract.text), packed.header, err)
		}
	}
	unchanged := http.Header{"If-None-Match": {contract.header.Get("ETag")}}
	if r := tg.want(t, call{method: "GET", path: "/openapi.yaml", header: unchanged}, 304, ""); r.text != "" {
		t.Errorf("the answer 304 has %d bytes", len(r.text))
	}
}

// spoiledBytes sends bytes that are not UTF-8. The gateway replaces them by U+FFFD, which the API refuses.
func spoiledBytes(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	for name, body := range map[string]string{"latin1": "{\"name\":\"Caf\xe9\"}", "half a character": "{\"name\":\"\xc3\"}", "surrogates": "{\"name\":\"\xed\xa0\x80\"}"} {
		if ada.want(t, "POST", "/v1/orgs", body, 400, "invalid_json"); t.Failed() {
			t.Fatal(name)
		}
	}
	gzipped := call{method: "POST", path: "/v1/orgs", body: "\x1f\x8b\x08\x00\xff", bearer: ada.token, header: http.Header{"Content-Encoding": {"gzip"}}}
	tg.want(t, gzipped, 415, "unsupported_media_type")
}

// headerLimit sends header lines of more than 10,240 bytes together. API Gateway's quotas name this
// limit, but not the answer; users report the text "HTTP header is larger than 10240 bytes." So the
// test logs AWS's answer. The local stack answers 431 (RFC 6585) with this text.
func headerLimit(t *testing.T, tg *target) {
	send := func(bytes int) reply {
		r, err := tg.try(t.Context(), call{method: "GET", path: "/.well-known/jwks.json", header: http.Header{"X-Filler": {strings.Repeat("a", bytes)}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := send(9_000); r.status != 200 {
		t.Errorf("9,000 bytes: %d %.200s", r.status, r.text)
	}
	r := send(10_240)
	t.Logf("header lines over 10,240 bytes are answered %d, %s, %.200q", r.status, r.header.Get("Content-Type"), r.text)
	switch r.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge, 494: // 494: nginx
	default:
		t.Errorf("header lines over 10,240 bytes: %d", r.status)
	}
	if tg.name == "local" && (r.status != http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(r.text, "10240 bytes")) {
		t.Errorf("the local stack: %d %q", r.status, r.text)
	}
}

// badInputs sends inputs that the contract refuses. The tests of package api have a longer list. These are the inputs
// that a gateway could change before the API gets them.
func badInputs(t *testing.T, tg *target) {
	ada, bob, eve := tg.person(t, "ada"), tg.person(t, "bob"), tg.person(t, "eve")
	org, foreign := ada.org(t), eve.org(t)
	ada.invite(t, org, bob, "viewer")
	member := "/v1/orgs/" + org + "/members/" + ada.userID(t, org, bob.email)
	keys := "/v1/orgs/" + org + "/keys"
	foreignKey, _ := eve.key(t, foreign, `{}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"PATCH", member, `{"role":"viewer","ROLE":"admin"}`, 400, "invalid_json"},
		{"PATCH", member, `{"role":"viewer","role":"admin"}`, 400, "invalid_json"},
		{"PATCH", member, `{"role":"viewer","x":1}`, 400, "invalid_json"},
		{"PATCH", member, `{"role":"viewer"} {}`, 400, "invalid_json"},
		{"PATCH", member, `null`, 400, "invalid_json"},
		{"PATCH", member, `{"role":1}`, 422, "validation_failed"},
		{"POST", "/v1/orgs", ``, 422, "validation_failed"},
		{"POST", "/v1/orgs", `{"name":"` + strings.Repeat("x", 17<<10) + `"}`, 413, "body_too_large"},
		{"POST", keys, `{"expiresIn":0}`, 422, "validation_failed"},
		{"POST", keys, `{"expiresIn":-1}`, 422, "validation_failed"},
		{"POST", keys, `{"expiresIn":1.5}`, 422, "validation_failed"},
		{"POST", keys, `{"expiresIn":"60"}`, 422, "validation_failed"},
		{"POST", keys, `{"expiresIn":9223372036854775808}`, 422, "validation_failed"}, // one more than an int64 holds
		{"GET", keys + "?limit=x", "", 422, "validation_failed"},
		{"GET", keys + "?cursor=%00", "", 400, "invalid_cursor"},
		{"DELETE", keys + "/" + foreignKey, "", 404, "key_not_found"},
		{"DELETE", keys + "/key_x", "", 404, "key_not_found"},
		{"GET", "/v1/orgs/" + foreign, "", 404, "org_not_found"},
		{"GET", "/v1/orgs/a%2Fb", "", 404, "org_not_found"},
		{"GET", "/v1/orgs/%00", "", 404, "org_not_found"},
		{"GET", "/v1/orgs/100%25", "", 404, "org_not_found"},
		{"GET", "/v1/orgs/%F0%9F%92%A9", "", 404, "org_not_found"},
	} {
		t.Run(c.method+" "+c.path[:min(len(c.path), 40)]+" "+c.body[:min(len(c.body), 30)], func(t *testing.T) {
			ada.want(t, c.method, c.path, c.body, c.status, c.code)
		})
	}
	tg.want(t, call{method: "POST", path: "/v1/orgs", body: `{"name":"x"}`, bearer: ada.token, contentType: "none"}, 415, "unsupported_media_type")
	tg.want(t, call{method: "POST", path: "/v1/orgs", body: `{"name":"x"}`, bearer: ada.token, contentType: "text/plain"}, 415, "unsupported_media_type")
	if l := bob.want(t, "GET", "/v1/orgs", "", 200, "").list("orgs"); len(l) != 1 || l[0]["role"] != "viewer" {
		t.Errorf("bob's role after all that: %v", l)
	}
}

var coordinate = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// verificationKey looks up each key of the key set by its kid, by GET, HEAD and POST, and then unknown and invalid kids.
func verificationKey(t *testing.T, tg *target) {
	set := tg.want(t, call{method: "GET", path: "/.well-known/jwks.json"}, 200, "").list("keys")
	if len(set) == 0 {
		t.Fatal("the key set is empty")
	}
	for _, k := range set {
		kid, _ := k["kid"].(string)
		path, body := "/webhook_verification_key/get", `{"kid":"`+kid+`"}`
		r := tg.want(t, call{method: "POST", path: path, body: body}, 200, "")
		if r.str("kid") != kid || r.str("kty") != "EC" || r.str("crv") != "P-256" || !coordinate.MatchString(r.str("x")) || !coordinate.MatchString(r.str("y")) {
			t.Errorf("key: %s", r.text)
		}
		byPath := tg.want(t, call{method: "GET", path: "/webhook_verification_key/" + kid + "?utm_source=x"}, 200, "")
		head := tg.want(t, call{method: "HEAD", path: "/webhook_verification_key/" + kid}, 200, "")
		if byPath.text != r.text || head.text != "" {
			t.Errorf("GET answers %s, HEAD %q, POST %s", byPath.text, head.text, r.text)
		}
		for _, each := range []reply{r, byPath, head} {
			if got := each.header.Get("Cache-Control"); got != "public, max-age=300" || each.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("Cache-Control %q, %v", got, each.header)
			}
		}
	}
	tg.want(t, call{method: "GET", path: "/webhook_verification_key/" + strings.Repeat("A", 43)}, 404, "unknown_kid")
	tg.want(t, call{method: "GET", path: "/webhook_verification_key/x"}, 400, "invalid_kid")
	tg.want(t, call{method: "GET", path: "/webhook_verification_key/get"}, 400, "invalid_kid") // a GET reads the last segment as a kid
	unknown := `{"kid":"` + strings.Repeat("A", 43) + `"}`
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: unknown}, 404, "unknown_kid")
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"x"}`}, 400, "invalid_kid")
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{}`}, 422, "validation_failed")
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"x","KID":"y"}`}, 400, "invalid_json")
}

// linkClaim sends claims with an unknown token, and with bad bodies.
func linkClaim(t *testing.T, tg *target) {
	unknown := `{"token":"lkt_nothing","claimKey":"0123456789abcdefghijkl"}`
	r := tg.want(t, call{method: "POST", path: "/link/claim", body: unknown}, 404, "link_not_found")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("Access-Control-Allow-Origin %q", got)
	}
	tg.want(t, call{method: "POST", path: "/link/claim", body: `{"token":"lkt_nothing","claimKey":"short"}`}, 422, "validation_failed")
	tg.want(t, call{method: "POST", path: "/link/claim", body: `{"token":"x","claimKey":"0123456789abcdefghijkl","x":1}`}, 400, "invalid_json")
	tg.want(t, call{method: "POST", path: "/link/claim", body: unknown, contentType: "none"}, 415, "unsupported_media_type")
	pre := tg.do(t, call{method: "OPTIONS", path: "/link/claim"})
	if pre.status != 204 || pre.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(pre.header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("preflight: %d %v", pre.status, pre.header)
	}
}

// revokedByText revokes a key by its text, and checks that other texts do not revoke it.
func revokedByText(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	key, other := ada.want(t, "POST", "/v1/orgs/"+org+"/keys", `{}`, 201, "").str("key"), ada.want(t, "POST", "/v1/orgs/"+org+"/keys", `{}`, 201, "").str("key")
	revoke := func(text string, status int, code string) {
		t.Helper()
		r := tg.want(t, call{method: "POST", path: "/key/revoke", body: `{"key":"` + text + `","source":"https://example.com/leaks"}`}, status, code)
		if got := r.header.Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("Access-Control-Allow-Origin %q", got)
		}
	}
	revoke(key[:len(key)-1], 422, "validation_failed")
	tg.want(t, call{method: "POST", path: "/app/get", body: "{}", bearer: key}, 200, "")
	for range 2 {
		revoke(key, 202, "")
		tg.want(t, call{method: "POST", path: "/app/get", body: "{}", bearer: key}, 401, "key_revoked")
	}
	tg.want(t, call{method: "POST", path: "/app/get", body: "{}", bearer: other}, 200, "")
	tg.want(t, call{method: "POST", path: "/v1/keys/find", body: `{"key":"` + other + `"}`, bearer: ada.token}, 403, "insufficient_role")
}
