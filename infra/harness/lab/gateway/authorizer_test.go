package gateway

import (
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/template/translated"
)

const authorizationHeader = "method.request.header.Authorization"

// withAuthorizer returns the test API with another authorizer.
func withAuthorizer(a translated.Authorizer) *translated.API {
	api := testAPI()
	a.Function = "Auth"
	api.Authorizers["A"] = a
	return api
}

func TestTokenAuthorizerSeesOnlyTheToken(t *testing.T) {
	f, s := setUp(t, withAuthorizer(translated.Authorizer{Token: true, Identity: []string{"method.request.header.X-Key"}}))
	if res, body := do(t, "GET", s.URL+"/v1/pets/1?a=b", "", "X-Key", "k", "Authorization", "other"); res.StatusCode != 200 {
		t.Fatal(res.Status, body)
	}
	e := f.events["Auth"]
	if names := slices.Sorted(maps.Keys(e)); !slices.Equal(names, []string{"authorizationToken", "methodArn", "type"}) {
		t.Errorf("the event has %v", names)
	}
	if e["type"] != "TOKEN" || e["authorizationToken"] != "k" || !strings.HasSuffix(e["methodArn"].(string), "/live/GET/v1/pets/1") {
		t.Errorf("%v", e)
	}
}

// TestAMissingIdentitySourceIsRefusedWithoutACall has the statuses of the developer guide, "Configure an API Gateway
// Lambda authorizer".
func TestAMissingIdentitySourceIsRefusedWithoutACall(t *testing.T) {
	token := translated.Authorizer{Token: true, Identity: []string{authorizationHeader}}
	two := translated.Authorizer{Identity: []string{authorizationHeader, "method.request.header.X-Key"}}
	for name, c := range map[string]struct {
		authorizer translated.Authorizer
		headers    []string
		status     int
	}{
		"token":       {token, []string{"Authorization", "x"}, 200},
		"no token":    {token, nil, 401},
		"empty token": {token, []string{"Authorization", ""}, 401},
		"one of two":  {two, []string{"Authorization", "x"}, 401},
		"both":        {two, []string{"Authorization", "x", "X-Key", "1"}, 200},
	} {
		f, s := setUp(t, withAuthorizer(c.authorizer))
		res, body := do(t, "GET", s.URL+"/v1/pets", "", c.headers...)
		called := 0
		if c.status == 200 {
			called = 1
		}
		if res.StatusCode != c.status || f.calls["Auth"] != called || f.calls["Pets"] != called {
			t.Errorf("%s: %s %s, called %v", name, res.Status, body, f.calls)
		}
		if c.status == 401 && (res.Header.Get(markOfTests) != "UNAUTHORIZED" || body != `{"message":"Unauthorized"}`) {
			t.Errorf("%s: %v %s", name, res.Header, body)
		}
	}
}

// TestCachedAnswerServesTheWholeAPI shows that a cache accepts a revoked credential. The gateway keeps an Allow or a Deny
// for the values of the identity sources, for every route, until the cache time (a minute) is over.
func TestCachedAnswerServesTheWholeAPI(t *testing.T) {
	for name, a := range map[string]translated.Authorizer{
		"token":   {Token: true, TTL: time.Minute, Identity: []string{authorizationHeader}},
		"request": {TTL: time.Minute, Identity: []string{authorizationHeader}},
	} {
		f := newFunctions()
		g, err := New(withAuthorizer(a), f, noLines, "")
		if err != nil {
			t.Fatal(err)
		}
		now := time.UnixMilli(1_800_000_000_000)
		g.now = func() time.Time { return now }
		for _, step := range []struct {
			after  time.Duration
			effect string // of the authorizer's policy from now on
			key    string // the credential
			path   string
			status int // 401 for a Deny: testAPI maps ACCESS_DENIED to it
			calls  int // calls of the authorizer until now
		}{
			{0, "Allow", "a", "/v1/pets", 200, 1},
			{0, "Deny", "a", "/v1/pets", 200, 1},
			{0, "Deny", "a", "/v1/pets/1", 200, 1},
			{59 * time.Second, "Deny", "a", "/v1/pets", 200, 1},
			{time.Second, "Deny", "a", "/v1/pets", 401, 2}, // the minute is over
			{0, "Allow", "a", "/v1/pets/1", 401, 2},
			{0, "Allow", "b", "/v1/pets/1", 200, 3}, // another credential
			{time.Minute, "Allow", "a", "/v1/pets/1", 200, 4},
		} {
			now = now.Add(step.after)
			f.answer["Auth"] = policyOf(step.effect, nil)
			if status := statusWithKey(g, step.key, step.path); status != step.status || f.calls["Auth"] != step.calls {
				t.Errorf("%s: %+v: %d, %d calls of the authorizer", name, step, status, f.calls["Auth"])
			}
		}
	}
}

// statusWithKey returns the status of a request with a credential.
func statusWithKey(g *Gateway, key, path string) int {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", key)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Code
}

// TestAnAllowEndsAtItsTime evaluates one answer before and at the end of its Allow. The gateway must refuse conditions that
// it does not know.
func TestAnAllowEndsAtItsTime(t *testing.T) {
	answer := func(condition string) []byte {
		return []byte(`{"principalId":"p","policyDocument":{"Statement":[{"Effect":"Allow","Action":"execute-api:Invoke","Resource":"*","Condition":` + condition + `}]}}`)
	}
	v, err := parseVerdict(answer(`{"DateLessThan":{"aws:CurrentTime":"2026-01-01T00:00:05Z"}}`))
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)
	if v.PolicyDocument.evaluate("a", end.Add(-time.Millisecond)) != nil || v.PolicyDocument.evaluate("a", end) == nil {
		t.Errorf("before: %v, at its end: %v", v.PolicyDocument.evaluate("a", end.Add(-time.Millisecond)), v.PolicyDocument.evaluate("a", end))
	}
	for _, condition := range []string{
		`{"DateGreaterThan":{"aws:CurrentTime":"2026-01-01T00:00:05Z"}}`, `{"DateLessThan":{"aws:EpochTime":"2026-01-01T00:00:05Z"}}`, `{}`,
		`{"DateLessThan":{"aws:CurrentTime":"tomorrow"}}`, `{"DateLessThan":{"aws:CurrentTime":"2026-01-01T00:00:05Z"},"Bool":{}}`,
	} {
		if _, err := parseVerdict(answer(condition)); err == nil {
			t.Errorf("%s is accepted", condition)
		}
	}
}
