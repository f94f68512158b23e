package accesstoken_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/problem"
)

// TestClaimsThatBreakARuleAreRefused changes one claim of a good token in each case. The signature stays valid.
func TestClaimsThatBreakARuleAreRefused(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	now := i.clock.now().Unix()
	for name, edits := range map[string]object{
		"no exp":                    {"exp": nil},
		"no aud":                    {"aud": nil},
		"no iss":                    {"iss": nil},
		"no sub":                    {"sub": nil},
		"another aud":               {"aud": "https://other.example"},
		"aud with a suffix":         {"aud": audience + "/"},
		"aud in another case":       {"aud": strings.ToUpper(audience)},
		"aud is empty":              {"aud": ""},
		"aud is an empty list":      {"aud": []string{}},
		"aud list without ours":     {"aud": []string{"a", "b"}},
		"aud list with a number":    {"aud": []any{audience, 1}},
		"aud is an object":          {"aud": object{audience: true}},
		"aud missing, as Cognito's": {"aud": nil, "token_use": "access", "client_id": "web"},
		"another iss":               {"iss": "https://evil.example"},
		"iss with a slash at end":   {"iss": i.url() + "/"},
		"iss is a list":             {"iss": []string{i.url()}},
		"sub is empty":              {"sub": ""},
		"sub is a number":           {"sub": 7},
		"sub is a list":             {"sub": []string{"alice"}},
		"sub of 256 bytes":          {"sub": long(256)},
		"sub with a line break":     {"sub": "alice\n"},
		"sub with a zero":           {"sub": "alice\x00bob"},
		"sub with U+FFFD":           {"sub": "alice\ufffd"},
		"exp is a text":             {"exp": "9999999999"},
		"exp is true":               {"exp": true},
		"exp in milliseconds":       {"exp": now * 1000},
		"exp is huge":               {"exp": math.MaxFloat64},
		"exp is negative":           {"exp": -1},
		"exp is zero":               {"exp": 0},
		"exp is a list":             {"exp": []int64{now + 60}},
		"nbf in the future":         {"nbf": now + 31}, // a second beyond the leeway
		"nbf is a text":             {"nbf": "0"},
		"iat in the future":         {"iat": now + 61},
		"iat is a text":             {"iat": "1"},
		"iat in milliseconds":       {"iat": now * 1000},
		"ID token by token_use":     {"token_use": "id"},
		"token_use is a list":       {"token_use": []string{"access"}},
		"ID token by payload typ":   {"typ": "ID"},
		"refresh token":             {"typ": "Refresh"},
		"payload typ is a number":   {"typ": 1},
		"ID token by at_hash":       {"at_hash": "x"},
		"ID token by c_hash":        {"c_hash": "x"},
		"logout token":              {"events": object{"http://schemas.openid.net/event/backchannel-logout": object{}}},
		"re-cased SUB and sub":      {"SUB": "mallory"},
		"only a re-cased SUB":       {"sub": nil, "SUB": "alice"},
		"long s in ſub":             {"ſub": "mallory"},
		"re-cased Aud":              {"Aud": audience},
		"re-cased EXP":              {"EXP": now + 9999},
		"re-cased Iss":              {"Iss": i.url()},
		"re-cased Email":            {"Email": "mallory@example.com"},
		"re-cased Email_Verified":   {"Email_Verified": true},
		"re-cased Token_use":        {"Token_use": "access"},
	} {
		for _, typ := range []any{"at+jwt", "JWT", nil} { // each typ that an access token may have
			raw := i.token(with(i.header(), object{"typ": typ}), with(i.payload(), edits))
			_, err := v.Verify(t.Context(), raw)
			t.Run(name, func(t *testing.T) { refused(t, err, problem.TokenInvalid, raw) })
		}
	}
}

