package accesstoken_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

// answer returns a response with a JSON body.
func answer(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// answerWith returns a userinfo endpoint. It answers each request that has a token with this JSON body.
func answerWith(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ey") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(body))
	}
}

func TestUserinfoGivesTheProfile(t *testing.T) {
	i := newIssuer(t)
	i.userinfo = answerWith(`{"sub":"alice","email":"alice@example.com","email_verified":"true","name":"Alice"}`)
	want := accesstoken.Profile{Email: "alice@example.com", EmailVerified: true, Name: "Alice"}
	configured, discovered := i.config(), i.config()
	configured.UserinfoURL = i.url() + "/userinfo"
	for name, c := range map[string]accesstoken.Config{"configured": configured, "by discovery": discovered} {
		got, err := i.verifierOf(c).Userinfo(t.Context(), i.goodToken(), "alice")
		if err != nil || got != want {
			t.Errorf("%s: got %+v %v, want %+v", name, got, err, want)
		}
	}
}

func TestUserinfoReadsTheConfiguredClaims(t *testing.T) {
	i := newIssuer(t)
	i.userinfo = answerWith(`{"sub":"alice","mail":"a@example.com","name":"x","nick":"Al","email":"no@example.com"}`)
	c := i.config()
	c.EmailClaim, c.NameClaim, c.EmailsAreVerified = "mail", "nick", true
	got, err := i.verifierOf(c).Userinfo(t.Context(), i.goodToken(), "alice")
	if want := (accesstoken.Profile{Email: "a@example.com", EmailVerified: true, Name: "Al"}); err != nil || got != want {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
}

// TestAMissingProfileIsRemembered5Minutes: a user without a profile is not a fault of the issuer.
func TestAMissingProfileIsRemembered5Minutes(t *testing.T) {
	for name, userinfo := range map[string]http.HandlerFunc{
		"401":             status(http.StatusUnauthorized),
		"403":             status(http.StatusForbidden),
		"404":             status(http.StatusNotFound),
		"400":             status(http.StatusBadRequest),
		"410":             status(http.StatusGone),
		"204":             status(http.StatusNoContent),
		"sub twice":       answerWith(`{"sub":"mallory","sub":"alice","email":"a@example.com"}`),
		"another subject": answerWith(`{"sub":"mallory","email":"alice@example.com","email_verified":true}`),
		"SUB is not sub":  answerWith(`{"SUB":"alice","email":"alice@example.com","email_verified":true}`),
		"no subject":      answerWith(`{"email":"alice@example.com","email_verified":true}`),
		"no email":        answerWith(`{"sub":"alice"}`),
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.userinfo = userinfo
			v, raw := i.verifier(), i.goodToken()
			noProfile := func(wantRequests int) {
				t.Helper()
				if p, err := v.Userinfo(t.Context(), raw, "alice"); err != nil || p.Email != "" {
					t.Fatalf("got %+v %v, want no profile", p, err)
				}
				if got := i.requests("/userinfo"); got != wantRequests {
					t.Fatalf("userinfo was called %d times, want %d", got, wantRequests)
				}
			}
			noProfile(1)
			i.clock.pass(5*time.Minute - time.Second)
			noProfile(1)
			i.clock.pass(time.Second)
			noProfile(2)
			// For another token of the same user, userinfo is called.
			raw = i.token(i.header(), with(i.payload(), object{"jti": "2"}))
			noProfile(3)
		})
	}
}

func TestIssuerWithoutUserinfoGivesNoProfile(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler()) // not even a discovery document
	t.Cleanup(server.Close)
	v := accesstoken.New(accesstoken.Config{Issuer: server.URL, JWKSURL: server.URL, Audience: audience}, server.Client(), newClock().now)
	if p, err := v.Userinfo(t.Context(), newIssuer(t).goodToken(), "alice"); err != nil || p != (accesstoken.Profile{}) {
		t.Errorf("got %+v %v, want no profile", p, err)
	}
}

// TestUserinfoFaultsAre503: for 10 s. Some of these answers quote the token, and no error may contain it.
func TestUserinfoFaultsAre503(t *testing.T) {
	// quote answers with the token instead of an HTTP status line.
	quote := func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = conn.Write([]byte(r.Header.Get("Authorization") + "\r\n\r\n"))
		_ = conn.Close()
	}
	// redirect answers with this location. It replaces TOKEN in it with the token.
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			raw := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			w.Header().Set("Location", strings.ReplaceAll(to, "TOKEN", raw))
			w.WriteHeader(http.StatusFound)
		}
	}
	// asText answers JSON with the media type of a JWT.
	asText := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwt")
		_, _ = w.Write([]byte(`{"sub":"alice","email":"alice@example.com"}`))
	}
	for name, userinfo := range map[string]http.HandlerFunc{
		"500":                    status(http.StatusInternalServerError),
		"429":                    status(http.StatusTooManyRequests),
		"not HTTP":               quote,
		"connection":             func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirect":               redirect("/elsewhere"),
		"redirect, broken":       redirect("http://%zz/TOKEN"),
		"JSON with another type": asText,
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.userinfo = userinfo
			v, raw := i.verifier(), i.goodToken()
			_, err := v.Userinfo(t.Context(), raw, "alice")
			refused(t, err, problem.Unavailable, raw)
			if i.requests("/elsewhere") != 0 {
				t.Error("a redirect was followed, with the token")
			}
			i.set(func(i *issuer) { i.userinfo = answerWith(`{"sub":"alice","email":"alice@example.com"}`) })
			i.clock.pass(10 * time.Second)
			if p, err := v.Userinfo(t.Context(), raw, "alice"); err != nil || p.Email == "" {
				t.Errorf("the fault is over: got %+v %v", p, err)
			}
		})
	}
}

