package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"latchkey/pkg/problem"
)

// The events of AWS's documentation ("Input to an API Gateway Lambda authorizer", "Payload format
// version"), without most of the members that the authorizer skips.
const (
	restEvent = `{"type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/orgs/o1","resource":"/orgs/{orgId}","path":"/orgs/o1",
"httpMethod":"GET","headers":{"Authorization":"Bearer a"},"multiValueHeaders":{"Authorization":["Bearer a"]},"queryStringParameters":{"orgId":"forged"},
"pathParameters":{"orgId":"o1"},"stageVariables":{},"requestContext":{"path":"/orgs/o1","stage":"test","requestId":"r","identity":{"sourceIp":"192.0.2.1"}}}`
	httpEvent1 = `{"version":"1.0","type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/orgs/o1","identitySource":"","authorizationToken":"",
"resource":"/orgs/{orgId}","path":"/orgs/o1","httpMethod":"GET","headers":{"authorization":"Bearer a"},"queryStringParameters":{},"pathParameters":{"orgId":"o1"},
"stageVariables":{},"requestContext":{"identity":{"sourceIp":"192.0.2.1"}}}`
	httpEvent2 = `{"version":"2.0","type":"REQUEST","routeArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/orgs/o1","identitySource":null,"routeKey":"GET /orgs/{orgId}",
"rawPath":"/orgs/o1","rawQueryString":"","cookies":[],"headers":{"authorization":"Bearer a"},"requestContext":{"http":{"method":"GET","path":"/orgs/o1","sourceIp":"192.0.2.1"},"requestId":"r"},
"pathParameters":{"orgId":"o1"},"stageVariables":{}}`
)

// check returns a Check that returns err. If err is nil, it accepts every request, and returns the headers and the
// org of the path.
func check(err error) Check {
	return func(_ context.Context, headers []string, path map[string]string, _ bool) (string, map[string]string, error) {
		if err != nil {
			return "", nil, err
		}
		return "key_1", map[string]string{"v": "1", "credential": strings.Join(headers, "|"), "orgId": path["orgId"]}, nil
	}
}

// invokeShared calls a shared authorizer with an event.
func invokeShared(event string, c Check) (string, error) {
	b, err := (&sharedAuthorizer{check: c}).Invoke(context.Background(), []byte(event))
	return string(b), err
}

func TestASharedAuthorizerAnswersInTheFormOfTheEvent(t *testing.T) {
	const (
		resource = `"Resource":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/orgs/o1"`
		fields   = `"context":{"credential":"Bearer a","orgId":"o1","v":"1"}`
		refusal  = `"context":{"code":"key_revoked","detail":"This API key was revoked.","title":"The API key was revoked"}`
		allowed  = `{"principalId":"key_1","policyDocument":{"Version":"2012-10-17","Statement":[{"Action":"execute-api:Invoke","Effect":"Allow",` + resource + `}]},` + fields + `}`
		denied   = `{"principalId":"anonymous","policyDocument":{"Version":"2012-10-17","Statement":[{"Action":"execute-api:Invoke","Effect":"Deny",` + resource + `}]},` + refusal + `}`
	)
	revoked := problem.New(problem.KeyRevoked, "This API key was revoked.")
	for event, want := range map[string][2]string{ // the answers for an accepted key and for a revoked key
		restEvent:  {allowed, denied},
		httpEvent1: {allowed, denied},
		httpEvent2: {`{"isAuthorized":true,` + fields + `}`, `{"isAuthorized":false,` + refusal + `}`},
	} {
		if got, err := invokeShared(event, check(nil)); err != nil || got != want[0] {
			t.Errorf("%.30s: %s, %v, want %s", event, got, err, want[0])
		}
		if got, err := invokeShared(event, check(revoked)); err != nil || got != want[1] {
			t.Errorf("%.30s: %s, %v, want %s", event, got, err, want[1])
		}
	}
	for _, code := range []problem.Code{problem.InsufficientRole, problem.OrgSuspended} {
		if got, err := invokeShared(restEvent, check(problem.New(code, "x"))); err != nil || !strings.Contains(got, `"Effect":"Deny"`) || !strings.Contains(got, `"code":"`+string(code)+`"`) {
			t.Errorf("a 403: %s, %v", got, err)
		}
	}
}

