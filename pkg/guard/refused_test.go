package guard_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

func TestTwoAuthorizationHeadersAreRefused(t *testing.T) {
	key, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Admin
	g := guard.On(authn.New(table, &authntest.Tokens{}))
	for credential, h := range map[string]http.Handler{
		key:           g.Handler(whoCalls),
		authntest.JWT: g.Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string { return string(table.Org) })),
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Authorization"] = []string{"Bearer " + credential, "Bearer " + credential}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 401 || !strings.Contains(w.Body.String(), `"invalid_credentials"`) {
			t.Errorf("%.10s twice: %d %s", credential, w.Code, w.Body)
		}
	}
}

// hangs is a transport that never answers.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// slow is a table whose methods are slow.
type slow struct {
	*authntest.Table

	delay time.Duration // of each call
}

func (s slow) Imported(ctx context.Context, h apikey.Hash) (at store.Imported, ok bool, err error) {
	if err := s.pass(ctx); err != nil {
		return at, false, err
	}
	return s.Table.Imported(ctx, h)
}

func (s slow) Identity(ctx context.Context, issuer, subject string) (known store.Identity, ok bool, err error) {
	if err := s.pass(ctx); err != nil {
		return known, false, err
	}
	return s.Table.Identity(ctx, issuer, subject)
}

func (s slow) APIKey(ctx context.Context, o id.Org, k id.Key) (row store.APIKey, ok bool, err error) {
	if err := s.pass(ctx); err != nil {
		return row, false, err
	}
	return s.Table.APIKey(ctx, o, k)
}

func (s slow) Role(ctx context.Context, o id.Org, u id.User) (org.Role, bool, error) {
	if err := s.pass(ctx); err != nil {
		return "", false, err
	}
	return s.Table.Role(ctx, o, u)
}

func (s slow) Suspended(ctx context.Context, o id.Org) (bool, error) {
	if err := s.pass(ctx); err != nil {
		return false, err
	}
	return s.Table.Suspended(ctx, o)
}

func (s slow) pass(ctx context.Context) error {
	select {
	case <-time.After(s.delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestACheckHasTwoAndAHalfSeconds: for a key and for a role, when the table, the issuer or the function that names the org is
// slow.
func TestACheckHasTwoAndAHalfSeconds(t *testing.T) {
	const within = 2500 * time.Millisecond
	key, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Admin
	// The token has good claims and a made-up signature. A check of the signature needs the issuer's keys.
	const unproved = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJzdWIiOiJhIiwiYXVkIjoiYSIsImV4cCI6NDAwMDAwMDAwMH0." +
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	issuer := accesstoken.New(accesstoken.Config{Issuer: "https://id.example", Audience: "a"}, &http.Client{Transport: hangs{}}, time.Now)
	// withOrgOf returns a handler with OrgOf. The function needs orgTakes, and each call of the table needs tableTakes.
	withOrgOf := func(orgTakes, tableTakes time.Duration) http.Handler {
		orgOf := func(*http.Request) string { time.Sleep(orgTakes); return string(table.Org) }
		return guard.On(authn.New(slow{table, tableTakes}, &authntest.Tokens{})).Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(orgOf))
	}
	byRole := []guard.Need{guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string { return string(table.Org) })}
	// withTable returns a handler with a table whose calls need d each.
	withTable := func(d time.Duration, needs ...guard.Need) http.Handler {
		return guard.On(authn.New(slow{table, d}, &authntest.Tokens{})).Handler(whoCalls, needs...)
	}
	imports := authn.New(slow{table, within / 3}, &authntest.Tokens{})
	imports.TakeImported(func(context.Context, string) error { time.Sleep(within / 2); return nil }, 1)
	charged := *table // a lease may continue for half a second after the caller's time
	charged.Key.Limits = "9/d"
	charged.Leases = func(ctx context.Context, _ limit.Lease) (found limit.Charges, done bool, err error) {
		<-ctx.Done()
		return found, false, ctx.Err()
	}
	for name, c := range map[string]struct {
		h          http.Handler
		credential string
		status     int
		late       time.Duration // how much later than within the answer may come
	}{
		"a key, a table in time":                        {withTable(within - 1), key, 200, 0},
		"a key, a table that hangs":                     {withTable(time.Hour), key, 503, 0},
		"a role, a table in time":                       {withTable(within/2-1, byRole...), authntest.JWT, 200, -1}, // two reads
		"a role, a table that hangs":                    {withTable(time.Hour, byRole...), authntest.JWT, 503, 0},
		"a role, an issuer that hangs":                  {guard.On(authn.New(table, issuer)).Handler(whoCalls, byRole...), unproved, 503, 0},
		"a role, OrgOf in time":                         {withOrgOf(within-1, 0), authntest.JWT, 200, 0},
		"a role, OrgOf hangs":                           {withOrgOf(time.Hour, 0), authntest.JWT, 503, 0},
		"a role, OrgOf and the table in time together":  {withOrgOf(within/2-1, within/4), authntest.JWT, 200, 0},
		"a role, OrgOf and the table too slow together": {withOrgOf(within/2, within/3), authntest.JWT, 503, 0},
		"a text, two reads and a fallback":              {guard.On(imports).Handler(whoCalls), "sk_unknown", 503, 0},
		"a key, a read and a lease":                     {guard.On(authn.New(slow{&charged, within - 1}, &authntest.Tokens{})).Handler(whoCalls), key, 503, 500*time.Millisecond - 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the caller itself would wait longer
				defer cancel()
				begun, w := time.Now(), httptest.NewRecorder()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
				r.Header.Set("Authorization", "Bearer "+c.credential)
				c.h.ServeHTTP(w, r)
				want := map[int]time.Duration{200: within - 1, 503: within}[c.status] + c.late
				if took := time.Since(begun); took != want || w.Code != c.status {
					t.Errorf("%d after %s", w.Code, took)
				}
				time.Sleep(2 * time.Hour) // until OrgOf has ended
			})
		})
	}
}

