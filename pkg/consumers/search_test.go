package consumers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// exported is an API Gateway whose stages have documents.
type exported struct {
	answers
	documents map[string]string // by API and stage
}

func (e exported) Export(_ context.Context, api, stage string) ([]byte, error) {
	return []byte(e.documents[api+" "+stage]), nil
}

// TestASearchReportsEachFaultAndItsRepair compares the whole output for an account with one API of each type.
func TestASearchReportsEachFaultAndItsRepair(t *testing.T) {
	ours, other := uri("arn:aws:lambda:eu-central-1:123456789012:function:key"), uri("arn:aws:lambda:eu-central-1:123456789012:function:other")
	scheme := func(name, of, ttl string) string {
		return `"` + name + `":{"x-amazon-apigateway-authorizer":{"type":"request","authorizerUri":"` + of + `","authorizerResultTtlInSeconds":` + ttl + `}}`
	}
	api := exported{answers{
		"/restapis": `{"item":[{"id":"r1","name":"shop"}]}`,
		"/restapis/r1/authorizers": `{"item":[{"id":"a1","name":"theirs","type":"REQUEST","authorizerUri":"` + other + `"},` +
			`{"id":"a2","name":"kept","type":"REQUEST","authorizerUri":"` + ours + `","authorizerResultTtlInSeconds":60},` +
			`{"id":"a3","name":"moved","type":"REQUEST","authorizerUri":"arn:x/functions/${stageVariables.f}/invocations"}]}`,
		"/restapis/r1/stages": `{"item":[{"stageName":"prod"},{"stageName":"well"}]}`,
		"/v2/apis":            `{"items":[{"apiId":"w1","name":"live","protocolType":"WEBSOCKET"},{"apiId":"h1","name":"fast","protocolType":"HTTP"}]}`,
		"/v2/apis/w1/authorizers": `{"items":[{"authorizerId":"b0","name":"theirs","authorizerUri":"` + other + `"},` +
			`{"authorizerId":"b1","name":"once","authorizerUri":"` + ours + `","authorizerPayloadFormatVersion":"1.0"},` +
			`{"authorizerId":"b2","name":"again","authorizerUri":"` + ours + `:live","authorizerPayloadFormatVersion":"1.0"}]}`,
		"/v2/apis/h1/authorizers": `{"items":[{"authorizerId":"c1","name":"plain","authorizerUri":"` + ours + `","authorizerPayloadFormatVersion":"2.0"},` +
			`{"authorizerId":"c2","name":"timed","authorizerUri":"` + ours + `","authorizerPayloadFormatVersion":"1.0","authorizerResultTtlInSeconds":5}]}`,
	}, map[string]string{
		"r1 prod": `{"components":{"securitySchemes":{` + scheme("theirs", other, "300") + `,` + scheme("kept", ours, "7") + `,` + scheme("well", ours, "0") + `}}}`,
		"r1 well": `{"components":{"securitySchemes":{` + scheme("theirs", other, "300") + `,` + scheme("well", ours, "0") + `}}}`,
	}}
	var reports []string
	s := Search{API: api, Region: "eu-west-1", Shared: []string{"arn:aws:lambda:eu-central-1:123456789012:function:key"}, Say: func(format string, args ...any) {
		reports = append(reports, fmt.Sprintf(format, args...))
	}}
	err := s.Run(t.Context())
	want := []string{
		"REST API r1 (shop), authorizer kept: an answer is cached for 60 seconds. To repair it:\n  aws apigateway update-authorizer --region eu-west-1 --rest-api-id r1 --authorizer-id a2 " +
			"--patch-operations op=replace,path=/type,value=REQUEST op=replace,path=/authorizerResultTtlInSeconds,value=0",
		"REST API r1 (shop), authorizer moved: a stage variable names its function. Check this authorizer yourself.",
		"REST API r1 (shop), stage prod: deployed authorizer kept: an answer is cached for 7 seconds. To repair it:\n" +
			"  aws apigateway create-deployment --region eu-west-1 --rest-api-id r1 --stage-name prod    # after its authorizers are repaired",
		"WEBSOCKET API w1 (live), authorizer once: it is called only when a connection begins, and a connection may last two hours. To repair it:\n  use another authorizer there: no setting changes this",
		"WEBSOCKET API w1 (live), authorizer again: it is called only when a connection begins, and a connection may last two hours. To repair it:\n  use another authorizer there: no setting changes this",
		"HTTP API h1 (fast), authorizer plain: its payload is 2.0 without simple responses, so it refuses everyone. To repair it:\n" +
			"  aws apigatewayv2 update-authorizer --region eu-west-1 --api-id h1 --authorizer-id c1 --identity-source '[]' --authorizer-result-ttl-in-seconds 0 --enable-simple-responses",
		"HTTP API h1 (fast), authorizer timed: an answer is cached for 5 seconds. To repair it:\n" +
			"  aws apigatewayv2 update-authorizer --region eu-west-1 --api-id h1 --authorizer-id c2 --identity-source '[]' --authorizer-result-ttl-in-seconds 0",
	}
	if got := strings.Join(reports, "\n"); err != nil || got != strings.Join(want, "\n") {
		t.Errorf("%v:\n%s\nwant\n%s", err, got, strings.Join(want, "\n"))
	}
	if got := [4]int{s.Seen, s.Ours, s.Wrong, s.Unknown}; got != [4]int{8, 5, 6, 1} {
		t.Errorf("seen, of ours, wrong, unknown: %v", got)
	}
}

