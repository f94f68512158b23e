package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"latchkey/pkg/id"
)

// The constants of the token. A token is the whole body of a webhook: a JWS in its compact form (RFC
// 7515 section 7.1).
const (
	ContentType = "application/jwt"
	TokenType   = "webhook+jwt" //nolint:gosec // typ in the header (RFC 8725 section 3.11): no access token has the same

	// ValidFor is how long a token is valid.
	ValidFor = 5 * time.Minute
)

// Attempt is one POST of an event to one endpoint.
type Attempt struct {
	ID       string // jti: a different one for each attempt
	Issuer   string // iss: the deployment
	Endpoint id.Endpoint
	At       time.Time
	Event    Event
}

// Draft is a token without its signature.
type Draft struct {
	input  string            // header and claims, which the signature covers
	Digest [sha256.Size]byte // the SHA-256 of input, for the signer
}

// Draft returns the unsigned token of an attempt. kid names the key that will sign it.
func (a Attempt) Draft(kid string) (Draft, error) {
	header, err := json.Marshal(struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
		Typ string `json:"typ"`
	}{"ES256", kid, TokenType})
	if err != nil {
		return Draft{}, err
	}
	claims, err := json.Marshal(struct {
		Issuer    string      `json:"iss"`
		Audience  id.Endpoint `json:"aud"` // so that no receiver can pass its webhook on to another tenant's receiver
		IssuedAt  int64       `json:"iat"` // seconds, as exp
		ExpiresAt int64       `json:"exp"`
		ID        string      `json:"jti"`
		Event     Event       `json:"event"`
	}{a.Issuer, a.Endpoint, a.At.Unix(), a.At.Add(ValidFor).Unix(), a.ID, a.Event})
	if err != nil {
		return Draft{}, err
	}
	input := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	return Draft{input, sha256.Sum256([]byte(input))}, nil
}

// Token returns the whole token, with its signature (r and s of 32 bytes each, RFC 7518 section
// 3.4).
func (d Draft) Token(signature [64]byte) string {
	return d.input + "." + base64.RawURLEncoding.EncodeToString(signature[:])
}
