package lambda

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	deny          = "Deny"
)

// authorizerEvent has those members of API Gateway's authorizer events that the authorizers read. With payload 1.0, an event of an HTTP
// API has the same names as an event of a REST API. With payload 2.0, it has other names.
type authorizerEvent struct {
	methodARN, resource, httpMethod string
	routeARN, routeKey              string // payload 2.0: instead of methodARN and resource
	eventType, version              string // version is "" for a REST API
	identitySource, pathParameters  []byte // JSON texts; nil: the event has none
	extendedRequestID               string
	sourceIP                        string // the address of the connection, because a client can write any X-Forwarded-For
	limits, suspended               string // the stage variables LatchkeyLimits and LatchkeySuspended
	httpSourceIP                    string // payload 2.0: instead of sourceIP

	// The values of the Authorization headers, by their name, which may be written in any case. So a second
	// header is noticed. many is from multiValueHeaders. single is from headers, and is used when the
	// event has no multiValueHeaders.
	many, single map[string][]string

	trace []byte // the header X-Amzn-Trace-Id, a part of the event's text
}

// readAuthorizerEvent reads an event.
func readAuthorizerEvent(text []byte) (e authorizerEvent, err error) {
	s := &scanner{text: text}
	s.object(func(name []byte) {
		switch string(name) {
		case "methodArn":
			e.methodARN = s.string()
		case "resource":
			e.resource = s.string()
		case "routeArn":
			e.routeARN = s.string()
		case "routeKey":
			e.routeKey = s.string()
		case "type":
			e.eventType = s.string()
		case "version":
			e.version = s.string()
		case "identitySource":
			e.identitySource = s.value()
		case "pathParameters":
			e.pathParameters = s.value()
		case "httpMethod":
			e.httpMethod = s.string()
		case "headers":
			e.single = s.authorizationHeaders(&e.trace, func(readText func()) { readText() }) // each header is one text
		case "multiValueHeaders":
			e.many = s.authorizationHeaders(&e.trace, s.array) // each header is an array of texts
		case "stageVariables":
			e.limits, e.suspended = s.stageVariables()
		case "requestContext":
			e.extendedRequestID, e.sourceIP, e.httpSourceIP = s.requestContext()
		default:
			s.skip()
		}
	})
	return e, s.end()
}

// authorizationHeaders reads headers, and returns the values of those with the name Authorization; nil for null.
// readValue reads the value of one header: it must call readText for each text of the value. The
// values of other headers are not copied, except that trace gets the value of X-Amzn-Trace-Id.
func (s *scanner) authorizationHeaders(trace *[]byte, readValue func(readText func())) (found map[string][]string) {
	if s.peek() == '{' {
		found = map[string][]string{}
	}
	var values []string
	wanted, isTrace := false, false
	readText := func() {
		value := s.quotedText()
		switch {
		case wanted:
			values = append(values, string(value))
		case isTrace:
			*trace = value
		}
	}
	s.object(func(name []byte) {
		values, wanted, isTrace = nil, bytes.EqualFold(name, []byte("authorization")), bytes.EqualFold(name, []byte("x-amzn-trace-id"))
		readValue(readText)
		if wanted {
			found[string(name)] = values
		}
	})
	return found
}

// requestContext reads the request context. Payload 2.0 has the source IP in the member http, the other events have it
// in the member identity.
func (s *scanner) requestContext() (extendedRequestID, sourceIP, httpSourceIP string) {
	s.object(func(name []byte) {
		switch string(name) {
		case "extendedRequestId":
			extendedRequestID = s.string()
		case "identity":
			sourceIP = s.member("sourceIp")
		case "http":
			httpSourceIP = s.member("sourceIp")
		default:
			s.skip()
		}
	})
	return extendedRequestID, sourceIP, httpSourceIP
}

// stageVariables reads the two stage variables that Latchkey defines.
func (s *scanner) stageVariables() (limits, suspended string) {
	s.object(func(name []byte) {
		switch string(name) {
		case "LatchkeyLimits":
			limits = s.string()
		case "LatchkeySuspended":
			suspended = s.string()
		default:
			s.skip()
		}
	})
	return limits, suspended
}

// member reads an object or null, and returns the text of one of its members; "" for none.
func (s *scanner) member(wanted string) (found string) {
	s.object(func(name []byte) {
		if string(name) == wanted {
			found = s.string()
		} else {
			s.skip()
		}
	})
	return found
}

// route returns the method and the route, for the log.
func (e authorizerEvent) route() string { return strings.TrimSpace(e.httpMethod + " " + e.resource) }

