package forwardauth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/forwardauth"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m) // no test leaves a goroutine
}

// door returns an API key, a table with this key, and a handler on that table. Every user is a member of the key's org. This
// org is also the owner's org.
func door(t *testing.T) (string, *authntest.Table, http.Handler) {
	t.Helper()
	key, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Member
	return key, table, forwardauth.New(guard.On(authn.New(table, &authntest.Tokens{})), table.Key.OrgID)
}

// ask sends a request; credential "": without the header Authorization. The returned recorder has only the
// headers that were sent.
func ask(h http.Handler, method, target, credential string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	sent := w.Result().Header // w.Header() also has headers that were set after the answer was sent
	clear(w.Header())
	maps.Copy(w.Header(), sent)
	return w
}

func TestA200HasEveryHeader(t *testing.T) {
	key, table, h := door(t)
	table.Key.Name, table.Key.Scopes, table.Key.Metadata = "Büro ~100%\n", "a:1 b", map[string]string{"plan": "ä"}
	table.Key.OrgState.Plan = "pro-2"
	ofKey := map[string]string{
		"V": "1", "Kind": "key", "Org-Id": string(table.Org), "App-Id": string(table.Key.AppID), "Key-Id": string(table.Key.ID), "Key-Prefix": table.Key.Prefix,
		"Key-Name": "B%C3%BCro ~100%25%0A", "Scopes": "a:1 b", "Metadata": base64.RawURLEncoding.EncodeToString([]byte(`{"plan":"ä"}`)),
		"Plan": "pro-2", "Expires-At": "", "User-Id": "", "Role": "", "Email": "", "Code": "", "Ratelimit-Policy": "", "Ratelimit": "",
	}
	ofUser := map[string]string{
		"V": "1", "Kind": "user", "Org-Id": string(table.Org), "User-Id": string(authntest.NewUser), "Role": "member",
		"App-Id": "", "Key-Id": "", "Key-Prefix": "", "Key-Name": "", "Scopes": "", "Metadata": "", "Expires-At": "", "Plan": "", "Email": "", "Code": "", "Ratelimit-Policy": "", "Ratelimit": "",
	}
	for _, c := range []struct {
		credential, target string
		want               map[string]string // headers without "X-Latchkey-"
	}{
		{key, "/authorize", ofKey},
		{key, "/authorize?scope=a:1&scope=b", ofKey},
		{key, "/authorize/any/path?scope=z&org=x", ofKey}, // Envoy appends the path and the query of its client
		{authntest.JWT, "/authorize-member?org=" + string(table.Org), ofUser},
		{authntest.JWT, "/authorize-member?role=member&org=" + string(table.Org), ofUser},
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PROPFIND"} {
			w := ask(h, method, c.target, c.credential)
			got := map[string]string{}
			for name, values := range w.Header() {
				if short, isOurs := strings.CutPrefix(name, "X-Latchkey-"); isOurs {
					got[short] = strings.Join(values, "|")
				}
			}
			if w.Code != http.StatusOK || !maps.Equal(got, c.want) {
				t.Errorf("%s %s: %d %v, want %v", method, c.target, w.Code, got, c.want)
			}
		}
	}
	names := slices.Sorted(maps.Keys(ofKey))
	listed := forwardauth.Headers()
	slices.Sort(listed)
	for i := range names {
		names[i] = "X-Latchkey-" + names[i]
	}
	if !slices.Equal(listed, names) {
		t.Errorf("the list of headers is %v", listed)
	}
}

