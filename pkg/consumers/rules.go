package consumers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shared are the ARNs of the stack's authorizers for other APIs.
type shared []string

// has reports whether an authorizer's URI names one of them, or a version or an alias of one.
func (l shared) has(uri string) bool {
	_, function, _ := strings.Cut(uri, "/functions/")
	function, _, _ = strings.Cut(function, "/invocations")
	for _, arn := range l {
		if function == arn || strings.HasPrefix(function, arn+":") {
			return true
		}
	}
	return false
}

// wrongIn returns what is wrong with those authorizers of an OpenAPI document that ask ours.
func (l shared) wrongIn(document []byte) (wrong []string, err error) {
	var d struct {
		Components struct {
			SecuritySchemes map[string]struct {
				Authorizer restAuthorizer `json:"x-amazon-apigateway-authorizer"`
			}
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.SecuritySchemes)) {
		if a := d.Components.SecuritySchemes[name].Authorizer; l.has(a.AuthorizerURI) && len(a.wrong()) > 0 {
			wrong = append(wrong, fmt.Sprintf("of its deployed authorizer %s, %s", name, strings.Join(a.wrong(), "; ")))
		}
	}
	return wrong, nil
}

// restAuthorizer is an authorizer of a REST API.
type restAuthorizer struct {
	ID, Name, Type, AuthorizerURI string
	AuthorizerResultTTLInSeconds  *int // nil: 300, by AWS's reference of the field
}

// wrong says why API Gateway could keep an answer. An identity source is no fault here: without a time
// it only refuses requests that lack it.
func (a restAuthorizer) wrong() (all []string) {
	if strings.EqualFold(a.Type, "TOKEN") {
		all = append(all, "its type is TOKEN, which the authorizer does not answer")
	}
	kept := 300
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
	AuthorizerResultTTLInSeconds      int // absent is 0: API Gateway keeps an answer only by an identity source
	EnableSimpleResponses             bool
	IdentitySource                    []string
}

// wrong says why API Gateway could keep an answer, or takes none.
func (a httpAuthorizer) wrong() (all []string) {
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

// wantsPolicy reports whether API Gateway expects a policy, which the authorizers give for payload 1.0
// only.
func (a httpAuthorizer) wantsPolicy() bool {
	return cmp.Or(a.AuthorizerPayloadFormatVersion, "2.0") == "2.0" && !a.EnableSimpleResponses
}

// settings returns the options that mend it.
func (a httpAuthorizer) settings() string {
	text := "--identity-source '[]' --authorizer-result-ttl-in-seconds 0"
	if a.wantsPolicy() {
		text += " --enable-simple-responses"
	}
	return text
}
