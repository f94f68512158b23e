package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"latchkey/infra/template/translated"
)

// kind is a type of gateway response.
type kind string

// The types that this gateway uses.
const (
	accessDenied                 kind = "ACCESS_DENIED"
	authorizerConfigurationError kind = "AUTHORIZER_CONFIGURATION_ERROR"
	authorizerFailure            kind = "AUTHORIZER_FAILURE"
	badRequestBody               kind = "BAD_REQUEST_BODY"
	integrationFailure           kind = "INTEGRATION_FAILURE"
	integrationTimeout           kind = "INTEGRATION_TIMEOUT"
	invalidSignature             kind = "INVALID_SIGNATURE"
	missingAuthenticationToken   kind = "MISSING_AUTHENTICATION_TOKEN"
	requestTooLarge              kind = "REQUEST_TOO_LARGE"
	unauthorized                 kind = "UNAUTHORIZED"
	unsupportedMediaType         kind = "UNSUPPORTED_MEDIA_TYPE"
	default4XX                   kind = "DEFAULT_4XX"
	default5XX                   kind = "DEFAULT_5XX"

	// malformedAnswer is not a type of AWS. On AWS it is a DEFAULT_5XX with the status 502.
	malformedAnswer kind = "MALFORMED_ANSWER"
)

// statuses are AWS's types of gateway response, with their default statuses (API Gateway developer guide, "Gateway response
// types"). cfn-lint accepts any other name, although such a response never has an effect.
var statuses = map[kind]int{
	accessDenied: 403, "API_CONFIGURATION_ERROR": 500, authorizerConfigurationError: 500, authorizerFailure: 500,
	"BAD_REQUEST_PARAMETERS": 400, badRequestBody: 400, default4XX: 400, default5XX: 500, "EXPIRED_TOKEN": 403,
	integrationFailure: 504, integrationTimeout: 504, "INVALID_API_KEY": 403, invalidSignature: 403,
	missingAuthenticationToken: 403, "QUOTA_EXCEEDED": 429, requestTooLarge: 413, "RESOURCE_NOT_FOUND": 404,
	"THROTTLED": 429, unauthorized: 401, unsupportedMediaType: 415, "WAF_FILTERED": 403,
}

// errorTypes are the values of X-Amzn-ErrorType, by the types of gateway response that this gateway uses.
var errorTypes = map[kind]string{
	accessDenied: "AccessDeniedException", authorizerConfigurationError: "AuthorizerConfigurationException", authorizerFailure: "AuthorizerFailureException",
	badRequestBody: "BadRequestException", default4XX: "BadRequestException", default5XX: "InternalServerErrorException",
	integrationFailure: "InternalServerErrorException", integrationTimeout: "InternalServerErrorException", invalidSignature: "InvalidSignatureException",
	missingAuthenticationToken: "MissingAuthenticationTokenException", requestTooLarge: "RequestTooLargeException", unauthorized: "UnauthorizedException",
	unsupportedMediaType: "UnsupportedMediaTypeException",
}

// responses are the checked gateway responses of the template.
type responses map[kind]translated.GatewayResponse

const headerParameter = "gatewayresponse.header."

func newResponses(all map[string]translated.GatewayResponse) (responses, error) {
	out := make(responses)
	var errs []error
	for name, r := range all {
		if _, ok := statuses[kind(name)]; !ok {
			errs = append(errs, fmt.Errorf("gateway response %s: AWS has no such type", name))
		}
		errs = append(errs, checkResponse(name, r))
		out[kind(name)] = r
	}
	return out, errors.Join(errs...)
}

func checkResponse(name string, r translated.GatewayResponse) error {
	var errs []error
	for parameter, value := range r.Parameters {
		_, isHeader := strings.CutPrefix(parameter, headerParameter)
		_, known := parameterValue(nil, value)
		if !isHeader || !known {
			errs = append(errs, fmt.Errorf("gateway response %s: %s: %s is not supported by the local stack", name, parameter, value))
		}
	}
	for _, text := range r.Templates {
		for _, v := range variable.FindAllString(text, -1) {
			if !knownVariable(v) {
				errs = append(errs, fmt.Errorf("gateway response %s: its template has %s, which the local stack does not know", name, v))
			}
		}
	}
	return errors.Join(errs...)
}

