package guard_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
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

// slowRole is a table whose method Role is slow.
type slowRole struct {
	*authntest.Table
	takes time.Duration // for each call of Role
}

func (s slowRole) Role(ctx context.Context, o id.Org, u id.User) (org.Role, bool, error) {
	select {
	case <-time.After(s.takes):
		return s.Table.Role(ctx, o, u)
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

func TestADatabaseMayTakeTwoSeconds(t *testing.T) {
	_, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Admin
	synctest.Test(t, func(t *testing.T) {
		g := guard.On(authn.New(slowRole{table, 2 * time.Second}, &authntest.Tokens{}))
		if _, err := g.Member(t.Context(), []string{"Bearer " + authntest.JWT}, string(table.Org), org.Viewer); err != nil {
			t.Error(err)
		}
	})
}

func TestARoleIsCheckedWithinTheBound(t *testing.T) {
	_, table := authntest.Minted(t)
	table.Known, table.Org, table.InRole = &store.Identity{UserID: authntest.NewUser}, table.Key.OrgID, org.Admin
	// The token has good claims and a made-up signature. The issuer is asked for its keys before that is seen.
	const unproved = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJzdWIiOiJhIiwiYXVkIjoiYSIsImV4cCI6NDAwMDAwMDAwMH0." +
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	issuer := accesstoken.New(accesstoken.Config{Issuer: "https://id.example", Audience: "a"}, &http.Client{Transport: hangs{}}, time.Now)
	for name, a := range map[string]*authn.Authorizer{
		"an issuer that hangs": authn.New(table, issuer),
		"a table that hangs":   authn.New(slowRole{table, time.Hour}, &authntest.Tokens{}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the caller itself would wait longer
				defer cancel()
				begun := time.Now()
				_, err := guard.On(a).Member(ctx, []string{"Bearer " + unproved}, string(table.Org), org.Viewer)
				_, refused := guard.Refused(err)
				if took := time.Since(begun); took != guard.AnswersWithin || err == nil || refused {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestAnOwnersPanicChangesNoAnswer: the caller gets the answer that it would have got, or 503 where the org is not known.
func TestAnOwnersPanicChangesNoAnswer(t *testing.T) {
	panics := func() { panic("secret") }
	g := guard.New(guard.Config{
		Table: "t", AWS: aws.Config{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1")}, ImportedKeys: true,
		Report: func(*http.Request, error) { panics() }, ReportRefusal: func(*http.Request, *problem.Error) { panics() },
		Fallback: func(context.Context, string) error { panics(); return nil },
	})
	ofNoOrg := guard.OrgOf(func(*http.Request) string { panics(); return "" })
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	for name, c := range map[string]struct {
		h          http.Handler
		credential string
		want       int
	}{
		"a refusal":        {g.Handler(whoCalls), "", 401},
		"a fault":          {g.Handler(whoCalls), "Bearer lk_live_of_another_system", 503},
		"an org by OrgOf":  {g.Handler(whoCalls, guard.RequireRole("viewer"), ofNoOrg), "Bearer " + authntest.JWT, 503},
		"no access tokens": {g.Handler(whoCalls, guard.RequireRole("viewer"), ofNoOrg), "", 503},
	} {
		log.Reset()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", c.credential)
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, r)
		if w.Code != c.want || !strings.Contains(log.String(), "panic at refused_test.go:") || strings.Contains(log.String()+w.Body.String(), "secret") {
			t.Errorf("%s: %d %s, logged %s", name, w.Code, w.Body, &log)
		}
	}
}

// TestNoAnswerWaitsForAnOwnersCode beyond three seconds, however its functions fail, and the number of its goroutines is bounded.
func TestNoAnswerWaitsForAnOwnersCode(t *testing.T) {
	for name, fails := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("secret") }, "panics as net/http": func() { panic(http.ErrAbortHandler) },
		"ends its goroutine": runtime.Goexit, "takes an hour": func() { time.Sleep(time.Hour) },
	} {
		synctest.Test(t, func(t *testing.T) {
			g := guard.New(guard.Config{
				Table: "t", AWS: aws.Config{Region: "us-east-1"},
				Report: func(*http.Request, error) { fails() }, ReportRefusal: func(*http.Request, *problem.Error) { fails() },
			})
			before := runtime.NumGoroutine()
			for want, h := range map[int]http.Handler{
				401: g.Handler(whoCalls),
				503: g.Handler(whoCalls, guard.RequireRole("viewer"), guard.OrgOf(func(*http.Request) string { fails(); return "" })),
			} {
				for range 300 { // more than may run at once
					w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
					if want == 503 {
						r.Header.Set("Authorization", "Bearer "+authntest.JWT) // of an issuer that is not configured
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
			if lost := g.LostReports(); (lost == 0) != (name == "returns") || lost > 600 {
				t.Errorf("%s: %d reports of 600 are lost", name, lost)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}