// TestARoleIsCheckedWithKeptKeysWhileTheIssuerHangs: each request finds keys that are not fresh, as in a Lambda function that serves few
// requests.
func TestARoleIsCheckedWithKeptKeysWhileTheIssuerHangs(t *testing.T) {
	_, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Admin
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	keys := fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","kid":"k","x":%q,"y":%q}]}`, b64(point[1:33]), b64(point[33:]))
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": "https://id.example", "sub": "a", "aud": "a", "exp": 4_000_000_000})
	token.Header["kid"], token.Header["typ"] = "k", "at+jwt"
	raw, err := token.SignedString(private)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		issuer := &answersOnce{body: keys}
		config := accesstoken.Config{Issuer: "https://id.example", JWKSURL: "https://id.example/keys", Audience: "a"}
		h := guard.On(authn.New(table, accesstoken.New(config, &http.Client{Transport: issuer}, time.Now))).
			Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string { return string(table.Org) }))
		for n := range 3 {
			begun, w := time.Now(), httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+raw)
			h.ServeHTTP(w, r)
			want := map[bool]time.Duration{true: 0, false: time.Second}[n == 0] // the first request gets the keys
			if took := time.Since(begun); w.Code != 200 || took != want {
				t.Errorf("request %d: %d after %s, want 200 after %s", n, w.Code, took, want)
			}
			time.Sleep(20 * time.Minute)
		}
	})
}

// answersOnce is an issuer that answers its first request, and then hangs.
type answersOnce struct {
	body     string
	answered atomic.Bool
}