// api returns the ARN of the calling API with the stage and the method, for the log. It leaves out the path, which may hold a secret.
func (e authorizerEvent) api() string {
	parts := strings.SplitN(e.methodARN, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// authorization returns the values of every Authorization header.
func (e authorizerEvent) authorization() (values []string) {
	headers := e.many
	if headers == nil {
		headers = e.single
	}
	for _, found := range headers {
		values = append(values, found...)
	}
	return values
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
	Condition                json.RawMessage `json:",omitempty"`
}

// Decide turns the values of the Authorization headers of a request to a route into a principal, as
// authn.Authorizer.AuthorizeRoute does.
type Decide func(ctx context.Context, method, pattern string, headers []string) (principal.Principal, error)

// StartAuthorizer serves decide as API Gateway's REQUEST authorizer. It does not
// return.
func StartAuthorizer(decide Decide) { start(&authorizerHandler{decide: decide}) }

// authorizerHandler decides on authorizer events. It is a lambda.Handler, so it gets an event as
// JSON text.
type authorizerHandler struct {
	decide   Decide
	accepted metric.Counter
	limited  metric.Counter
}

// Invoke decides on one event. It returns an error when it cannot decide.
func (h *authorizerHandler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	e, err := readAuthorizerEvent(event)
	if err != nil {
		return nil, err
	}
	ctx, cancel := prepared(traced(ctx, string(e.trace)), e.extendedRequestID)
	defer cancel()
	var answer *authorizerAnswer
	err = guarded(ctx, func() (err error) {
		answer, err = authorize(ctx, e, h.decide)
		return err
	})
	if err != nil {
		return nil, err
	}
	if answer.PolicyDocument.Statement[0].Effect == allow {
		h.accepted.Add(ctx, metric.CredentialsAccepted, time.Now())
		if answer.Context["limited"] != "" {
			h.limited.Add(ctx, metric.RequestsLimited, time.Now())
		}
	}
	return json.Marshal(answer)
}

// authorize answers Allow, or Deny for a 401. When it cannot decide, it returns an error, and the gateway answers
// 503. A 403 is such an error too, because the authorizer does not check roles.
func authorize(ctx context.Context, e authorizerEvent, decide Decide) (*authorizerAnswer, error) {
	headers := e.authorization()
	p, err := decide(ctx, e.httpMethod, e.resource, headers)
	isOver := problem.Is(err, problem.RateLimited)
	if p.Deferred && !isOver {
		err = undecided(ctx, e, err) // undecided logs the error
	}
	// A key over its limits is let through, because an authorizer cannot answer 429. The function answers.
	if err == nil || isOver || p.Deferred {
		return &authorizerAnswer{
			PrincipalID: principalID(p.ID()), Context: p.Context(),
			PolicyDocument: onStage(allow, e.methodARN),
		}, nil
	}
	var refused *problem.Error
	if errors.As(err, &refused) && refused.Code.Status() == http.StatusUnauthorized {
		logRefusal(ctx, e, refused, p.ID())
		return &authorizerAnswer{
			PrincipalID:    principalID(""),
			PolicyDocument: onStage(deny, e.methodARN),
			Context: map[string]string{
				"code": string(refused.Code), "title": refused.Code.Title(), "detail": refused.Detail,
				"challenge": cmp.Or(refused.Challenge(), principal.Challenge(headers)),
			},
		}, nil
	}
	var counts []any
	switch { // the alarms on errors subtract both metrics
	case errors.Is(err, problem.ErrServiceIssuer):
		counts = metric.ServiceIssuerFaults.With(1)
	case errors.Is(err, problem.ErrAtWill):
		counts = metric.UnknownKeys.With(1)
	}
	return nil, undecided(ctx, e, err, counts...)
}

// undecided logs why there is no decision, and returns the error for Lambda. counts are attributes of the log line that
// count it in a metric.
func undecided(ctx context.Context, e authorizerEvent, err error, counts ...any) error {
	var ofLimits interface{ LogCode() string }
	if errors.As(err, &ofLimits) {
		counts = append(metric.LeasesFailed.With(1), "code", ofLimits.LogCode())
	}
	slog.ErrorContext(ctx, "authorizer cannot tell", append([]any{"error", err, "requestId", problem.RequestID(ctx), "trace", problem.Trace(ctx),
		"route", e.route()}, counts...)...)
	return errors.New("the authorizer cannot tell who calls")
}

// logRefusal writes one log line for a refusal. caller is the id of the API key whose secret
// has matched, or empty: so a caller cannot bring the id of another's key into the log.
func logRefusal(ctx context.Context, e authorizerEvent, refused *problem.Error, caller string) {
	attrs := []any{
		"code", string(refused.Code), "requestId", problem.RequestID(ctx), "trace", problem.Trace(ctx), "route", e.httpMethod + " " + e.resource,
		"sourceIp", e.sourceIP, "caller", caller,
	}
	if refused.Cause != nil {
		attrs = append(attrs, "cause", refused.Cause.Error())
	}
	slog.InfoContext(ctx, "refused", append(attrs, metric.CredentialsRefused.With(1)...)...)
}

// onStage returns a policy for every route of the stage. The gateway does not cache it, so it decides only on this
// request. A policy for only this route would fail: SAM local reads a resource as a pattern, and a path with special
// characters may not match itself.
func onStage(effect, methodARN string) policy {
	resource := methodARN
	if parts := strings.SplitN(methodARN, "/", 3); len(parts) == 3 {
		resource = parts[0] + "/" + parts[1] + "/*"
	}
	return policy{Version: policyVersion, Statement: []statement{{"execute-api:Invoke", effect, resource, nil}}}
}

// principalID returns the member principalId of an answer: anonymous for an empty id.
func principalID(id string) string {
	if id == "" {
		return "anonymous"
	}
	return id
}
