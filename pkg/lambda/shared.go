package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"latchkey/pkg/metric"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// Check decides on a request to another API. headers are the values of its Authorization headers, path its path parameters, and
// allowsSuspended is true when the API allows suspended orgs. It returns the id and the fields of the principal. A *problem.Error with
// status 401 or 403 is a refusal, with a KeyID for the log. With rate_limited, the id and the fields are returned too. After any other
// error, it is not known whether the request may pass.
type Check func(ctx context.Context, headers []string, path map[string]string, allowsSuspended bool) (id string, fields map[string]string, err error)

// StartSharedAuthorizer serves check as the REQUEST authorizer of other APIs: REST APIs, and HTTP APIs with payload 1.0
// or, with simple responses, 2.0. If allowFor is not 0, a policy that allows ends after this time: a gateway that caches
// the answer, against our advice, may use the policy for later requests, and denies those that come after this time.
// StartSharedAuthorizer does not return.
func StartSharedAuthorizer(check Check, allowFor time.Duration) {
	start(&sharedAuthorizer{check: check, allowFor: allowFor})
}

// handlerLimits is a value of the stage variable LatchkeyLimits. It means that the API's functions answer when a key is over its limits.
// The authorizer then allows such a request, with the field limited. For other APIs, the authorizer denies it.
const handlerLimits = "handler"

// allowSuspended is a value of the stage variable LatchkeySuspended. It means that the API lets in the members of suspended orgs.
const allowSuspended = "allow"

// sharedAuthorizer decides on events of other APIs. It implements lambda.Handler.
type sharedAuthorizer struct {
	check    Check
	allowFor time.Duration // 0: a policy has no end
	accepted metric.Counter
	limited  metric.Counter
}

// simpleAnswer answers an event of payload 2.0.
type simpleAnswer struct {
	IsAuthorized bool              `json:"isAuthorized"`
	Context      map[string]string `json:"context"`
}

// misconfigured returns an error that names the fault in the template of the calling API, or
// nil. If the gateway could cache an answer, the answer would still count after the end of the credential.
func misconfigured(e authorizerEvent) error {
	const remedy = `: set the authorizer's type to REQUEST, no identity source, and the cache time (TTL) to 0`
	switch {
	case e.eventType == "TOKEN":
		return principal.MisconfiguredError("the authorizer is of type TOKEN, whose answers are cached" + remedy)
	case e.eventType != "REQUEST":
		return principal.MisconfiguredError("the event is not a request to an authorizer")
	case strings.HasSuffix(e.methodARN, "/$connect"):
		return principal.MisconfiguredError("the API is one for WebSockets, where one answer lasts as long as the connection")
	case hasIdentitySource(e.identitySource):
		return principal.MisconfiguredError("the authorizer has an identity source, so API Gateway caches its answers" + remedy)
	case e.methodARN == "":
		return principal.MisconfiguredError("the event names no route")
	default:
		return nil
	}
}

// hasIdentitySource reports whether an event has an identity source. An event without one has null, an
// empty text or an empty list, or does not have the member.
func hasIdentitySource(text []byte) bool {
	switch string(text) {
	case "", "null", `""`, "[]":
		return false
	default:
		return true
	}
}

// Invoke decides on one event. It returns an error when it cannot decide. A REST API answers the error with
// AUTHORIZER_FAILURE, and an HTTP API with 500.
func (h *sharedAuthorizer) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	e, err := readAuthorizerEvent(event)
	if err != nil {
		return nil, err
	}
	// Copy the members of payload 2.0 to the names of the other payloads.
	e.methodARN = cmp.Or(e.methodARN, e.routeARN)
	e.resource = cmp.Or(e.resource, e.routeKey)
	e.sourceIP = cmp.Or(e.sourceIP, e.httpSourceIP)
	ctx, cancel := prepared(traced(ctx, string(e.trace)), e.extendedRequestID)
	defer cancel()
	if err := misconfigured(e); err != nil {
		slog.ErrorContext(ctx, "refused", "code", principal.CodeMisconfigured, "error", err, "requestId", problem.RequestID(ctx),
			"trace", problem.Trace(ctx), "api", e.api(), "route", e.route())
		return nil, err
	}
	var path map[string]string
	if e.pathParameters != nil {
		if err := json.Unmarshal(e.pathParameters, &path); err != nil {
			return nil, errEvent
		}
	}
	var answer any
	err = guarded(ctx, func() (err error) {
		answer, err = h.decide(ctx, e, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// decide returns the answer to a request whose authorizer is configured correctly. An error means that it cannot
// decide.
func (h *sharedAuthorizer) decide(ctx context.Context, e authorizerEvent, path map[string]string) (any, error) {
	id, fields, err := h.check(ctx, e.authorization(), path, e.suspended == allowSuspended)
	if err == nil {
		h.accepted.Add(ctx, metric.CredentialsAccepted, time.Now())
		return answerTo(e, allow, id, fields, ends(h.allowFor)), nil
	}
	if problem.Is(err, problem.RateLimited) {
		h.limited.Add(ctx, metric.RequestsLimited, time.Now())
		slog.InfoContext(ctx, "limited", "code", string(problem.RateLimited), "requestId", problem.RequestID(ctx), "trace", problem.Trace(ctx),
			"route", e.route(), "caller", id, "violated", fields["limited"])
		if e.limits == handlerLimits {
			return answerTo(e, allow, id, fields, ends(h.allowFor)), nil
		}
		return answerTo(e, deny, "", map[string]string{
			"code": string(problem.RateLimited), "title": problem.RateLimited.Title(), "detail": problem.From(err).Detail, "retryAfter": fields["retryAfter"],
		}, nil), nil
	}
	if refused, ok := problem.Refusal(err); ok {
		logRefusal(ctx, e, refused, refused.KeyID)
		return answerTo(e, deny, "", map[string]string{
			"code": string(refused.Code), "title": refused.Code.Title(), "detail": refused.Detail,
		}, nil), nil
	}
	var counts []any
	if errors.Is(err, problem.ErrAtWill) { // the alarm on errors of the authorizers subtracts the metric
		counts = metric.SharedUnknownKeys.With(1)
	}
	return nil, undecided(ctx, e, err, counts...)
}

// ends returns the condition that ends a policy after a time, nil for 0.
func ends(after time.Duration) json.RawMessage {
	if after == 0 {
		return nil
	}
	return json.RawMessage(`{"DateLessThan":{"aws:CurrentTime":"` + time.Now().Add(after).UTC().Format(time.RFC3339) + `"}}`)
}

// answerTo returns the answer in the form that the event requires. Only a policy can have the condition.
func answerTo(e authorizerEvent, effect, id string, fields map[string]string, condition json.RawMessage) any {
	if e.version == "2.0" {
		return simpleAnswer{effect == allow, fields}
	}
	return &authorizerAnswer{
		PrincipalID: principalID(id), Context: fields,
		PolicyDocument: policy{policyVersion, []statement{{"execute-api:Invoke", effect, thisRoute(e.methodARN), condition}}},
	}
}

// thisRoute returns a policy's resource for one request, so that a gateway that caches the answer, against our
// advice, allows no other path with it. "*" and "$" have a meaning in a policy: each becomes "?", which matches
// any one character.
func thisRoute(methodARN string) string {
	return strings.NewReplacer("*", "?", "$", "?").Replace(methodARN)
}