func TestASharedAuthorizersRefusalNamesTheProvedKey(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	defer slog.SetDefault(was)
	if _, err := invokeShared(restEvent, check(&problem.Error{Code: problem.KeyRevoked, KeyID: "key_1"})); err != nil || !strings.Contains(out.String(), `"caller":"key_1"`) {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// TestAnAuthorizerWithCachedAnswersIsRefused: a cached answer could accept a key after its revocation.
func TestAnAuthorizerWithCachedAnswersIsRefused(t *testing.T) {
	for name, event := range map[string]string{
		"TOKEN":                        `{"type":"TOKEN","authorizationToken":"Bearer a","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/"}`,
		"no type":                      strings.Replace(restEvent, `"type":"REQUEST",`, "", 1),
		"identity source, payload 1.0": strings.Replace(httpEvent1, `"identitySource":""`, `"identitySource":"Bearer a"`, 1),
		"identity source, payload 2.0": strings.Replace(httpEvent2, `"identitySource":null`, `"identitySource":["Bearer a"]`, 1),
		"identity source, empty value": strings.Replace(httpEvent2, `"identitySource":null`, `"identitySource":[""]`, 1),
		"a WebSocket API":              strings.Replace(restEvent, "GET/orgs/o1", "$connect", 1),
		"no route":                     strings.Replace(restEvent, "methodArn", "other", 1),
	} {
		called := false
		got, err := invokeShared(event, func(context.Context, []string, map[string]string, bool) (string, map[string]string, error) {
			called = true
			return "", nil, nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), "authorizer_misconfigured: ") || got != "" || called {
			t.Errorf("%s: %s, %v, called: %v", name, got, err, called)
		}
	}
}

// TestTheLineOfACachedAuthorizerNamesItsAPI: an operator finds the API by the line. The path may hold a secret.
func TestTheLineOfACachedAuthorizerNamesItsAPI(t *testing.T) {
	const arn = "arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/"
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "lambda's"})
	rest := strings.Replace(restEvent, `"requestId":"r"`, `"extendedRequestId":"ours="`, 1)
	for event, want := range map[string][2]string{ // the API and the route
		`{"type":"TOKEN","authorizationToken":"Bearer secret","methodArn":"` + arn + `GET/reset/secret"}`:      {arn + "GET", ""},
		strings.Replace(rest, "GET/orgs/o1", "$connect", 1):                                                    {arn + "$connect", "GET /orgs/{orgId}"},
		strings.Replace(httpEvent2, `"identitySource":null`, `"identitySource":["Bearer secret"]`, 1):          {arn + "GET", "GET /orgs/{orgId}"},
		strings.Replace(httpEvent1, `"identitySource":""`, `"identitySource":"Bearer secret"`, 1):              {arn + "GET", "GET /orgs/{orgId}"},
		strings.Replace(restEvent, `"type":"REQUEST","methodArn":"`+arn+`GET/orgs/o1"`, `"type":"REQUEST"`, 1): {"", "GET /orgs/{orgId}"},
	} {
		var out bytes.Buffer
		was := slog.Default()
		slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
		_, err := (&sharedAuthorizer{check: check(nil)}).Invoke(ctx, []byte(event))
		slog.SetDefault(was)
		var line struct{ Code, API, Route, RequestID, Trace string }
		if err == nil || json.Unmarshal(out.Bytes(), &line) != nil || line.Code != "authorizer_misconfigured" || line.API != want[0] || line.Route != want[1] {
			t.Errorf("%v in %s, want %q", err, out.String(), want)
		}
		id := "lambda's"
		if strings.Contains(event, "ours=") {
			id = "ours="
		}
		if line.RequestID != id || strings.Contains(out.String(), "secret") {
			t.Errorf("the request is %s in %s", line.RequestID, out.String())
		}
	}
}

// TestAnAllowEndsAfterItsTime: only an Allow has the condition. A simple answer has no policy, and so no condition.
func TestAnAllowEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func(event string, c Check, allowFor time.Duration) string {
			b, err := (&sharedAuthorizer{check: c, allowFor: allowFor}).Invoke(t.Context(), []byte(event))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		at := time.Now().Add(5 * time.Second).UTC().Format("2006-01-02T15:04:05Z") // the form that IAM requires
		for _, event := range []string{restEvent, httpEvent1} {
			if got := answer(event, check(nil), 5*time.Second); !strings.Contains(got, `"Effect":"Allow"`) || !strings.Contains(got, `"Condition":{"DateLessThan":{"aws:CurrentTime":"`+at+`"}}`) {
				t.Errorf("an Allow: %s", got)
			}
			if got := answer(event, check(nil), 0); strings.Contains(got, "Condition") {
				t.Errorf("without the parameter: %s", got)
			}
			if got := answer(event, check(problem.New(problem.KeyRevoked, "x")), 5*time.Second); strings.Contains(got, "Condition") {
				t.Errorf("a Deny: %s", got)
			}
		}
		if got := answer(httpEvent2, check(nil), 5*time.Second); strings.Contains(got, "DateLessThan") {
			t.Errorf("a simple answer: %s", got)
		}
	})
}

