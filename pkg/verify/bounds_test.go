package verify_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/verify"
)

// gone returns a handler that answers each lookup with a revoked key and this Cache-Control.
func gone(cacheControl string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Cache-Control", cacheControl)
		rw.WriteHeader(http.StatusGone)
	})
}

// isRefused verifies a token, a second after the last one, and returns the number of lookups for it. The token must be refused.
func (w *world) isRefused(t *testing.T, token string) (lookups int) {
	t.Helper()
	before := w.count()
	w.now.Add(1) // a new kid a second is allowed
	if err := w.verify(token); !errors.Is(err, verify.ErrRefused) {
		t.Fatal(err)
	}
	return w.count() - before
}

// TestMemoryOfKidsIsBounded: 256 kids are kept, with any max-age. A further kid replaces the expired ones. If no kid is
// expired, it replaces all of them.
func TestMemoryOfKidsIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		expired int // how many of the first 256 kids are expired when the next one comes
		lookups int // then lookups of the 256th kid
	}{
		"none is expired": {0, 1}, "one is expired": {1, 0}, "half are expired": {128, 0}, "only the last is not expired": {255, 0},
	} {
		w := newWorld(t)
		tokens := w.madeUp(t, 257)
		w.answer(gone("max-age=1"))
		for i, token := range tokens[:256] {
			if i == c.expired {
				w.answer(gone("max-age=86400"))
			}
			if w.isRefused(t, token) != 1 {
				t.Fatalf("%s: kid %d is not new", name, i)
			}
		}
		for _, kept := range []int{c.expired, 255} {
			if w.isRefused(t, tokens[kept]) != 0 {
				t.Errorf("%s: of 256 kids, number %d is forgotten", name, kept)
			}
		}
		w.isRefused(t, tokens[256])
		if again := w.isRefused(t, tokens[255]); again != c.lookups {
			t.Errorf("%s: after 257 kids, the 256th is looked up %d times", name, again)
		}
	}
}

// TestAKidThatIsBeingLookedUpIsNotForgotten: although all other kids are forgotten. Its next webhook waits for the same lookup.
func TestAKidThatIsBeingLookedUpIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	tokens := w.madeUp(t, 257)
	began, mayAnswer, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	answerNow := sync.OnceFunc(func() { close(mayAnswer) })
	defer answerNow()
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		close(began)
		<-mayAnswer
		gone("max-age=86400").ServeHTTP(rw, r)
	}))
	go func() { ended <- w.verify(tokens[0]) }()
	<-began
	w.answer(gone("max-age=86400"))
	for _, token := range tokens[1:] {
		w.isRefused(t, token)
	}
	before := w.count()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Verify(over, []byte(tokens[0])); !errors.Is(err, verify.ErrUnavailable) || w.count() != before {
		t.Errorf("another webhook, whose caller does not wait: %v, %d more lookups", err, w.count()-before)
	}
	answerNow()
	if err := <-ended; !errors.Is(err, verify.ErrRefused) || w.isRefused(t, tokens[0]) != 0 {
		t.Errorf("the lookup ended with %v, or is not kept", err)
	}
}

// TestOneMoreLookupOfANewKidIsAllowedEachSecond: up to ten in all.
func TestOneMoreLookupOfANewKidIsAllowedEachSecond(t *testing.T) {
	w := newWorld(t)
	tokens := w.madeUp(t, 7*15)
	for i, step := range []struct{ quiet, lookups int }{ // seconds without a lookup, and the lookups after them
		{0, 10}, {0, 0}, {1, 1}, {3, 3}, {11, 10}, {3600, 10}, {10, 10},
	} {
		w.now.Add(int64(step.quiet))
		before := w.count()
		for _, token := range tokens[15*i : 15*(i+1)] {
			_ = w.verify(token)
		}
		if got := w.count() - before; got != step.lookups {
			t.Errorf("step %d, after %d s: %d lookups for 15 new kids, want %d", i, step.quiet, got, step.lookups)
		}
	}
}

// TestALookupsAnswerIsBounded: an answer of 64 KB is read, a larger one is not used.
func TestALookupsAnswerIsBounded(t *testing.T) {
	for size, want := range map[int]error{64 << 10: nil, 64<<10 + 1: verify.ErrUnavailable} {
		w, kid, sign := signer(t)
		inner := w.next
		w.answer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			key := &strings.Builder{}
			inner.ServeHTTP(written{rw, key}, r)
			_, _ = rw.Write([]byte(key.String() + strings.Repeat(" ", size-key.Len())))
		}))
		if err := w.verify(sign(`{"alg":"ES256","kid":"`+kid+`","typ":"webhook+jwt"}`, payloadOf(t, good(t, w.vectors)))); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// written is a ResponseWriter that writes its body to another place.
type written struct {
	http.ResponseWriter

	body *strings.Builder
}

func (w written) Write(p []byte) (int, error) { return w.body.Write(p) }

// TestAnAnswerWithoutMaxAgeIsKeptAMinute: its header has no max-age, or an invalid one.
func TestAnAnswerWithoutMaxAgeIsKeptAMinute(t *testing.T) {
	for _, header := range []string{"", "public", "max-age=", "max-age=five", "s-maxage=300", "max-age=9999999999"} {
		w := newWorld(t)
		w.answer(gone(header))
		token := w.madeUp(t, 1)[0]
		for _, step := range []struct{ later, lookups int }{{0, 1}, {58, 0}, {0, 1}} { // isRefused adds a second
			w.now.Add(int64(step.later))
			if got := w.isRefused(t, token); got != step.lookups {
				t.Errorf("%q, %d s later: %d lookups", header, step.later, got)
			}
		}
	}
}

// TestALookupHasFiveSeconds: with a lookup just below this time, the webhook gets a decision.
func TestALookupHasFiveSeconds(t *testing.T) {
	v := readVectors(t)
	for takes, want := range map[time.Duration]error{5*time.Second - 1: verify.ErrRefused, 5*time.Second + 1: verify.ErrUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			verifier, err := verify.New(verify.Config{
				BaseURL: "https://api.example", EndpointID: v.EndpointID, Now: func() time.Time { return time.Unix(v.Now, 0) },
				Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					time.Sleep(takes)
					return &http.Response{StatusCode: http.StatusGone, Body: http.NoBody}, nil
				})},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := verifier.Verify(t.Context(), []byte(good(t, v))); !errors.Is(err, want) {
				t.Errorf("after %s: %v", takes, err)
			}
			time.Sleep(time.Second) // until the client's goroutine has ended
		})
	}
}
