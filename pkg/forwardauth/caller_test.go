package forwardauth_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/forwardauth"
	"latchkey/pkg/guard"
)

// escaped encodes every byte that is neither a letter nor a digit, as some OAuth clients do (RFC 6749, 2.3.1).
func escaped(key string) string { return strings.ReplaceAll(key, "_", "%5F") }

func TestAnOAuthClientIntrospectsByItsSecret(t *testing.T) {
	key, _, h := door(t)
	post := func(change func(*http.Request), form url.Values) (int, string) {
		r := httptest.NewRequest("POST", "/introspect", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", formType)
		change(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	bare := func(*http.Request) {}
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	token, both := url.Values{"token": {key}}, url.Values{"token": {key}, "client_id": {"x"}, "client_secret": {key}}
	for name, c := range map[string]struct {
		change func(*http.Request)
		form   url.Values
		status int
		want   string
	}{
		"an encoded secret":    {basic("gate%3Away", escaped(key)), token, 200, `"active":true`},
		"a plain secret":       {basic("gateway", key), token, 200, `"active":true`},
		"client_secret_post":   {bare, both, 200, `"active":true`},
		"an empty secret":      {bare, url.Values{"token": {key}, "client_secret": {""}}, 401, `"error":"invalid_client"`},
		"two secrets":          {bare, url.Values{"token": {key}, "client_secret": {key, key}}, 400, `"error":"invalid_request"`},
		"two methods":          {basic("x", key), both, 400, `"error":"invalid_request"`},
		"no such encoding":     {basic("x", "%zz"), token, 401, `"error":"invalid_client"`},
		"a client id only":     {bare, url.Values{"token": {key}, "client_id": {"x"}}, 401, `"error":"invalid_client"`},
		"a credential, no key": {bare, url.Values{"token": {key}, "client_secret": {authntest.JWT}}, 401, `"error":"invalid_client"`},
	} {
		if status, body := post(c.change, c.form); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestARequestWithoutTheProxiesSecretReadsNothing(t *testing.T) {
	key, f, _ := door(t)
	const current, old = "current-secret", "old-secret"
	h := forwardauth.New(guard.On(authn.New(f, &authntest.Tokens{})), f.Key.OrgID, current, old)
	ask := func(method, path, secret string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("token="+key))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", formType)
		if path == "/introspect" {
			r.SetBasicAuth("", key)
		}
		if secret != "" {
			r.Header.Set("X-Latchkey-Secret", secret)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, wrong := range []string{"", "x", current + "x", current[:5], current + "," + old} {
		for path, method := range map[string]string{"/authorize": "GET", "/authorize/x": "GET", "/authorize-member": "GET", "/introspect": "POST", "/x": "GET"} {
			w := ask(method, path, wrong)
			if w.Code != 503 || w.Header().Get("X-Latchkey-Code") != "unavailable" || f.Reads != 0 || strings.Contains(w.Body.String(), "ecret") {
				t.Errorf("%s with %q: %d %s, %d reads", path, wrong, w.Code, w.Body, f.Reads)
			}
		}
	}
	out := logged(t)
	ask("GET", "/authorize", "x")
	if !strings.Contains(out.String(), "authorizer_misconfigured") || strings.Contains(out.String(), current) {
		t.Errorf("the log: %s", out)
	}
	for _, good := range []string{current, old} {
		if w := ask("GET", "/authorize", good); w.Code != 200 {
			t.Errorf("%s: %d", good, w.Code)
		}
		if w := ask("POST", "/introspect", good); w.Code != 200 {
			t.Errorf("%s: %d", good, w.Code)
		}
	}
	h = forwardauth.New(guard.On(authn.New(f, nil)), "", "", old)
	if ask("GET", "/authorize", "").Code != 503 || ask("GET", "/authorize", old).Code != 200 {
		t.Error("an empty first secret opens the door")
	}
}

// logged returns what is logged from now on, until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	return &out
}

func TestARefusalsLineNamesTheProvedKeyAndTheProxysClient(t *testing.T) {
	key, f, h := door(t)
	out := logged(t)
	f.Key.Scopes = "a"
	for name, c := range map[string]struct {
		credential, client string
		revokedAt          int64
		code, caller, ip   string
	}{
		"revoked":          {key, "203.0.113.9", 1, "key_revoked", string(f.Key.ID), "203.0.113.9"},
		"another scope":    {key, "2001:db8::1", 0, "insufficient_scope", string(f.Key.ID), "2001:db8::1"},
		"another secret":   {authntest.JWT, `"},x`, 0, "api_key_required", "", ""},
		"a zone in an IP":  {"x", "fe80::1%forged", 0, "invalid_credentials", "", "fe80::1"},
		"no client's name": {"x", "", 0, "invalid_credentials", "", ""},
	} {
		out.Reset()
		f.Key.RevokedAt = c.revokedAt
		r := httptest.NewRequest("GET", "/authorize?scope=b", nil)
		r.RemoteAddr = "192.0.2.1"
		r.Header.Set("Authorization", "Bearer "+c.credential)
		r.Header.Set("X-Latchkey-Client-Ip", c.client)
		h.ServeHTTP(httptest.NewRecorder(), r)
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "refused" || line["code"] != c.code || line["caller"] != c.caller ||
			line["clientIp"] != c.ip || line["sourceIp"] != "192.0.2.1" || line["CredentialsRefused"] != 1.0 || line["_aws"] == nil {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	out.Reset()
	f.Key.RevokedAt = 1
	if introspect(t, h, key, url.Values{"token": {key}}, formType); !strings.Contains(out.String(), `"caller":"`+string(f.Key.ID)+`"`) {
		t.Errorf("a refused caller of /introspect: %s", out)
	}
}
