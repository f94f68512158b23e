package forwardauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/forwardauth"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// escaped encodes the underscore of a key: some OAuth clients encode every byte that is neither a letter nor a digit (RFC 6749,
// 2.3.1). A key has no other such byte.
func escaped(key string) string { return strings.ReplaceAll(key, "_", "%5F") }

// TestAnOAuthClientIntrospectsWithItsSecret: the secret is an API key, sent with Basic authentication or in the form.
func TestAnOAuthClientIntrospectsWithItsSecret(t *testing.T) {
	key, _, h := door(t)
	// post sends a form to /introspect. change may add authentication to the request.
	post := func(change func(*http.Request), form url.Values) (int, string) {
		r := httptest.NewRequest("POST", "/introspect", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", formType)
		change(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	noHeader := func(*http.Request) {}
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	token := url.Values{"token": {key}}
	tokenAndSecret := url.Values{"token": {key}, "client_id": {"x"}, "client_secret": {key}}
	for name, c := range map[string]struct {
		change func(*http.Request)
		form   url.Values
		status int
		want   string // a part of the body
	}{
		"an encoded secret":   {basic("gate%3Away", escaped(key)), token, 200, `"active":true`},
		"a plain secret":      {basic("gateway", key), token, 200, `"active":true`},
		"client_secret_post":  {noHeader, tokenAndSecret, 200, `"active":true`},
		"an empty secret":     {noHeader, url.Values{"token": {key}, "client_secret": {""}}, 401, `"error":"invalid_client"`},
		"two secrets":         {noHeader, url.Values{"token": {key}, "client_secret": {key, key}}, 400, `"error":"invalid_request"`},
		"two methods":         {basic("x", key), tokenAndSecret, 400, `"error":"invalid_request"`},
		"a broken encoding":   {basic("x", "%zz"), token, 401, `"error":"invalid_client"`},
		"a client id only":    {noHeader, url.Values{"token": {key}, "client_id": {"x"}}, 401, `"error":"invalid_client"`},
		"a JWT as the secret": {noHeader, url.Values{"token": {key}, "client_secret": {authntest.JWT}}, 401, `"error":"invalid_client"`},
	} {
		if status, body := post(c.change, c.form); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// TestARequestWithoutTheProxysSecretReadsNothing: the answer is 503, and only the log shows the reason.
func TestARequestWithoutTheProxysSecretReadsNothing(t *testing.T) {
	key, table, _ := door(t)
	const current, old = "current-secret", "old-secret"
	h := forwardauth.New(guard.On(authn.New(table, &authntest.Tokens{})), table.Key.OrgID, current, old)
	// askWith sends a request with a valid credential and this secret of the proxy; "": without the header.
	askWith := func(method, path, secret string) *httptest.ResponseRecorder {
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
			w := askWith(method, path, wrong)
			namesSecret := strings.Contains(w.Body.String(), "ecret") // Secret or secret
			if w.Code != 503 || w.Header().Get("X-Latchkey-Code") != "unavailable" || table.Reads != 0 || namesSecret {
				t.Errorf("%s with %q: %d %s, %d reads", path, wrong, w.Code, w.Body, table.Reads)
			}
		}
	}
	out := logged(t)
	askWith("GET", "/authorize", "x")
	if !strings.Contains(out.String(), "authorizer_misconfigured") || strings.Contains(out.String(), current) {
		t.Errorf("the log: %s", out)
	}
	for _, good := range []string{current, old} {
		if w := askWith("GET", "/authorize", good); w.Code != 200 {
			t.Errorf("%s: %d", good, w.Code)
		}
		if w := askWith("POST", "/introspect", good); w.Code != 200 {
			t.Errorf("%s: %d", good, w.Code)
		}
	}
	// An empty secret is ignored, so the other one is still needed.
	h = forwardauth.New(guard.On(authn.New(table, nil)), "", old)
	if askWith("GET", "/authorize", "").Code != 503 || askWith("GET", "/authorize", old).Code != 200 {
		t.Error("with an empty first secret, no secret is needed")
	}
}

// TestAnUndecidedCheckIsCounted: Lambda counts no error for the 503 of a function URL, so the alarm needs a metric of the log. Errors that
// anyone can cause ring no alarm.
func TestAnUndecidedCheckIsCounted(t *testing.T) {
	key, table, _ := door(t)
	tokens := &authntest.Tokens{}
	h := forwardauth.New(guard.On(authn.New(table, tokens)), "")
	out := logged(t)
	members := "/authorize-member?org=" + string(table.Key.OrgID)
	for _, c := range []struct {
		target, credential string
		away, ofIssuer     error
		counted            bool
	}{
		{"/authorize", key, errors.New("the table is away"), nil, true},
		{members, authntest.JWT, nil, errors.New("the issuer is away"), true},
		{members, authntest.JWT, nil, problem.ErrAtWill, false},
		{"/authorize?org=x", key, nil, nil, false},
	} {
		table.Down, tokens.Err = c.away, c.ofIssuer
		out.Reset()
		w := ask(h, "GET", c.target, c.credential)
		if isCounted := strings.Contains(out.String(), `"ChecksFailed":1`); w.Code != 503 || isCounted != c.counted {
			t.Errorf("%s: %d, %s", c.target, w.Code, out)
		}
	}
}

// logged returns a buffer that gets all log lines until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	return &out
}

func TestARefusalsLineNamesTheProvedKeyAndTheProxysClient(t *testing.T) {
	key, table, h := door(t)
	out := logged(t)
	table.Key.Scopes = "a"
	for name, c := range map[string]struct {
		credential, client string // client: the address of the client that the proxy sends
		revokedAt          int64
		code, caller, ip   string // expected in the log line
	}{
		"revoked":         {key, "203.0.113.9", 1, "key_revoked", string(table.Key.ID), "203.0.113.9"},
		"another scope":   {key, "2001:db8::1", 0, "insufficient_scope", string(table.Key.ID), "2001:db8::1"},
		"an access token": {authntest.JWT, `"},x`, 0, "api_key_required", "", ""},
		"a zone in an IP": {"x", "fe80::1%forged", 0, "invalid_credentials", "", "fe80::1"},
		"no address":      {"x", "", 0, "invalid_credentials", "", ""},
	} {
		out.Reset()
		table.Key.RevokedAt = c.revokedAt
		r := httptest.NewRequest("GET", "/authorize?scope=b", nil)
		r.RemoteAddr = "192.0.2.1"
		r.Header.Set("Authorization", "Bearer "+c.credential)
		r.Header.Set("X-Latchkey-Client-Ip", c.client)
		h.ServeHTTP(httptest.NewRecorder(), r)
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Errorf("%s: %s, %v", name, out, err)
		}
		for field, want := range map[string]any{
			"msg": "refused", "code": c.code, "caller": c.caller, "clientIp": c.ip, "sourceIp": "192.0.2.1", "CredentialsRefused": 1.0,
		} {
			if line[field] != want {
				t.Errorf("%s: %s is %v, want %v", name, field, line[field], want)
			}
		}
		if line["_aws"] == nil {
			t.Errorf("%s: the line has no metric: %s", name, out)
		}
	}
	out.Reset()
	table.Key.RevokedAt = 1
	if introspect(t, h, key, url.Values{"token": {key}}, formType); !strings.Contains(out.String(), `"caller":"`+string(table.Key.ID)+`"`) {
		t.Errorf("a refused caller of /introspect: %s", out)
	}
}

func TestNoAnswerMayBeCached(t *testing.T) {
	key, table, h := door(t)
	table.Key.Scopes = "a"
	form := url.Values{"token": {key}}.Encode()
	seen := map[string]bool{} // whether the path is /introspect, and the status
	for _, c := range []struct {
		target, credential, body string
		status                   int
		down                     error // the error of the table
	}{
		{"/authorize", key, "", 200, nil},
		{"/authorize/any/path", key, "", 200, nil},
		{"/authorize", "", "", 401, nil},
		{"/authorize?scope=b", key, "", 403, nil},
		{"/authorize-member?org=" + string(table.Org), authntest.JWT, "", 200, nil},
		{"/authorize-member?role=admin&org=" + string(table.Org), authntest.JWT, "", 403, nil},
		{"/elsewhere", key, "", 404, nil},
		{"/authorize", key, "", 503, errors.New("boom")},
		{"/authorize?scopes=a", key, "", 503, nil},
		{"/introspect", key, form, 200, nil},
		{"/introspect", key, "token=x", 200, nil}, // active: false
		{"/introspect", key, "", 400, nil},
		{"/introspect", "x", form, 401, nil},
		{"/introspect", key, form, 503, errors.New("boom")},
	} {
		table.Down = c.down
		r := httptest.NewRequest("POST", c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", formType)
		if c.target == "/introspect" {
			r.SetBasicAuth("", c.credential)
		} else if c.credential != "" {
			r.Header.Set("Authorization", "Bearer "+c.credential)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Result().Header.Get("Cache-Control"); w.Code != c.status || got != "no-store" {
			t.Errorf("%s: %d, want %d; Cache-Control %q", c.target, w.Code, c.status, got)
		}
		seen[fmt.Sprint(c.target == "/introspect", w.Code)] = true
	}
	if len(seen) != 5+4 { // all statuses: five for proxies, four for introspection
		t.Errorf("the statuses %v", seen)
	}
	withSecret := forwardauth.New(guard.On(authn.New(table, nil)), "", "secret")
	if w := ask(withSecret, "GET", "/authorize", key); w.Code != 503 || w.Result().Header.Get("Cache-Control") != "no-store" {
		t.Errorf("without the proxy's secret: %d %q", w.Code, w.Result().Header.Get("Cache-Control"))
	}
}

func TestTwoAuthorizationHeadersAreRefused(t *testing.T) {
	key, table, h := door(t)
	for target, credential := range map[string]string{"/authorize": key, "/authorize-member?org=" + string(table.Org): authntest.JWT} {
		r := httptest.NewRequest("GET", target, nil)
		r.Header["Authorization"] = []string{"Bearer " + credential, "Bearer " + credential}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 401 || w.Header().Get("X-Latchkey-Code") != "invalid_credentials" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestIntrospectionIgnoresTheQuery(t *testing.T) {
	key, table, h := door(t)
	for name, c := range map[string]struct {
		query, password, body string // password: of Basic authentication
		status                int
		want                  string // a part of the answer
	}{
		"a token":        {"token=" + key, key, "", 400, `"error":"invalid_request"`},
		"a second token": {"token=" + key, key, "token=x", 200, `"active":false`},
		"a secret":       {"client_secret=" + key, "", "token=" + key, 401, `"error":"invalid_client"`},
		"an org":         {"org=" + string(table.Org), key, "token=" + authntest.JWT, 200, `"active":false`},
		"a broken query": {"a;b=%2", key, "token=" + key, 400, `"error":"invalid_request"`},
	} {
		r := httptest.NewRequest("POST", "/introspect?"+c.query, strings.NewReader(c.body))
		r.Header.Set("Content-Type", formType)
		if c.password != "" {
			r.SetBasicAuth("", c.password)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestIntrospectionFindsAnImportedKeyWithTheFormOfAToken: the text is looked up only if it is no good token, and only in a deployment
// that accepts imported keys.
func TestIntrospectionFindsAnImportedKeyWithTheFormOfAToken(t *testing.T) {
	const text = "SG.8fKq2Lx0ZrT5vNwB3mYcPd.x"
	key, table, _ := door(t)
	before, owner := table.Key, table.Key.OrgID
	noToken := &authntest.Tokens{Err: problem.New(problem.TokenInvalid, "no token")}
	for name, c := range map[string]struct {
		tokens  *authntest.Tokens
		accepts bool // imported keys
		kind    any  // of the principal; nil: the token is not active
		looked  int  // reads of imports
	}{
		"an imported key":             {noToken, true, "key", 1},
		"imported keys are off":       {noToken, false, nil, 0},
		"an access token of a member": {&authntest.Tokens{}, true, "user", 0},
		"an expired access token":     {&authntest.Tokens{Err: problem.New(problem.TokenExpired, "over")}, true, nil, 0},
	} {
		table.Looked, table.Key = 0, before
		a := authn.New(&importing{Table: table, hash: apikey.HashOf(text)}, c.tokens)
		if c.accepts {
			a.TakeImported(nil, 0)
		}
		status, body := introspect(t, forwardauth.New(guard.On(a), owner), key, url.Values{"token": {text}, "org": {string(table.Org)}}, formType)
		if isActive := c.kind != nil; status != 200 || body["active"] != isActive || body["kind"] != c.kind || table.Looked != c.looked {
			t.Errorf("%s: %d %v, looked up %d times", name, status, body, table.Looked)
		}
	}
}

// importing is a table to which its key was imported too, with another text.
type importing struct {
	*authntest.Table

	hash apikey.Hash // of the imported text
}

func (i *importing) Imported(_ context.Context, h apikey.Hash) (store.Imported, bool, error) {
	i.Looked++
	i.Key.Hash = h // from now on, the key has the imported text
	return store.Imported{Org: i.Key.OrgID, Key: i.Key.ID}, h == i.hash, nil
}

// slow is a table whose reads of keys are slow, and an issuer whose checks of tokens are slow.
type slow struct {
	*authntest.Table
	*authntest.Tokens
	delay time.Duration // of each call
}

func (s slow) wait(ctx context.Context) error {
	select {
	case <-time.After(s.delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slow) APIKey(ctx context.Context, o id.Org, k id.Key) (store.APIKey, bool, error) {
	if err := s.wait(ctx); err != nil {
		return store.APIKey{}, false, err
	}
	return s.Table.APIKey(ctx, o, k)
}

func (s slow) Verify(ctx context.Context, _ string) (accesstoken.Claims, error) {
	return accesstoken.Claims{}, s.wait(ctx)
}

// TestAnIntrospectionAfterTheTimeLimitIs503: the checks of the caller's key and of the token share one time limit.
func TestAnIntrospectionAfterTheTimeLimitIs503(t *testing.T) {
	key, table, _ := door(t)
	for name, form := range map[string]url.Values{
		"a key":           {"token": {key}},
		"an access token": {"token": {authntest.JWT}, "org": {string(table.Org)}},
	} {
		for delay, want := range map[time.Duration]int{
			guard.AnswersWithin/2 - time.Millisecond: 200,
			guard.AnswersWithin/2 + time.Millisecond: 503,
			time.Hour:                                503,
		} {
			synctest.Test(t, func(t *testing.T) {
				tableAndIssuer := slow{Table: table, delay: delay}
				h := forwardauth.New(guard.On(authn.New(tableAndIssuer, tableAndIssuer)), table.Key.OrgID)
				begun := time.Now()
				status, body := introspect(t, h, key, form, formType)
				_, hasAnswer := body["active"]
				if status != want || hasAnswer != (want == 200) || time.Since(begun) > guard.AnswersWithin {
					t.Errorf("%s, %s each: %d %v after %s", name, delay, status, body, time.Since(begun))
				}
			})
		}
	}
}