func TestAnUndecidedSharedAuthorizerReturnsAnError(t *testing.T) {
	for name, c := range map[string]Check{
		"database down": check(problem.New(problem.Unavailable, "x")),
		"our own fault": check(errors.New("boom")),
		"a panic": func(context.Context, []string, map[string]string, bool) (string, map[string]string, error) {
			panic("boom")
		},
	} {
		for _, event := range []string{restEvent, httpEvent1, httpEvent2} {
			if got, err := invokeShared(event, c); err == nil {
				t.Errorf("%s: answered %s", name, got)
			}
		}
	}
}

// TestAPolicyIsForOneRequest: the policy for a path with special characters allows no longer or shorter path.
func TestAPolicyIsForOneRequest(t *testing.T) {
	for path, want := range map[string]string{"a": "a", "*": "?", "a*b?c": "a?b?c", "${aws:username}": "?{aws:username}"} {
		const arn = "arn:aws:execute-api:us-east-1:1:a/live/GET/"
		got, err := invokeShared(strings.Replace(restEvent, "arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/orgs/o1", arn+path, 1), check(nil))
		var a authorizerAnswer
		if err != nil || json.Unmarshal([]byte(got), &a) != nil || a.PolicyDocument.Statement[0].Resource != arn+want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}

// TestASpentKeyIsAllowedWhereTheFunctionsAnswer: an authorizer cannot answer 429.
func TestASpentKeyIsAllowedWhereTheFunctionsAnswer(t *testing.T) {
	spent := func(context.Context, []string, map[string]string, bool) (string, map[string]string, error) {
		return "key_1", map[string]string{"v": "1", "limited": "minute", "retryAfter": "17"}, problem.New(problem.RateLimited, "None left.")
	}
	for event, want := range map[string][2]string{
		restEvent:  {`"Effect":"Allow"`, `"Effect":"Deny"`},
		httpEvent1: {`"Effect":"Allow"`, `"Effect":"Deny"`},
		httpEvent2: {`{"isAuthorized":true`, `{"isAuthorized":false`},
	} {
		got, err := invokeShared(strings.Replace(event, `"stageVariables":{}`, `"stageVariables":{"LatchkeyLimits":"handler"}`, 1), spent)
		if err != nil || !strings.Contains(got, want[0]) || !strings.Contains(got, `"context":{"limited":"minute","retryAfter":"17","v":"1"}`) {
			t.Errorf("%s %v", got, err)
		}
		for _, variables := range []string{`{}`, `null`, `{"LatchkeyLimits":"x"}`} {
			got, err = invokeShared(strings.Replace(event, `"stageVariables":{}`, `"stageVariables":`+variables, 1), spent)
			if err != nil || !strings.Contains(got, want[1]) || !strings.Contains(got, `"context":{"code":"rate_limited","detail":"None left.","retryAfter":"17","title":"Too many requests"}`) {
				t.Errorf("%s: %s %v", variables, got, err)
			}
		}
	}
}

// TestAStageAllowsSuspendedOrgs: only the value allow does, also with other variables.
func TestAStageAllowsSuspendedOrgs(t *testing.T) {
	for _, event := range []string{restEvent, httpEvent1, httpEvent2} {
		for variables, want := range map[string]bool{
			`{"LatchkeySuspended":"allow"}`: true, `{"a":"b","LatchkeySuspended":"allow","LatchkeyLimits":"handler"}`: true,
			`{}`: false, `null`: false, `{"LatchkeySuspended":"x"}`: false, `{"LatchkeySuspended":""}`: false, `{"latchkeySuspended":"allow"}`: false, `{"LatchkeyLimits":"allow"}`: false,
		} {
			event := strings.Replace(event, `"stageVariables":{}`, `"stageVariables":`+variables, 1)
			if _, err := invokeShared(event, func(_ context.Context, _ []string, _ map[string]string, allowsSuspended bool) (string, map[string]string, error) {
				if allowsSuspended != want {
					t.Errorf("%s: %v", variables, allowsSuspended)
				}
				return "", nil, nil
			}); err != nil {
				t.Error(err)
			}
		}
	}
}
