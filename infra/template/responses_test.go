package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

// responses are all types of API Gateway's own answers (API Gateway's documentation, "Gateway response types").
var responses = strings.Fields(`
	ACCESS_DENIED API_CONFIGURATION_ERROR AUTHORIZER_CONFIGURATION_ERROR AUTHORIZER_FAILURE BAD_REQUEST_BODY
	BAD_REQUEST_PARAMETERS DEFAULT_4XX DEFAULT_5XX EXPIRED_TOKEN INTEGRATION_FAILURE INTEGRATION_TIMEOUT INVALID_API_KEY
	INVALID_SIGNATURE MISSING_AUTHENTICATION_TOKEN QUOTA_EXCEEDED REQUEST_TOO_LARGE RESOURCE_NOT_FOUND THROTTLED
	UNAUTHORIZED UNSUPPORTED_MEDIA_TYPE WAF_FILTERED`)

func TestTheGatewayEchoesOnlyTheRequestsID(t *testing.T) { assertNone(t, checkNoEcho) }

// variable matches a variable of API Gateway, such as $context.authorizer.code.
var variable = regexp.MustCompile(`\$[a-zA-Z.{}]+`)

// checkNoEcho checks that each type has a response in JSON, and that there are no other types. The templates do not escape, so it permits
// only variables without text from the client: AWS makes the request's id, and the values of the authorizer's Deny are constants.
func checkNoEcho(tpl *translated.Template) (faults []string) {
	a, err := tpl.API()
	if err != nil {
		return []string{err.Error()}
	}
	if got := slices.Sorted(maps.Keys(a.Responses)); !slices.Equal(got, responses) {
		faults = append(faults, fmt.Sprintf("responses of the types %q, want %q", got, responses))
	}
	for name, r := range a.Responses {
		permitted := []string{"$context.extendedRequestId"}
		if name == "ACCESS_DENIED" {
			permitted = append(permitted, "$context.authorizer.code", "$context.authorizer.title", "$context.authorizer.detail")
		}
		for _, text := range r.Templates {
			for _, v := range variable.FindAllString(text, -1) {
				if !slices.Contains(permitted, v) {
					faults = append(faults, name+": the template has "+v)
				}
			}
			if !json.Valid([]byte(text)) {
				faults = append(faults, name+": this is not JSON: "+text)
			}
		}
	}
	return faults
}
