package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
)

// refusal is a gateway response in place of the function's answer.
type refusal struct {
	kind    kind
	message string
}

// verdict is an authorizer's answer.
type verdict struct {
	PrincipalID    string         `json:"principalId"`
	Context        map[string]any `json:"context"`
	PolicyDocument policy         `json:"policyDocument"`
}

type policy struct {
	Statement []statement
}

type statement struct {
	Effect           string
	Action, Resource stringOrList
	Condition        map[string]map[string]time.Time // only DateLessThan aws:CurrentTime
}

// stringOrList is a text or a list of texts, as in IAM's policies.
type stringOrList []string

func (s *stringOrList) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*s = stringOrList{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// authorize calls the route's authorizer, or uses its cached answer. It returns nil if the request is allowed.
func (x *exchange) authorize() *refusal {
	name := x.matched.route.Authorizer
	if name == "" {
		return nil
	}
	auth := x.g.api.Authorizers[name]
	key, ok := x.cacheKey(name, auth)
	if !ok {
		return &refusal{unauthorized, "Unauthorized"}
	}
	v, err := x.cached(key, auth)
	if err != nil {
		x.failure = fmt.Sprintf("authorizer %s: %v", auth.Function, err)
		return authorizerFault(err)
	}
	x.principal = map[string]any{}
	maps.Copy(x.principal, v.Context)
	x.principal["principalId"] = v.PrincipalID
	return v.PolicyDocument.evaluate(x.methodARN(), x.g.now())
}

// keptVerdict is an authorizer's answer that is kept for Authorizer.TTL.
type keptVerdict struct {
	verdict verdict
	until   time.Time
}

// cached returns the authorizer's kept answer, or calls the authorizer and keeps the answer.
func (x *exchange) cached(key string, auth translated.Authorizer) (verdict, error) {
	if kept, ok := x.g.kept.Load(key); ok && x.g.now().Before(kept.(keptVerdict).until) {
		return kept.(keptVerdict).verdict, nil
	}
	v, err := x.callAuthorizer(auth)
	if err == nil && auth.TTL > 0 {
		x.g.kept.Store(key, keptVerdict{v, x.g.now().Add(auth.TTL)})
	}
	return v, err
}

// cacheKey returns the key of a kept answer: the authorizer and the values of its identity sources. It returns false
// when the request lacks one of these values. The gateway then refuses the request.
func (x *exchange) cacheKey(name string, auth translated.Authorizer) (string, bool) {
	key := name
	for _, source := range auth.Identity {
		value := x.source(source)
		if value == "" {
			return "", false
		}
		key += "\x00" + value
	}
	return key, true
}

// source returns the value of an identity source, which is a header.
func (x *exchange) source(source string) string {
	return x.r.Header.Get(strings.TrimPrefix(source, "method.request.header."))
}

// callAuthorizer calls the authorizer's function.
func (x *exchange) callAuthorizer(auth translated.Authorizer) (verdict, error) {
	payload, err := x.authorizerEvent(auth)
	if err != nil {
		return verdict{}, err
	}
	answer, err := x.invoke(auth.Function, payload, x.g.authorizerLimit)
	if err != nil {
		return verdict{}, err
	}
	return parseVerdict(answer)
}

func parseVerdict(answer []byte) (verdict, error) {
	var v verdict
	if err := decode(answer, &v); err != nil {
		return v, &malformedVerdictError{err.Error()}
	}
	if v.PrincipalID == "" || len(v.PolicyDocument.Statement) == 0 {
		return v, &malformedVerdictError{"principalId or policyDocument is missing"}
	}
	for _, s := range v.PolicyDocument.Statement {
		end := s.Condition["DateLessThan"]
		isKnown := len(s.Condition) == 1 && len(end) == 1 && !end["aws:CurrentTime"].IsZero()
		if s.Condition != nil && !isKnown {
			return v, &malformedVerdictError{"the lab does not know the condition of its policy"}
		}
	}
	for name, value := range v.Context {
		switch value := value.(type) {
		case string:
		case bool, json.Number: // the function gets these as text
			v.Context[name] = fmt.Sprint(value)
		default:
			return v, &malformedVerdictError{"context." + name + " is not a text, a number or a boolean"}
		}
	}
	return v, nil
}

type malformedVerdictError struct{ why string }

func (m *malformedVerdictError) Error() string { return "its answer is malformed: " + m.why }

// authorizerFault returns the response when an authorizer gave no verdict. By AWS's convention, the error text
// "Unauthorized" of an authorizer means 401. We assume that a throttled authorizer is AUTHORIZER_FAILURE, like a time-out: AWS
// does not document it, and the status is 500 in any case.
func authorizerFault(err error) *refusal {
	var failed *lambda.FunctionError
	var malformed *malformedVerdictError
	switch {
	case errors.As(err, &failed) && failed.Message == "Unauthorized":
		return &refusal{unauthorized, "Unauthorized"}
	case errors.As(err, &failed), errors.As(err, &malformed):
		return &refusal{authorizerConfigurationError, "Internal server error"}
	}
	return &refusal{authorizerFailure, "Internal server error"}
}

// evaluate decides like IAM: an explicit Deny wins, and without an Allow the request is denied. It evaluates the condition
// of a kept answer at each request. AWS does not document whether API Gateway does so.
func (p policy) evaluate(methodARN string, now time.Time) *refusal {
	allowed := false
	for _, s := range p.Statement {
		if !s.Action.matches("execute-api:Invoke") || !s.Resource.matches(methodARN) {
			continue
		}
		if end, has := s.Condition["DateLessThan"]["aws:CurrentTime"]; has && !now.Before(end) {
			continue
		}
		if s.Effect != "Allow" {
			return &refusal{accessDenied, "User is not authorized to access this resource with an explicit deny"}
		}
		allowed = true
	}
	if !allowed {
		return &refusal{accessDenied, "User is not authorized to access this resource"}
	}
	return nil
}

func (s stringOrList) matches(value string) bool {
	return slices.ContainsFunc(s, func(pattern string) bool { return translated.Like(pattern, value) })
}
