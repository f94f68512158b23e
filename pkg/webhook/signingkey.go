package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"latchkey/pkg/p256"
)

// StackTag is the tag of every signing key, also of the key that the template creates. The tag's value is
// the name of the stack. The roles' policies require this tag, so two stacks of one account
// cannot use each other's keys.
const StackTag = "latchkey:stack"

// ErrNoKey means that KMS has no such key, or does not show it yet: a new key may need some minutes. Every other
// error of a KMS method may be temporary: for example, KMS refuses calls for a new key until its tag takes effect,
// which may take 5 minutes.
var ErrNoKey = errors.New("webhook: KMS knows no such key")

// The lifetimes of a key.
const (
	// KeyPublishedFor is how long a key is published before it signs, so that every
	// receiver's copy of the key set has it.
	KeyPublishedFor = 24 * time.Hour

	// KeyOverlap is how long a replaced key may still sign. A signer remembers the active key
	// for a minute.
	KeyOverlap = 10 * time.Minute

	// KeyListedFor is how long a retired key stays in the key set. Then KMS disables it. Its row
	// stays, so its kid can always be looked up.
	KeyListedFor = 30 * 24 * time.Hour
)

// SigningState is the state of a signing key: next (published, does not sign yet), active (signs),
// retired (its signatures still verify) or, in an emergency, revoked (its signatures are not trusted).
type SigningState string

// The states, in their order.
const (
	SigningNext    SigningState = "next"
	SigningActive  SigningState = "active"
	SigningRetired SigningState = "retired"
	SigningRevoked SigningState = "revoked"
)

// SigningKey is the public half of a key that signs webhooks. Times are in milliseconds since the epoch; 0: not
// yet.
type SigningKey struct {
	JWK
	ARN         string // ARN of the key in KMS, never an alias
	State       SigningState
	CreatedAt   int64 // when it was published
	ActivatedAt int64
	RetiredAt   int64
	ExpiredAt   int64 // signatures of a retired key before this time stay valid, later ones are not
	RevokedAt   int64
	DisabledAt  int64 // when it was disabled in KMS
}

// Listed reports whether the key set has the key at a time: a next or active key, or one retired
// for less than KeyListedFor.
func (k SigningKey) Listed(now time.Time) bool {
	switch k.State {
	case SigningNext, SigningActive:
		return true
	case SigningRetired:
		return now.UnixMilli() < k.RetiredAt+KeyListedFor.Milliseconds()
	default:
		return false
	}
}

// JWK is a public key on P-256 (RFC 7517). Its kty, crv, alg and use are constants, so they are not
// fields.
type JWK struct {
	Kid  string // RFC 7638 thumbprint
	X, Y string // coordinates, base64url of 32 bytes each
}

// The members that are the same in every JWK.
const (
	Kty = "EC"
	Crv = "P-256"
	Alg = "ES256"
	Use = "sig"
)

// ParsePublicKey returns the JWK of a SubjectPublicKeyInfo in DER.
func ParsePublicKey(der []byte) (JWK, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return JWK{}, fmt.Errorf("webhook: the public key cannot be read: %w", err)
	}
	public, ok := parsed.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return JWK{}, errors.New("webhook: the public key is not on P-256")
	}
	point, err := public.Bytes() // uncompressed (SEC 1 section 2.3.3): 4, x, y, both padded
	if err != nil {
		return JWK{}, fmt.Errorf("webhook: the public key cannot be read: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	k := JWK{X: encode(point[1 : 1+p256.Size]), Y: encode(point[1+p256.Size:])}
	k.Kid = k.thumbprint()
	return k, nil
}

// thumbprint returns the SHA-256 of the required members, in lexical order and without blanks (RFC
// 7638 section 3).
func (k JWK) thumbprint() string {
	sum := sha256.Sum256([]byte(`{"crv":"` + Crv + `","kty":"` + Kty + `","x":"` + k.X + `","y":"` + k.Y + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const kidLength = 43 // characters of 32 bytes in base64url

// IsKid reports whether a text has the form of a kid: a SHA-256 thumbprint in base64url without
// padding. Only the canonical spelling is accepted.
func IsKid(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s) // DecodeString skips line breaks, so both lengths are checked
	return len(s) == kidLength && err == nil && len(b) == sha256.Size
}
