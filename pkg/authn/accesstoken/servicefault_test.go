package accesstoken_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
	"latchkey/pkg/service"
)

// faulty has handlers for the keys and for the discovery document, one for each fault of an issuer. A hang ends with its caller.
var faulty = map[string]http.HandlerFunc{
	"500":        status(http.StatusInternalServerError),
	"429":        status(http.StatusTooManyRequests),
	"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	"a bad document": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"https://other.example"}`))
	},
	"no keys": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) },
	"half an answer": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "99")
		_, _ = w.Write([]byte("{"))
	},
	"a closed connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"a hang":              func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
}

// TestAnyoneCanCauseAFaultOfAServicesIssuer: anyone can make a token that names that issuer, so the error is no sign of an
// outage. A fault of the users' issuer is such a sign, even for a token of a service.
func TestAnyoneCanCauseAFaultOfAServicesIssuer(t *testing.T) {
	for name, fault := range faulty {
		for _, failing := range []string{"the keys", "the document"} {
			t.Run(failing+": "+name, func(t *testing.T) {
				t.Parallel()
				v, users, other := withServices(t, func(c *accesstoken.Config) {
					c.JWKSURL = ""
					c.Services = append(c.Services, service.Service{Name: "second", Issuer: c.Services[1].Issuer, Subject: "second"})
				})
				for _, i := range []*issuer{users, other} {
					i.set(func(i *issuer) {
						if i.jwks = fault; failing == "the document" {
							i.document = fault
						}
					})
				}
				for _, c := range []struct {
					raw    string
					atWill bool // any caller can cause the fault
				}{
					{other.token(other.header(), other.rolePayload()), true},
					{other.token(other.header(), with(other.rolePayload(), object{"sub": "second"})), true},
					{users.token(users.header(), users.servicePayload()), false},
					{users.token(users.header(), with(users.payload(), object{"scope": "api"})), false},
				} {
					_, err := v.Verify(t.Context(), c.raw)
					refused(t, err, problem.Unavailable, c.raw)
					if errors.Is(err, problem.ErrAtWill) != c.atWill || errors.Is(err, problem.ErrServiceIssuer) != c.atWill {
						t.Errorf("%v, want that any caller can cause it: %v", err, c.atWill)
					}
				}
			})
		}
	}
}

// TestAnyoneCanCauseALaterFaultOfAServicesIssuer: with kept keys, a token with an unknown kid causes the error. A day later, a
// token that was accepted before causes it too.
func TestAnyoneCanCauseALaterFaultOfAServicesIssuer(t *testing.T) {
	v, _, other := withServices(t, nil)
	known := other.token(other.header(), with(other.rolePayload(), object{"exp": other.clock.now().Add(48 * time.Hour).Unix()}))
	if _, err := v.Verify(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	other.set(func(i *issuer) { i.jwks = faulty["500"] })
	madeUp := other.token(with(other.header(), object{"kid": "junk"}), other.rolePayload())
	for _, c := range []struct {
		after time.Duration // time since the previous case
		raw   string
	}{{time.Minute, madeUp}, {0, madeUp}, {24 * time.Hour, known}} {
		other.clock.pass(c.after)
		_, err := v.Verify(t.Context(), c.raw)
		refused(t, err, problem.Unavailable, c.raw)
		if !errors.Is(err, problem.ErrServiceIssuer) {
			t.Errorf("after %s: %v", c.after, err)
		}
	}
}

// TestABadCertificateOfAServicesIssuerIsNoOutage: for example an expired certificate, or one for another host.
func TestABadCertificateOfAServicesIssuerIsNoOutage(t *testing.T) {
	users, other := newIssuer(t), newIssuer(t)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(other.serve))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS() // the verifier's client does not trust its certificate
	t.Cleanup(secure.Close)
	c := users.config()
	c.Services = []service.Service{{Name: "deploy", Issuer: secure.URL, Subject: role}}
	raw := other.token(other.header(), with(other.rolePayload(), object{"iss": secure.URL}))
	_, err := users.verifierOf(c).Verify(t.Context(), raw)
	refused(t, err, problem.Unavailable, raw)
	if !errors.Is(err, problem.ErrServiceIssuer) {
		t.Error(err)
	}
}
