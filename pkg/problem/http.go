package problem

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"latchkey/pkg/plainjson"
)

// document is the body of an error: the members of RFC 9457, then ours.
type document struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail"`
	Code      Code    `json:"code"`
	RequestID string  `json:"requestId"`
	Errors    []Field `json:"errors,omitempty"`
	MaxAge    int     `json:"maxAge,omitempty"` // seconds

	Orgs     []string `json:"orgs,omitempty"`              // why a person cannot be erased
	Violated []string `json:"violated-policies,omitempty"` // draft-ietf-httpapi-ratelimit-headers-11
}

// Write answers a request with err, as application/problem+json that ends in a newline. 503 and
// 429 carry Retry-After in whole seconds, at least 1.
func Write(ctx context.Context, w http.ResponseWriter, err error) {
	e := From(err)
	code := e.Code.find().code // internal for a code that is not in the list
	status := code.Status()
	body, mErr := plainjson.Marshal(document{
		Type: code.Type(), Title: code.Title(), Status: status, Detail: e.Detail,
		Code: code, RequestID: RequestID(ctx), Errors: shown(e.Fields), MaxAge: int(e.MaxAge.Seconds()), Orgs: e.Orgs, Violated: e.Violated,
	})
	if mErr != nil { // strings and integers always marshal
		body = []byte(`{"code":"internal","status":500}`)
		status = http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if challenge := e.Challenge(); challenge != "" {
		// API Gateway renames this header in a function's answer. So the body has the value too, as maxAge.
		h.Set("WWW-Authenticate", challenge)
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.RetryAfter.Seconds())))))
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error means that the caller has gone
}

// Challenge returns the WWW-Authenticate header of an error: the required scopes (RFC 6750), or the request to sign in again (RFC 9470).
// For other errors it returns "". After a sign-out, no earlier sign-in is good enough, even if the issuer still has a session. So max_age
// is 0.
func (e *Error) Challenge() string {
	if e.Code == InsufficientScope && len(e.Scopes) > 0 && !slices.ContainsFunc(e.Scopes, isNotToken) {
		return `Bearer error="insufficient_scope", scope="` + strings.Join(e.Scopes, " ") + `"`
	}
	if e.Code != InsufficientUserAuthentication && e.Code != TokenEnded {
		return ""
	}
	return `Bearer error="` + string(InsufficientUserAuthentication) + `", max_age="` + strconv.Itoa(int(e.MaxAge.Seconds())) + `"`
}

// isNotToken reports whether a text is not a scope-token (RFC 6750, section 3). Only scope-tokens may be in the quotes of a
// challenge.
func isNotToken(s string) bool {
	return s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// Bounds for the parts of a request that an answer repeats. Without them, one long name in a body would fill an answer.
const (
	maxFields  = 10
	maxPointer = 256 // bytes
)

// shown returns the first fields. It cuts long pointers, but not inside a character.
func shown(all []Field) []Field {
	out := append([]Field(nil), all[:min(len(all), maxFields)]...)
	for i := range out {
		if p := out[i].Pointer; len(p) > maxPointer {
			end := maxPointer
			for !utf8.RuneStart(p[end]) {
				end--
			}
			out[i].Pointer = p[:end] + "…"
		}
	}
	return out
}

// The keys of a request's values in its context.
type (
	requestIDKey struct{}
	traceKey     struct{}
)

// WithRequestID returns a context with the id of a request, for its error and its log line.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of WithRequestID; "" if there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// WithTrace returns a context with the id of the trace that a request belongs to, for its log line.
func WithTrace(ctx context.Context, trace string) context.Context {
	return context.WithValue(ctx, traceKey{}, trace)
}

// Trace returns the id of WithTrace; "" if there is none.
func Trace(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}
