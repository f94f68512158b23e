package template

import (
	"fmt"
	"net/http"
	"strings"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// answer is API Gateway's own answer for some of its types of gateway response.
type answer struct {
	why    string       // a comment for template.yaml; "": none
	types  string       // the types of gateway response, with blanks between them
	code   problem.Code // "": the authorizer gives the code, title and detail
	detail string
}

var answers = []answer{
	{"The authorizer's Deny: challenge, code, title and detail are constants of ours.", "ACCESS_DENIED", "", "$context.authorizer.detail"},
	{"", "UNAUTHORIZED", problem.MissingCredentials, "Send your credential after the word Bearer in the Authorization header."},
	{
		"An unknown route. With a Bearer header API Gateway looks for a signature, and then answers with one of the other types.",
		"MISSING_AUTHENTICATION_TOKEN INVALID_SIGNATURE EXPIRED_TOKEN RESOURCE_NOT_FOUND DEFAULT_4XX", problem.RouteNotFound, "There is no such route.",
	},
	{"", "BAD_REQUEST_PARAMETERS BAD_REQUEST_BODY", problem.InvalidJSON, "The request cannot be read."},
	{"", "REQUEST_TOO_LARGE", problem.BodyTooLarge, "The body is larger than 16 KB."},
	{"", "UNSUPPORTED_MEDIA_TYPE", problem.UnsupportedMediaType, "Send the body as application/json."},
	{"", "WAF_FILTERED", problem.RequestBlocked, "A firewall rule blocks this request."},
	{"For API Gateway's usage plans, which the product does not use.", "INVALID_API_KEY", problem.RequestBlocked, "The request was blocked."},
	{"", "THROTTLED QUOTA_EXCEEDED", problem.RateLimited, "Too many requests. Try again later."},
	{
		"The authorizer could not identify the caller: no Allow, and no 401. DEFAULT_5XX: Lambda throttles, crashes, time-outs.",
		"AUTHORIZER_FAILURE AUTHORIZER_CONFIGURATION_ERROR INTEGRATION_FAILURE INTEGRATION_TIMEOUT DEFAULT_5XX", problem.Unavailable,
		"The service cannot answer right now. Try again.",
	},
	{"", "API_CONFIGURATION_ERROR", problem.Internal, "Something went wrong on our side."},
}

// gatewayResponses prints the gateway's own errors. They have the same form as the API's errors.
func gatewayResponses() string {
	var out strings.Builder
	for _, a := range answers {
		if a.why != "" {
			fmt.Fprintf(&out, "# %s\n", a.why)
		}
		status, title, code := a.code.Status(), a.code.Title(), string(a.code)
		more := ""
		switch {
		case code == "":
			status, title, code = http.StatusUnauthorized, "$context.authorizer.title", "$context.authorizer.code"
			more = "      WWW-Authenticate: context.authorizer.challenge\n"
		case status == http.StatusUnauthorized:
			more = "      WWW-Authenticate: \"'Bearer'\"\n"
		case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
			more = "      Retry-After: \"'1'\"\n      Access-Control-Expose-Headers: \"'Retry-After'\"\n"
		}
		for name := range strings.FieldsSeq(a.types) {
			fmt.Fprintf(&out, responseForm, name, status, more, problem.Code(code).Type(), title, status, a.detail, code)
		}
	}
	return out.String()
}

const responseForm = `%s:
  StatusCode: %d
  ResponseParameters:
    Headers:
      Content-Type: "'application/problem+json'"
      Access-Control-Allow-Origin: "'*'"
      Cache-Control: "'no-store'"
%s  ResponseTemplates:
    application/json: |
      {"type":"%s","title":"%s","status":%d,"detail":"%s","code":"%s","requestId":"$context.extendedRequestId"}
`

// largeRoutes has the rate and the burst of the public routes with large answers. Each route sends at most 4 MB a second without
// compression. A browser loads three files for a page of the console, so 20 people can open a page at once, and then 6 each second.
var largeRoutes = map[string][2]int{
	"/openapi.yaml": {5, 10}, "/catalogue.json": {50, 50}, "/reference": {5, 10}, "/llms.txt": {20, 40}, "/console/files/{file}": {20, 60},
}

// throttles prints the limits of each public route. Its callers are not known, so they share one limit.
func throttles() string {
	var out strings.Builder
	for _, r := range route.All() {
		if r.Takes != principal.Public {
			continue
		}
		rate, burst := "!Ref PublicThrottleRate", "!Ref PublicThrottleBurst"
		if l, ok := largeRoutes[r.Pattern]; ok {
			rate, burst = fmt.Sprint(l[0]), fmt.Sprint(l[1])
		}
		path := "/" + strings.ReplaceAll(r.Pattern, "/", "~1") // a / in a path is written ~1 here, as in a JSON pointer
		fmt.Fprintf(&out, "- { HttpMethod: %s, ResourcePath: '%s', ThrottlingRateLimit: %s, ThrottlingBurstLimit: %s }\n", r.Method, path, rate, burst)
	}
	return out.String()
}
