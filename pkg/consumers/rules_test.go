package consumers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func number(n int) *int { return &n }

// TestWrongSettingsAreFound checks settings with which an API would cache answers, or refuse everyone.
func TestWrongSettingsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		authorizer interface{ faults() []string }
		words      []string // one for each fault, in order
	}{
		"REST":                     {restAuthorizer{Type: "REQUEST", AuthorizerResultTTLInSeconds: number(0)}, nil},
		"REST, in an export":       {restAuthorizer{Type: "request", AuthorizerResultTTLInSeconds: number(0)}, nil},
		"REST, TOKEN":              {restAuthorizer{Type: "TOKEN", AuthorizerResultTTLInSeconds: number(0)}, []string{"type is TOKEN"}},
		"REST, TOKEN in an export": {restAuthorizer{Type: "token", AuthorizerResultTTLInSeconds: number(0)}, []string{"type is TOKEN"}},
		"REST, one second":         {restAuthorizer{Type: "REQUEST", AuthorizerResultTTLInSeconds: number(1)}, []string{"cached for 1 seconds"}},
		"REST, AWS's default":      {restAuthorizer{Type: "REQUEST"}, []string{"cached for 300 seconds"}},
		"REST, TOKEN by default":   {restAuthorizer{Type: "TOKEN"}, []string{"type is TOKEN", "cached for 300 seconds"}},
		"HTTP, 1.0":                {httpAuthorizer{AuthorizerPayloadFormatVersion: "1.0"}, nil},
		"HTTP, 2.0 and simple":     {httpAuthorizer{AuthorizerPayloadFormatVersion: "2.0", EnableSimpleResponses: true}, nil},
		"HTTP, 2.0, not simple":    {httpAuthorizer{AuthorizerPayloadFormatVersion: "2.0"}, []string{"refuses everyone"}},
		"HTTP, an identity source": {httpAuthorizer{AuthorizerPayloadFormatVersion: "1.0", IdentitySource: []string{"$request.header.Authorization"}}, []string{"source $request.header.Auth"}},
		"HTTP, a cache":            {httpAuthorizer{AuthorizerPayloadFormatVersion: "1.0", AuthorizerResultTTLInSeconds: 60}, []string{"cached for 60 seconds"}},
		"HTTP, every fault":        {httpAuthorizer{AuthorizerPayloadFormatVersion: "2.0", IdentitySource: []string{"$context.routeKey"}, AuthorizerResultTTLInSeconds: 300}, []string{"$context.routeKey", "300", "everyone"}},
		"HTTP, no version, so 2.0": {httpAuthorizer{}, []string{"refuses everyone"}},
	} {
		got := c.authorizer.faults()
		if len(got) != len(c.words) {
			t.Errorf("%s: %q, want %q", name, got, c.words)
			continue
		}
		for i, word := range c.words {
			if !strings.Contains(got[i], word) {
				t.Errorf("%s: %q has no %q", name, got[i], word)
			}
		}
	}
}

// uri returns the URI by which API Gateway calls a function.
func uri(function string) string {
	return "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/" + function + "/invocations"
}