// TestAnAccessTokenNeedsAMark has tokens with and without the marks that distinguish an access token from an ID
// token.
func TestAnAccessTokenNeedsAMark(t *testing.T) {
	i := newIssuer(t)
	for name, c := range map[string]struct {
		typ              any
		claims           object
		accepted         bool // without Config.AllowUnmarkedTokens
		acceptedUnmarked bool // with Config.AllowUnmarkedTokens
	}{
		"no mark":                   {"JWT", object{}, false, true},
		"no mark and no typ":        {nil, object{}, false, true},
		"at+jwt":                    {"at+jwt", object{}, true, true},
		"scope":                     {"JWT", object{"scope": "openid"}, true, true},
		"scp":                       {"JWT", object{"scp": []string{"read"}}, true, true},
		"client_id":                 {nil, object{"client_id": "web"}, true, true},
		"cid":                       {nil, object{"cid": "web"}, true, true},
		"appid":                     {"JWT", object{"appid": "web"}, true, true},
		"token_use":                 {"JWT", object{"token_use": "access"}, true, true},
		"Keycloak's typ":            {"JWT", object{"typ": "Bearer"}, true, true},
		"azp, which ID tokens have": {"JWT", object{"azp": "web"}, false, true},
		"nonce":                     {"JWT", object{"nonce": "n", "scope": "openid"}, false, false},
		"s_hash":                    {nil, object{"s_hash": "s", "client_id": "web"}, false, false},
		"nonce with at+jwt":         {"at+jwt", object{"nonce": "n"}, true, true},
		"nonce with typ Bearer":     {"JWT", object{"nonce": "n", "typ": "Bearer"}, true, true},
		"re-cased Nonce":            {"JWT", object{"Nonce": "n", "scope": "openid"}, false, false},
	} {
		payload := with(i.payload(), object{"scope": nil})
		raw := i.token(with(i.header(), object{"typ": c.typ}), with(payload, c.claims))
		for allowUnmarked, want := range map[bool]bool{false: c.accepted, true: c.acceptedUnmarked} {
			config := i.config()
			config.AllowUnmarkedTokens = allowUnmarked
			_, err := i.verifierOf(config).Verify(t.Context(), raw)
			if accepted := err == nil; accepted != want {
				t.Errorf("%s, AllowUnmarkedTokens %v: %v", name, allowUnmarked, err)
			}
			if err != nil && !problem.Is(err, problem.TokenInvalid) {
				t.Errorf("%s, AllowUnmarkedTokens %v: %v", name, allowUnmarked, err)
			}
		}
	}
}

// TestHeadersThatBreakARuleAreRefused changes one member of the header in each case. The signature stays valid.
func TestHeadersThatBreakARuleAreRefused(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	for name, edits := range map[string]object{
		"no kid":                   {"kid": nil},
		"kid is empty":             {"kid": ""},
		"kid is a number":          {"kid": 1},
		"kid is huge":              {"kid": long(257)},
		"kid in another case":      {"kid": "EC"},
		"unknown kid":              {"kid": "unknown"},
		"unknown kid with its jwk": {"kid": "unknown", "jwk": ecJWK("unknown", ecKey())},
		"crit":                     {"crit": []string{"exp"}},
		"crit is empty":            {"crit": []string{}},
		"crit re-cased":            {"Crit": []string{"exp"}},
		"a webhook's typ":          {"typ": "webhook+jwt"},
		"a webhook's typ re-cased": {"typ": "Webhook+JWT"},
		"logout token":             {"typ": "logout+jwt"},
		"typ is empty":             {"typ": ""},
		"typ is a list":            {"typ": []string{"at+jwt"}},
		"re-cased Typ":             {"typ": nil, "Typ": "at+jwt"},
		"re-cased ALG":             {"ALG": "none"},
		"Kelvin sign in kid":       {"\u212aid": "ec"},
		"alg missing":              {"alg": nil},
		"alg none":                 {"alg": "none"},
		"alg None":                 {"alg": "None"},
		"alg is empty":             {"alg": ""},
		"alg es256":                {"alg": "es256"},
		"alg is a list":            {"alg": []string{"ES256"}},
	} {
		t.Run(name, func(t *testing.T) {
			// The token is an hour old. A new token with an unknown kid would get 503, because its key may be new too.
			raw := signed(t, text(t, with(i.header(), edits)), text(t, i.hourOldPayload()), jwt.SigningMethodES256, ecKey())
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, problem.TokenInvalid, raw)
		})
	}
}