// respond writes a gateway response. It uses the first of these: the template's response for this type, the
// template's DEFAULT_4XX or DEFAULT_5XX, the default of API Gateway.
func (x *exchange) respond(w http.ResponseWriter, k kind, message string) {
	status, shown := statuses[k], k
	if k == malformedAnswer {
		status, shown = http.StatusBadGateway, default5XX
	}
	r, ok := x.g.responses[shown]
	if !ok {
		fallback := default4XX
		if status >= http.StatusInternalServerError {
			fallback = default5XX
		}
		r = x.g.responses[fallback]
	}
	if r.Status != 0 {
		status = r.Status
	}
	e := errorContext{kind: shown, message: message}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", errorTypes[shown])
	if x.g.mark != "" {
		w.Header().Set(x.g.mark, string(shown))
	}
	for parameter, value := range r.Parameters {
		text, _ := parameterValue(x, value)
		w.Header().Set(strings.TrimPrefix(parameter, headerParameter), text)
	}
	text, ok := r.Templates["application/json"]
	if !ok {
		text = `{"message":$context.error.messageString}`
	}
	body := variable.ReplaceAllStringFunc(text, func(v string) string { return x.variable(v, e) })
	x.send(w, status, body)
}

// parameterValue returns a header's value: a constant in quotes, or a variable such as context.path. It returns false
// for an unknown variable. Without an exchange the value of a variable is "".
func parameterValue(x *exchange, value string) (string, bool) {
	if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
		return value[1 : len(value)-1], true
	}
	if !knownVariable("$" + value) {
		return "", false
	}
	if x == nil {
		return "", true
	}
	return x.variable("$"+value, errorContext{}), true
}

// variable matches a variable in a gateway response's template. API Gateway only replaces variables
// there, without escaping. The template has no other syntax.
var variable = regexp.MustCompile(`\$[a-zA-Z]+(\.[a-zA-Z_][a-zA-Z0-9_-]*)*`)

// errorContext has the values of the variables $context.error.…
type errorContext struct {
	kind    kind
	message string
}

const authorizerVariable = "$context.authorizer."

var variables = map[string]func(*exchange, errorContext) string{
	"$context.error.message":       func(_ *exchange, e errorContext) string { return e.message },
	"$context.error.messageString": func(_ *exchange, e errorContext) string { return quoted(e.message) },
	"$context.error.responseType":  func(_ *exchange, e errorContext) string { return string(e.kind) },
	"$context.requestId":           func(x *exchange, _ errorContext) string { return x.id },
	"$context.extendedRequestId":   func(x *exchange, _ errorContext) string { return x.extended },
	"$context.httpMethod":          func(x *exchange, _ errorContext) string { return x.r.Method },
	"$context.path":                func(x *exchange, _ errorContext) string { return "/" + x.g.api.Stage + x.r.URL.EscapedPath() },
	"$context.resourcePath":        func(x *exchange, _ errorContext) string { return x.matched.route.Path },
	"$context.stage":               func(x *exchange, _ errorContext) string { return x.g.api.Stage },
	"$context.identity.sourceIp":   func(x *exchange, _ errorContext) string { return x.sourceIP() },
}

func knownVariable(v string) bool {
	_, ok := variables[v]
	return ok || strings.HasPrefix(v, authorizerVariable)
}

func (x *exchange) variable(v string, e errorContext) string {
	if name, ok := strings.CutPrefix(v, authorizerVariable); ok {
		text, _ := x.principal[name].(string)
		return text
	}
	if f, ok := variables[v]; ok {
		return f(x, e)
	}
	return v
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // no error for a text
	return string(b)
}