func TestAuthorizeAnswersOnly200Or401Or403Or503(t *testing.T) {
	key, table, h := door(t)
	table.Key.Scopes = "a"
	o, token := string(table.Org), authntest.JWT
	for name, c := range map[string]struct {
		target, credential string // the key has only the scope a, the user is a member of o
		status             int
		code               problem.Code
	}{
		"no credential":            {"/authorize", "", 401, problem.MissingCredentials},
		"a token for a key":        {"/authorize", token, 401, problem.APIKeyRequired},
		"a token below /authorize": {"/authorize/x?org=" + o, token, 401, problem.APIKeyRequired},
		"a key for a token":        {"/authorize-member?org=" + o, key, 401, problem.UserTokenRequired},
		// A proxy may pass on the query of its client.
		"an org for a key": {"/authorize?org=" + o, token, 503, problem.Unavailable}, "the same with a slash": {"/authorize/?org=" + o, token, 401, problem.APIKeyRequired},
		"a scope with a slash":     {"/authorize/?scope=b&page=2", key, 403, problem.InsufficientScope},
		"an empty one with it":     {"/authorize/?scope=", key, 403, problem.InsufficientScope},
		"an impossible one too":    {"/authorize/?scope=A", key, 403, problem.InsufficientScope},
		"an unreadable one too":    {"/authorize/?scope=a;scope=b", key, 403, problem.InsufficientScope},
		"a scope no key can have":  {"/authorize?scope=A", key, 503, problem.Unavailable},
		"a scope the key lacks":    {"/authorize?scope=a&scope=b", key, 403, problem.InsufficientScope},
		"an empty scope":           {"/authorize?scope=", key, 503, problem.Unavailable},
		"a stronger role":          {"/authorize-member?role=admin&org=" + o, token, 403, problem.InsufficientRole},
		"another org":              {"/authorize-member?org=" + string(id.Source{}.NewOrg()), token, 403, problem.InsufficientRole},
		"an empty org":             {"/authorize-member?org=", token, 403, problem.InsufficientRole},
		"a role without an org":    {"/authorize-member?role=admin", token, 503, problem.Unavailable},
		"no such role":             {"/authorize-member?role=owner&org=" + o, token, 503, problem.Unavailable},
		"a second role":            {"/authorize-member?role=admin&org=" + o + "&role=viewer", token, 503, problem.Unavailable},
		"a second org":             {"/authorize-member?org=" + o + "&org=" + o, token, 503, problem.Unavailable},
		"a key's suspension":       {"/authorize?suspended=allow", key, 503, problem.Unavailable},
		"a suspension below":       {"/authorize/x?suspended=allow&org=" + o, token, 401, problem.APIKeyRequired},
		"another suspension":       {"/authorize-member?suspended=yes&org=" + o, token, 503, problem.Unavailable},
		"an empty suspension":      {"/authorize-member?suspended=&org=" + o, token, 503, problem.Unavailable},
		"two suspensions":          {"/authorize-member?suspended=allow&suspended=allow&org=" + o, token, 503, problem.Unavailable},
		"a scope and an org":       {"/authorize-member?scope=a&org=" + o, key, 503, problem.Unavailable},
		"an unknown parameter":     {"/authorize?scopes=a", key, 503, problem.Unavailable},
		"a query that is not one":  {"/authorize?scope=a&%zz", key, 503, problem.Unavailable},
		"a query with a semicolon": {"/authorize?scope=a;b", key, 503, problem.Unavailable},
	} {
		w := ask(h, "GET", c.target, c.credential)
		var body struct{ Code problem.Code }
		err := json.Unmarshal(w.Body.Bytes(), &body)
		got := problem.Code(w.Header().Get("X-Latchkey-Code"))
		if w.Code != c.status || err != nil || body.Code != c.code || got != c.code || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s %s, %v", name, w.Code, got, w.Body, err)
		}
		if w.Header().Get("X-Latchkey-Kind") != "" {
			t.Errorf("%s: a refusal with a principal", name)
		}
		if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (c.status == 401 || c.code == problem.InsufficientScope) {
			t.Errorf("%s: a %d with the challenge %q", name, c.status, challenge)
		}
	}
	// The configuration did not encode a # in the query, so the role is cut off.
	cut := httptest.NewRequest("GET", "/authorize-member?org="+o, nil)
	cut.URL.Fragment = "&role=admin"
	cut.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, cut)
	if w.Code != 503 {
		t.Errorf("a query that was cut: %d", w.Code)
	}
	for _, down := range []error{problem.New(problem.Unavailable, "x"), problem.New(problem.Internal, "x"), errors.New("boom")} {
		table.Down = down
		for target, credential := range map[string]string{"/authorize": key, "/authorize-member?org=" + o: token} {
			if w := ask(h, "GET", target, credential); w.Code != 503 {
				t.Errorf("%v: %d", down, w.Code)
			}
		}
	}
}

