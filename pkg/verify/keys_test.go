package verify_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/verify"
)

// lookups serves key lookups with a handler that a test may change, and counts them.
type lookups struct {
	mu        sync.Mutex
	n         int // all lookups
	running   int // lookups without an answer yet
	maxAtOnce int // the largest value of running
	next      http.Handler
}

func (l *lookups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.n++
	l.running++
	l.maxAtOnce = max(l.maxAtOnce, l.running)
	next := l.next
	l.mu.Unlock()
	next.ServeHTTP(w, r)
	l.mu.Lock()
	l.running--
	l.mu.Unlock()
}

func (l *lookups) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// answer sets the handler of all later lookups.
func (l *lookups) answer(h http.Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = h
}

// status returns a handler that answers with this status and no body.
func status(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// world is a Verifier with a clock and lookups that a test controls.
type world struct {
	*lookups
	*verify.Verifier
	vectors
	now atomic.Int64 // the clock, in seconds since the epoch; see newWorld
	url string       // address of the lookups
}

// newWorld returns a world whose clock starts an hour before the time of the vectors. No webhook of the vectors expires
// while a test moves the clock, and the leeway of a day accepts webhooks from the future.
func newWorld(t *testing.T) *world {
	t.Helper()
	v := readVectors(t)
	v.Now -= 3600
	w := &world{lookups: &lookups{next: v.Handler()}, vectors: v}
	w.now.Store(v.Now)
	server := httptest.NewServer(w.lookups)
	t.Cleanup(server.Close)
	w.url = server.URL
	var err error
	w.Verifier, err = verify.New(verify.Config{
		BaseURL: server.URL, EndpointID: v.EndpointID, Leeway: 24 * time.Hour,
		Now: func() time.Time { return time.Unix(w.now.Load(), 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// verify returns only the error of Verify.
func (w *world) verify(token string) error {
	_, err := w.Verify(context.Background(), []byte(token))
	return err
}

// TestKeyIsLookedUpOnceInItsMaxAge: the lookup's answer for the active key has a max-age of 300 s.
func TestKeyIsLookedUpOnceInItsMaxAge(t *testing.T) {
	w := newWorld(t)
	webhook := good(t, w.vectors)
	for _, step := range []struct{ at, lookups int }{ // seconds since the first webhook, all lookups
		{0, 1}, {1, 1}, {299, 1}, {300, 2}, {599, 2}, {600, 3},
	} {
		w.now.Store(w.Now + int64(step.at))
		if err := w.verify(webhook); err != nil || w.count() != step.lookups {
			t.Errorf("after %d s: %v, %d lookups instead of %d", step.at, err, w.count(), step.lookups)
		}
	}
}

// TestKeyIsLookedUpAgainAfterADay: the answer has a longer max-age. Without the new lookup, the receiver would miss a
// revocation.
func TestKeyIsLookedUpAgainAfterADay(t *testing.T) {
	w := newWorld(t)
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.Handler().ServeHTTP(forYears{rw}, r)
	}))
	const day = 24 * 3600
	begun := w.Now - 2*day // so that the clock stays before the webhook's exp
	v, err := verify.New(verify.Config{
		BaseURL: w.url, EndpointID: w.EndpointID, Leeway: 72 * time.Hour, // accepts the webhook at each step
		Now: func() time.Time { return time.Unix(w.now.Load(), 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	webhook := []byte(good(t, w.vectors))
	for _, step := range []struct{ at, lookups int }{{0, 1}, {day - 1, 1}, {day, 2}, {2*day - 1, 2}} {
		w.now.Store(begun + int64(step.at))
		if _, err := v.Verify(t.Context(), webhook); err != nil || w.count() != step.lookups {
			t.Errorf("after %d s: %v, %d lookups instead of %d", step.at, err, w.count(), step.lookups)
		}
	}
}

// forYears is a ResponseWriter that sets a max-age of 30 years.
type forYears struct{ http.ResponseWriter }

func (f forYears) WriteHeader(status int) {
	f.Header().Set("Cache-Control", "public, max-age=946080000")
	f.ResponseWriter.WriteHeader(status)
}

// TestRevocationCountsFromTheNextLookup: after this lookup, no signature by the key is accepted.
func TestRevocationCountsFromTheNextLookup(t *testing.T) {
	w := newWorld(t)
	webhook := good(t, w.vectors)
	if err := w.verify(webhook); err != nil {
		t.Fatal(err)
	}
	w.answer(status(http.StatusGone))
	w.now.Add(300)
	if err := w.verify(webhook); !errors.Is(err, verify.ErrRefused) || !strings.Contains(err.Error(), "revoked_key") {
		t.Error(err)
	}
}

// TestFailedLookupIsNoDecision: it is not known whether the webhook is good, and the next webhook causes a new lookup at
// once.
func TestFailedLookupIsNoDecision(t *testing.T) {
	w := newWorld(t)
	webhook := good(t, w.vectors)
	if err := w.verify(webhook); err != nil {
		t.Fatal(err)
	}
	w.now.Add(300)
	reply := func(code int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=300")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		})
	}
	for name, h := range map[string]http.Handler{
		"500": status(500), "503": status(503), "429": status(429),
		"a redirect":          http.RedirectHandler(w.url, http.StatusTemporaryRedirect),
		"404, not of the API": status(404), "400, not of the API": status(400), "204": status(204),
		"404 with another code":      reply(404, `{"message":"Not Found","code":"route_not_found"}`),
		"400 with another code":      reply(400, `{"code":"invalid_json"}`),
		"the code of a 400 with 404": reply(404, `{"code":"invalid_kid"}`),
		"the code of a 404 with 400": reply(400, `{"code":"unknown_kid"}`),
		"the code of a 404 with 500": reply(500, `{"code":"unknown_kid"}`),
		"no JSON":                    reply(200, "<html>"), "empty": reply(200, `{}`), "null": reply(200, `null`),
		"a hung-up connection": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	} {
		w.answer(h)
		before := w.count()
		for range 15 { // more than the 10 lookups of new kids: a kid that was once good does not count as new
			if err := w.verify(webhook); !errors.Is(err, verify.ErrUnavailable) || errors.Is(err, verify.ErrRefused) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if w.count() < before+15 {
			t.Errorf("%s: %d lookups", name, w.count()-before)
		}
	}
	w.answer(w.Handler())
	if err := w.verify(webhook); err != nil {
		t.Errorf("the lookup is back: %v", err)
	}
	// These answers are decisions about the kid, so the webhook is refused.
	for code, body := range map[int]string{404: `{"code":"unknown_kid"}`, 400: `{"code":"invalid_kid"}`, 410: ``} {
		w.now.Add(300)
		w.answer(reply(code, body))
		if err := w.verify(webhook); !errors.Is(err, verify.ErrRefused) {
			t.Errorf("%d %s: %v", code, body, err)
		}
	}
}

// Handler returns the handler of the vectors. Without this method, w.Handler would be ambiguous: Verifier also has a
// Handler.
func (w *world) Handler() http.Handler { return w.vectors.Handler() }

// madeUp returns n tokens for this endpoint, each with a different kid that the issuer does not know. Their signatures
// are zeros.
func (w *world) madeUp(t *testing.T, n int) []string {
	t.Helper()
	payload := strings.Split(good(t, w.vectors), ".")[1]
	tokens := make([]string, n)
	for i := range tokens {
		sum := sha256.Sum256(fmt.Append(nil, i))
		kid := base64.RawURLEncoding.EncodeToString(sum[:])
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"` + kid + `","typ":"webhook+jwt"}`))
		tokens[i] = header + "." + payload + "." + strings.Repeat("A", 86)
	}
	return tokens
}

// TestMadeUpKidsCauseFewLookups sends tokens with made-up kids one after the other, then all at once. At the
// same time, webhooks with a known key are accepted.
func TestMadeUpKidsCauseFewLookups(t *testing.T) {
	w := newWorld(t)
	webhook := good(t, w.vectors)
	if err := w.verify(webhook); err != nil {
		t.Fatal(err)
	}
	tokens := w.madeUp(t, 1000)
	for _, token := range tokens {
		if err := w.verify(token); err == nil {
			t.Fatal("a made-up kid was accepted")
		}
	}
	if got := w.count(); got != 10 { // the known key used one of the 10 lookups of new kids
		t.Errorf("1,000 made-up kids caused %d lookups", got-1)
	}
	w.now.Add(300) // the known key is looked up again, and 10 lookups of new kids are allowed again
	if err := w.verify(webhook); err != nil {
		t.Error(err)
	}
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		w.Handler().ServeHTTP(rw, r)
	}))
	before := w.count()
	var all sync.WaitGroup
	for _, token := range tokens[:200] {
		all.Go(func() {
			if err := w.verify(token); err == nil {
				t.Error("a made-up kid was accepted")
			}
		})
	}
	all.Go(func() {
		if err := w.verify(webhook); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if got := w.count() - before; got == 0 || got > 10 || w.maxAtOnce != 4 { // the Verifier makes four lookups at once
		t.Errorf("200 made-up kids at once caused %d lookups, %d at a time", got, w.maxAtOnce)
	}
}

// TestFailedLookupsLeaveRoomForNewKids: after failed lookups of other kids, a real key is still looked up when the issuer
// works again.
func TestFailedLookupsLeaveRoomForNewKids(t *testing.T) {
	w := newWorld(t)
	w.answer(status(503))
	for _, token := range w.madeUp(t, 8) {
		if err := w.verify(token); !errors.Is(err, verify.ErrUnavailable) {
			t.Error(err)
		}
	}
	w.answer(w.Handler())
	if err := w.verify(good(t, w.vectors)); err != nil {
		t.Error(err)
	}
}

// TestUnknownKidIsLookedUpOnceAMinute: the answer for an unknown kid has a max-age of a minute.
func TestUnknownKidIsLookedUpOnceAMinute(t *testing.T) {
	w := newWorld(t)
	token := w.madeUp(t, 1)[0]
	for _, step := range []struct{ at, lookups int }{{0, 1}, {59, 1}, {60, 2}, {61, 2}} { // seconds since the first token, all lookups
		w.now.Store(w.Now + int64(step.at))
		if err := w.verify(token); !errors.Is(err, verify.ErrRefused) || w.count() != step.lookups {
			t.Errorf("after %d s: %v, %d lookups", step.at, err, w.count())
		}
	}
}

// TestManyWebhooksShareALookup: the first caller starts the lookup and then gives up, but the lookup
// continues.
func TestManyWebhooksShareALookup(t *testing.T) {
	w := newWorld(t)
	webhook := good(t, w.vectors)
	began, mayAnswer := make(chan struct{}), make(chan struct{})
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		close(began)
		<-mayAnswer
		w.Handler().ServeHTTP(rw, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { w.Verify(ctx, []byte(webhook)) })
	<-began
	for range 50 {
		all.Go(func() {
			if err := w.verify(webhook); err != nil {
				t.Error(err)
			}
		})
	}
	shortWait, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	if _, err := w.Verify(shortWait, []byte(webhook)); !errors.Is(err, verify.ErrUnavailable) {
		t.Error(err)
	}
	cancel()
	close(mayAnswer)
	all.Wait()
	if w.count() != 1 {
		t.Errorf("%d lookups", w.count())
	}
}

// roundTrip is a transport for a receiver's own client.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestALookupThatPanicsBlocksNoOtherWebhook: the client fails five times for one kid. At most four lookups run at once.
func TestALookupThatPanicsBlocksNoOtherWebhook(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("a transport") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			isBroken := true
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if isBroken {
					fails()
				}
				return http.DefaultTransport.RoundTrip(r)
			})}
			v, err := verify.New(verify.Config{
				BaseURL: w.url, EndpointID: w.EndpointID, Leeway: 24 * time.Hour, Client: client,
				Now: func() time.Time { return time.Unix(w.now.Load(), 0) },
			})
			if err != nil {
				t.Fatal(err)
			}
			webhook := []byte(good(t, w.vectors))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			for range 5 {
				var done sync.WaitGroup
				done.Go(func() {
					defer func() { _ = recover() }()
					_, _ = v.Verify(ctx, webhook)
				})
				done.Wait()
			}
			isBroken = false
			if _, err := v.Verify(ctx, webhook); err != nil {
				t.Errorf("after the client works again: %v", err)
			}
		})
	}
}

// TestNoWebhookWaitsForAClientThatIgnoresItsContext: the wait ends when the time limit of a lookup ends, and at most 16 goroutines are left.
func TestNoWebhookWaitsForAClientThatIgnoresItsContext(t *testing.T) {
	v := readVectors(t)
	for name, answers := range map[string]roundTrip{
		"it sleeps":            func(*http.Request) (*http.Response, error) { time.Sleep(time.Hour); return nil, errors.New("late") },
		"its answer sleeps":    func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Body: slow{}}, nil },
		"it obeys its context": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"it panics":            func(*http.Request) (*http.Response, error) { panic("a transport") },
		"it ends a goroutine":  func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			verifier, err := verify.New(verify.Config{
				BaseURL: "https://api.example", EndpointID: v.EndpointID, Client: &http.Client{Transport: answers},
				Leeway: 24 * time.Hour, Now: func() time.Time { return time.Unix(v.Now-3600, 0).Add(time.Since(started)) },
			})
			if err != nil {
				t.Fatal(err)
			}
			before, webhook := runtime.NumGoroutine(), []byte(good(t, v))
			for range 40 { // more than may run at once
				begun := time.Now()
				if _, err := verifier.Verify(t.Context(), webhook); !errors.Is(err, verify.ErrUnavailable) || errors.Is(err, verify.ErrRefused) {
					t.Errorf("%s: %v", name, err)
				}
				if took := time.Since(begun); took > 5*time.Second {
					t.Fatalf("%s: the webhook waited for %s", name, took)
				}
				time.Sleep(30 * time.Second) // so that another lookup may begin
			}
			if n := runtime.NumGoroutine() - before; n > 16 {
				t.Errorf("%s: %d goroutines are left", name, n)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// slow is a body that blocks a read for an hour.
type slow struct{}

func (slow) Read([]byte) (int, error) { time.Sleep(time.Hour); return 0, io.EOF }
func (slow) Close() error             { return nil }

// TestForgedTokenCausesNoLookup has tokens that are refused without their key.
func TestForgedTokenCausesNoLookup(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"audience: another endpoint", "expired a day ago", "iat is missing", "no event", "alg none, a signature", "kid: a URL"} {
		if err := w.verify(token(t, w.vectors, name)); !errors.Is(err, verify.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.count() != 0 {
		t.Errorf("%d lookups", w.count())
	}
}
