package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// sample is an event of a REST API, with two Authorization headers. Its route accepts a user's token.
const sample = `{"type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abc/live/GET/v1/orgs/x/y",
"resource":"/v1/orgs","httpMethod":"GET","headers":{"AUTHORIZATION":"Bearer b"},
"multiValueHeaders":{"AUTHORIZATION":["Bearer a","Bearer b"],"Other":["x"]},"requestContext":{"extendedRequestId":"ext-1"}}`

// invoke calls the authorizer with an event.
func invoke(t *testing.T, event string, decide Decide) (map[string]any, error) {
	t.Helper()
	b, err := (&authorizerHandler{decide: decide}).Invoke(context.Background(), []byte(event))
	if err != nil {
		if b != nil {
			t.Fatal("there is an answer and an error")
		}
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}

// refuse returns a Decide that always returns err.
func refuse(err error) Decide {
	return func(context.Context, string, string, []string) (principal.Principal, error) {
		return principal.Principal{}, err
	}
}

func TestAGoodCallerIsAllowedOnTheWholeStage(t *testing.T) {
	p := principal.Principal{Kind: principal.User, UserID: id.Source{}.NewUser()}
	var got []string
	out, err := invoke(t, sample, func(ctx context.Context, method, pattern string, headers []string) (principal.Principal, error) {
		got = headers
		if method != "GET" || pattern != "/v1/orgs" || problem.RequestID(ctx) != "ext-1" {
			t.Errorf("called with %s %s, request id %s", method, pattern, problem.RequestID(ctx))
		}
		return p, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"Bearer a", "Bearer b"}) {
		t.Errorf("headers %v, want both", got)
	}
	text, _ := json.Marshal(out["policyDocument"]) //nolint:errchkjson // out comes from JSON
	want := `{"Statement":[{"Action":"execute-api:Invoke","Effect":"Allow","Resource":"arn:aws:execute-api:us-east-1:123456789012:abc/live/*"}],"Version":"2012-10-17"}`
	if string(text) != want {
		t.Errorf("policy %s", text)
	}
	read, err := principal.Parse(out["context"].(map[string]any)) //nolint:forcetypeassert // a test
	if err != nil || read != p {
		t.Errorf("context %v: %+v, %v", out["context"], read, err)
	}
}

func TestABadCredentialIsDeniedWithItsCode(t *testing.T) {
	out, err := invoke(t, sample, refuse(problem.New(problem.KeyRevoked, "This API key was revoked.")))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(out) //nolint:errchkjson // out comes from JSON
	for _, part := range []string{`"Effect":"Deny"`, `"code":"key_revoked"`, `"detail":"This API key was revoked."`, `"principalId":"anonymous"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("no %s in %s", part, b)
		}
	}
}

// TestTheChallengeHasAnErrorOnlyForABearerCredential: RFC 6750, section 3.
func TestTheChallengeHasAnErrorOnlyForABearerCredential(t *testing.T) {
	const plain, invalid = `Bearer`, `Bearer error="invalid_token"`
	for headers, want := range map[string]string{
		`[]`: plain, `[""]`: plain, `["Bearer"]`: plain, `["Bearer  "]`: plain, `["Basic YTpi"]`: plain, `["lk_a_b"]`: plain,
		`["Bearer x"]`: invalid, `["bEARER  x"]`: invalid, `["Bearer x","Bearer y"]`: invalid, `["Basic x","Bearer y"]`: invalid,
	} {
		event := strings.Replace(sample, `["Bearer a","Bearer b"]`, headers, 1)
		out, err := invoke(t, event, refuse(problem.New(problem.InvalidCredentials, "D.")))
		if err != nil {
			t.Fatal(err)
		}
		if got := out["context"].(map[string]any)["challenge"]; got != want { //nolint:forcetypeassert // a test
			t.Errorf("%s: %v, want %s", headers, got, want)
		}
	}
}

// TestAnEndedTokenIsChallengedToSignIn: RFC 9470.
func TestAnEndedTokenIsChallengedToSignIn(t *testing.T) {
	out, err := invoke(t, sample, refuse(problem.New(problem.TokenEnded, "D.")))
	if err != nil {
		t.Fatal(err)
	}
	got := out["context"].(map[string]any) //nolint:forcetypeassert // a test
	if got["code"] != "token_ended" || got["challenge"] != `Bearer error="insufficient_user_authentication", max_age="0"` {
		t.Errorf("%v", got)
	}
}

func TestAnUndecidedRequestIsAnError(t *testing.T) {
	for name, decide := range map[string]Decide{
		"database down":  refuse(problem.New(problem.Unavailable, "x")),
		"our own fault":  refuse(errors.New("boom")),
		"a 403 problem":  refuse(problem.New(problem.InsufficientRole, "x")),
		"a panic":        func(context.Context, string, string, []string) (principal.Principal, error) { panic("boom") },
		"internal fault": refuse(problem.New(problem.Internal, "x")),
	} {
		if out, err := invoke(t, sample, decide); err == nil {
			t.Errorf("%s: answered %v", name, out)
		}
	}
}

func TestSingleHeadersAreReadWithoutMultiValueHeaders(t *testing.T) {
	var got []string
	event := strings.Replace(sample, `"multiValueHeaders":{"AUTHORIZATION":["Bearer a","Bearer b"],"Other":["x"]},`, "", 1)
	_, err := invoke(t, event, func(_ context.Context, _, _ string, headers []string) (principal.Principal, error) {
		got = headers
		return principal.Principal{Kind: principal.None}, nil
	})
	if err != nil || !slices.Equal(got, []string{"Bearer b"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEveryRefusalIsSafeInAnUnescapedTemplate(t *testing.T) {
	for _, c := range problem.Codes() {
		if strings.ContainsAny(string(c)+c.Title(), "\"\\\n") {
			t.Errorf("%s", c)
		}
	}
}

func TestAKeyOverItsLimitsIsLetThroughToTheFunction(t *testing.T) {
	spent := principal.Principal{
		Kind: principal.Key, OrgID: id.Source{}.NewOrg(), AppID: id.DefaultApp(id.Source{}.NewOrg()), KeyID: id.Source{}.NewKey(time.Now()),
		Limit: principal.Limit{Policy: `"minute";q=1;w=60`, State: `"minute";r=0;t=17`, Violated: "minute", RetryAfter: 17},
	}
	out, err := invoke(t, sample,
		func(context.Context, string, string, []string) (principal.Principal, error) {
			return spent, problem.New(problem.RateLimited, "None left.")
		})
	if err != nil {
		t.Fatal(err)
	}
	given, _ := out["context"].(map[string]any)
	if back, err := principal.Parse(given); err != nil || back != spent {
		t.Errorf("%v: %+v %v", out, back, err)
	}
}

// TestADeferredPrincipalIsLetThrough: also when the key is over its limits, or the limits are not known. A revoked key is denied.
func TestADeferredPrincipalIsLetThrough(t *testing.T) {
	key := principal.Principal{Kind: principal.Key, OrgID: id.Source{}.NewOrg(), AppID: id.DefaultApp(id.Source{}.NewOrg()), KeyID: id.Source{}.NewKey(time.Now())}
	unknown, over := key, key
	over.Limit = principal.Limit{Policy: `"minute";q=1;w=60`, State: `"minute";r=0;t=17`, Violated: "minute", RetryAfter: 17}
	unknown.Deferred = true
	overHere := over
	overHere.Deferred = true
	for _, c := range []struct {
		name   string
		is     principal.Principal // is and err: returned by decide
		err    error
		effect string // "": no decision
	}{
		{"within its limits", key, nil, allow},
		{"over its limits", overHere, problem.OverLimits("", []string{"minute"}, time.Second), allow},
		{"limits not known", unknown, fmt.Errorf("of the day: %w", limit.ErrAhead), allow},
		{"another fault", principal.Principal{}, errors.New("down"), ""},
		{"revoked", key, problem.New(problem.KeyRevoked, "Revoked."), deny},
		{"over its limits, not deferred", over, problem.OverLimits("", []string{"minute"}, time.Second), allow},
		{"limits not known, not deferred", key, limit.ErrAhead, ""},
	} {
		decide := func(context.Context, string, string, []string) (principal.Principal, error) { return c.is, c.err }
		out, err := authorize(context.Background(), authorizerEvent{methodARN: "arn:aws:execute-api:us-east-1:1:a/live/POST/x"}, decide)
		if (err == nil) != (c.effect != "") || err == nil && out.PolicyDocument.Statement[0].Effect != c.effect {
			t.Errorf("%s: %+v %v", c.name, out, err)
		}
		if c.effect != allow || err != nil {
			continue
		}
		given := map[string]any{}
		for name, value := range out.Context {
			given[name] = value
		}
		if back, err := principal.Parse(given); err != nil || back != c.is {
			t.Errorf("%s: %+v %v", c.name, back, err)
		}
	}
}