// TestOnlyTheStacksAuthorizersAreChecked: other ARNs differ by a suffix or by the stack's name.
func TestOnlyTheStacksAuthorizersAreChecked(t *testing.T) {
	t.Parallel()
	key := "arn:aws:lambda:eu-central-1:123456789012:function:latchkey-KeyAuthorizerFunction-1"
	for name, c := range map[string]struct {
		uri  string
		ours bool
	}{
		"the function": {uri(key), true}, "an alias": {uri(key + ":live"), true}, "a version": {uri(key + ":7"), true},
		"a longer name": {uri(key + "2"), false}, "another stack's": {uri("arn:aws:lambda:eu-central-1:123456789012:function:second-KeyAuthorizerFunction-1"), false},
		"no function": {"", false},
	} {
		if got := (shared{key}).has(c.uri); got != c.ours {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// account is an API Gateway with one REST API, which has one authorizer.
type account struct {
	authorizer string // as JSON
	err        error  // returned by each call of Page
}

func (a account) Page(_ context.Context, path, _ string, out any) error {
	text := map[string]string{
		"/restapis":                `{"item":[{"id":"r1","name":"shop"}]}`,
		"/restapis/r1/authorizers": `{"item":[` + a.authorizer + `]}`,
	}[path]
	if text == "" {
		text = `{}`
	}
	return errors.Join(a.err, json.Unmarshal([]byte(text), out))
}

func (account) Export(context.Context, string, string) ([]byte, error) { return []byte(`{}`), nil }

// TestTheDailySearchFailsIfAnAnswerCouldBeCached, and if it cannot read the APIs. An error raises an alarm.
func TestTheDailySearchFailsIfAnAnswerCouldBeCached(t *testing.T) {
	key := "arn:aws:lambda:eu-central-1:123456789012:function:key"
	authorizer := func(ttl string) string {
		return `{"id":"a","name":"a","type":"REQUEST","authorizerUri":"` + uri(key) + `","authorizerResultTtlInSeconds":` + ttl + `}`
	}
	for name, c := range map[string]struct {
		api  account
		want string // a part of the error; "": no error
	}{
		"no cache":        {account{authorizer: authorizer("0")}, ""},
		"cached a minute": {account{authorizer: authorizer("60")}, "1 authorizers or stages could keep"},
		"not allowed":     {account{err: errors.New("not authorized")}, "cannot be read: not authorized"},
	} {
		err := Daily{API: c.api, Region: "eu-central-1", Shared: []string{key}}.Run(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// busy is an API Gateway that is busy until a time. It refuses requests without a signature. The page that it returns has one
// item: the path and the query of the request.
type busy struct{ until time.Time }

func (b busy) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	isSigned := strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKID/")
	if !isSigned || r.Header.Get("Accept") != "application/json" {
		w.WriteHeader(http.StatusForbidden)
	} else if time.Now().Before(b.until) {
		w.WriteHeader(http.StatusTooManyRequests)
	} else {
		_, _ = io.WriteString(w, `{"item":[{"path":"`+r.URL.RequestURI()+`"}]}`)
	}
	return w.Result(), nil
}

// TestARequestToABusyAPIGatewayIsRepeated: the pauses between the five tries add up to ten seconds.
func TestARequestToABusyAPIGatewayIsRepeated(t *testing.T) {
	for busyFor, answered := range map[time.Duration]bool{0: true, 9 * time.Second: true, 11 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			as := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
			})
			c := Client{AWS: aws.Config{Region: "eu-central-1", Credentials: as}, HTTP: &http.Client{Transport: busy{time.Now().Add(busyFor)}}, URL: "https://gateway.example"}
			var page struct{ Item []struct{ Path string } }
			if err := c.Page(t.Context(), "/restapis", "p/1", &page); (err == nil) != answered {
				t.Errorf("busy for %v: %v", busyFor, err)
			} else if answered && page.Item[0].Path != "/restapis?limit=500&position=p%2F1" {
				t.Errorf("requested %v", page)
			}
		})
	}
}

// halfGone is an API Gateway with three REST APIs: gone is deleted during the search, shut cannot be read, and r1 has a
// fault.
type halfGone struct{ account }

func (h halfGone) Page(ctx context.Context, path, token string, out any) error {
	switch path {
	case "/restapis":
		return json.Unmarshal([]byte(`{"item":[{"id":"gone"},{"id":"shut"},{"id":"r1","name":"shop"}]}`), out)
	case "/restapis/gone/authorizers":
		return ErrGone
	case "/restapis/shut/authorizers":
		return errors.New("not authorized")
	}
	return h.account.Page(ctx, path, token, out)
}

// TestTheSearchContinuesAfterAnUnreadableAPI, and after an API that is deleted during the search, which is not a failure.
func TestTheSearchContinuesAfterAnUnreadableAPI(t *testing.T) {
	key := "arn:aws:lambda:eu-central-1:123456789012:function:key"
	api := halfGone{account{authorizer: `{"id":"a","name":"a","type":"REQUEST","authorizerUri":"` + uri(key) + `","authorizerResultTtlInSeconds":60}`}}
	s := Search{API: api, Region: "eu-central-1", Shared: []string{key}, Say: func(string, ...any) {}}
	if err := s.Run(t.Context()); s.Wrong != 1 || err == nil || err.Error() != "not authorized" {
		t.Errorf("%d found, %v", s.Wrong, err)
	}
}

// noREST is an API Gateway whose REST APIs cannot be listed.
type noREST struct{ answers }

func (n noREST) Page(ctx context.Context, path, token string, out any) error {
	if path == "/restapis" {
		return errors.New("not authorized")
	}
	return n.answers.Page(ctx, path, token, out)
}

func TestHTTPAPIsAreCheckedIfRESTAPIsCannotBeListed(t *testing.T) {
	key := "arn:aws:lambda:eu-central-1:123456789012:function:key"
	s := Search{API: noREST{answers{
		"/v2/apis":                `{"items":[{"apiId":"h1","name":"fast","protocolType":"HTTP"}]}`,
		"/v2/apis/h1/authorizers": `{"items":[{"authorizerId":"a","name":"a","authorizerUri":"` + uri(key) + `","authorizerPayloadFormatVersion":"2.0","authorizerResultTtlInSeconds":60}]}`,
	}}, Region: "eu-central-1", Shared: []string{key}, Say: func(string, ...any) {}}
	if err := s.Run(t.Context()); s.Wrong != 1 || err == nil || err.Error() != "not authorized" {
		t.Errorf("%d found, %v", s.Wrong, err)
	}
}

// answers is an API Gateway whose answers are texts, by the path and then the token of the page.
type answers map[string]string

func (a answers) Page(_ context.Context, path, token string, out any) error {
	text := a[path+token]
	if text == "" {
		text = `{}`
	}
	return json.Unmarshal([]byte(text), out)
}

func (answers) Export(context.Context, string, string) ([]byte, error) { return []byte(`{}`), nil }

// TestStagesThatDenyASpentKeyAreReported: stages of APIs that check keys, without the stage variable. They are not faults.
func TestStagesThatDenyASpentKeyAreReported(t *testing.T) {
	key, member := "arn:aws:lambda:eu-central-1:123456789012:function:key", "arn:aws:lambda:eu-central-1:123456789012:function:member"
	rest := func(of string) string {
		return `{"item":[{"id":"a","name":"a","type":"REQUEST","authorizerUri":"` + uri(of) + `","authorizerResultTtlInSeconds":0}]}`
	}
	api := answers{
		"/restapis":                `{"item":[{"id":"r1","name":"shop"},{"id":"r2","name":"desk"}]}`,
		"/restapis/r1/authorizers": rest(key), "/restapis/r2/authorizers": rest(member),
		"/restapis/r1/stages": `{"item":[{"stageName":"old"},{"stageName":"new","variables":{"LatchkeyLimits":"handler"}}]}`,
		"/restapis/r2/stages": `{"item":[{"stageName":"prod"}]}`,
		"/v2/apis":            `{"items":[{"apiId":"h1","name":"fast","protocolType":"HTTP"}]}`,
		"/v2/apis/h1/authorizers": `{"items":[{"authorizerId":"a","name":"a","authorizerUri":"` + uri(key) + `","authorizerPayloadFormatVersion":"1.0"},` +
			`{"authorizerId":"b","name":"b","authorizerUri":"` + uri(member) + `","authorizerPayloadFormatVersion":"1.0"}]}`,
		"/v2/apis/h1/stages": `{"items":[{"stageName":"a","stageVariables":{"LatchkeyLimits":"handler"}},{"stageName":"b","stageVariables":{"LatchkeyLimits":"x"}}]}`,
	}
	var reports []string
	s := Search{API: api, Region: "eu-central-1", Shared: []string{key, member}, Limited: key, Say: func(format string, args ...any) {
		where, _, _ := strings.Cut(fmt.Sprintf(format, args...), ":")
		reports = append(reports, where)
	}}
	if err := s.Run(t.Context()); err != nil || s.Wrong != 0 || s.Ours != 4 {
		t.Errorf("%d found, %d of ours, %v", s.Wrong, s.Ours, err)
	}
	if want := []string{"REST API r1 (shop), stage old", "HTTP API h1 (fast), stage b"}; !slices.Equal(reports, want) {
		t.Errorf("%q", reports)
	}
	s.Limited, reports = "", nil
	if err := s.Run(t.Context()); err != nil || reports != nil {
		t.Errorf("without Limited: %q %v", reports, err)
	}
}
