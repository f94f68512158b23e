package accesstoken_test

import (
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/problem"
)

// TestAChangeOfKeysEndsKnownTokens: a token that was just verified is refused as soon as the verifier has new keys of the
// issuer.
func TestAChangeOfKeysEndsKnownTokens(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	known := i.token(i.header(), i.hourOldPayload())
	for range 2 { // the second time it is a known token
		if _, err := v.Verify(t.Context(), known); err != nil {
			t.Fatal(err)
		}
	}
	i.set(func(i *issuer) { i.keys = []any{ecJWK("next", otherEC())} })
	i.clock.pass(11 * time.Second) // the issuer may be called again
	raw := signed(t, text(t, with(i.header(), object{"kid": "next"})), text(t, i.payload()), jwt.SigningMethodES256, otherEC())
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	_, err := v.Verify(t.Context(), known)
	refused(t, err, problem.TokenInvalid, known)
}

// TestAKnownTokenExpiresAsAnUnknownOne: after its exp plus the leeway of 30 seconds.
func TestAKnownTokenExpiresAsAnUnknownOne(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	raw := i.token(i.header(), with(i.payload(), object{"exp": i.clock.now().Unix() + 20}))
	for _, passed := range []time.Duration{
		0,
		19 * time.Second, // 1 second before exp
		time.Second,      // at exp
		29 * time.Second, // 29 seconds after exp
	} {
		i.clock.pass(passed)
		if _, err := v.Verify(t.Context(), raw); err != nil {
			t.Fatalf("after %s: %v", passed, err)
		}
	}
	i.clock.pass(time.Second)
	_, err := v.Verify(t.Context(), raw)
	refused(t, err, problem.TokenExpired, raw)
}

// TestATokenIsKnownByItsWholeText changes each character of a known token. Each changed token is refused.
func TestATokenIsKnownByItsWholeText(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	known := i.goodToken()
	want, err := v.Verify(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	for at := range len(known) {
		// A refused signature makes the verifier fetch the keys, which ends known tokens. So the token is made known again.
		if _, err := v.Verify(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		other := byte('A')
		if known[at] == other {
			other = 'B'
		}
		if got, err := v.Verify(t.Context(), known[:at]+string(other)+known[at+1:]); err == nil {
			t.Fatalf("with another character %d: %+v", at, got)
		}
	}
	if got, err := v.Verify(t.Context(), known); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