// TestFindingsOnSecondPagesAreReported: the first page of each list has no findings. In r2, only a stage calls our authorizer,
// because the authorizer itself was deleted.
func TestFindingsOnSecondPagesAreReported(t *testing.T) {
	key := "arn:aws:lambda:eu-central-1:123456789012:function:key"
	well := `{"id":"w","authorizerId":"w","name":"well","type":"REQUEST","authorizerUri":"` + uri("other") + `","authorizerResultTtlInSeconds":0}`
	kept := `{"id":"k","authorizerId":"k","name":"kept","type":"REQUEST","authorizerUri":"` + uri(key) + `","authorizerResultTtlInSeconds":9,"authorizerPayloadFormatVersion":"1.0"}`
	api := exported{answers{
		"/restapis": `{"item":[{"id":"r1","name":"one"}],"position":" 2"}`, "/restapis 2": `{"item":[{"id":"r2","name":"two"}]}`,
		"/restapis/r1/authorizers": `{"item":[` + well + `],"position":" 2"}`, "/restapis/r1/authorizers 2": `{"item":[` + kept + `]}`,
		"/restapis/r2/stages": `{"item":[{"stageName":"a"}],"position":" 2"}`, "/restapis/r2/stages 2": `{"item":[{"stageName":"b"},{"stageName":"c"}]}`,
		"/v2/apis": `{"items":[{"apiId":"h1","name":"1"}],"nextToken":" 2"}`, "/v2/apis 2": `{"items":[{"apiId":"h2","name":"2","protocolType":"HTTP"}]}`,
		"/v2/apis/h2/authorizers": `{"items":[` + well + `],"nextToken":" 2"}`, "/v2/apis/h2/authorizers 2": `{"items":[` + kept + `]}`,
		"/v2/apis/h2/stages": `{"items":[{"stageName":"a","stageVariables":{"LatchkeyLimits":"handler"}}],"nextToken":" 2"}`, "/v2/apis/h2/stages 2": `{"items":[{"stageName":"b"}]}`,
	}, map[string]string{
		"r2 a": `{}`, "r2 b": `{"components":{"securitySchemes":{"gone":{"x-amazon-apigateway-authorizer":{"type":"token","authorizerUri":"` + uri(key+":live") + `"}}}}}`, "r2 c": `{}`,
	}}
	var reports []string
	s := Search{API: api, Shared: []string{"first", key}, Limited: key, Say: func(format string, args ...any) {
		where, _, _ := strings.Cut(fmt.Sprintf(format, args...), ":")
		reports = append(reports, where)
	}}
	err := s.Run(t.Context())
	want := []string{"REST API r1 (one), authorizer kept", "REST API r2 (two), stage b", "HTTP API h2 (2), authorizer kept", "HTTP API h2 (2), stage b"}
	if err != nil || !slices.Equal(reports, want) || s.Seen != 4 || s.Ours != 2 || s.Wrong != 3 {
		t.Errorf("%q, %d seen, %d of ours, %d wrong, %v", reports, s.Seen, s.Ours, s.Wrong, err)
	}
}

