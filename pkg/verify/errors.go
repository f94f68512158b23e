package verify

import "errors"

// ErrRefused matches every error about a bad webhook (errors.Is): the issuer did not send this webhook to this
// endpoint, or sent it long ago. Answer 401. The error is a *RefusedError with the reason.
var ErrRefused = errors.New("verify: the webhook is refused")

// ErrUnavailable means that the key could not be looked up, so it is not known whether the
// webhook is good. Answer 503. The sender then delivers the webhook again.
var ErrUnavailable = errors.New("verify: the key cannot be looked up now")

// Reason is the reason of a refusal, for logs. infra/examples/vectors has the same names.
type Reason string

// The reasons.
const (
	Malformed      Reason = "malformed"       // not a compact JWS with two JSON objects, or too large
	WrongHeader    Reason = "wrong_header"    // alg, typ, kid or crit is wrong for a webhook
	WrongIssuer    Reason = "wrong_issuer"    // iss is another issuer
	WrongAudience  Reason = "wrong_audience"  // sent to another endpoint, or to more than one
	WrongTime      Reason = "wrong_time"      // iat or exp is missing or not an integer
	Expired        Reason = "expired"         // exp has passed
	Stale          Reason = "stale"           // iat is too old, whatever exp is
	NotYet         Reason = "not_yet"         // iat is in the future
	Incomplete     Reason = "incomplete"      // the event lacks a member
	UnknownKey     Reason = "unknown_key"     // the issuer has no such key
	RevokedKey     Reason = "revoked_key"     // the key is revoked: none of its signatures is accepted
	WrongSignature Reason = "wrong_signature" // not signed by the key that kid names
	RetiredKey     Reason = "retired_key"     // signed after the key was retired
)

// RefusedError is an ErrRefused with a reason.
type RefusedError struct{ Reason Reason }

func (e *RefusedError) Error() string { return ErrRefused.Error() + ": " + string(e.Reason) }

// Is makes errors.Is(err, ErrRefused) true for every RefusedError.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

func refused(r Reason) error { return &RefusedError{r} }
