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

// has reports whether the URI of an authorizer names one of the functions, or a version or an alias of one.
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

// faultsIn returns the faults of those authorizers in an OpenAPI document that call one of the functions.
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
			faults = append(faults, fmt.Sprintf("deployed authorizer %s: %s", name, strings.Join(a.faults(), "; ")))
		}
	}
	return faults, nil
}

// restAuthorizer is an authorizer of a REST API.
type restAuthorizer struct {
	ID, Name, Type, AuthorizerURI string
	AuthorizerResultTTLInSeconds  *int // nil: 300, AWS's default
}

// faults returns the faults of the authorizer. An event of type TOKEN does not show whether API Gateway caches answers, so our
// authorizer refuses it. In a REST API an identity source is not a fault: with a caching time of 0, API Gateway only uses it to refuse
// requests that lack the source.
func (a restAuthorizer) faults() (all []string) {
	if strings.EqualFold(a.Type, "TOKEN") { // an export spells it in lower case
		all = append(all, "its type is TOKEN, which our authorizer refuses")
	}
	cachedFor := 300 // seconds
	if a.AuthorizerResultTTLInSeconds != nil {
		cachedFor = *a.AuthorizerResultTTLInSeconds
	}
	if cachedFor != 0 {
		all = append(all, fmt.Sprintf("an answer is cached for %d seconds", cachedFor))
	}
	return all
}

// httpAuthorizer is an authorizer of an HTTP API.
type httpAuthorizer struct {
	AuthorizerID, Name, AuthorizerURI string
	AuthorizerPayloadFormatVersion    string
	AuthorizerResultTTLInSeconds      int // missing means 0: without an identity source, API Gateway caches no answer
	EnableSimpleResponses             bool
	IdentitySource                    []string
}

// faults returns the faults of the authorizer: API Gateway could cache an answer, or gets no answer for this reason, or cannot use
// the answer.
func (a httpAuthorizer) faults() (all []string) {
	if len(a.IdentitySource) > 0 {
		all = append(all, fmt.Sprintf("it has the identity source %s, for which our authorizer gives no answer", strings.Join(a.IdentitySource, ", ")))
	}
	if a.AuthorizerResultTTLInSeconds != 0 {
		all = append(all, fmt.Sprintf("an answer is cached for %d seconds", a.AuthorizerResultTTLInSeconds))
	}
	if a.needsPolicy() {
		all = append(all, "its payload is 2.0 without simple responses, so it refuses everyone")
	}
	return all
}

// needsPolicy reports whether API Gateway expects a policy for payload 2.0. Our authorizers answer with a policy only for
// payload 1.0.
func (a httpAuthorizer) needsPolicy() bool {
	version := cmp.Or(a.AuthorizerPayloadFormatVersion, "2.0")
	return version == "2.0" && !a.EnableSimpleResponses
}

// settings returns the options of `aws apigatewayv2 update-authorizer` that repair the authorizer.
func (a httpAuthorizer) settings() string {
	text := "--identity-source '[]' --authorizer-result-ttl-in-seconds 0"
	if a.needsPolicy() {
		text += " --enable-simple-responses"
	}
	return text
}
