package template

import (
	"fmt"
	"net/http"
	"strings"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// answer is what API Gateway answers by itself, for some of its types of gateway response.
type answer struct {
	why    string // a comment, or ""
	types  string
	code   problem.Code // "": the code, title and detail are the authorizer's
	detail string
}

var answers = []answer{
	{"The authorizer's Deny: challenge, code, title and detail are constants of ours.", "ACCESS_DENIED", "", "$context.authorizer.detail"},
	{"", "UNAUTHORIZED", problem.MissingCredentials, "Send your credential after the word Bearer in the Authorization header."},
	{
		"An unknown route. With a Bearer header API Gateway tries to read a signature in it: hence the other types.",
		"MISSING_AUTHENTICATION_TOKEN INVALID_SIGNATURE EXPIRED_TOKEN RESOURCE_NOT_FOUND DEFAULT_4XX", problem.RouteNotFound, "There is no such route.",
	},
	{"", "BAD_REQUEST_PARAMETERS BAD_REQUEST_BODY", problem.InvalidJSON, "The request cannot be read."},
	{"", "REQUEST_TOO_LARGE", problem.BodyTooLarge, "The body is larger than 16 KB."},
	{"", "UNSUPPORTED_MEDIA_TYPE", problem.UnsupportedMediaType, "Send the body as application/json."},
	{"", "WAF_FILTERED", problem.RequestBlocked, "A firewall rule blocks this request."},
	{"Of API Gateway's own usage plans, which the product does not use.", "INVALID_API_KEY", problem.RequestBlocked, "The request was blocked."},
	{"", "THROTTLED QUOTA_EXCEEDED", problem.RateLimited, "Too many requests. Try again later."},
	{
		"The authorizer could not find out who calls: never an Allow and never a 401. DEFAULT_5XX: Lambda throttles, crashes, time-outs.",
		"AUTHORIZER_FAILURE AUTHORIZER_CONFIGURATION_ERROR INTEGRATION_FAILURE INTEGRATION_TIMEOUT DEFAULT_5XX", problem.Unavailable,
		"The service cannot answer right now. Try again.",
	},
	{"", "API_CONFIGURATION_ERROR", problem.Internal, "Something went wrong on our side."},
}

// gatewayResponses prints the gateway's own errors, which have the shape of all others.
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

// larger has the rate and the burst of the public routes with large answers. Size and rate of each are 4 MB a second at
// most, without compression. A browser loads three files for a page of the console, so that 20 people can open one at
// once, and 6 a second after that.
var larger = map[string][2]int{
	"/openapi.yaml": {5, 10}, "/catalogue.json": {50, 50}, "/reference": {5, 10}, "/llms.txt": {20, 40}, "/console/files/{file}": {20, 60},
}

// throttles prints the limits of each public route, whose callers are not known.
func throttles() string {
	var out strings.Builder
	for _, r := range route.All() {
		if r.Takes != principal.Public {
			continue
		}
		rate, burst := "!Ref PublicThrottleRate", "!Ref PublicThrottleBurst"
		if l, ok := larger[r.Pattern]; ok {
			rate, burst = fmt.Sprint(l[0]), fmt.Sprint(l[1])
		}
		path := "/" + strings.ReplaceAll(r.Pattern, "/", "~1") // every slash but the first is escaped, as in a JSON pointer
		fmt.Fprintf(&out, "- { HttpMethod: %s, ResourcePath: '%s', ThrottlingRateLimit: %s, ThrottlingBurstLimit: %s }\n", r.Method, path, rate, burst)
	}
	return out.String()
}
