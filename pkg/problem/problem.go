// Package problem has the one error type of the product, and the one switch from an error to an
// HTTP answer (RFC 9457, application/problem+json).
//
// An Error has a Code for machines, a Detail for the caller and a Cause for the log. The caller
// never sees the cause.
package problem

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code is the machine-readable name of an error, part of the contract. The list is closed. Each
// code has exactly one HTTP status.
type Code string

// The codes, by status. infra/openapi.yaml lists the same ones.
const (
	InvalidJSON           Code = "invalid_json"
	InvalidCursor         Code = "invalid_cursor"
	InvalidIdempotencyKey Code = "invalid_idempotency_key"
	InvalidKid            Code = "invalid_kid"
	UnknownParameter      Code = "unknown_parameter"
	MissingParameter      Code = "missing_parameter"

	MissingCredentials             Code = "missing_credentials"
	InvalidCredentials             Code = "invalid_credentials"
	KeyExpired                     Code = "key_expired"
	KeyRevoked                     Code = "key_revoked"
	KeySuspended                   Code = "key_suspended"
	TokenInvalid                   Code = "token_invalid"
	TokenExpired                   Code = "token_expired"
	TokenEnded                     Code = "token_ended"
	UserStopped                    Code = "user_stopped"
	UserTokenRequired              Code = "user_token_required"
	InsufficientUserAuthentication Code = "insufficient_user_authentication" // RFC 9470
	APIKeyRequired                 Code = "api_key_required"

	InsufficientRole   Code = "insufficient_role"
	OrgSuspended       Code = "org_suspended"
	InsufficientScope  Code = "insufficient_scope"
	IdentityIncomplete Code = "identity_incomplete"
	RequestBlocked     Code = "request_blocked"

	RouteNotFound  Code = "route_not_found"
	OrgNotFound    Code = "org_not_found"
	MemberNotFound Code = "member_not_found"
	KeyNotFound    Code = "key_not_found"
	AppNotFound    Code = "app_not_found"
	LinkNotFound   Code = "link_not_found"

	EndpointNotFound Code = "endpoint_not_found"
	EventNotFound    Code = "event_not_found"
	DeliveryNotFound Code = "delivery_not_found"
	UnknownKid       Code = "unknown_kid"
	UnknownUser      Code = "unknown_user"

	MemberExists Code = "member_exists"
	LastAdmin    Code = "last_admin"
	LimitReached Code = "limit_reached"
	KeyNotActive Code = "key_not_active"

	LinkAlreadyClaimed Code = "link_already_claimed"
	DisabledByAdmin    Code = "disabled_by_admin"
	Conflict           Code = "conflict"

	LinkExpired Code = "link_expired"
	LinkRevoked Code = "link_revoked"
	KidRevoked  Code = "kid_revoked"

	BodyTooLarge         Code = "body_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"

	ValidationFailed     Code = "validation_failed"
	UserNotFound         Code = "user_not_found"
	IdempotencyKeyReused Code = "idempotency_key_reused"

	RateLimited Code = "rate_limited"
	Internal    Code = "internal"
	Unavailable Code = "unavailable"
)

// kind has the properties that all errors of one code share.
type kind struct {
	code   Code
	status int
	title  string
}

// kinds is the one switch from code to HTTP. It is an array, because a map would be built at
// every cold start.
var kinds = [...]kind{
	{InvalidJSON, http.StatusBadRequest, "The body is not valid JSON"},
	{InvalidCursor, http.StatusBadRequest, "The cursor is not valid"},
	{InvalidIdempotencyKey, http.StatusBadRequest, "The Idempotency-Key is not valid"},
	{InvalidKid, http.StatusBadRequest, "The kid is not valid"},
	{UnknownParameter, http.StatusBadRequest, "The query has an unknown parameter"},
	{MissingParameter, http.StatusBadRequest, "The query lacks a parameter"},
	{MissingCredentials, http.StatusUnauthorized, "Credentials are missing"},
	{InvalidCredentials, http.StatusUnauthorized, "The credentials are not valid"},
	{KeyExpired, http.StatusUnauthorized, "The API key has expired"},
	{KeyRevoked, http.StatusUnauthorized, "The API key was revoked"},
	{KeySuspended, http.StatusUnauthorized, "The org of the API key is suspended"},
	{TokenInvalid, http.StatusUnauthorized, "The access token is not valid"},
	{TokenExpired, http.StatusUnauthorized, "The access token has expired"},
	{TokenEnded, http.StatusUnauthorized, "The access token was ended by a sign-out"},
	{UserStopped, http.StatusUnauthorized, "The person is stopped"},
	{InsufficientUserAuthentication, http.StatusUnauthorized, "The last sign-in was too long ago"},
	{UserTokenRequired, http.StatusUnauthorized, "This route needs an access token"},
	{APIKeyRequired, http.StatusUnauthorized, "This route needs an API key"},
	{InsufficientRole, http.StatusForbidden, "The role does not allow this"},
	{OrgSuspended, http.StatusForbidden, "The org is suspended"},
	{InsufficientScope, http.StatusForbidden, "The API key lacks a scope"},
	{IdentityIncomplete, http.StatusForbidden, "The identity has no email"},
	{RequestBlocked, http.StatusForbidden, "The request was blocked"},
	{RouteNotFound, http.StatusNotFound, "No such route"},
	{OrgNotFound, http.StatusNotFound, "No such org"},
	{MemberNotFound, http.StatusNotFound, "No such member"},
	{KeyNotFound, http.StatusNotFound, "No such API key"},
	{AppNotFound, http.StatusNotFound, "No such app"},
	{LinkNotFound, http.StatusNotFound, "No such link"},
	{EndpointNotFound, http.StatusNotFound, "No such webhook endpoint"},
	{EventNotFound, http.StatusNotFound, "No such event"},
	{DeliveryNotFound, http.StatusNotFound, "No such delivery"},
	{UnknownKid, http.StatusNotFound, "No such verification key"},
	{UnknownUser, http.StatusNotFound, "No such user"},
	{MemberExists, http.StatusConflict, "The user is already a member"},
	{LastAdmin, http.StatusConflict, "An org must keep at least one admin"},
	{LimitReached, http.StatusConflict, "A limit is reached"},
	{KeyNotActive, http.StatusConflict, "The API key is not active"},
	{LinkAlreadyClaimed, http.StatusConflict, "The link was claimed"},
	{DisabledByAdmin, http.StatusConflict, "An admin disabled the webhook endpoint"},
	{Conflict, http.StatusConflict, "The present state does not allow this"},
	{LinkExpired, http.StatusGone, "The link has expired"},
	{LinkRevoked, http.StatusGone, "The link was revoked"},
	{KidRevoked, http.StatusGone, "The verification key was revoked"},
	{BodyTooLarge, http.StatusRequestEntityTooLarge, "The body is too large"},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "The body is not application/json"},
	{ValidationFailed, http.StatusUnprocessableEntity, "The input is not valid"},
	{UserNotFound, http.StatusUnprocessableEntity, "No account has that email"},
	{IdempotencyKeyReused, http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request"},
	{RateLimited, http.StatusTooManyRequests, "Too many requests"},
	{Internal, http.StatusInternalServerError, "Internal error"},
	{Unavailable, http.StatusServiceUnavailable, "Temporarily unavailable"},
}

