package accesstoken_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

func TestANewKeyOfTheIssuerIsUsedAtOnce(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Fatal(err)
	}
	i.set(func(i *issuer) { i.keys = []any{ecJWK("next", otherEC())} })
	old := i.goodToken()           // signed by the removed key
	i.clock.pass(31 * time.Second) // more than the leeway, so old gets 401; a younger token may have a new kid and gets 503
	raw := signed(t, text(t, with(i.header(), object{"kid": "next"})), text(t, i.payload()), jwt.SigningMethodES256, otherEC())
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Fatalf("the new key's token is refused: %v", err)
	}
	_, err := v.Verify(t.Context(), old)
	refused(t, err, problem.TokenInvalid, old)
}

// TestAMadeUpKidCausesNo401ForGoodTokens: the verifier may call the issuer once in 10 seconds. A stranger's token with a made-up kid
// uses up this call, just before the issuer's keys change. Until the next call, a token with the new key gets 503.
func TestAMadeUpKidCausesNo401ForGoodTokens(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Fatal(err)
	}
	junk := i.token(with(i.header(), object{"kid": "junk"}), i.payload())
	_, err := v.Verify(t.Context(), junk)
	refused(t, err, problem.TokenInvalid, junk) // the issuer was called, and has no such key
	i.set(func(i *issuer) { i.keys = []any{ecJWK("ec", ecKey()), ecJWK("next", otherEC())} })
	next := func(payload object) string {
		return signed(t, text(t, with(i.header(), object{"kid": "next"})), text(t, payload), jwt.SigningMethodES256, otherEC())
	}
	for _, payload := range []object{i.payload(), with(i.payload(), object{"iat": nil})} {
		raw := next(payload)
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.Unavailable, raw)
		if !errors.Is(err, problem.ErrAtWill) {
			t.Errorf("%v: this would count as an outage, although anyone can send such a token", err)
		}
	}
	old := next(i.hourOldPayload()) // older than the last call, which would have brought its key, so it gets 401
	_, err = v.Verify(t.Context(), old)
	refused(t, err, problem.TokenInvalid, old)
	i.clock.pass(10 * time.Second)
	if _, err := v.Verify(t.Context(), next(i.payload())); err != nil {
		t.Errorf("when the issuer may be called again: %v", err)
	}
}

func TestAKeyReplacedUnderItsIDIsUsedAtOnce(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Fatal(err)
	}
	i.set(func(i *issuer) { i.keys = []any{ecJWK("ec", otherEC())} })
	raw := signed(t, text(t, i.header()), text(t, i.payload()), jwt.SigningMethodES256, otherEC())
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Fatalf("the new key's token is refused: %v", err)
	}
}

func TestRemovedKeyIsForgottenAfter15Minutes(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Fatal(err)
	}
	i.set(func(i *issuer) { i.keys = []any{ecJWK("next", otherEC())} })
	i.clock.pass(15 * time.Minute)
	raw := i.goodToken()
	_, err := v.Verify(t.Context(), raw)
	refused(t, err, problem.TokenInvalid, raw)
}

// flood verifies 20 bad tokens a second for a minute. bad returns a different token for each n. flood returns how
// often the issuer was called for its keys.
func flood(t *testing.T, i *issuer, v *accesstoken.Verifier, bad func(n int) string) int {
	t.Helper()
	for second := range 60 {
		for n := range 20 {
			raw := bad(second*100 + n)
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, problem.TokenInvalid, raw)
		}
		i.clock.pass(time.Second)
	}
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Errorf("a good token is refused after the flood: %v", err)
	}
	return i.requests("/jwks")
}

// maxFetches is the most calls in a minute: one for the first keys, then one in 10 seconds.
const maxFetches = 1 + 6

func TestFloodOfUnknownKidsCausesFewCalls(t *testing.T) {
	i := newIssuer(t)
	got := flood(t, i, i.verifier(), func(n int) string {
		return i.token(with(i.header(), object{"kid": fmt.Sprint("kid", n)}), i.hourOldPayload()) // a younger token may have a new kid, so it would get 503
	})
	if got > maxFetches || got < 2 {
		t.Errorf("the issuer was called %d times in a minute, want 2 to %d", got, maxFetches)
	}
}

func TestFloodOfBadSignaturesCausesFewCalls(t *testing.T) {
	i := newIssuer(t)
	got := flood(t, i, i.verifier(), func(int) string {
		return signed(t, text(t, i.header()), text(t, i.payload()), jwt.SigningMethodES256, otherEC())
	})
	if got > maxFetches || got < 2 {
		t.Errorf("the issuer was called %d times in a minute, want 2 to %d", got, maxFetches)
	}
}

func TestTokenThatCannotBeGoodCausesNoCall(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	for _, raw := range []string{
		i.token(i.header(), with(i.payload(), object{"iss": "https://evil.example"})),
		i.token(with(i.header(), object{"kid": ""}), i.payload()),
		i.token(with(i.header(), object{"kid": "unknown"}), with(i.payload(), object{"aud": "another"})),
		i.token(with(i.header(), object{"kid": "unknown", "typ": "id+jwt"}), i.payload()),
	} {
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.TokenInvalid, raw)
	}
	if got := i.requests("/jwks"); got != 0 {
		t.Errorf("the issuer was called %d times", got)
	}
}

