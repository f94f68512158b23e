package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/metric"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

const (
	policyVersion = "2012-10-17"
	allow         = "Allow"
)

// authorizerEvent has the fields of API Gateway's REQUEST authorizer event that are read.
type authorizerEvent struct {
	MethodARN         string              `json:"methodArn"`
	Resource          string              `json:"resource"`
	HTTPMethod        string              `json:"httpMethod"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	RequestContext    struct {
		ExtendedRequestID string `json:"extendedRequestId"`
		Identity          struct {
			SourceIP string `json:"sourceIp"` // of the connection, because a client can write any X-Forwarded-For
		} `json:"identity"`
	} `json:"requestContext"`
}

type authorizerAnswer struct {
	PrincipalID    string            `json:"principalId"`
	PolicyDocument policy            `json:"policyDocument"`
	Context        map[string]string `json:"context"`
}

type policy struct {
	Version   string
	Statement []statement
}

type statement struct {
	Action, Effect, Resource string
}

// Decide turns the values of the Authorization headers into a principal, as
// authn.Authorizer.Authorize does.
type Decide func(ctx context.Context, want principal.Credential, headers []string) (principal.Principal, error)

// CredentialOf returns the credential that a route takes. ok is false for an unknown route.
type CredentialOf func(method, resource string) (principal.Credential, bool)

// StartAuthorizer serves decide as API Gateway's REQUEST authorizer. It does not
// return.
func StartAuthorizer(decide Decide, credentialOf CredentialOf) {
	start(authorizer(decide, credentialOf))
}

func authorizer(decide Decide, credentialOf CredentialOf) func(context.Context, authorizerEvent) (*authorizerAnswer, error) {
	var accepted metric.Counter
	return func(ctx context.Context, e authorizerEvent) (answer *authorizerAnswer, err error) {
		defer slowEnough()()
		ctx, cancel := prepared(ctx, e.RequestContext.ExtendedRequestID)
		defer cancel()
		err = guarded(ctx, func() (err error) {
			answer, err = authorize(ctx, e, decide, credentialOf)
			return err
		})
		if err == nil && answer.PolicyDocument.Statement[0].Effect == allow {
			accepted.Add(ctx, metric.CredentialsAccepted, time.Now())
		}
		return answer, err
	}
}

// authorize answers Allow or Deny. When it cannot decide, it returns an error, which the
// gateway answers with 503.
func authorize(ctx context.Context, e authorizerEvent, decide Decide, credentialOf CredentialOf) (*authorizerAnswer, error) {
	want, ok := credentialOf(e.HTTPMethod, e.Resource)
	if !ok {
		return nil, fmt.Errorf("the authorizer stands before %s %s, which is not in the route table", e.HTTPMethod, e.Resource)
	}
	headers := authorizationHeaders(e)
	p, err := decide(ctx, want, headers)
	if err == nil {
		return &authorizerAnswer{
			PrincipalID: principalID(p.ID()), Context: p.Context(),
			PolicyDocument: onStage(allow, e.MethodARN),
		}, nil
	}
	var refused *problem.Error
	if errors.As(err, &refused) && refused.Code.Status() == http.StatusUnauthorized {
		logRefusal(ctx, e, refused, p.ID())
		return &authorizerAnswer{
			PrincipalID:    principalID(""),
			PolicyDocument: onStage("Deny", e.MethodARN),
			Context: map[string]string{
				"code": string(refused.Code), "title": refused.Code.Title(), "detail": refused.Detail, "challenge": challenge(headers),
			},
		}, nil
	}
	slog.ErrorContext(ctx, "authorizer cannot tell", "error", err, "requestId", problem.RequestID(ctx),
		"route", e.HTTPMethod+" "+e.Resource)
	return nil, errors.New("the authorizer cannot tell who calls")
}

// challenge returns the WWW-Authenticate of a refusal. It is one of two constants, because
// the gateway's template does not escape. It has no error when the request had no Bearer
// credential (RFC 6750, section 3).
func challenge(headers []string) string {
	for _, h := range headers {
		if _, ok := principal.Bearer(h); ok {
			return `Bearer error="invalid_token"`
		}
	}
	return "Bearer"
}

// logRefusal writes the one line of a refusal. caller is the id of the API key whose secret
// has matched, or else empty. No caller can choose what the line has of it.
func logRefusal(ctx context.Context, e authorizerEvent, refused *problem.Error, caller string) {
	attrs := []any{
		"code", string(refused.Code), "requestId", problem.RequestID(ctx), "route", e.HTTPMethod + " " + e.Resource,
		"sourceIp", e.RequestContext.Identity.SourceIP, "caller", caller,
	}
	if refused.Cause != nil {
		attrs = append(attrs, "cause", refused.Cause.Error())
	}
	slog.InfoContext(ctx, "refused", append(attrs, metric.CredentialsRefused.With(1)...)...)
}

// onStage returns a policy for every route of the stage. It is not cached, so it decides on
// this one request only. SAM local reads a resource as a pattern, which the name of a single
// route could fail to match.
func onStage(effect, methodARN string) policy {
	resource := methodARN
	if parts := strings.SplitN(methodARN, "/", 3); len(parts) == 3 {
		resource = parts[0] + "/" + parts[1] + "/*"
	}
	return policy{Version: policyVersion, Statement: []statement{{"execute-api:Invoke", effect, resource}}}
}

func principalID(id string) string {
	if id == "" {
		return "anonymous"
	}
	return id
}

// authorizationHeaders returns every Authorization header of the request, in any case of the
// name, so that a second header is noticed.
func authorizationHeaders(e authorizerEvent) []string {
	var out []string
	for name, values := range e.MultiValueHeaders {
		if strings.EqualFold(name, "authorization") {
			out = append(out, values...)
		}
	}
	if e.MultiValueHeaders != nil {
		return out
	}
	for name, value := range e.Headers {
		if strings.EqualFold(name, "authorization") {
			out = append(out, value)
		}
	}
	return out
}
