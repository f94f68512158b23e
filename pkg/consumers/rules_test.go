package consumers

import (
	"strings"
	"testing"
)

func number(n int) *int { return &n }

// TestWhatCouldKeepAnAnswerIsWrong tries the settings of authorizers of REST APIs and HTTP APIs.
func TestWhatCouldKeepAnAnswerIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		authorizer interface{ wrong() []string }
		words      []string // one for each thing that is wrong
	}{
		"REST":                       {restAuthorizer{Type: "REQUEST", AuthorizerResultTTLInSeconds: number(0)}, nil},
		"REST, of an export":         {restAuthorizer{Type: "request", AuthorizerResultTTLInSeconds: number(0)}, nil},
		"REST, TOKEN":                {restAuthorizer{Type: "TOKEN", AuthorizerResultTTLInSeconds: number(0)}, []string{"type is TOKEN"}},
		"REST, TOKEN of an export":   {restAuthorizer{Type: "token", AuthorizerResultTTLInSeconds: number(0)}, []string{"type is TOKEN"}},
		"REST, one second":           {restAuthorizer{Type: "REQUEST", AuthorizerResultTTLInSeconds: number(1)}, []string{"kept for 1 seconds"}},
		"REST, AWS's default":        {restAuthorizer{Type: "REQUEST"}, []string{"kept for 300 seconds"}},
		"REST, TOKEN by default":     {restAuthorizer{Type: "TOKEN"}, []string{"type is TOKEN", "kept for 300 seconds"}},
		"HTTP, 1.0":                  {httpAuthorizer{AuthorizerPayloadFormatVersion: "1.0"}, nil},
		"HTTP, 2.0 and simple":       {httpAuthorizer{AuthorizerPayloadFormatVersion: "2.0", EnableSimpleResponses: true}, nil},
		"HTTP, 2.0 and a policy":     {httpAuthorizer{AuthorizerPayloadFormatVersion: "2.0"}, []string{"refuses everyone"}},
		"HTTP, an identity source":   {httpAuthorizer{AuthorizerPayloadFormatVersion: "1.0", IdentitySource: []string{"$request.header.Authorization"}}, []string{"source $request.header.Auth"}},
		"HTTP, a time":               {httpAuthorizer{AuthorizerPayloadFormatVersion: "1.0", AuthorizerResultTTLInSeconds: 60}, []string{"kept for 60 seconds"}},
		"HTTP, all that can be so":   {httpAuthorizer{AuthorizerPayloadFormatVersion: "2.0", IdentitySource: []string{"$context.routeKey"}, AuthorizerResultTTLInSeconds: 300}, []string{"$context.routeKey", "300", "everyone"}},
		"HTTP, a version not listed": {httpAuthorizer{}, []string{"refuses everyone"}},
	} {
		got := c.authorizer.wrong()
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

// TestOnlyTheStacksAuthorizersAreLookedAt tries ARNs that differ by a suffix or by the stack's name.
func TestOnlyTheStacksAuthorizersAreLookedAt(t *testing.T) {
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
