package accesstoken_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

// answer is a JSON answer.
func answer(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// says is a userinfo endpoint that answers every good request with a body.
func says(body string) http.HandlerFunc {
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
	i.userinfo = says(`{"sub":"alice","email":"alice@example.com","email_verified":"true","name":"Alice"}`)
	want := accesstoken.Profile{Email: "alice@example.com", EmailVerified: true, Name: "Alice"}
	configured, found := i.config(), i.config()
	configured.UserinfoURL = i.url() + "/userinfo"
	for name, c := range map[string]accesstoken.Config{"configured": configured, "by discovery": found} {
		got, err := i.verifierOf(c).Userinfo(t.Context(), i.good(), "alice")
		if err != nil || got != want {
			t.Errorf("%s: got %+v %v, want %+v", name, got, err, want)
		}
	}
}

func TestUserinfoReadsTheConfiguredClaims(t *testing.T) {
	i := newIssuer(t)
	i.userinfo = says(`{"sub":"alice","mail":"a@example.com","name":"x","nick":"Al","email":"no@example.com"}`)
	c := i.config()
	c.EmailClaim, c.NameClaim, c.EmailsAreVerified = "mail", "nick", true
	got, err := i.verifierOf(c).Userinfo(t.Context(), i.good(), "alice")
	if want := (accesstoken.Profile{Email: "a@example.com", EmailVerified: true, Name: "Al"}); err != nil || got != want {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
}

// A user without a profile is no fault: that is remembered for 5 minutes.
func TestNoProfileIsRemembered5Minutes(t *testing.T) {
	for name, userinfo := range map[string]http.HandlerFunc{
		"401":             status(http.StatusUnauthorized),
		"403":             status(http.StatusForbidden),
		"another subject": says(`{"sub":"mallory","email":"alice@example.com","email_verified":true}`),
		"SUB is not sub":  says(`{"SUB":"alice","email":"alice@example.com","email_verified":true}`),
		"no subject":      says(`{"email":"alice@example.com","email_verified":true}`),
		"no email":        says(`{"sub":"alice"}`),
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.userinfo = userinfo
			v, raw := i.verifier(), i.good()
			asked := func(want int) {
				t.Helper()
				if p, err := v.Userinfo(t.Context(), raw, "alice"); err != nil || p.Email != "" {
					t.Fatalf("got %+v %v, want no profile", p, err)
				}
				if got := i.requests("/userinfo"); got != want {
					t.Fatalf("userinfo was asked %d times, want %d", got, want)
				}
			}
			asked(1)
			i.clock.pass(5*time.Minute - time.Second)
			asked(1)
			i.clock.pass(time.Second)
			asked(2)
			// For another token of the same user, userinfo is called.
			raw = i.token(i.header(), with(i.payload(), object{"jti": "2"}))
			asked(3)
		})
	}
}

func TestIssuerWithoutUserinfoGivesNoProfile(t *testing.T) {
	none := http.NotFoundHandler()
	server := httptest.NewServer(none)
	t.Cleanup(server.Close)
	v := accesstoken.New(accesstoken.Config{Issuer: server.URL, JWKSURL: server.URL, Audience: audience}, server.Client(), newClock().now)
	if p, err := v.Userinfo(t.Context(), newIssuer(t).good(), "alice"); err != nil || p != (accesstoken.Profile{}) {
		t.Errorf("got %+v %v, want no profile", p, err)
	}
}

// A fault is 503 and is not remembered. Some of these answers quote the token.
func TestUserinfoFaultsAre503(t *testing.T) {
	quote := func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = conn.Write([]byte(r.Header.Get("Authorization") + "\r\n\r\n"))
		_ = conn.Close()
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			raw := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			w.Header().Set("Location", strings.ReplaceAll(to, "TOKEN", raw))
			w.WriteHeader(http.StatusFound)
		}
	}
	asText := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwt")
		_, _ = w.Write([]byte(`{"sub":"alice","email":"alice@example.com"}`))
	}
	for name, userinfo := range map[string]http.HandlerFunc{
		"500":               status(http.StatusInternalServerError),
		"429":               status(http.StatusTooManyRequests),
		"404":               status(http.StatusNotFound),
		"not HTTP":          quote,
		"connection":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirect":          redirect("/elsewhere"),
		"redirect, broken":  redirect("http://%zz/TOKEN"),
		"not JSON by type":  asText,
		"not JSON":          says(`email=alice`),
		"not an object":     says(`["alice"]`),
		"sub twice":         says(`{"sub":"mallory","sub":"alice","email":"a@example.com"}`),
		"data behind":       says(`{"sub":"alice"}{}`),
		"more than one MiB": says(`{"sub":"alice","email":"a@example.com"}` + strings.Repeat(" ", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.userinfo = userinfo
			v, raw := i.verifier(), i.good()
			_, err := v.Userinfo(t.Context(), raw, "alice")
			refused(t, err, problem.Unavailable, raw)
			if i.requests("/elsewhere") != 0 {
				t.Error("a redirect was followed, with the token")
			}
			i.set(func(i *issuer) { i.userinfo = says(`{"sub":"alice","email":"alice@example.com"}`) })
			if p, err := v.Userinfo(t.Context(), raw, "alice"); err != nil || p.Email == "" {
				t.Errorf("the fault is over: got %+v %v", p, err)
			}
		})
	}
}
