package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/verify"
)

// receiver returns a Verifier at the time of the vectors, and its lookups, which answer with the keys of the vectors.
func receiver(t *testing.T, v vectors) (*verify.Verifier, *lookups) {
	t.Helper()
	l := &lookups{next: v.Handler()}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	r, err := verify.New(verify.Config{
		BaseURL: server.URL, Issuer: v.Issuer, EndpointID: v.EndpointID,
		Now: func() time.Time { return time.Unix(v.Now, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, l
}

// check verifies the webhook of a case with a new Verifier, and compares the result with the case.
func check(t *testing.T, v vectors, c vectorCase) {
	t.Helper()
	r, _ := receiver(t, v)
	event, err := r.Verify(context.Background(), []byte(c.Token))
	var refusal *verify.RefusedError
	switch c.Status {
	case http.StatusNoContent:
		if err != nil || event.ID == "" || event.Type != "link.claimed" || event.Attempt == "" {
			t.Errorf("%s: %v, %+v", c.Name, err, event)
		}
	case http.StatusUnauthorized:
		isRefused := errors.As(err, &refusal) && errors.Is(err, verify.ErrRefused)
		if !isRefused || errors.Is(err, verify.ErrUnavailable) || string(refusal.Reason) != c.Reason {
			t.Errorf("%s: %v instead of %s", c.Name, err, c.Reason)
		}
	default:
		if !errors.Is(err, verify.ErrUnavailable) || errors.Is(err, verify.ErrRefused) {
			t.Errorf("%s: %v instead of ErrUnavailable", c.Name, err)
		}
	}
	if err != nil && event.ID != "" {
		t.Errorf("%s: there is an error and an event", c.Name)
	}
}

// TestVectorsAreVerifiedAndRefused uses the vectors in the same way as the tests of other receivers.
func TestVectorsAreVerifiedAndRefused(t *testing.T) {
	v := readVectors(t)
	if len(v.Cases) < 150 { // some cases are missing
		t.Fatalf("%d cases", len(v.Cases))
	}
	for _, c := range v.Cases {
		check(t, v, c)
	}
}

// TestTheEventHasEveryFieldThatWasSent compares every field.
func TestTheEventHasEveryFieldThatWasSent(t *testing.T) {
	v := readVectors(t)
	r, _ := receiver(t, v)
	e, err := r.Verify(context.Background(), []byte(good(t, v)))
	if err != nil {
		t.Fatal(err)
	}
	want := verify.Event{
		ID: "evt_01k5vectors00000000000000b", Type: "link.claimed", CreatedAt: time.Unix(v.Now-2, 0), Attempt: "att_vector",
		Data: json.RawMessage(`{"id":"lnk_01k5vectors00000000000000c","status":"claimed"}`),
	}
	if e.ID != want.ID || e.Type != want.Type || !e.CreatedAt.Equal(want.CreatedAt) || e.Attempt != want.Attempt || string(e.Data) != string(want.Data) {
		t.Errorf("%+v", e)
	}
}

// TestAnyIssuerWhenNoneIsSet: without Config.Issuer, only the keys prove the issuer.
func TestAnyIssuerWhenNoneIsSet(t *testing.T) {
	v := readVectors(t)
	v.Issuer = ""
	r, _ := receiver(t, v)
	for _, name := range []string{"issuer: another", "issuer: is missing"} {
		if _, err := r.Verify(context.Background(), []byte(token(t, v, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Verify(context.Background(), []byte(token(t, v, "a stranger's signature"))); !errors.Is(err, verify.ErrRefused) {
		t.Error(err)
	}
}

// TestLeewayIsApplied checks both ends of the time in which a token is good: from iat minus the leeway to iat plus 300 s plus
// the leeway, but never after exp.
func TestLeewayIsApplied(t *testing.T) {
	v := readVectors(t)
	webhook := []byte(token(t, v, "ten minutes old, not expired")) // iat: 600 s before now; exp: 300 s after
	server := httptest.NewServer(v.Handler())
	defer server.Close()
	iat := v.Now - 600
	for _, c := range []struct {
		leeway time.Duration // 0: the default, one minute
		at     int64         // the receiver's clock
		good   bool
	}{
		{0, iat + 360, true}, {0, iat + 361, false}, {0, iat - 60, true}, {0, iat - 61, false},
		{time.Second, iat + 301, true}, {time.Second, iat + 302, false}, {time.Second, iat - 1, true}, {time.Second, iat - 2, false},
		{time.Hour, iat + 899, true}, {time.Hour, iat + 900, false}, // the token is expired: exp has no leeway
	} {
		r, err := verify.New(verify.Config{
			BaseURL: server.URL, EndpointID: v.EndpointID, Leeway: c.leeway,
			Now: func() time.Time { return time.Unix(c.at, 0) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Verify(context.Background(), webhook); (err == nil) != c.good {
			t.Errorf("leeway %v, %d s after iat: %v", c.leeway, c.at-iat, err)
		}
	}
}

// TestNewRefusesABadConfiguration: a mistake is found at the start, not at the first webhook.
func TestNewRefusesABadConfiguration(t *testing.T) {
	for _, c := range []verify.Config{
		{},
		{BaseURL: "https://api.example.com"},
		{EndpointID: "whe_a"},
		{EndpointID: "whe_a", BaseURL: "api.example.com"},
		{EndpointID: "whe_a", BaseURL: "http://api.example.com"},
		{EndpointID: "whe_a", BaseURL: "http://127.0.0.1.example.com"},
		{EndpointID: "whe_a", BaseURL: "http://192.0.2.1"},
		{EndpointID: "whe_a", BaseURL: "ftp://127.0.0.1"},
		{EndpointID: "whe_a", BaseURL: "https://user@api.example.com"},
		{EndpointID: "whe_a", BaseURL: "https://api.example.com/?a"},
		{EndpointID: "whe_a", BaseURL: "https://api.example.com", Leeway: -1},
	} {
		if _, err := verify.New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	for _, base := range []string{"https://api.example.com/live/", "http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000"} {
		if _, err := verify.New(verify.Config{EndpointID: "whe_a", BaseURL: base}); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// good returns the token of a good webhook.
func good(t *testing.T, v vectors) string {
	t.Helper()
	return token(t, v, "a webhook")
}

// token returns the token of the case with this name.
func token(t *testing.T, v vectors, name string) string {
	t.Helper()
	for _, c := range v.Cases {
		if c.Name == name {
			return c.Token
		}
	}
	t.Fatal("no case " + name)
	return ""
}

// post sends a webhook to a handler.
func post(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w
}

// vectors is the content of infra/examples/vectors/webhooks.json. The package in that folder describes its fields.
type vectors struct {
	Now                int64
	Issuer, EndpointID string
	Lookups            map[string]lookup // by kid
	Otherwise          lookup            // the lookup of every other kid
	Cases              []vectorCase
}

type lookup struct {
	Status, MaxAge int
	Body           json.RawMessage
}

type vectorCase struct {
	Name, Token string
	Status      int
	Reason      string
}

// readVectors reads the vectors.
func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("../../infra/examples/vectors/webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Handler answers key lookups from the vectors.
func (v vectors) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook_verification_key/get", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Kid string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, ok := v.Lookups[in.Kid]
		if !ok {
			a = v.Otherwise
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", a.MaxAge))
		w.WriteHeader(a.Status)
		w.Write(a.Body)
	})
	return mux
}