// twoKeys is a table with the keys of two tables.
type twoKeys struct {
	*authntest.Table
	other *authntest.Table
}

func (t twoKeys) APIKey(ctx context.Context, o id.Org, k id.Key) (store.APIKey, bool, error) {
	if o == t.other.Key.OrgID {
		return t.other.APIKey(ctx, o, k)
	}
	return t.Table.APIKey(ctx, o, k)
}

func TestASuspendedOrgIsRefusedAtTheDoor(t *testing.T) {
	key, table, h := door(t)
	other, asking := authntest.Minted(t) // other is the key of the program that introspects
	o := string(table.Org)
	table.IsSuspended, table.Key.Held = true, true
	for name, c := range map[string]struct {
		target, credential string
		status             int
		code               problem.Code
	}{
		"a key":             {"/authorize", key, 401, problem.KeySuspended},
		"a member":          {"/authorize-member?org=" + o, authntest.JWT, 403, problem.OrgSuspended},
		"a member, allowed": {"/authorize-member?org=" + o + "&suspended=allow", authntest.JWT, 200, ""},
		"a role, allowed":   {"/authorize-member?suspended=allow&role=member&org=" + o, authntest.JWT, 200, ""},
		"a stronger role":   {"/authorize-member?suspended=allow&role=admin&org=" + o, authntest.JWT, 403, problem.InsufficientRole},
	} {
		w := ask(h, "GET", c.target, c.credential)
		if got := problem.Code(w.Header().Get("X-Latchkey-Code")); w.Code != c.status || got != c.code {
			t.Errorf("%s: %d %s", name, w.Code, got)
		}
	}
	h = forwardauth.New(guard.On(authn.New(twoKeys{table, asking}, &authntest.Tokens{})), asking.Key.OrgID)
	for _, form := range []url.Values{{"token": {key}}, {"token": {authntest.JWT}, "org": {o}}} {
		if status, got := introspect(t, h, other, form, formType); status != 200 || len(got) != 1 || got["active"] != false {
			t.Errorf("introspection of %v: %d %v", form, status, got)
		}
	}
}

func TestAStoppedOrSignedOutPersonIsRefusedAtTheDoor(t *testing.T) {
	_, table, _ := door(t)
	other, asking := authntest.Minted(t)
	h := forwardauth.New(guard.On(authn.New(twoKeys{table, asking}, &authntest.Tokens{})), asking.Key.OrgID)
	for code, challenge := range map[string]string{
		"user_stopped": `Bearer error="invalid_token"`, "token_ended": `Bearer error="insufficient_user_authentication", max_age="0"`,
	} {
		table.Known = &store.Identity{UserID: authntest.NewUser, Stopped: code == "user_stopped", NotBefore: 1}
		w := ask(h, "GET", "/authorize-member?org="+string(table.Org), authntest.JWT)
		if w.Code != 401 || w.Header().Get("X-Latchkey-Code") != code || w.Header().Get("WWW-Authenticate") != challenge {
			t.Errorf("%s: %d %v", code, w.Code, w.Header())
		}
		if status, got := introspect(t, h, other, url.Values{"token": {authntest.JWT}, "org": {string(table.Org)}}, formType); status != 200 || got["active"] != false {
			t.Errorf("introspection, %s: %d %v", code, status, got)
		}
	}
}

func TestOtherPathsAre404(t *testing.T) {
	key, _, h := door(t)
	for _, c := range [][2]string{ // method and path
		{"GET", "/"}, {"GET", "/authorized"}, {"GET", "/authorize-member/x"},
		{"GET", "/x/authorize"}, {"GET", "/introspect"}, {"POST", "/introspect/x"},
	} {
		if w := ask(h, c[0], c[1], key); w.Code != 404 {
			t.Errorf("%s %s: %d", c[0], c[1], w.Code)
		}
	}
}

