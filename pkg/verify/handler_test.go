package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/verify"
)

// TestHandlerAnswersByTheOutcome checks each status that the handler can answer.
func TestHandlerAnswersByTheOutcome(t *testing.T) {
	v := readVectors(t)
	server := httptest.NewServer(v.Handler())
	defer server.Close()
	var reported []error
	verifier, err := verify.New(verify.Config{
		BaseURL: server.URL, Issuer: v.Issuer, EndpointID: v.EndpointID, Now: func() time.Time { return time.Unix(v.Now, 0) },
		Report: func(_ context.Context, err error) { reported = append(reported, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	errFull := errors.New("the disk is full")
	handled := 0
	var failure error // the result of the function that handles events
	h := verifier.Handler(func(context.Context, verify.Event) error { handled++; return failure })

	if w := post(h, good(t, v)); w.Code != 204 || handled != 1 || len(reported) != 0 || w.Body.Len() != 0 {
		t.Errorf("good: %d, handled %d, %v", w.Code, handled, reported)
	}
	for _, c := range []struct {
		name, body   string
		status       int
		failure      error // the result of the function that handles events
		wantReported error
		wantHandled  int
	}{
		{"forged", token(t, v, "a stranger's signature"), 401, nil, verify.ErrRefused, 0},
		{"too large", strings.Repeat("a", verify.MaxBody+1), 401, nil, verify.ErrRefused, 0},
		{"lookup down", token(t, v, "a key whose lookup answers 503"), 503, nil, verify.ErrUnavailable, 0},
		{"handling fails", good(t, v), 500, errFull, errFull, 1},
	} {
		handled, failure, reported = 0, c.failure, nil
		w := post(h, c.body)
		var p struct {
			Status int
			Title  string
		}
		err := json.Unmarshal(w.Body.Bytes(), &p)
		isProblem := w.Header().Get("Content-Type") == "application/problem+json"
		if err != nil || p.Status != c.status || p.Title == "" || !isProblem {
			t.Errorf("%s: no problem document: %s", c.name, w.Body)
		}
		if w.Code != c.status || handled != c.wantHandled || len(reported) != 1 || !errors.Is(reported[0], c.wantReported) {
			t.Errorf("%s: %d, handled %d, %v", c.name, w.Code, handled, reported)
		}
		if (w.Header().Get("Retry-After") != "") != (c.status == 503) {
			t.Errorf("%s: Retry-After %q", c.name, w.Header().Get("Retry-After"))
		}
		if strings.Contains(w.Body.String(), "disk") || strings.Contains(w.Body.String(), "signature") {
			t.Errorf("%s: the answer shows the reason: %s", c.name, w.Body)
		}
	}

	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d", w.Code)
	}
}

// endless is a body that never ends. It counts the bytes that were read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// TestHandlerReadsNoMoreThanAWebhook sends a body without end. The limit is generous, because the handler may read ahead into a buffer.
func TestHandlerReadsNoMoreThanAWebhook(t *testing.T) {
	v := readVectors(t)
	verifier, lookups := receiver(t, v)
	body := &endless{}
	w := httptest.NewRecorder()
	verifier.Handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", io.NopCloser(body)))
	if w.Code != 401 || body.read > 2*verify.MaxBody || lookups.count() != 0 {
		t.Errorf("%d after %d bytes and %d lookups", w.Code, body.read, lookups.count())
	}
}

// TestNoWebhookWaitsForAReceiversReport: an answer comes within five seconds, even when a report fails or hangs. At most 16
// reports run at once.
func TestNoWebhookWaitsForAReceiversReport(t *testing.T) {
	v := readVectors(t)
	for name, fails := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("a report") }, "ends its goroutine": runtime.Goexit, "takes an hour": func() { time.Sleep(time.Hour) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var begun atomic.Int64
			verifier, err := verify.New(verify.Config{
				BaseURL: "https://api.example", EndpointID: v.EndpointID, Report: func(context.Context, error) { begun.Add(1); fails() },
			})
			if err != nil {
				t.Fatal(err)
			}
			before := runtime.NumGoroutine()
			for range 100 { // more than may run at once
				sent := time.Now()
				if w := post(verifier.Handler(nil), "forged"); w.Code != 401 || time.Since(sent) >= 5*time.Second {
					t.Fatalf("%s: %d after %s", name, w.Code, time.Since(sent))
				}
			}
			if n := runtime.NumGoroutine() - before; n > 16 {
				t.Errorf("%s: %d goroutines are left", name, n)
			}
			if n, most := begun.Load(), map[bool]int64{true: 16, false: 100}[name == "takes an hour"]; n != most {
				t.Errorf("%s: %d reports began, want %d", name, n, most)
			}
			if lost := verifier.LostReports(); lost != map[bool]uint64{true: 0, false: 100}[name == "returns"] {
				t.Errorf("%s: %d reports of 100 are lost", name, lost)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}
