package accesstoken_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

// saysSigned is a userinfo endpoint that answers a JWT (OpenID Connect Core, section 5.3.2).
func saysSigned(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwt; charset=utf-8")
		_, _ = w.Write([]byte(raw))
	}
}

func signedAnswer(i *issuer) object {
	return object{"iss": i.url(), "aud": "some-client", "sub": "alice", "email": "alice@example.com", "email_verified": true, "name": "Alice"}
}

func TestASignedUserinfoGivesTheProfile(t *testing.T) {
	want := accesstoken.Profile{Email: "alice@example.com", EmailVerified: true, Name: "Alice"}
	for name, edits := range map[string]struct{ header, payload object }{
		"as it is":         {nil, nil},
		"without iss":      {nil, object{"iss": nil}},
		"without typ":      {object{"typ": nil}, nil},
		"RS256":            {object{"alg": "RS256", "kid": "rsa"}, nil},
		"with times":       {nil, object{"iat": 1772366400, "exp": 1772366700}},
		"20 KB of claims":  {nil, object{"groups": strings.Repeat("x", 20<<10)}},
		"by a newer key":   {object{"kid": "new"}, nil},
		"nonce and others": {nil, object{"nonce": "n", "at_hash": "h"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			v := i.verifier()
			if _, err := v.Verify(t.Context(), i.good()); err != nil { // so that its keys are known
				t.Fatal(err)
			}
			i.set(func(i *issuer) { i.keys = append(i.keys, ecJWK("new", ecKey())) })
			header := with(object{"alg": "ES256", "kid": "ec", "typ": "JWT"}, edits.header)
			i.userinfo = saysSigned(i.token(header, with(signedAnswer(i), edits.payload)))
			if got, err := v.Userinfo(t.Context(), i.good(), "alice"); err != nil || got != want {
				t.Errorf("got %+v %v, want %+v", got, err, want)
			}
		})
	}
}

func TestASignedUserinfoAboutAnotherGivesNoProfile(t *testing.T) {
	i := newIssuer(t)
	i.userinfo = saysSigned(i.token(object{"alg": "ES256", "kid": "ec"}, with(signedAnswer(i), object{"sub": "mallory"})))
	if p, err := i.verifier().Userinfo(t.Context(), i.good(), "alice"); err != nil || p != (accesstoken.Profile{}) {
		t.Errorf("got %+v %v, want no profile", p, err)
	}
}

func TestASignedUserinfoThatIsNotTheIssuersIs503(t *testing.T) {
	for name, forge := range map[string]func(i *issuer) string{
		"another's key": func(i *issuer) string {
			return signed(t, text(t, object{"alg": "ES256", "kid": "ec"}), text(t, signedAnswer(i)), jwt.SigningMethodES256, newEC())
		},
		"unsigned": func(i *issuer) string {
			return b64(`{"alg":"none","kid":"ec"}`) + "." + b64(text(t, signedAnswer(i))) + "."
		},
		"JSON":      func(*issuer) string { return `{"sub":"alice","email":"alice@example.com"}` },
		"encrypted": func(i *issuer) string { return i.token(i.header(), signedAnswer(i)) + ".a.b" },
		"another issuer": func(i *issuer) string {
			return i.token(object{"alg": "ES256", "kid": "ec"}, with(signedAnswer(i), object{"iss": "https://other.test"}))
		},
		"an access token": func(i *issuer) string {
			return i.token(i.header(), signedAnswer(i))
		},
		"expired": func(i *issuer) string {
			return i.token(object{"alg": "ES256", "kid": "ec"}, with(signedAnswer(i), object{"exp": i.clock.now().Add(-time.Hour).Unix()}))
		},
		"65 KB": func(i *issuer) string {
			return i.token(object{"alg": "ES256", "kid": "ec"}, with(signedAnswer(i), object{"x": strings.Repeat("x", 64<<10)}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.userinfo = saysSigned(forge(i))
			_, err := i.verifier().Userinfo(t.Context(), i.good(), "alice")
			refused(t, err, problem.Unavailable, forge(i))
		})
	}
}

// TestARefusalSaysWhatItsDeveloperCanMend when a setting of the issuer is the cause.
func TestARefusalSaysWhatItsDeveloperCanMend(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	named := func(alg string) string {
		return signed(t, text(t, with(i.header(), object{"alg": alg})), text(t, i.payload()), jwt.SigningMethodES256, ecKey())
	}
	for name, c := range map[string]struct {
		raw, says string
	}{
		"HS256":  {named("HS256"), "ES256, RS256 or PS256"},
		"EdDSA":  {named("EdDSA"), "ES256, RS256 or PS256"},
		"no sub": {i.token(i.header(), with(i.payload(), object{"sub": nil})), "sub claim"},
	} {
		_, err := v.Verify(t.Context(), c.raw)
		refused(t, err, problem.TokenInvalid, c.raw)
		if !strings.Contains(problem.From(err).Detail, c.says) {
			t.Errorf("%s: %q does not name %s", name, problem.From(err).Detail, c.says)
		}
	}
}
