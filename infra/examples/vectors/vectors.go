// Package vectors makes good and hostile webhooks, to test any receiver. webhooks.json has webhooks for one fixed time. For a
// receiver that uses the machine's clock, Mint makes webhooks for the present time.
//
// The private keys are computed from public names, so they are not secret.
package vectors

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Vectors has all data for a test of a receiver: the receiver's configuration, the answers to its key lookups, and the webhooks.
type Vectors struct {
	Note       string            `json:"note"`
	Now        int64             `json:"now"` // the receiver's clock, in seconds since the epoch
	Issuer     string            `json:"issuer"`
	EndpointID string            `json:"endpointId"`
	Lookups    map[string]Answer `json:"lookups"`   // by kid: the answer of POST /webhook_verification_key/get
	Otherwise  Answer            `json:"otherwise"` // the answer for any other kid
	JWKS       json.RawMessage   `json:"jwks"`      // the answer of GET /.well-known/jwks.json
	Cases      []Case            `json:"cases"`
}

// Answer is the answer to a key lookup.
type Answer struct {
	Status int             `json:"status"`
	MaxAge int             `json:"maxAge"` // seconds, in Cache-Control
	Body   json.RawMessage `json:"body"`
}

// Case is the body of one webhook.
type Case struct {
	Name   string `json:"name"`
	Token  string `json:"token"`
	Valid  bool   `json:"valid"`
	Status int    `json:"status"` // the receiver's answer: 204 good, 401 bad, 503 a key lookup fails
	Reason string `json:"reason"` // of a 401, as in pkg/verify; a receiver may report another fault of the same token
}

// The values of the fixed vectors.
const (
	FixedNow   = 1_800_000_000
	Issuer     = "https://api.example.com"
	EndpointID = "whe_01k5vectors00000000000000a"
)

const note = "Made by infra/examples/vectors. Feed each token, as the body of a POST, to a receiver that is configured with issuer and endpointId, whose clock shows now, and whose key lookups are answered from lookups (by kid; any other: otherwise) and jwks. Two cases are too large for this file: a good webhook of 150 KB and a token of more than 256 KB."

// Mint makes the vectors for a time. The lookups and cases of two calls differ only in their times and signatures.
func Mint(now time.Time) Vectors {
	m := newMint(now)
	m.good()
	m.badForm()
	m.badHeader()
	m.badKey()
	m.badSignature()
	m.badClaims()
	m.badTime()
	m.badEvent()
	return m.Vectors
}

// File returns webhooks.json: the vectors for the fixed time, without the cases that are too large for a file.
func File() ([]byte, error) {
	v := Mint(time.Unix(FixedNow, 0))
	v.Cases = slices.DeleteFunc(v.Cases, func(c Case) bool { return len(c.Token) > 64<<10 })
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}

// signer is a key of the vectors.
type signer struct {
	private *ecdsa.PrivateKey
	kid     string
	x, y    string // the coordinates in base64url, as in a JWK
	point   []byte // the public key, uncompressed: the byte 4, x, y
}

// newSigner computes a key from a name. The same name gives the same key.
func newSigner(name string, curve elliptic.Curve) signer {
	size := (curve.Params().BitSize + 7) / 8
	var seed []byte
	for i := 0; len(seed) < size; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "latchkey test vector %s %d", name, i))
		seed = append(seed, sum[:]...)
	}
	private := must(ecdsa.ParseRawPrivateKey(curve, seed[:size]))
	point := must(private.PublicKey.Bytes())
	s := signer{private: private, point: point, x: encode(point[1 : 1+size]), y: encode(point[1+size:])}
	// The thumbprint of the key (RFC 7638). For the key on P-384 the curve is wrong, but a kid only has to be unique.
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + s.x + `","y":"` + s.y + `"}`))
	s.kid = encode(sum[:])
	return s
}

// jwk returns the public key as a JWK (RFC 7517).
func (s signer) jwk() string {
	return fmt.Sprintf(`{"kid":%q,"kty":"EC","crv":"P-256","x":%q,"y":%q,"alg":"ES256","use":"sig"}`, s.kid, s.x, s.y)
}

// answer returns the answer to a lookup of the key. Times are in milliseconds; expiredAt 0: the key is not retired.
func (s signer) answer(maxAge int, createdAt, expiredAt int64) Answer {
	expired := "null"
	if expiredAt != 0 {
		expired = fmt.Sprint(expiredAt)
	}
	body := strings.TrimSuffix(s.jwk(), "}") + fmt.Sprintf(`,"createdAt":%d,"expiredAt":%s}`, createdAt, expired)
	return Answer{200, maxAge, json.RawMessage(body)}
}

// fault returns an answer with a problem document (RFC 9457).
func fault(status, maxAge int, code string) Answer {
	return Answer{status, maxAge, json.RawMessage(fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d,"detail":"","code":%q}`, code, status, code))}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // cannot happen: all inputs are constants
	}
	return v
}

// Handler answers key lookups and the JWKS from the vectors, for receivers under test.
func (v Vectors) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook_verification_key/get", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Kid string `json:"kid"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, ok := v.Lookups[in.Kid]
		if !ok {
			a = v.Otherwise
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", a.MaxAge))
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body) // ignore the error of a closed connection
	})
	mux.HandleFunc("GET /.well-known/jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(v.JWKS) // as above
	})
	return mux
}