// introspect sends a form with Basic authentication; password "": without it. It returns the status and the JSON body.
func introspect(t *testing.T, h http.Handler, password string, form url.Values, contentType string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequest("POST", "/introspect", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", contentType)
	if password != "" {
		r.SetBasicAuth("latchkey", password)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	if err := json.NewDecoder(w.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return w.Code, body
}

const formType = "application/x-www-form-urlencoded"

func TestIntrospectionDescribesACredential(t *testing.T) {
	key, table, h := door(t)
	table.Key.Scopes, table.Key.ExpiresAt, table.Key.OrgState.Plan = "a b", 4_000_000_000_123, "pro"
	status, got := introspect(t, h, key, url.Values{"token": {key}, "token_type_hint": {"access_token"}}, formType)
	for name, want := range map[string]any{
		"active": true, "sub": string(table.Key.ID), "client_id": string(table.Key.AppID), "scope": "a b", "exp": 4e9, "token_type": "Bearer",
		"v": "1", "kind": "key", "orgId": string(table.Org), "metadata": "{}", "expiresAt": "4000000000123", "plan": "pro",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if status != 200 {
		t.Errorf("%d", status)
	}
	status, got = introspect(t, h, key, url.Values{"token": {authntest.JWT}, "org": {string(table.Org)}}, formType)
	if status != 200 || got["active"] != true || got["sub"] != string(authntest.NewUser) || got["role"] != "member" || got["scope"] != nil {
		t.Errorf("a user: %d %v", status, got)
	}
	for name, form := range map[string]url.Values{
		"not a key":       {"token": {"x"}},
		"two in one text": {"token": {key + " " + key}},
		"no org":          {"token": {authntest.JWT}},
		"another org":     {"token": {authntest.JWT}, "org": {string(id.Source{}.NewOrg())}},
		"not an org's id": {"token": {authntest.JWT}, "org": {"x"}},
	} {
		if status, got := introspect(t, h, key, form, formType); status != 200 || len(got) != 1 || got["active"] != false {
			t.Errorf("%s: %d %v", name, status, got)
		}
	}
	table.Key.Scopes = ""
	if _, got := introspect(t, h, key, url.Values{"token": {key}}, formType); got["scope"] != nil || got["active"] != true {
		t.Errorf("without scopes: %v", got)
	}
	for name, form := range map[string]url.Values{"no token": {}, "two tokens": {"token": {key, key}}} {
		if status, got := introspect(t, h, key, form, formType); status != 400 || got["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, got)
		}
	}
	if status, got := introspect(t, h, key, url.Values{"token": {key}}, "application/json"); status != 400 || got["error"] != "invalid_request" {
		t.Errorf("JSON: %d %v", status, got)
	}
	if status, got := introspect(t, h, key, url.Values{"token": {strings.Repeat("a", 20_000)}}, formType); status != 400 || got["error"] != "invalid_request" {
		t.Errorf("a large body: %d %v", status, got)
	}
}

// TestAServiceIsNotAUserAtTheDoor: even if its subject has a role.
func TestAServiceIsNotAUserAtTheDoor(t *testing.T) {
	key, table, _ := door(t)
	tokens := &authntest.Tokens{Claims: accesstoken.Claims{Service: "billing"}}
	h := forwardauth.New(guard.On(authn.New(table, tokens)), table.Key.OrgID)
	for _, query := range []string{"", "&role=viewer", "&role=admin"} {
		w := ask(h, "GET", "/authorize-member?org="+string(table.Org)+query, authntest.JWT)
		if w.Code != 403 || w.Header().Get("X-Latchkey-Code") != "insufficient_role" || w.Header().Get("X-Latchkey-Role") != "" {
			t.Errorf("%s: %d %v", query, w.Code, w.Header())
		}
	}
	status, got := introspect(t, h, key, url.Values{"token": {authntest.JWT}, "org": {string(table.Org)}}, formType)
	if status != 200 || len(got) != 1 || got["active"] != false {
		t.Errorf("introspection: %d %v", status, got)
	}
}

func TestOnlyKeysOfTheOwnersOrgIntrospect(t *testing.T) {
	key, table, h := door(t)
	table.Key.Scopes = "introspect latchkey.introspect" // a scope does not allow to introspect
	form := url.Values{"token": {key}}
	otherOwner := forwardauth.New(guard.On(authn.New(table, nil)), id.Source{}.NewOrg())
	noOwner := forwardauth.New(guard.On(authn.New(table, nil)), "")
	for name, c := range map[string]struct {
		h        http.Handler
		password string
		status   int
	}{
		"a key of another org": {otherOwner, key, 401},
		"no owner":             {noOwner, key, 401},
		"no password":          {h, "", 401},
		"not a key":            {h, "x", 401},
		"an access token":      {h, authntest.JWT, 401},
	} {
		if status, body := introspect(t, c.h, c.password, form, formType); status != c.status || body["active"] != nil || body["error"] != "invalid_client" {
			t.Errorf("%s: %d %v", name, status, body)
		}
	}
	table.Down = problem.New(problem.Unavailable, "x")
	if status, body := introspect(t, h, key, form, formType); status != 503 || body["active"] != nil || body["error"] != "temporarily_unavailable" {
		t.Errorf("database down: %d %v", status, body)
	}
}

// TestIntrospectionCountsNoRefusal: neither of the token nor of the caller.
func TestIntrospectionCountsNoRefusal(t *testing.T) {
	key, table, h := door(t)
	table.Key.RevokedAt = 1
	introspect(t, h, key, url.Values{"token": {key}}, formType)
	if table.Refused != (limit.Refusals{}) {
		t.Error(table.Refused)
	}
	if ask(h, "GET", "/authorize", key); table.Refused != (limit.Refusals{limit.Revoked: 1}) {
		t.Error(table.Refused)
	}
}

// FuzzThePathDecidesTheNeededCredential: with any path and query, a credential passes only if it meets their requirements. Without a
// credential, no request passes.
func FuzzThePathDecidesTheNeededCredential(f *testing.F) {
	for _, seed := range [][2]string{
		{"/authorize", ""}, {"/authorize", "scope=a&scope=a"}, {"/authorize/", "scope=b"}, {"/authorize/", "page=2&scope=a"}, {"/authorize/", "scope=b;%zz"}, {"/authorize/", "scopes=a"}, {"/authorize/", "Scope=a;b"}, {"/authorize", "scope=A"}, {"/authorize", "org=ORG"}, {"/authorize/x", "scope=b;%zz"},
		{"/authorize//", "scope=b"}, {"/authorize/../authorize-member", "org=ORG"}, {"/authorize-member", "org=ORG"}, {"/authorize-member", "org=ORG&role=viewer"}, {"/authorize-member", "org=ORG&role=admin"},
		{"/authorize-member", "org=ORG&org=ORG"}, {"/authorize-member", "role=viewer"}, {"/authorize-member/", "org=ORG"}, {"/authorize-members", ""}, {"/authorize-member", "org=ORG&scope=a"}, {"/authorize-member", "org=ORG&suspended=allow"}, {"/authorize-member", "org=ORG&suspended=x"}, {"/Authorize", ""}, {"//authorize", ""}, {"/authorize%2f", ""}, {"/introspect", ""}, {"", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		key, table, h := door(t)
		table.Key.Scopes = "a"
		query = strings.ReplaceAll(query, "ORG", string(table.Org))
		given, err := url.ParseQuery(query)
		only := func(name string, values ...string) bool { // reports whether all values of a parameter are in values
			return !slices.ContainsFunc(given[name], func(v string) bool { return !slices.Contains(values, v) })
		}
		inAnotherName := false
		for name := range given {
			inAnotherName = inAnotherName || name != "scope" && strings.Contains(strings.ToLower(name), "scope")
		}
		isBelow := strings.HasPrefix(path, "/authorize/") && path != "/authorize/"
		isKeys := path == "/authorize" && err == nil && only("scope", "a") && len(given) == min(1, len(given["scope"])) ||
			path == "/authorize/" && only("scope", "a") && !inAnotherName && (err == nil || !strings.Contains(strings.ToLower(query), "scope"))
		isMembers := path == "/authorize-member" && err == nil && only("org", string(table.Org)) && only("role", "member", "viewer") &&
			len(given["org"]) == 1 && len(given["role"]) <= 1 && only("suspended", "allow") && len(given["suspended"]) <= 1 && len(given) == 1+len(given["role"])+len(given["suspended"])
		for credential, want := range map[string]bool{key: isBelow || isKeys, authntest.JWT: isMembers, "": false} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				r := httptest.NewRequest(method, "/", nil)
				r.URL.Path, r.URL.RawQuery = path, query
				if credential != "" {
					r.Header.Set("Authorization", "Bearer "+credential)
				}
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); (w.Code == http.StatusOK) != want || !slices.Contains([]int{200, 400, 401, 403, 404, 503}, w.Code) {
					t.Errorf("%s %q %q with %.5q: %d", method, path, query, credential, w.Code)
				}
			}
		}
	})
}

// TestAClientOfEnvoyMayAskForTheRoot: Envoy appends the path and the query of its client to /authorize. A client must not be able to
// write that the proxy has a wrong configuration.
func TestAClientOfEnvoyMayAskForTheRoot(t *testing.T) {
	key, _, h := door(t)
	out := logged(t)
	for _, query := range []string{"", "page=2", "org=x&role=admin", "suspended=allow", "limited=5", "limited=403&limited=403", "a;b", "%zz", "q=%"} {
		for credential, want := range map[string]int{key: 200, "": 401} {
			if w := ask(h, "GET", "/authorize/?"+query, credential); w.Code != want {
				t.Errorf("%q with %.5q: %d, want %d", query, credential, w.Code, want)
			}
		}
	}
	for _, query := range []string{"scopes=invoices:read", "Scope=invoices:read", "page=2&SCOPE", "Scope=a%zz", "SCOPE=a;b"} { // a mistake of the configuration lets no key pass
		if w := ask(h, "GET", "/authorize/?"+query, key); w.Code != 403 {
			t.Errorf("%q: %d, want 403", query, w.Code)
		}
	}
	if strings.Contains(out.String(), "misconfigured") {
		t.Error(out)
	}
}

// TestAKeyOverItsLimitsGets429OrForNginx403: 403 only if the query has limited=403. Introspection spends nothing.
func TestAKeyOverItsLimitsGets429OrForNginx403(t *testing.T) {
	key, table, h := door(t)
	table.Key.Limits = "1/d"
	w := ask(h, "GET", "/authorize?limited=403", key)
	if w.Code != 200 || w.Header().Get("X-Latchkey-Ratelimit-Policy") != `"day";q=1;w=86400` || w.Header().Get("X-Latchkey-Ratelimit") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for target, status := range map[string]int{"/authorize": 429, "/authorize/": 429, "/authorize/x?limited=403": 429, "/authorize?limited=403": 403} {
		w := ask(h, "GET", target, key)
		if w.Code != status || w.Header().Get("X-Latchkey-Code") != "rate_limited" || w.Header().Get("Retry-After") == "" || w.Header().Get("RateLimit") != w.Header().Get("X-Latchkey-Ratelimit") {
			t.Errorf("%s: %d %v", target, w.Code, w.Header())
		}
	}
	table.Key.Limits, table.Key.OrgState.Allowance = "", "1/M"
	for _, want := range []string{"", "The org has used its allowance of 1 a month. The next one begins at "} {
		if w := ask(h, "GET", "/authorize", key); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	for _, query := range []string{"limited=", "limited=429", "limited=403&limited=403"} {
		if w := ask(h, "GET", "/authorize?"+query, key); w.Code != 503 {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	before := table.Leased
	body := url.Values{"token": {key}, "client_secret": {key}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/introspect", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	if h.ServeHTTP(answer, r); answer.Code != 200 || !strings.Contains(answer.Body.String(), `"active":true`) || table.Leased != before {
		t.Errorf("introspected: %d %s, %d leases", answer.Code, answer.Body, table.Leased-before)
	}
}