// answerSigned returns a userinfo endpoint that answers with a JWT (OpenID Connect Core, section 5.3.2).
func answerSigned(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwt; charset=utf-8")
		_, _ = w.Write([]byte(raw))
	}
}

// signedAnswer returns the payload of a good signed answer.
func signedAnswer(i *issuer) object {
	return object{"iss": i.url(), "aud": "some-client", "sub": "alice", "email": "alice@example.com", "email_verified": true, "name": "Alice"}
}

func TestASignedUserinfoGivesTheProfile(t *testing.T) {
	want := accesstoken.Profile{Email: "alice@example.com", EmailVerified: true, Name: "Alice"}
	for name, edits := range map[string]struct{ header, payload object }{
		"unchanged":        {nil, nil},
		"without iss":      {nil, object{"iss": nil}},
		"without typ":      {object{"typ": nil}, nil},
		"RS256":            {object{"alg": "RS256", "kid": "rsa"}, nil},
		"with times":       {nil, object{"iat": 1772366400, "exp": 1772366700}}, // now, and 5 minutes later
		"65 KB of claims":  {nil, object{"groups": strings.Repeat("x", 65<<10)}},
		"by a newer key":   {object{"kid": "new"}, nil},
		"nonce and others": {nil, object{"nonce": "n", "at_hash": "h"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			v := i.verifier()
			if _, err := v.Verify(t.Context(), i.goodToken()); err != nil { // so that its keys are known
				t.Fatal(err)
			}
			i.set(func(i *issuer) { i.keys = append(i.keys, ecJWK("new", ecKey())) })
			header := with(object{"alg": "ES256", "kid": "ec", "typ": "JWT"}, edits.header)
			i.userinfo = answerSigned(i.token(header, with(signedAnswer(i), edits.payload)))
			if got, err := v.Userinfo(t.Context(), i.goodToken(), "alice"); err != nil || got != want {
				t.Errorf("got %+v %v, want %+v", got, err, want)
			}
		})
	}
}

func TestASignedUserinfoOfAnotherUserGivesNoProfile(t *testing.T) {
	i := newIssuer(t)
	i.userinfo = answerSigned(i.token(object{"alg": "ES256", "kid": "ec"}, with(signedAnswer(i), object{"sub": "mallory"})))
	if p, err := i.verifier().Userinfo(t.Context(), i.goodToken(), "alice"); err != nil || p != (accesstoken.Profile{}) {
		t.Errorf("got %+v %v, want no profile", p, err)
	}
}

func TestAForgedSignedUserinfoIs503(t *testing.T) {
	for name, forge := range map[string]func(i *issuer) string{
		"another key": func(i *issuer) string {
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
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			forged := forge(i)
			i.userinfo = answerSigned(forged)
			_, err := i.verifier().Userinfo(t.Context(), i.goodToken(), "alice")
			refused(t, err, problem.Unavailable, forged)
		})
	}
}

// TestARefusalNamesTheSettingToFix: when a setting of the issuer is the cause of a refusal, its detail names the
// cause.
func TestARefusalNamesTheSettingToFix(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	// naming returns a token with this alg in its header. It is signed with ES256.
	naming := func(alg string) string {
		return signed(t, text(t, with(i.header(), object{"alg": alg})), text(t, i.payload()), jwt.SigningMethodES256, ecKey())
	}
	for name, c := range map[string]struct {
		raw, says string // the token, and a part of the detail
	}{
		"HS256":  {naming("HS256"), "ES256, RS256 or PS256"},
		"EdDSA":  {naming("EdDSA"), "ES256, RS256 or PS256"},
		"no sub": {i.token(i.header(), with(i.payload(), object{"sub": nil})), "sub claim"},
	} {
		_, err := v.Verify(t.Context(), c.raw)
		refused(t, err, problem.TokenInvalid, c.raw)
		if !strings.Contains(problem.From(err).Detail, c.says) {
			t.Errorf("%s: %q does not name %s", name, problem.From(err).Detail, c.says)
		}
	}
}
