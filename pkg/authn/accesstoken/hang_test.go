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

// roundTrip is a transport without a network: synctest's clock does not move while a goroutine waits for a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hang does not answer until the caller ends the call.
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
		"the document is slow, and the keys hang": {discovered, slowDocument}, // 3 seconds for both together
	} {
		t.Run(name, func(t *testing.T) {
			raw := i.good()
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

// TestHangingIssuerHoldsUpOneCallerIn10Seconds: the keys are no longer fresh, so the first caller waits for new ones.
// The next callers use the kept keys at once.
func TestHangingIssuerHoldsUpOneCallerIn10Seconds(t *testing.T) {
	i := newIssuer(t)
	v := accesstoken.New(i.config(), &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		hasPassed := i.clock.now().After(newClock().now())
		if hasPassed { // the issuer hangs once the test has moved its clock
			return hang(r)
		}
		return http.DefaultTransport.RoundTrip(r)
	})}, i.clock.now)
	if _, err := v.Verify(t.Context(), i.good()); err != nil {
		t.Fatal(err)
	}
	i.clock.pass(time.Hour)
	raw := i.good()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for range 100 {
			if _, err := v.Verify(t.Context(), raw); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("100 requests took %v, want 3s", took)
		}
	})
}