func TestUnknownKidCausesOneCallOfTheIssuer(t *testing.T) {
	i := newIssuer(t)
	raw := i.token(with(i.header(), object{"kid": "unknown"}), i.payload())
	_, err := i.verifier().Verify(t.Context(), raw)
	refused(t, err, problem.TokenInvalid, raw)
	if got := i.requests("/jwks"); got != 1 {
		t.Errorf("the issuer was called %d times, want once", got)
	}
}

func TestAnUnreadableKeyHidesNoOtherKey(t *testing.T) {
	i := newIssuer(t)
	i.keys = []any{ // only the last key is good
		"text", 7, nil, []any{}, object{},
		object{"kty": "EC", "crv": "P-256", "kid": "ec", "x": "!!", "y": "AA"},
		object{"kty": "EC", "crv": "P-256", "kid": "ec", "x": 1, "y": 2},
		object{"kty": "EC", "crv": "secp256k1", "kid": "k1", "x": "AA", "y": "AA"},
		object{"kty": "ML-DSA", "kid": "later"},
		ecJWK("ec", ecKey()),
	}
	if _, err := i.verifier().Verify(t.Context(), i.goodToken()); err != nil {
		t.Errorf("the good key is lost: %v", err)
	}
}

// TestIssuerDownIsNeverAFalse401: during each fault of the issuer, a token gets 503 if the verifier has no keys, or keys
// older than a day. With younger keys it is accepted, and also after the fault.
func TestIssuerDownIsNeverAFalse401(t *testing.T) {
	// The keys at the start of this answer are good, but the answer is too large.
	huge := text(t, object{"keys": []any{ecJWK("ec", ecKey())}}) + strings.Repeat(" ", 1<<20)
	for name, fault := range map[string]http.HandlerFunc{
		"500":        status(http.StatusInternalServerError),
		"404":        status(http.StatusNotFound),
		"204":        status(http.StatusNoContent),
		"connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"not JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no JWK set": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"error":"later"}`)) },
		"oversize":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(huge)) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"other scheme": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			v := i.verifier()
			i.set(func(i *issuer) { i.jwks = fault })
			raw := i.goodToken()
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, problem.Unavailable, raw)

			i.set(func(i *issuer) { i.jwks = nil })
			i.clock.pass(2 * time.Second) // without keys, the issuer is called again after a second
			if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
				t.Fatalf("the issuer is back: %v", err)
			}
			i.set(func(i *issuer) { i.jwks = fault })
			i.clock.pass(24*time.Hour - time.Second)
			if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
				t.Fatalf("the keys are younger than a day: %v", err)
			}
			i.clock.pass(time.Second)
			raw = i.goodToken()
			_, err = v.Verify(t.Context(), raw)
			refused(t, err, problem.Unavailable, raw)

			i.set(func(i *issuer) { i.jwks = nil })
			i.clock.pass(2 * time.Second)
			if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
				t.Fatalf("the issuer is back again: %v", err)
			}
		})
	}
}

// TestAnIssuerWithoutKeysEndsTheOldOnes: the issuer may have withdrawn all keys, so the kept keys are used only until they
// are 15 minutes old. The answer is then 503, because the issuer may also have made a mistake.
func TestAnIssuerWithoutKeysEndsTheOldOnes(t *testing.T) {
	for name, keys := range map[string]string{"no keys": `{"keys":[]}`, "no usable key": `{"keys":[{"kty":"OKP","kid":"ec"}]}`} {
		i := newIssuer(t)
		v := i.verifier()
		accepted := func(moment string) {
			t.Helper()
			if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
				t.Fatalf("%s, %s: %v", name, moment, err)
			}
		}
		unavailable := func() {
			t.Helper()
			raw := i.goodToken()
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, problem.Unavailable, raw)
		}
		accepted("before")
		i.set(func(i *issuer) {
			i.jwks = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(keys)) }
		})
		i.clock.pass(15*time.Minute - time.Second)
		accepted("the keys are younger than 15 minutes")
		i.clock.pass(time.Second)
		unavailable()
		i.set(func(i *issuer) { i.jwks = status(http.StatusInternalServerError) })
		i.clock.pass(2 * time.Second)
		unavailable() // a later fault does not bring the old keys back
		i.set(func(i *issuer) { i.jwks = nil })
		i.clock.pass(2 * time.Second)
		accepted("the keys are back")
		i.set(func(i *issuer) { i.jwks = status(http.StatusInternalServerError) })
		i.clock.pass(23 * time.Hour)
		accepted("the issuer is down again, and the kept keys are used for a day")
	}
}

// TestUnknownKidWhileTheIssuerIsDownIs503: a new key may have signed the token, and the verifier cannot read new keys
// now.
func TestUnknownKidWhileTheIssuerIsDownIs503(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Fatal(err)
	}
	i.set(func(i *issuer) { i.jwks = status(http.StatusBadGateway) })
	raw := i.token(with(i.header(), object{"kid": "next"}), i.payload())
	for range 50 {
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.Unavailable, raw)
	}
	if got := i.requests("/jwks"); got != 2 {
		t.Errorf("the issuer was called %d times, want 2: for the first keys, and once during the outage", got)
	}
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Errorf("a known key's token is refused meanwhile: %v", err)
	}
}

func TestKeysAreFoundByDiscovery(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.JWKSURL = ""
	v := i.verifierOf(c)
	for range 3 {
		if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
			t.Fatal(err)
		}
	}
	if d, k := i.requests("/.well-known/openid-configuration"), i.requests("/jwks"); d != 1 || k != 1 {
		t.Errorf("the document was read %d times and the keys %d times, want 1 and 1", d, k)
	}
}