func (a *answersOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.answered.Swap(true) {
		return hangs{}.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// TestAStrangerTakesNoPlaceOfOrgOf: OrgOf may read the body, which a stranger can send slowly. So it runs only for a good token.
func TestAStrangerTakesNoPlaceOfOrgOf(t *testing.T) {
	key, table := authntest.Minted(t)
	for name, credentials := range map[string][]string{
		"no credential": nil, "an API key": {"Bearer " + key}, "another scheme": {"Basic YTpi"}, "two headers": {"Bearer " + authntest.JWT, "Bearer " + authntest.JWT},
		"a made-up token": {"Bearer " + authntest.JWT},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			tokens := &authntest.Tokens{Err: problem.New(problem.TokenInvalid, "made up")}
			h := guard.On(authn.New(table, tokens)).Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string {
				calls++
				time.Sleep(time.Hour)
				return ""
			}))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.Header["Authorization"] = credentials
			begun, w := time.Now(), httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if took := time.Since(begun); w.Code != 401 || took != 0 || calls != 0 {
				t.Errorf("%s: %d after %s, %d calls of OrgOf", name, w.Code, took, calls)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// TestAnOwnersPanicChangesNoAnswer: the caller gets the same answer as without the panic. When OrgOf panics, it is 503.
func TestAnOwnersPanicChangesNoAnswer(t *testing.T) {
	panics := func() { panic("secret") }
	settings := guard.Config{
		Table: "t", AWS: aws.Config{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1")}, ImportedKeys: true,
		Report: func(*http.Request, error) { panics() }, ReportRefusal: func(*http.Request, *problem.Error) { panics() },
		Fallback: func(context.Context, string) error { panics(); return nil },
	}
	g := guard.New(settings)
	byOrg := guard.WithReports(authn.New(&authntest.Table{}, &authntest.Tokens{}), settings).
		Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string { panics(); return "" }))
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	for name, c := range map[string]struct {
		h          http.Handler
		credential string
		want       int // status
	}{
		"a refusal":        {g.Handler(whoCalls), "", 401},
		"a fault":          {g.Handler(whoCalls), "Bearer lk_live_of_another_system", 503},
		"an org by OrgOf":  {byOrg, "Bearer " + authntest.JWT, 503},
		"no access tokens": {g.Handler(whoCalls, guard.RequireRole("viewer")), "Bearer " + authntest.JWT, 503},
	} {
		log.Reset()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("orgId", "org")
		r.Header.Set("Authorization", c.credential)
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, r)
		if w.Code != c.want || !strings.Contains(log.String(), "panic at refused_test.go:") || strings.Contains(log.String()+w.Body.String(), "secret") {
			t.Errorf("%s: %d %s, logged %s", name, w.Code, w.Body, &log)
		}
	}
}

// TestAFaultIsLoggedWithoutAReport checks that the log has the error and the route's pattern, and no other part of the request.
func TestAFaultIsLoggedWithoutAReport(t *testing.T) {
	g := guard.New(guard.Config{Table: "t", AWS: aws.Config{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1")}})
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	routes := http.NewServeMux()
	routes.Handle("GET /orgs/{orgId}/invoices", g.Handler(whoCalls, guard.RequireRole("viewer")))
	for credential, want := range map[string]int{"": 401, "Bearer " + authntest.JWT: 503} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/orgs/secret/invoices?key=secret", nil)
		r.Header.Set("Authorization", credential)
		routes.ServeHTTP(w, r)
		logged := log.String()
		if isLogged := strings.Contains(logged, `msg="guard: a credential was not checked" route="GET /orgs/{orgId}/invoices" error=`); w.Code != want || isLogged != (want == 503) || strings.Contains(logged, "secret") || strings.Contains(logged, authntest.JWT) {
			t.Errorf("%d, want %d, logged %q", w.Code, want, logged)
		}
		log.Reset()
	}
}

// TestNoAnswerWaitsForAnOwnersCode: an answer comes within three seconds, even when a function of the owner fails or hangs. At most 16
// reports and 256 calls of OrgOf run at once.
func TestNoAnswerWaitsForAnOwnersCode(t *testing.T) {
	for name, fails := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("secret") }, "panics as net/http": func() { panic(http.ErrAbortHandler) },
		"ends its goroutine": runtime.Goexit, "takes an hour": func() { time.Sleep(time.Hour) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var reports, orgs atomic.Int64
			table := &authntest.Table{Down: errors.New("down")}
			g := guard.WithReports(authn.New(table, &authntest.Tokens{}), guard.Config{
				Table: "t", AWS: aws.Config{Region: "us-east-1"},
				Report: func(*http.Request, error) { reports.Add(1); fails() }, ReportRefusal: func(*http.Request, *problem.Error) { reports.Add(1); fails() },
			})
			before := runtime.NumGoroutine()
			for want, h := range map[int]http.Handler{
				401: g.Handler(whoCalls),
				503: g.Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string { orgs.Add(1); fails(); return string(id.Source{}.NewOrg()) })),
			} {
				for range 300 { // more than may run at once
					w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
					if want == 503 {
						r.Header.Set("Authorization", "Bearer "+authntest.JWT) // the table is down
					}
					begun := time.Now()
					h.ServeHTTP(w, r)
					if took := time.Since(begun); w.Code != want || took >= 3*time.Second {
						t.Fatalf("%s: %d after %s", name, w.Code, took)
					}
				}
			}
			if n := runtime.NumGoroutine() - before; n > 16+256 {
				t.Errorf("%s: %d goroutines are left", name, n)
			}
			begun, most := [2]int64{reports.Load(), orgs.Load()}, [2]int64{600, 300}
			if name == "takes an hour" {
				most = [2]int64{16, 256}
			}
			if begun != most {
				t.Errorf("%s: %v reports and calls of OrgOf began, want %v", name, begun, most)
			}
			if lost := g.LostReports(); (lost == 0) != (name == "returns") || lost > 600 {
				t.Errorf("%s: %d reports of 600 are lost", name, lost)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}
