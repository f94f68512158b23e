package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
	"latchkey/pkg/problem"
)

// responses are all types of API Gateway's own answers, by its documentation ("Gateway response
// types"), each with the code that Latchkey gives it. "" is the code that the authorizer returns.
var responses = map[string]problem.Code{
	"ACCESS_DENIED":                  "",
	"API_CONFIGURATION_ERROR":        problem.Internal,
	"AUTHORIZER_CONFIGURATION_ERROR": problem.Unavailable,
	"AUTHORIZER_FAILURE":             problem.Unavailable,
	"BAD_REQUEST_BODY":               problem.InvalidJSON,
	"BAD_REQUEST_PARAMETERS":         problem.InvalidJSON,
	"DEFAULT_4XX":                    problem.RouteNotFound,
	"DEFAULT_5XX":                    problem.Unavailable,
	"EXPIRED_TOKEN":                  problem.RouteNotFound,
	"INTEGRATION_FAILURE":            problem.Unavailable,
	"INTEGRATION_TIMEOUT":            problem.Unavailable,
	"INVALID_API_KEY":                problem.RequestBlocked, // of API Gateway's own keys, which Latchkey does not use
	"INVALID_SIGNATURE":              problem.RouteNotFound,
	"MISSING_AUTHENTICATION_TOKEN":   problem.RouteNotFound,
	"QUOTA_EXCEEDED":                 problem.RateLimited,
	"REQUEST_TOO_LARGE":              problem.BodyTooLarge,
	"RESOURCE_NOT_FOUND":             problem.RouteNotFound,
	"THROTTLED":                      problem.RateLimited,
	"UNAUTHORIZED":                   problem.MissingCredentials,
	"UNSUPPORTED_MEDIA_TYPE":         problem.UnsupportedMediaType,
	"WAF_FILTERED":                   problem.RequestBlocked,
}

func TestEveryAnswerOfTheGatewayIsAProblemOfOurs(t *testing.T) { holds(t, problems) }

func TestTheGatewaysAnswersCarryTheHeadersOfTheirStatus(t *testing.T) { holds(t, headers) }

func TestTheGatewayEchoesNothingOfTheRequestButItsID(t *testing.T) { holds(t, noEcho) }

// each calls see with every gateway response. It also reports a missing response, and one that AWS does not have.
func each(tpl *translated.Template, see func(name string, code problem.Code, r translated.GatewayResponse) []string) (wrong []string) {
	a, err := tpl.API()
	if err != nil {
		return []string{err.Error()}
	}
	for name := range a.Responses {
		if _, known := responses[name]; !known {
			wrong = append(wrong, name+": AWS has no such gateway response")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(responses)) {
		r, ok := a.Responses[name]
		if !ok {
			wrong = append(wrong, name+" is not set")
			continue
		}
		for _, w := range see(name, responses[name], r) {
			wrong = append(wrong, name+": "+w)
		}
	}
	return wrong
}

// status returns the status of a code. The authorizer's own codes are all 401.
func status(code problem.Code) int {
	if code == "" {
		return problem.InvalidCredentials.Status()
	}
	return code.Status()
}

// variable matches a variable of API Gateway, such as $context.authorizer.code.
var variable = regexp.MustCompile(`\$[a-zA-Z.{}]+`)

// problems wants each response to be the document that package problem writes. Variables of API Gateway stand for the
// request id, and for what the authorizer returns.
func problems(tpl *translated.Template) []string {
	return each(tpl, func(_ string, code problem.Code, r translated.GatewayResponse) (wrong []string) {
		if r.Status != status(code) {
			wrong = append(wrong, fmt.Sprintf("status %d, want %d", r.Status, status(code)))
		}
		if len(r.Templates) != 1 {
			return append(wrong, fmt.Sprintf("%d templates; API Gateway chooses one by the request's content type", len(r.Templates)))
		}
		wanted := map[string]any{
			"type": code.Type(), "title": code.Title(), "status": float64(status(code)), "code": string(code), "requestId": "<extendedRequestId>",
		}
		if code == "" {
			wanted["type"], wanted["title"], wanted["code"] = problem.Code("<authorizer.code>").Type(), "<authorizer.title>", "<authorizer.code>"
		}
		if !strings.HasSuffix(r.Templates["application/json"], "}\n") {
			wrong = append(wrong, "the body does not end in a newline")
		}
		body := variable.ReplaceAllStringFunc(r.Templates["application/json"], func(v string) string {
			return "<" + strings.TrimPrefix(v, "$context.") + ">"
		})
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			return append(wrong, err.Error()+": "+body)
		}
		if detail, _ := got["detail"].(string); detail == "" {
			wrong = append(wrong, "no detail")
		}
		delete(got, "detail")
		if !maps.Equal(got, wanted) {
			wrong = append(wrong, fmt.Sprintf("%v, want %v", got, wanted))
		}
		return wrong
	})
}

func headers(tpl *translated.Template) []string {
	return each(tpl, func(_ string, code problem.Code, r translated.GatewayResponse) (wrong []string) {
		wanted := map[string]string{
			"Content-Type": "'application/problem+json'", "Access-Control-Allow-Origin": "'*'", "Cache-Control": "'no-store'",
		}
		switch {
		case code == "": // the authorizer chooses one of two challenges
			wanted["WWW-Authenticate"] = "context.authorizer.challenge"
		case status(code) == 401:
			wanted["WWW-Authenticate"] = "'Bearer'"
		case status(code) == 429, status(code) == 503:
			wanted["Retry-After"], wanted["Access-Control-Expose-Headers"] = "'1'", "'Retry-After'"
		}
		got := map[string]string{}
		for parameter, value := range r.Parameters {
			got[strings.TrimPrefix(parameter, "gatewayresponse.header.")] = value
		}
		if !maps.Equal(got, wanted) {
			wrong = append(wrong, fmt.Sprintf("headers %v, want %v", got, wanted))
		}
		return wrong
	})
}

// noEcho permits only variables that have no text from the client, because templates do not escape. AWS makes the request's
// id, and the authorizer's values are constants of ours.
func noEcho(tpl *translated.Template) []string {
	return each(tpl, func(_ string, code problem.Code, r translated.GatewayResponse) (wrong []string) {
		for _, text := range r.Templates {
			for _, v := range variable.FindAllString(text, -1) {
				switch v {
				case "$context.extendedRequestId":
					continue
				case "$context.authorizer.code", "$context.authorizer.title", "$context.authorizer.detail":
					if code == "" {
						continue
					}
				}
				wrong = append(wrong, "the template has "+v)
			}
		}
		return wrong
	})
}