// TestAnUnreadableDocumentIsAFailure that names its stage.
func TestAnUnreadableDocumentIsAFailure(t *testing.T) {
	api := exported{answers{"/restapis": `{"item":[{"id":"r1","name":"shop"}]}`, "/restapis/r1/stages": `{"item":[{"stageName":"prod"}]}`}, map[string]string{"r1 prod": `<html>`}}
	s := Search{API: api, Say: func(string, ...any) {}}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "REST API r1 (shop), stage prod") {
		t.Error(err)
	}
}

// replies is an API Gateway that answers with these statuses in turn, and repeats the last one; 0: no answer.
type replies struct {
	statuses []int
	urls     []string // of the requests
}

func (r *replies) RoundTrip(req *http.Request) (*http.Response, error) {
	status := r.statuses[min(len(r.urls), len(r.statuses)-1)]
	r.urls = append(r.urls, req.URL.String())
	if status == 0 {
		return nil, errors.New("no route")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(`{"a":1}`)), Request: req}, nil
}

// TestOnlyTemporaryFaultsAreRepeated: each case has the statuses of an export, and the number of requests.
func TestOnlyTemporaryFaultsAreRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		requests int
		words    string // a part of the error; "": no error
	}{
		"an answer": {[]int{200}, 1, ""}, "after 500": {[]int{500, 200}, 2, ""}, "after 503 and 429": {[]int{503, 429, 200}, 3, ""}, "after a lost one": {[]int{0, 200}, 2, ""},
		"denied": {[]int{403}, 1, `GET /restapis/r1/stages/a%2Fb/exports/oas30: 403`}, "499": {[]int{499}, 1, ": 499"}, "gone": {[]int{404}, 1, ErrGone.Error()},
		"always 500": {[]int{500}, 5, `: 500, 5 times`}, "never an answer": {[]int{0}, 5, ": an error of the type *url.Error, with *errors.errorString"}, "500, then gone": {[]int{500, 404}, 2, ErrGone.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			as := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
			})
			r := &replies{statuses: c.statuses}
			client := Client{AWS: aws.Config{Region: "eu-central-1", Credentials: as}, HTTP: &http.Client{Transport: r}, URL: "https://gateway.example"}
			body, err := client.Export(t.Context(), "r1", "a/b")
			if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) || err == nil && string(body) != `{"a":1}` {
				t.Errorf("%s: %s, %v", name, body, err)
			}
			if errors.Is(err, ErrGone) != (c.words == ErrGone.Error()) || len(r.urls) != c.requests ||
				r.urls[0] != "https://gateway.example/restapis/r1/stages/a%2Fb/exports/oas30?extensions=authorizers" {
				t.Errorf("%s: requested %q, %v", name, r.urls, err)
			}
		})
	}
}

// TestNoSignedRequestIsSentInPlainText, because it contains the session token.
func TestNoSignedRequestIsSentInPlainText(t *testing.T) {
	as := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{AccessKeyID: "AKID"}, nil })
	for address, isSafe := range map[string]bool{
		"https://gateway.example": true, "http://127.0.0.1:4566": true, "http://localhost:4566": true,
		"http://gateway.example": false, "http://127.0.0.1.example": false, "gateway.example": false, "": false,
	} {
		r := &replies{statuses: []int{200}}
		client := Client{AWS: aws.Config{Region: "eu-central-1", Credentials: as}, HTTP: &http.Client{Transport: r}, URL: address}
		if _, err := client.Export(t.Context(), "r1", "prod"); (err == nil) != isSafe || (len(r.urls) == 1) != isSafe {
			t.Errorf("%s: %v, requested %q", address, err, r.urls)
		}
	}
}