// Codes returns every code.
func Codes() []Code {
	out := make([]Code, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.code)
	}
	return out
}

// find returns the kind of a code; for an unknown code, the kind of Internal.
func (c Code) find() kind {
	for _, k := range kinds {
		if k.code == c {
			return k
		}
	}
	return Internal.find() // kinds has Internal
}

// Status returns the HTTP status of a code, 500 for an unknown code.
func (c Code) Status() int { return c.find().status }

// Title returns the short, fixed sentence of a code (RFC 9457, "title").
func (c Code) Title() string { return c.find().title }

// Type returns the problem type URI of a code (RFC 9457, "type").
func (c Code) Type() string { return "urn:latchkey:problem:" + string(c) }

// Field is a fault of one value of the input.
type Field struct {
	Pointer string `json:"pointer"` // JSON pointer into the body (RFC 6901), or "?name" for a query parameter; answers show at most 256 bytes
	Code    string `json:"code"`    // the fault, for machines: required, type, unknown, …
	Message string `json:"message"` // the fault, for a person
}

// Error is an error that a caller may see. Compare codes with Is.
type Error struct {
	Code   Code
	Detail string  // one sentence for the caller; never holds a secret or another org's data
	Fields []Field // with ValidationFailed, UnknownParameter, and InvalidJSON for an unknown member; answers show the first 10
	Cause  error   // for the log, never for the caller
	KeyID  string  // for the log of a refusal: the API key whose secret matches, or ""

	RetryAfter time.Duration // with 429 and 503, in whole seconds; 0: one
	Orgs       []string      // with LastAdmin of an erasure: the ids of at most 100 orgs
	Violated   []string      // with RateLimited: the names of the limits of an API key
	Scopes     []string      // with InsufficientScope: the scopes that the key needs
	MaxAge     time.Duration // with InsufficientUserAuthentication: how long ago a sign-in may be, in whole seconds
}

// New returns an error without a cause.
func New(code Code, detail string) *Error { return &Error{Code: code, Detail: detail} }

// Wrap returns an error that keeps its cause for the log.
func Wrap(code Code, detail string, cause error) *Error {
	return &Error{Code: code, Detail: detail, Cause: cause}
}

// OverLimits returns the 429 of an API key that is over its limits. violated has their names.
func OverLimits(detail string, violated []string, retryAfter time.Duration) *Error {
	return &Error{Code: RateLimited, Detail: detail, Violated: violated, RetryAfter: retryAfter}
}

// Invalid returns the 422 for one bad value of the input.
func Invalid(pointer, code, message string) *Error {
	return &Error{
		Code: ValidationFailed, Detail: "The input has a value that is not valid.",
		Fields: []Field{{Pointer: pointer, Code: code, Message: message}},
	}
}

// ErrAtWill is the cause of an Unavailable that any caller can cause, mostly without a credential. So the error does not show a
// fault of ours.
var ErrAtWill = errors.New("any caller can cause this")

// ErrServiceIssuer is the ErrAtWill for an issuer that only services have and that cannot be called. Anyone can cause the call
// with an invented token.
var ErrServiceIssuer = fmt.Errorf("only services have this issuer: %w", ErrAtWill)

// Error returns the text for the log: code, detail and cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether err is, or wraps, an Error of this code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Refusal returns the Error of a refused caller: its status is 401, 403 or 429. ok is false for
// every other error.
func Refusal(err error) (refused *Error, ok bool) {
	if !errors.As(err, &refused) {
		return nil, false
	}
	switch refused.Code.Status() {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return refused, true
	default:
		return nil, false
	}
}

// From returns the Error that err is or wraps. Any other error becomes Internal, with err as its
// cause.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(Internal, "Something went wrong on our side.", err)
}
