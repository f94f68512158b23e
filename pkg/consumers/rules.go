package consumers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"latchkey/pkg/cause"
)

// shared lists the ARNs of the stack's authorizers for other APIs.
type shared []string

// has reports whether an authorizer's URI names one of the functions, or a version or an alias of one.
func (l shared) has(uri string) bool {
	_, function, _ := strings.Cut(uri, "/functions/")
	function, _, _ = strings.Cut(function, "/invocations")
	for _, arn := range l {
		isVersionOrAlias := strings.HasPrefix(function, arn+":")
		if function == arn || isVersionOrAlias {
			return true
		}
	}
	return false
}

// faultsIn returns the faults of the authorizers in an OpenAPI document that call one of the functions.
func (l shared) faultsIn(document []byte) (faults []string, err error) {
	var d struct {
		Components struct {
			SecuritySchemes map[string]struct {
				Authorizer restAuthorizer `json:"x-amazon-apigateway-authorizer"`
			}
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, cause.Of(err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.SecuritySchemes)) {
		a := d.Components.SecuritySchemes[name].Authorizer
		if l.has(a.AuthorizerURI) && len(a.faults()) > 0 {
			faults = append(faults, fmt.Sprintf("of its deployed authorizer %s, %s", name, strings.Join(a.faults(), "; ")))
		}
	}
	return faults, nil
}

// restAuthorizer is an authorizer of a REST API.
type restAuthorizer struct {
	ID, Name, Type, AuthorizerURI string
	AuthorizerResultTTLInSeconds  *int // nil: 300, AWS's default
}

// faults returns the faults of the authorizer. An event of type TOKEN does not show whether API Gateway keeps answers, so
// our authorizer refuses it. An identity source is not a fault in a REST API: when the time is 0, API Gateway only refuses requests
// that lack this source.
func (a restAuthorizer) faults() (all []string) {
	if strings.EqualFold(a.Type, "TOKEN") { // an export has it in lower case
		all = append(all, "its type is TOKEN, which the authorizer does not answer")
	}
	kept := 300 // seconds
	if a.AuthorizerResultTTLInSeconds != nil {
		kept = *a.AuthorizerResultTTLInSeconds
	}
	if kept != 0 {
		all = append(all, fmt.Sprintf("an answer is kept for %d seconds", kept))
	}
	return all
}

// httpAuthorizer is an authorizer of an HTTP API.
type httpAuthorizer struct {
	AuthorizerID, Name, AuthorizerURI string
	AuthorizerPayloadFormatVersion    string
	AuthorizerResultTTLInSeconds      int // 0 when absent: without an identity source, API Gateway keeps no answer
	EnableSimpleResponses             bool
	IdentitySource                    []string
}

// faults returns the faults of the authorizer: API Gateway could keep an answer, gets none because it could keep it, or
// cannot use our answer.
func (a httpAuthorizer) faults() (all []string) {
	if len(a.IdentitySource) > 0 {
		all = append(all, fmt.Sprintf("it has the identity source %s, and the authorizer does not answer then", strings.Join(a.IdentitySource, ", ")))
	}
	if a.AuthorizerResultTTLInSeconds != 0 {
		all = append(all, fmt.Sprintf("an answer is kept for %d seconds", a.AuthorizerResultTTLInSeconds))
	}
	if a.wantsPolicy() {
		all = append(all, "its payload is 2.0 without simple responses, so it refuses everyone")
	}
	return all
}

// wantsPolicy reports whether API Gateway expects a policy for payload 2.0. Our authorizers answer with a policy for
// payload 1.0 only.
func (a httpAuthorizer) wantsPolicy() bool {
	version := cmp.Or(a.AuthorizerPayloadFormatVersion, "2.0")
	return version == "2.0" && !a.EnableSimpleResponses
}

// settings returns the options of `aws apigatewayv2 update-authorizer` that mend the authorizer.
func (a httpAuthorizer) settings() string {
	text := "--identity-source '[]' --authorizer-result-ttl-in-seconds 0"
	if a.wantsPolicy() {
		text += " --enable-simple-responses"
	}
	return text
}
