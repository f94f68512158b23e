package verify

import "errors"

// ErrRefused is what every error about a bad webhook is (errors.Is): it was not
// sent by the issuer to this endpoint, or not now. Answer 401. The error is a
// *RefusedError, which tells why.
var ErrRefused = errors.New("verify: the webhook is refused")

// ErrUnavailable says that the key could not be looked up, so that nobody knows
// whether the webhook is good. Answer 503, and it will be delivered again.
var ErrUnavailable = errors.New("verify: the key cannot be looked up now")

// Reason says why a webhook is refused, for logs; infra/vectors names the same.
type Reason string

// The reasons.
const (
	Malformed      Reason = "malformed"       // no compact JWS with two JSON objects, or too large
	WrongHeader    Reason = "wrong_header"    // alg, typ, kid or crit is not what a webhook has
	WrongIssuer    Reason = "wrong_issuer"    // iss is another's
	WrongAudience  Reason = "wrong_audience"  // sent to another endpoint, or to more than one
	WrongTime      Reason = "wrong_time"      // iat or exp is missing or no integer
	Expired        Reason = "expired"         // exp has passed
	Stale          Reason = "stale"           // iat is too old, whatever exp says
	NotYet         Reason = "not_yet"         // iat lies in the future
	Incomplete     Reason = "incomplete"      // the event lacks something
	UnknownKey     Reason = "unknown_key"     // the issuer has no such key
	RevokedKey     Reason = "revoked_key"     // the key proves nothing any more
	WrongSignature Reason = "wrong_signature" // not signed by that key
	RetiredKey     Reason = "retired_key"     // signed after the key was retired
)

// RefusedError is an ErrRefused with its reason.
type RefusedError struct{ Reason Reason }

func (e *RefusedError) Error() string { return ErrRefused.Error() + ": " + string(e.Reason) }

// Is makes every RefusedError an ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

func refused(r Reason) error { return &RefusedError{r} }
