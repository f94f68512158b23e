package accesstoken_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

// roundTrip is a transport without a network: the clock of synctest does not move while a goroutine waits for a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hang never answers. It returns when the caller ends the call.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestHangingIssuerIs503Within3Seconds(t *testing.T) {
	i := newIssuer(t)
	base := i.config()
	discovered := base
	discovered.JWKSURL = ""
	document := fmt.Sprintf(`{"issuer":%q,"jwks_uri":"%s/jwks","userinfo_endpoint":"%s/userinfo"}`, i.url(), i.url(), i.url())
	slowDocument := func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "openid-configuration") {
			return hang(r)
		}
		time.Sleep(2 * time.Second)
		return answer(http.StatusOK, document), nil
	}
	for name, c := range map[string]struct {
		config    accesstoken.Config
		transport roundTrip
	}{
		"the keys hang":                           {base, hang},
		"the discovery document hangs":            {discovered, hang},
		"the document is slow, and the keys hang": {discovered, slowDocument}, // both calls together have 3 seconds
	} {
		t.Run(name, func(t *testing.T) {
			raw := i.goodToken()
			synctest.Test(t, func(t *testing.T) {
				v := accesstoken.New(c.config, &http.Client{Transport: c.transport}, i.clock.now)
				start := time.Now()
				_, err := v.Verify(t.Context(), raw)
				refused(t, err, problem.Unavailable, raw)
				if took := time.Since(start); took != 3*time.Second {
					t.Errorf("Verify took %v, want 3s", took)
				}
				userinfo := accesstoken.New(discovered, &http.Client{Transport: c.transport}, i.clock.now)
				start = time.Now()
				_, err = userinfo.Userinfo(t.Context(), raw, "alice")
				refused(t, err, problem.Unavailable, raw)
				if took := time.Since(start); took != 3*time.Second {
					t.Errorf("Userinfo took %v, want 3s", took)
				}
			})
		})
	}
}

// TestHangingIssuerDelaysOneCallerIn10Seconds: the keys are not fresh any more, so the first caller waits for new ones, for a second.
// It has time left for the table. The next callers use the kept keys at once.
func TestHangingIssuerDelaysOneCallerIn10Seconds(t *testing.T) {
	i := newIssuer(t)
	v := accesstoken.New(i.config(), &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		hangs := i.clock.now().After(newClock().now())
		if hangs { // from the moment when the test moves its clock
			return hang(r)
		}
		return http.DefaultTransport.RoundTrip(r)
	})}, i.clock.now)
	if _, err := v.Verify(t.Context(), i.goodToken()); err != nil {
		t.Fatal(err)
	}
	i.clock.pass(time.Hour)
	raw := i.goodToken()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond) // the time of a check at the doors
		defer cancel()
		start := time.Now()
		for range 100 {
			if _, err := v.Verify(ctx, raw); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("100 requests took %v, want 1s", took)
		}
		time.Sleep(3 * time.Second) // until the fetch has ended
	})
}

// TestOnlyFaultsAndMissingEmailsAreRemembered: userinfo is called again after a caller who left, and for a profile with an email,
// because its caller keeps that profile. An endpoint that hangs counts as a fault.
func TestOnlyFaultsAndMissingEmailsAreRemembered(t *testing.T) {
	const profile = `{"sub":"alice","email":"alice@example.com"}`
	i := newIssuer(t)
	raw := i.goodToken()
	c := i.config()
	c.UserinfoURL = i.url() + "/userinfo"
	for name, row := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc) // makes the context of the first caller
		first   roundTrip                                                   // answers the first call
		failed  bool                                                        // the first caller gets an error
		isKnown bool                                                        // the second caller gets the remembered answer
	}{
		"a hang": {context.WithCancel, hang, true, true},
		"the caller leaves": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, hang, true, false},
		"the caller's time is over": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, hang, true, false},
		"an email":     {context.WithCancel, func(*http.Request) (*http.Response, error) { return answer(200, profile), nil }, false, false},
		"no email":     {context.WithCancel, func(*http.Request) (*http.Response, error) { return answer(200, `{"sub":"alice"}`), nil }, false, true},
		"a status 500": {context.WithCancel, func(*http.Request) (*http.Response, error) { return answer(500, ""), nil }, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			v := accesstoken.New(c, &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if calls++; calls == 1 {
					return row.first(r)
				}
				return answer(200, profile), nil
			})}, time.Now)
			ctx, cancel := row.ctx(t.Context())
			_, err := v.Userinfo(ctx, raw, "alice")
			cancel()
			p, errSecond := v.Userinfo(t.Context(), raw, "alice")
			if isKnown := calls == 1; (err != nil) != row.failed || isKnown != row.isKnown || !isKnown && (errSecond != nil || p.Email == "") {
				t.Errorf("%s: %v, then %d calls, %+v %v", name, err, calls, p, errSecond)
			}
		})
	}
}