// TestAlgorithmIsBoundToItsKey makes a known attack: if a verifier lets the token choose the algorithm, it may use a
// public key as a key of another kind, for example as the secret of HS256.
func TestAlgorithmIsBoundToItsKey(t *testing.T) {
	i := newIssuer(t)
	i.keys = append(i.keys,
		with(rsaJWK("rsa-rs256", rsaKey()), object{"alg": "RS256"}),
		with(rsaJWK("rsa-enc", rsaKey()), object{"use": "enc"}),
		with(rsaJWK("rsa-ops", rsaKey()), object{"key_ops": []string{"encrypt"}}),
		with(ecJWK("ec-es384", ecKey()), object{"alg": "ES384"}),
		rsaJWK("small", smallRSA()),
		object{"kty": "oct", "kid": "oct", "k": b64("secret")},
	)
	v := i.verifier()
	spki, err := x509.MarshalPKIXPublicKey(&rsaKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		alg, kid string            // in the token's header
		method   jwt.SigningMethod // the real method of the signature
		key      any
	}{
		"HS256 with the RSA key as PEM":    {"HS256", "rsa", jwt.SigningMethodHS256, publicPEM},
		"HS256 with the RSA key as DER":    {"HS256", "rsa", jwt.SigningMethodHS256, spki},
		"HS256 with the RSA modulus":       {"HS256", "rsa", jwt.SigningMethodHS256, rsaKey().N.Bytes()},
		"HS256 with a published secret":    {"HS256", "oct", jwt.SigningMethodHS256, []byte("secret")},
		"none without a signature":         {"none", "ec", jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType},
		"RS256 with the kid of an EC key":  {"RS256", "ec", jwt.SigningMethodRS256, rsaKey()},
		"ES256 with the kid of an RSA key": {"ES256", "rsa", jwt.SigningMethodES256, ecKey()},
		"RS256 signature called PS256":     {"PS256", "rsa", jwt.SigningMethodRS256, rsaKey()},
		"PS256 signature called RS256":     {"RS256", "rsa", jwt.SigningMethodPS256, rsaKey()},
		"PS256 by a key for RS256":         {"PS256", "rsa-rs256", jwt.SigningMethodPS256, rsaKey()},
		"RS512":                            {"RS512", "rsa", jwt.SigningMethodRS512, rsaKey()},
		"ES384":                            {"ES384", "ec", jwt.SigningMethodES384, p384},
		"ES256 by a key for ES384":         {"ES256", "ec-es384", jwt.SigningMethodES256, ecKey()},
		"a key for encryption":             {"RS256", "rsa-enc", jwt.SigningMethodRS256, rsaKey()},
		"a key whose operation is encrypt": {"RS256", "rsa-ops", jwt.SigningMethodRS256, rsaKey()},
		"RSA of 1024 bits":                 {"RS256", "small", jwt.SigningMethodRS256, smallRSA()},
		"signed by a stranger's EC key":    {"ES256", "ec", jwt.SigningMethodES256, otherEC()},
		"a signature of 64 zero bytes":     {"ES256", "ec", fixed(64), nil},
	} {
		t.Run(name, func(t *testing.T) {
			header := text(t, object{"alg": c.alg, "kid": c.kid, "typ": "at+jwt"})
			raw := signed(t, header, text(t, i.payload()), c.method, c.key)
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, problem.TokenInvalid, raw)
		})
	}
	// A similar token must be accepted: otherwise the refusals above would prove nothing.
	raw := i.token(object{"alg": "RS256", "kid": "rsa-rs256"}, i.payload())
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Errorf("RS256 by a key for RS256: %v", err)
	}
}

// fixed is a signing method. Its signature has this number of zero bytes.
type fixed int

func (f fixed) Sign(string, any) ([]byte, error) { return make([]byte, f), nil }
func (fixed) Verify(string, []byte, any) error   { return jwt.ErrTokenSignatureInvalid }
func (fixed) Alg() string                        { return "ES256" }

func TestOnlyAGenuineTokenIsReportedAsExpired(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	payload := with(i.payload(), object{"exp": i.clock.now().Unix() - 30}) // the leeway of 30 s has just ended
	raw := i.token(i.header(), payload)
	_, err := v.Verify(t.Context(), raw)
	refused(t, err, problem.TokenExpired, raw)

	forged := signed(t, text(t, i.header()), text(t, payload), jwt.SigningMethodES256, otherEC())
	_, err = v.Verify(t.Context(), forged)
	refused(t, err, problem.TokenInvalid, forged)
}
