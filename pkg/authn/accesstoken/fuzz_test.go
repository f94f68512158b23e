package accesstoken_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/strictjson"
)

// The header and the payload of a good token for the verifier of fuzzed.
const (
	goodHeader  = `{"alg":"ES256","kid":"ec","typ":"at+jwt"}`
	goodPayload = `{"iss":"https://issuer.example","aud":"` + audience + `","sub":"alice","exp":1900000000}`
)

// fuzzed returns a verifier, and its issuer's key.
func fuzzed(f *testing.F) (*accesstoken.Verifier, *ecdsa.PrivateKey) {
	f.Helper()
	// A fixed key, because each worker process makes the seeds again.
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte("a key that is for this test only"))
	if err != nil {
		f.Fatal(err)
	}
	set, err := json.Marshal(object{"keys": []any{ecJWK("ec", key)}})
	if err != nil {
		f.Fatal(err)
	}
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return answer(http.StatusOK, string(set)), nil
	})}
	cfg := accesstoken.Config{Issuer: "https://issuer.example", JWKSURL: "https://issuer.example/jwks", Audience: audience}
	return accesstoken.New(cfg, client, newClock().now), key
}

// FuzzVerify: the verifier never panics, and accepts a text only if the issuer's key has signed it in
// this form.
func FuzzVerify(f *testing.F) {
	v, key := fuzzed(f)
	const header, payload = goodHeader, goodPayload
	good := signed(f, header, payload, jwt.SigningMethodES256, key)
	signedPart := good[:strings.LastIndex(good, ".")] // header and payload
	for _, seed := range []string{
		good, "", "..", signedPart + ".", good + "=", good + "\n", " " + good,
		b64(`{"alg":"none","kid":"ec"}`) + "." + b64(payload) + ".",
		signed(f, `{"alg":"HS256","kid":"ec"}`, payload, jwt.SigningMethodHS256, []byte("x")),
		signed(f, header, `{"sub":"a","sub":"b"}`, jwt.SigningMethodES256, key),
		b64(header) + "." + b64(strings.Repeat("[", 100)) + ".AAAA",
		b64(header) + "." + b64(payload) + "." + strings.Repeat("A", 86),
	} {
		f.Add(seed)
	}
	if _, err := v.Verify(f.Context(), good); err != nil {
		f.Fatalf("the good seed is refused: %v", err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		_, err := v.Verify(t.Context(), raw)
		if err != nil {
			return
		}
		// An ECDSA signature has a second valid form, so only the signed part is compared with the good token.
		input, signature := raw[:len(signedPart)], raw[len(signedPart)+1:]
		sig, err := base64.RawURLEncoding.Strict().DecodeString(signature)
		digest := sha256.Sum256([]byte(input))
		if err != nil || len(sig) != 64 || input != signedPart || !ecdsa.Verify(&key.PublicKey, digest[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
			t.Errorf("accepted without a signature: %q", raw)
		}
	})
}

// FuzzASignedTokenMustHaveGoodClaims: a token signed by the issuer's key is accepted only if it is an access token for this audience and
// this time. The result has the subject of the token.
func FuzzASignedTokenMustHaveGoodClaims(f *testing.F) {
	v, key := fuzzed(f)
	for _, claims := range []string{
		`"scope":"a"`, `"scope":"a","nonce":"n"`, `"typ":"Bearer"`, `"typ":"ID","scp":[]`, `"token_use":"id"`, `"at_hash":"x","cid":"a"`, `"scope":"a","nbf":1800000000`,
		`"scope":"a","Sub":"b"`, `"scope":"a","sub":"b"`, `"scope":"a","ſub":"b"`, `"x":1`,
	} {
		f.Add(`{"alg":"ES256","kid":"ec"}`, strings.TrimSuffix(goodPayload, "}")+","+claims+"}")
	}
	for _, header := range []string{`"alg":"none","kid":"ec"`, `"alg":"ES256","kid":"x"`, `"alg":"ES256","kid":"ec","typ":"webhook+jwt"`, `"alg":"ES256","kid":"ec","typ":"at+jwt","crit":[]`} {
		f.Add("{"+header+"}", strings.Replace(goodPayload, "{", `{"scope":"a",`, 1))
	}
	for _, change := range [][2]string{{"issuer", "x"}, {"api", "x"}, {`"alice"`, `""`}, {`"alice"`, `1`}, {"1900000000", "1700000000"}, {"1900000000", `"1900000000"`}, {"1900000000", "1.9e9"}} {
		f.Add(goodHeader, strings.Replace(goodPayload, change[0], change[1], 1))
	}
	now := float64(newClock().now().Unix())
	f.Fuzz(func(t *testing.T, header, payload string) {
		claims, err := v.Verify(t.Context(), signed(t, header, payload, jwt.SigningMethodES256, key))
		if err != nil {
			return
		}
		var h, p object
		if err := errors.Join(json.Unmarshal([]byte(header), &h), json.Unmarshal([]byte(payload), &p), strictjson.Check([]byte(payload), strictjson.Rules{Depth: 16})); err != nil {
			t.Fatalf("accepted: %q %q: %v", header, payload, err)
		}
		lower := func(v any) string { text, _ := v.(string); return strings.ToLower(text) }
		isTyped := strings.TrimPrefix(lower(h["typ"]), "application/") == "at+jwt"
		if h["alg"] != "ES256" || h["kid"] != "ec" || has(h, "crit") || !isTyped && has(h, "typ") && lower(h["typ"]) != "jwt" {
			t.Errorf("accepted with the header %q", header)
		}
		isAccess := isTyped || lower(p["typ"]) == "bearer" || !has(p, "nonce", "s_hash") && has(p, "scope", "scp", "client_id", "cid", "appid", "token_use")
		if has(p, "at_hash", "c_hash", "events") || !isAccess || has(p, "Sub", "SUB", "ſub", "Aud", "Exp") {
			t.Errorf("accepted, but not an access token: %q %q", header, payload)
		}
		several, _ := p["aud"].([]any)
		until, _ := p["exp"].(float64)
		from, _ := p["nbf"].(float64)
		if p["iss"] != "https://issuer.example" || p["aud"] != audience && !slices.Contains(several, any(audience)) || until <= now-31 || from > now+31 || claims.Subject == "" || p["sub"] != claims.Subject {
			t.Errorf("accepted for %q: %q", claims.Subject, payload)
		}
	})
}

// has reports whether an object has at least one of these members.
func has(o object, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, has := o[name]; return has })
}
