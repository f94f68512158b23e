package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/guard"
	"latchkey/pkg/guard/shared"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/service"
	"latchkey/pkg/store"
)

func TestThePrincipalOfAKeyHasTheDocumentedFields(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Name, table.Key.Scopes, table.Key.Metadata = "Büro <1>", "invoices:read invoices:write", map[string]string{"plan": "a&b", "a": "1"}
	table.Key.ExpiresAt, table.Key.OrgState.Plan = time.Now().Add(time.Hour).UnixMilli(), "pro-2"
	p, err := guard.On(authn.New(table, nil)).Key(context.Background(), []string{"Bearer " + key}, "invoices:read")
	if err != nil {
		t.Fatal(err)
	}
	expiry, _ := json.Marshal(table.Key.ExpiresAt) //nolint:errchkjson // a number
	want := map[string]string{
		"v": "1", "kind": "key", "orgId": string(table.Key.OrgID), "appId": string(table.Key.AppID), "keyId": string(table.Key.ID),
		"keyPrefix": table.Key.Prefix, "keyName": "Büro <1>", "scopes": "invoices:read invoices:write",
		"metadata": `{"a":"1","plan":"a&b"}`, "expiresAt": string(expiry), "plan": "pro-2",
	}
	if got := p.Fields(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if table.Reads != 1 || table.OrgRead != 0 || table.Noted != 1 || p.ID() != string(table.Key.ID) {
		t.Errorf("%d reads, %d notes, %s", table.Reads, table.Noted, p.ID())
	}
	table.Key.Scopes, table.Key.Metadata, table.Key.ExpiresAt, table.Key.OrgState.Plan = "", nil, 0, ""
	p, err = guard.On(authn.New(table, nil)).Key(context.Background(), []string{"Bearer " + key})
	plan, hasPlan := p.Fields()["plan"]
	if got := p.Fields(); err != nil || plan != "" || !hasPlan || got["scopes"] != "" || got["metadata"] != "{}" || got["expiresAt"] != "" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestASuspendedOrgsKeysAndMembersAreRefused(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole, table.IsSuspended = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Member, true
	table.Key.Held = true
	g, o := guard.On(authn.New(table, &authntest.Tokens{})), string(table.Org)
	for name, c := range map[string]struct {
		h          http.Handler
		credential string
		status     int
		answer     string
	}{
		"a key":                  {g.Handler(whoCalls), key, 401, "key_suspended"},
		"a member":               {g.Handler(whoCalls, guard.RequireRole("member")), authntest.JWT, 403, "org_suspended"},
		"a member, allowed":      {g.Handler(whoCalls, guard.RequireRole("member"), guard.AllowSuspended()), authntest.JWT, 200, string(authntest.NewUser)},
		"a weaker role":          {g.Handler(whoCalls, guard.RequireRole("admin")), authntest.JWT, 403, "insufficient_role"},
		"a weaker role, allowed": {g.Handler(whoCalls, guard.AllowSuspended(), guard.RequireRole("admin")), authntest.JWT, 403, "insufficient_role"},
		"OrgOf, allowed":         {g.Handler(whoCalls, guard.RequireRole("member"), guard.AllowSuspended(), guard.OrgOf(func(*http.Request) string { return o })), authntest.JWT, 200, string(authntest.NewUser)},
		"OrgOf, refused":         {g.Handler(whoCalls, guard.RequireRole("member"), guard.OrgOf(func(*http.Request) string { return o })), authntest.JWT, 403, "org_suspended"},
	} {
		if status, answer, _ := sendGet(t, c.h, o, c.credential); status != c.status || answer != c.answer {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	headers := []string{"Bearer " + authntest.JWT}
	if p, err := g.Member(t.Context(), headers, o, org.Member); !problem.Is(err, problem.OrgSuspended) || !reflect.DeepEqual(p, guard.Principal{}) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := g.Member(t.Context(), headers, o, org.Member, guard.AllowSuspended()); err != nil || p.OrgID != o {
		t.Errorf("allowed: %+v, %v", p, err)
	}
	check, path := shared.Member(g, "orgId"), map[string]string{"orgId": o}
	if _, _, err := check(t.Context(), headers, path, false); !problem.Is(err, problem.OrgSuspended) {
		t.Errorf("a shared authorizer: %v", err)
	}
	if _, fields, err := check(t.Context(), headers, path, true); err != nil || fields["orgId"] != o {
		t.Errorf("a shared authorizer, allowed: %v, %v", fields, err)
	}
}

// member returns an org, and a Guard for which every user has this role in the org and a proved email.
func member(t *testing.T, role org.Role) (*guard.Guard, id.Org) {
	t.Helper()
	_, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser, Email: "a@b.c", Verified: true, Holds: true}, table.Key.OrgID, role
	return guard.On(authn.New(table, &authntest.Tokens{Claims: accesstoken.Claims{Email: "a@b.c", EmailVerified: true}})), table.Org
}

func TestThePrincipalOfAUserHasTheDocumentedFields(t *testing.T) {
	g, o := member(t, org.Member)
	p, err := g.Member(context.Background(), []string{"Bearer " + authntest.JWT}, string(o), org.Member)
	want := map[string]string{"v": "1", "kind": "user", "userId": string(authntest.NewUser), "orgId": string(o), "role": "member", "email": "a@b.c"}
	if got := p.Fields(); err != nil || !reflect.DeepEqual(got, want) || p.ID() != want["userId"] || p.HasScopes("a") {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestASharedAuthorizersOrgIsInThePath: a route without the parameter is a mistake in the owner's template, so the
// error is no refusal of the caller.
func TestASharedAuthorizersOrgIsInThePath(t *testing.T) {
	g, o := member(t, org.Viewer)
	check, headers := shared.Member(g, "teamId"), []string{"Bearer " + authntest.JWT}
	for name, c := range map[string]struct {
		path        map[string]string
		wantID      string // id of the principal; "": an error
		wantMistake bool   // the error is a mistake of the owner, not a refusal
	}{
		"the user's org":    {map[string]string{"teamId": string(o)}, string(authntest.NewUser), false},
		"another org":       {map[string]string{"teamId": string(id.Source{}.NewOrg())}, "", false},
		"an empty id":       {map[string]string{"teamId": ""}, "", false},
		"another parameter": {map[string]string{"orgId": string(o)}, "", true},
		"no path":           {nil, "", true},
	} {
		gotID, fields, err := check(t.Context(), headers, c.path, false)
		if gotID != c.wantID || (err == nil) != (c.wantID != "") || (fields["orgId"] == string(o)) != (c.wantID != "") {
			t.Errorf("%s: %q, %v, %v", name, gotID, fields, err)
		}
		var mistake principal.MisconfiguredError
		isMistake, isRefusal := errors.As(err, &mistake), problem.Is(err, problem.InsufficientRole)
		if isMistake != c.wantMistake || err != nil && isRefusal == c.wantMistake {
			t.Errorf("%s: %v", name, err)
		}
	}
	key, table := authntest.Minted(t)
	gotID, fields, err := shared.Key(guard.On(authn.New(table, nil)))(t.Context(), []string{"Bearer " + key}, nil, false)
	if err != nil || gotID != string(table.Key.ID) || fields["keyId"] != gotID {
		t.Errorf("a key: %q, %v, %v", gotID, fields, err)
	}
}

func TestARefusalHasNoPrincipal(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Scopes = "a b"
	g := guard.On(authn.New(table, nil))
	refused := func(p guard.Principal, err error, code problem.Code) {
		t.Helper()
		if !problem.Is(err, code) || !reflect.DeepEqual(p, guard.Principal{}) {
			t.Errorf("%+v, %v, want %s", p, err, code)
		}
	}
	for _, scopes := range [][]string{{"c"}, {"a", "c"}, {""}, {"a b"}, {"A"}} { // the key has a and b
		p, err := g.Key(context.Background(), []string{"Bearer " + key}, scopes...)
		refused(p, err, problem.InsufficientScope)
	}
	table.Key.RevokedAt = 1
	p, err := g.Key(context.Background(), []string{"Bearer " + key})
	refused(p, err, problem.KeyRevoked)
	p, err = g.Key(context.Background(), []string{"Bearer " + authntest.JWT})
	refused(p, err, problem.APIKeyRequired)

	viewers, o := member(t, org.Viewer)
	p, err = viewers.Member(context.Background(), []string{"Bearer " + authntest.JWT}, string(o), org.Member)
	refused(p, err, problem.InsufficientRole)
	p, err = viewers.Member(context.Background(), []string{"Bearer " + key}, string(o), org.Viewer)
	refused(p, err, problem.UserTokenRequired)
}

func TestARefusalNamesTheKeyWhoseSecretMatched(t *testing.T) {
	key, table := authntest.Minted(t)
	g := guard.On(authn.New(table, nil))
	for name, c := range map[string]struct {
		credential string
		revokedAt  int64
		want       id.Key // the key that the refusal names
	}{
		"a revoked key":   {key, 1, table.Key.ID},
		"a missing scope": {key, 0, table.Key.ID},
		"not a key":       {"x", 1, ""},
	} {
		table.Key.RevokedAt = c.revokedAt
		_, err := g.Key(context.Background(), []string{"Bearer " + c.credential}, "scope")
		if refused, ok := guard.Refused(err); !ok || refused.KeyID != string(c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	table.Key.Hash = store.APIKey{}.Hash // not the hash of the key
	_, err := g.Key(context.Background(), []string{"Bearer " + key})
	if refused, ok := guard.Refused(err); !ok || refused.KeyID != "" {
		t.Errorf("another secret: %v", err)
	}
}

// TestRefusalsOfAMatchedSecretAreCounted: each refused request counts once. Introspection counts none, and a wrong secret counts none.
func TestRefusalsOfAMatchedSecretAreCounted(t *testing.T) {
	key, table := authntest.Minted(t)
	good := table.Key
	for name, c := range map[string]struct {
		credential string
		change     func(*store.APIKey)
		want       limit.Refusals
	}{
		"revoked":        {key, func(k *store.APIKey) { k.RevokedAt = 1 }, limit.Refusals{limit.Revoked: 1}},
		"expired":        {key, func(k *store.APIKey) { k.ExpiresAt = 1 }, limit.Refusals{limit.Expired: 1}},
		"suspended":      {key, func(k *store.APIKey) { k.Held = true }, limit.Refusals{limit.Suspended: 1}},
		"limited":        {key, func(k *store.APIKey) { k.Limits, k.Scopes = "1/d", "a" }, limit.Refusals{limit.Limited: 1}},
		"an allowance":   {key, func(k *store.APIKey) { k.OrgState.Allowance, k.Scopes = "1/d", "a" }, limit.Refusals{limit.Limited: 1}},
		"scope":          {key, func(*store.APIKey) {}, limit.Refusals{limit.Scope: 1}},
		"good":           {key, func(k *store.APIKey) { k.Scopes = "a" }, limit.Refusals{}},
		"another secret": {key, func(k *store.APIKey) { k.Hash[0]++; k.RevokedAt = 1 }, limit.Refusals{}},
		"not a key":      {"x", func(k *store.APIKey) { k.RevokedAt = 1 }, limit.Refusals{}},
	} {
		table.Key, table.Refused = good, limit.Refusals{}
		c.change(&table.Key)
		table.Leases = nil
		if table.Key.Limits+table.Key.OrgState.Allowance != "" {
			table.Leases = func(_ context.Context, l limit.Lease) (found limit.Charges, _ bool, _ error) {
				found[limit.Day] = limit.Charged{Start: l.Start, Requests: 1}
				return found, false, nil
			}
		}
		g := guard.On(authn.New(table, nil))
		headers := []string{"Bearer " + c.credential}
		_, _ = g.Describe(context.Background(), headers)
		if table.Refused != (limit.Refusals{}) {
			t.Errorf("%s: introspection counts %v", name, table.Refused)
		}
		if _, err := g.Key(context.Background(), headers, "a"); (err == nil) != (name == "good") || table.Refused != c.want {
			t.Errorf("%s: %v, %v, want %v", name, err, table.Refused, c.want)
		}
	}
}

// sendGet sends GET /orgs/{orgId} through a handler on a mux; credential "" means no Authorization header. answer is the whole
// body of a 200, or the code of the problem in any other body. challenge is the header WWW-Authenticate.
func sendGet(t *testing.T, h http.Handler, orgID, credential string) (status int, answer, challenge string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("GET /orgs/{orgId}", h)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/orgs/"+orgID, nil)
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	mux.ServeHTTP(w, r)
	sent := w.Result().Header // w.Header() also has headers that were set after the answer was sent
	var body struct{ Code, RequestID string }
	if w.Code != http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.RequestID == "" || sent.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v", w.Body, err)
		}
		return w.Code, body.Code, sent.Get("WWW-Authenticate")
	}
	return w.Code, w.Body.String(), ""
}

// whoCalls answers with the id of the principal.
var whoCalls = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	p, _ := guard.FromContext(r.Context())
	_, _ = w.Write([]byte(p.ID()))
})

func TestAHandlerRefusesAStoppedPersonAndEndedTokens(t *testing.T) {
	_, table := authntest.Minted(t)
	table.Org, table.InRole = table.Key.OrgID, org.Member
	h := guard.On(authn.New(table, &authntest.Tokens{})).Handler(whoCalls, guard.RequireRole("viewer"))
	for _, c := range []struct {
		known             store.Identity
		answer, challenge string
	}{
		{store.Identity{UserID: authntest.NewUser, Stopped: true}, "user_stopped", `Bearer error="invalid_token"`},
		{store.Identity{UserID: authntest.NewUser, NotBefore: 1}, "token_ended", `Bearer error="insufficient_user_authentication", max_age="0"`},
	} {
		table.Known = &c.known
		if status, answer, challenge := sendGet(t, h, string(table.Org), authntest.JWT); status != 401 || answer != c.answer || challenge != c.challenge {
			t.Errorf("%d %s %s, want %s %s", status, answer, challenge, c.answer, c.challenge)
		}
	}
}

func TestTheHandlerChecksItsNeeds(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Scopes = "a"
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Member
	g := guard.On(authn.New(table, &authntest.Tokens{}))
	o, token := string(table.Org), authntest.JWT
	const invalid = `Bearer error="invalid_token"`
	otherOrg := guard.OrgOf(func(*http.Request) string { return string(id.Source{}.NewOrg()) })
	for name, c := range map[string]struct {
		h                 http.Handler
		orgID, credential string // of the request
		status            int
		answer, challenge string
	}{
		"a key":              {g.Handler(whoCalls), "x", key, 200, string(table.Key.ID), ""},
		"no key":             {g.Handler(whoCalls), "x", "", 401, "missing_credentials", "Bearer"},
		"a token for a key":  {g.Handler(whoCalls), "x", token, 401, "api_key_required", invalid},
		"a scope":            {g.Handler(whoCalls, guard.RequireScope("a")), "x", key, 200, string(table.Key.ID), ""},
		"two scopes":         {g.Handler(whoCalls, guard.RequireScope("a"), guard.RequireScope("b")), "x", key, 403, "insufficient_scope", `Bearer error="insufficient_scope", scope="a b"`},
		"the other order":    {g.Handler(whoCalls, guard.RequireScope("b"), guard.RequireScope("a")), "x", key, 403, "insufficient_scope", `Bearer error="insufficient_scope", scope="b a"`},
		"a scope no key has": {g.Handler(whoCalls, guard.RequireScope(`a"`)), "x", key, 403, "insufficient_scope", ""},
		"a role":             {g.Handler(whoCalls, guard.RequireRole("viewer")), o, token, 200, string(authntest.NewUser), ""},
		"a stronger role":    {g.Handler(whoCalls, guard.RequireRole("admin")), o, token, 403, "insufficient_role", ""},
		"another org":        {g.Handler(whoCalls, guard.RequireRole("viewer")), "x", token, 403, "insufficient_role", ""},
		"OrgOf, not a path":  {g.Handler(whoCalls, guard.RequireRole("viewer"), otherOrg), o, token, 403, "insufficient_role", ""},
		"a key for a role":   {g.Handler(whoCalls, guard.RequireRole("viewer")), o, key, 401, "user_token_required", invalid},
	} {
		if status, answer, challenge := sendGet(t, c.h, c.orgID, c.credential); status != c.status || answer != c.answer || challenge != c.challenge {
			t.Errorf("%s: %d %s %s", name, status, answer, challenge)
		}
	}
}

func TestARequestWithoutAHandlerHasNoPrincipal(t *testing.T) {
	if p, ok := guard.FromContext(context.Background()); ok || p.Fields() != nil || p.HasScopes() {
		t.Errorf("%+v", p)
	}
}

func TestImpossibleSettingsPanic(t *testing.T) {
	g := guard.On(authn.New(nil, nil))
	for name, call := range map[string]func(){
		"no such role":           func() { guard.RequireRole("owner") },
		"two roles":              func() { g.Handler(whoCalls, guard.RequireRole("admin"), guard.RequireRole("viewer")) },
		"an org, no role":        func() { g.Handler(whoCalls, guard.OrgOf(func(*http.Request) string { return "" })) },
		"suspended, no role":     func() { g.Handler(whoCalls, guard.AllowSuspended()) },
		"another need of Member": func() { _, _ = g.Member(t.Context(), nil, "", org.Viewer, guard.RequireRole("admin")) },
		"scopes of Member":       func() { _, _ = g.Member(t.Context(), nil, "", org.Viewer, guard.RequireScope("a")) },
		"OrgOf of Member": func() {
			_, _ = g.Member(t.Context(), nil, "", org.Viewer, guard.OrgOf(func(*http.Request) string { return "" }))
		},
		"no table":    func() { guard.New(guard.Config{}) },
		"no issuer":   func() { guard.New(guard.Config{Table: "t", Tokens: &guard.Tokens{Audience: "a"}}) },
		"no audience": func() { guard.New(guard.Config{Table: "t", Tokens: &guard.Tokens{Issuer: "https://id.example"}}) },
		"http issuer": func() { guard.New(withTokens(guard.Tokens{Issuer: "http://id.example"})) },
		"http keys": func() {
			guard.New(withTokens(guard.Tokens{Issuer: "https://id.example", JWKSURL: "http://id.example/jwks"}))
		},
		"http userinfo": func() {
			guard.New(withTokens(guard.Tokens{Issuer: "https://id.example", UserinfoURL: "http://10.0.0.1/"}))
		},
		"http services": func() {
			guard.New(withTokens(guard.Tokens{Issuer: "https://id.example", Services: []service.Service{{Issuer: "https://id.example"}, {Issuer: "http://ci.example"}}}))
		},
		"another scheme":   func() { guard.New(withTokens(guard.Tokens{Issuer: "ftp://127.0.0.1"})) },
		"no scheme":        func() { guard.New(withTokens(guard.Tokens{Issuer: "id.example"})) },
		"nearly loopback":  func() { guard.New(withTokens(guard.Tokens{Issuer: "http://127.0.0.1.example"})) },
		"a user loopback":  func() { guard.New(withTokens(guard.Tokens{Issuer: "http://localhost@id.example"})) },
		"scopes and roles": func() { g.Handler(whoCalls, guard.RequireScope("a"), guard.RequireRole("admin")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	for _, safe := range []guard.Tokens{
		{Issuer: "https://id.example", JWKSURL: "https://id.example/jwks?a=b", UserinfoURL: "https://id.example/me", Services: []service.Service{{Issuer: "https://ci.example"}, {}}},
		{Issuer: "https://id.example", ClientIDs: []string{"web"}},
		{Issuer: "http://127.0.0.1:3004/latchkey", JWKSURL: "http://localhost:3004/jwks", UserinfoURL: "http://[::1]/"},
	} {
		guard.New(withTokens(safe))
	}
}

// withTokens returns settings that lack nothing, except what t lacks.
func withTokens(t guard.Tokens) guard.Config {
	if len(t.ClientIDs) == 0 {
		t.Audience = "a"
	}
	return guard.Config{Table: "t", Tokens: &t}
}

// TestADatabaseThatHangsIsA503Within3s uses a real client, and a database that accepts connections but never answers.
func TestADatabaseThatHangsIsA503Within3s(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	key, _ := authntest.Minted(t)
	var reported error
	var refused *problem.Error
	g := guard.New(guard.Config{
		AWS: aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String("http://" + silent.Addr().String()),
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
			}),
		},
		Table: "t", Report: func(_ *http.Request, err error) { reported = err },
		ReportRefusal: func(_ *http.Request, err *problem.Error) { refused = err },
	})
	// The key needs a read, which hangs.
	begun := time.Now()
	status, code, _ := sendGet(t, g.Handler(whoCalls), "x", key)
	if took := time.Since(begun); status != 503 || code != "unavailable" || took > 3*time.Second || reported == nil {
		t.Errorf("%d %s after %s, reported %v", status, code, took, reported)
	}
	if !errors.Is(reported, context.DeadlineExceeded) {
		t.Errorf("the cause is not reported: %v", reported)
	}
	if refused != nil {
		t.Errorf("a 503 is reported as the refusal %v", refused)
	}
	// An access token in place of a key is refused without a read.
	if status, _, _ := sendGet(t, g.Handler(whoCalls), "x", authntest.JWT); status != 401 || !problem.Is(refused, problem.APIKeyRequired) {
		t.Errorf("%d, reported %v", status, refused)
	}
	// g has no Tokens, so it cannot check a role. This is a fault of the settings, so the caller is not refused.
	if status, code, _ := sendGet(t, g.Handler(whoCalls, guard.RequireRole("admin")), "x", authntest.JWT); status != 503 || code != "unavailable" {
		t.Errorf("no issuer: %d %s", status, code)
	}
	// A route without an org is a fault of the settings too.
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/teams/1", nil)
	r.Header.Set("Authorization", "Bearer "+authntest.JWT)
	if g.Handler(whoCalls, guard.RequireRole("admin")).ServeHTTP(w, r); w.Code != 503 {
		t.Errorf("a pattern without orgId: %d", w.Code)
	}
	if _, refused := guard.Refused(errors.New("boom")); refused {
		t.Error("an unknown error counts as a refusal")
	}
	reported = nil
	w, r = httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the caller has gone
	r.Header.Set("Authorization", "Bearer "+key)
	if g.Handler(whoCalls).ServeHTTP(w, r.WithContext(ctx)); w.Code != 503 || reported != nil {
		t.Errorf("a caller who has gone: %d, reported %v", w.Code, reported)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Millisecond) // as http.TimeoutHandler does: the caller still waits
	defer end()
	w = httptest.NewRecorder()
	if g.Handler(whoCalls).ServeHTTP(w, r.WithContext(ctx)); w.Code != 503 || reported == nil {
		t.Errorf("a time limit of the program: %d, reported %v", w.Code, reported)
	}
}

func TestReportsDoNotChangeTheAnswers(t *testing.T) {
	key, table := authntest.Minted(t)
	h := guard.On(authn.New(table, nil)).Handler(whoCalls)
	if status, code, _ := sendGet(t, h, "x", "lk_none"); status != 401 || code != "invalid_credentials" {
		t.Errorf("%d %s", status, code)
	}
	table.Down = errors.New("boom")
	if status, code, _ := sendGet(t, h, "x", key); status != 503 || code != "unavailable" {
		t.Errorf("%d %s", status, code)
	}
}

// manyKeys is a table with several keys, each in another org.
type manyKeys struct {
	*authntest.Table // for the methods that the check of a key does not call

	byOrg map[id.Org]*authntest.Table
}

func (m manyKeys) APIKey(ctx context.Context, o id.Org, k id.Key) (store.APIKey, bool, error) {
	runtime.Gosched() // so that requests mix
	return m.byOrg[o].APIKey(ctx, o, k)
}

func TestRequestsAtOnceHaveTheirOwnPrincipals(t *testing.T) {
	all := manyKeys{&authntest.Table{}, map[id.Org]*authntest.Table{}}
	var keys []string
	for range 8 {
		key, table := authntest.Minted(t)
		keys, all.byOrg[table.Key.OrgID] = append(keys, key), table
	}
	h := guard.On(authn.New(all, nil)).Handler(whoCalls)
	keyID := func(key string) string {
		p, err := apikey.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(p.Key)
	}
	var wg sync.WaitGroup
	for _, key := range keys {
		want := keyID(key)
		wg.Go(func() {
			for range 2000 {
				r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
				r.Header.Set("Authorization", "Bearer "+key)
				if h.ServeHTTP(w, r); w.Body.String() != want {
					t.Errorf("%d %s, want %s", w.Code, w.Body, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestAKeyOverItsLimitsIsAnswered429: only a request that meets all other needs spends a request of the limits.
func TestAKeyOverItsLimitsIsAnswered429(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Key.Limits, table.Key.Scopes = "1/d", "a"
	g := guard.On(authn.New(table, nil))
	h := g.Handler(whoCalls, guard.RequireScope("a"))
	get := func(credential string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+credential)
		h.ServeHTTP(w, r)
		return w
	}
	if _, err := g.Key(t.Context(), []string{"Bearer " + key}, "b"); !problem.Is(err, problem.InsufficientScope) || table.Leased != 0 {
		t.Errorf("a missing scope: %v, %d leases", err, table.Leased)
	}
	if p, err := g.Describe(t.Context(), []string{"Bearer " + key}); err != nil || p.KeyName != table.Key.Name || table.Leased != 0 {
		t.Errorf("described: %v, %d leases", err, table.Leased)
	}
	if w := get(key); w.Code != 200 || w.Header().Get("RateLimit-Policy") != `"day";q=1;w=86400` {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w := get(key)
	if w.Code != 429 || w.Header().Get("Retry-After") == "" || !strings.HasPrefix(w.Header().Get("RateLimit"), `"day";r=0;t=`) || w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	_, err := g.Key(t.Context(), []string{"Bearer " + key}, "a")
	if refused, ok := guard.Refused(err); !ok || refused.Code != problem.RateLimited || refused.KeyID != string(table.Key.ID) {
		t.Errorf("%v", err)
	}
	table.Key.Limits, table.Key.OrgState.Allowance = "", "1/M"
	if w := get(key); w.Code != 200 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	year, month, _ := time.Now().UTC().Date()
	want := "The org has used its allowance of 1 a month. The next one begins at " + time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339) + "."
	if w := get(key); w.Code != 429 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	table.Leases = func(context.Context, limit.Lease) (limit.Charges, bool, error) {
		return limit.Charges{}, false, errors.New("down")
	}
	table.Key.Limits, table.Key.OrgState.Allowance = "2/d", ""
	if w := get(key); w.Code != 503 {
		t.Errorf("without a lease: %d", w.Code)
	}
}
