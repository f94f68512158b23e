package e2e_test

import (
	"regexp"
	"strings"
	"testing"
)

// badInputs sends inputs that the contract refuses through the gateway. The API's own tests have a
// longer list; these are the ones that a gateway could change.
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
		{"POST", keys, `{"expiresIn":9223372036854775808}`, 422, "validation_failed"},
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
			t.Errorf("by path %s, its head %q; posted %s", byPath.text, head.text, r.text)
		}
		for _, one := range []reply{r, byPath, head} {
			if got := one.header.Get("Cache-Control"); got != "public, max-age=300" || one.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("Cache-Control %q, %v", got, one.header)
			}
		}
	}
	tg.want(t, call{method: "GET", path: "/webhook_verification_key/" + strings.Repeat("A", 43)}, 404, "unknown_kid")
	tg.want(t, call{method: "GET", path: "/webhook_verification_key/x"}, 400, "invalid_kid")
	tg.want(t, call{method: "GET", path: "/webhook_verification_key/get"}, 400, "invalid_kid") // to GET, get is a kid too
	unknown := `{"kid":"` + strings.Repeat("A", 43) + `"}`
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: unknown}, 404, "unknown_kid")
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"x"}`}, 400, "invalid_kid")
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{}`}, 422, "validation_failed")
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"x","KID":"y"}`}, 400, "invalid_json")
}

func linkClaim(t *testing.T, tg *target) {
	good := `{"token":"lkt_nothing","claimKey":"0123456789abcdefghijkl"}`
	r := tg.want(t, call{method: "POST", path: "/link/claim", body: good}, 404, "link_not_found")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("Access-Control-Allow-Origin %q", got)
	}
	tg.want(t, call{method: "POST", path: "/link/claim", body: `{"token":"lkt_nothing","claimKey":"short"}`}, 422, "validation_failed")
	tg.want(t, call{method: "POST", path: "/link/claim", body: `{"token":"x","claimKey":"0123456789abcdefghijkl","x":1}`}, 400, "invalid_json")
	tg.want(t, call{method: "POST", path: "/link/claim", body: good, contentType: "none"}, 415, "unsupported_media_type")
	pre := tg.do(t, call{method: "OPTIONS", path: "/link/claim"})
	if pre.status != 204 || pre.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(pre.header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("preflight: %d %v", pre.status, pre.header)
	}
}
