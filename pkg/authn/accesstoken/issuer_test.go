package accesstoken_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

const audience = "https://api.example"

// clock is a time that moves only when a test calls pass.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// object is a JSON object under construction.
type object = map[string]any

// issuer is a token issuer on loopback. A test can make it fail.
type issuer struct {
	t      *testing.T
	clock  *clock
	server *httptest.Server

	mu       sync.Mutex
	keys     []any            // JWKs, or values that are not JWKs
	jwks     http.HandlerFunc // serves /jwks; nil: the issuer serves keys
	document http.HandlerFunc // serves the discovery document; nil: the correct one is served
	userinfo http.HandlerFunc // serves /userinfo; nil: 404
	calls    map[string]int   // requests by path
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, clock: newClock(), calls: map[string]int{}}
	i.keys = []any{ecJWK("ec", ecKey()), rsaJWK("rsa", rsaKey())}
	i.server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.server.Close)
	return i
}

// serve answers by path. A handler that a test has set replaces the usual answer.
func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.calls[r.URL.Path]++
	keys, jwksHandler, document, userinfo := i.keys, i.jwks, i.document, i.userinfo
	i.mu.Unlock()
	switch {
	case r.URL.Path == "/jwks" && jwksHandler != nil:
		jwksHandler(w, r)
	case r.URL.Path == "/jwks":
		_ = json.NewEncoder(w).Encode(object{"keys": keys})
	case r.URL.Path == "/userinfo" && userinfo != nil:
		userinfo(w, r)
	case r.URL.Path == "/.well-known/openid-configuration" && document != nil:
		document(w, r)
	case r.URL.Path == "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(object{
			"issuer": i.url(), "jwks_uri": i.url() + "/jwks", "userinfo_endpoint": i.url() + "/userinfo",
		})
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) url() string { return i.server.URL }

func (i *issuer) requests(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls[path]
}

// set changes fields of the issuer while it serves.
func (i *issuer) set(change func(*issuer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(i)
}

// status returns a handler that answers every request with this status and no body.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (i *issuer) config() accesstoken.Config {
	return accesstoken.Config{Issuer: i.url(), JWKSURL: i.url() + "/jwks", Audience: audience}
}

func (i *issuer) verifier() *accesstoken.Verifier { return i.verifierOf(i.config()) }

func (i *issuer) verifierOf(c accesstoken.Config) *accesstoken.Verifier {
	return accesstoken.New(c, i.server.Client(), i.clock.now)
}

// header returns the header of a good token.
func (i *issuer) header() object { return object{"alg": "ES256", "kid": "ec", "typ": "at+jwt"} }

// payload returns the payload of a good token that is made now.
func (i *issuer) payload() object {
	now := i.clock.now().Unix()
	return object{
		"iss": i.url(), "aud": audience, "sub": "alice", "iat": now, "exp": now + 300,
		"email": "alice@example.com", "email_verified": true, "name": "Alice", "scope": "openid",
	}
}

// hourOldPayload returns the payload of a token that was made an hour ago, before the verifier read the issuer's keys. With
// an unknown kid, such a token is invalid. A younger one may have a newer key, so it is unavailable.
func (i *issuer) hourOldPayload() object {
	return with(i.payload(), object{"iat": i.clock.now().Add(-time.Hour).Unix()})
}

// goodToken returns a token that is accepted.
func (i *issuer) goodToken() string { return i.token(i.header(), i.payload()) }

// token makes a token. It signs with the issuer's key for the header's algorithm.
func (i *issuer) token(header, payload object) string {
	i.t.Helper()
	var key any = ecKey()
	if alg, _ := header["alg"].(string); alg == "RS256" || alg == "PS256" {
		key = rsaKey()
	}
	return signed(i.t, text(i.t, header), text(i.t, payload), methodOf(header), key)
}

// methodOf returns the signing method of a header, or ES256 for an unknown one.
func methodOf(header object) jwt.SigningMethod {
	alg, _ := header["alg"].(string)
	if m := jwt.GetSigningMethod(alg); m != nil {
		return m
	}
	return jwt.SigningMethodES256
}

// text returns an object as JSON.
func text(t *testing.T, o object) string {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// signed makes a token from two texts, which need not be a valid header and payload.
func signed(t testing.TB, header, payload string, method jwt.SigningMethod, key any) string {
	t.Helper()
	input := b64(header) + "." + b64(payload)
	sig, err := method.Sign(input, key)
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + b64(string(sig))
}

// with returns a copy of an object with the members of edits. A nil value removes a member.
func with(o object, edits object) object {
	out := maps.Clone(o)
	for name, v := range edits {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = v
		}
	}
	return out
}

// refused checks the code of an error. The error must contain neither a part of the token nor characters that
// end a string in a JSON template.
func refused(t *testing.T, err error, want problem.Code, raw string) {
	t.Helper()
	if !problem.Is(err, want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	var p *problem.Error
	errors.As(err, &p)
	if p.Detail == "" || strings.ContainsAny(p.Detail, "\"\\{}$\n") {
		t.Errorf("the detail %q cannot be put into a template", p.Detail)
	}
	for _, part := range append(strings.Split(raw, "."), raw) {
		isShort := len(part) <= 8 // a short part may also be a word of the error
		if !isShort && strings.Contains(err.Error(), part) {
			t.Errorf("the error contains a part of the token: %v", err)
		}
	}
}

var (
	ecKey    = sync.OnceValue(newEC) // the issuer's key
	otherEC  = sync.OnceValue(newEC) // the key of a stranger, or the issuer's next key
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })
	smallRSA = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(1024) })
)

func newEC() *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}

func newRSA(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

// ecJWK returns the JWK of an EC key.
func ecJWK(kid string, k *ecdsa.PrivateKey) object {
	point, err := k.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return object{"kty": "EC", "crv": "P-256", "kid": kid, "x": b64(string(point[1:33])), "y": b64(string(point[33:]))}
}

// rsaJWK returns the JWK of an RSA key.
func rsaJWK(kid string, k *rsa.PrivateKey) object {
	e := big.NewInt(int64(k.E))
	return object{"kty": "RSA", "kid": kid, "n": b64(string(k.N.Bytes())), "e": b64(string(e.Bytes()))}
}
