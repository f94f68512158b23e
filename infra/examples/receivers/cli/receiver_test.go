package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/examples/vectors"
)

// fakeAPI has the two routes that the receiver calls, and passes lookups of verification keys on.
type fakeAPI struct {
	t      *testing.T
	mu     sync.Mutex
	status int               // the status of a refused create; 0: create succeeds
	bodies map[string]string // the body of the last request, by path
	url    string            // the URL of the registered endpoint; "": there is no endpoint
	made   chan string       // gets the URL of a new endpoint
	keys   http.Handler      // answers lookups of keys; nil: the test receives no webhook
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "key") || strings.Contains(r.URL.Path, "jwks") {
		f.keys.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bodies[r.URL.Path] = string(body)
	if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer lk_test" || r.Header.Get("Content-Type") != "application/json" {
		f.t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	switch r.URL.Path {
	case "/webhook_endpoint/create":
		if f.status != 0 {
			w.WriteHeader(f.status)
			io.WriteString(w, `{"title":"A limit is reached","detail":"An app has 20 endpoints.","code":"limit_reached","errors":[{"pointer":"/url","code":"url_not_allowed","message":"No."}]}`)
			return
		}
		var in struct{ URL string }
		json.Unmarshal(body, &in)
		f.url = in.URL
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(map[string]any{"id": vectors.EndpointID, "url": in.URL})
		f.made <- in.URL
	case "/webhook_endpoint/delete":
		f.url = ""
		io.WriteString(w, `{"ok":true}`)
	default:
		f.t.Errorf("%s was called", r.URL)
	}
}

// screen keeps the receiver's output.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start starts the API and returns a receiver that is not running yet.
func start(t *testing.T, f *fakeAPI) (r *receiver, out *screen) {
	t.Helper()
	f.t, f.bodies, f.made = t, map[string]string{}, make(chan string, 1)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	out = &screen{}
	return &receiver{api: api{base: server.URL, key: "lk_test"}, issuer: vectors.Issuer, out: out, seen: map[string]bool{}}, out
}

func post(t *testing.T, url, body string) int {
	t.Helper()
	res, err := (&http.Client{Timeout: 10 * time.Second}).Post(url, "application/jwt", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestReceiverRegistersPrintsAndLeaves checks that a receiver registers an endpoint, prints webhooks, and deletes the endpoint at its end.
func TestReceiverRegistersPrintsAndLeaves(t *testing.T) {
	v := vectors.Mint(time.Now())
	f := &fakeAPI{keys: v.Handler()}
	r, out := start(t, f)
	ctx, ctrlC := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	var url string
	select {
	case url = <-f.made:
	case err := <-ended:
		t.Fatal(err)
	}
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", url)
	}
	tokens := map[string]string{} // by the name of the case
	for _, c := range v.Cases {
		tokens[c.Name] = c.Token
	}
	if got := post(t, url, tokens["a webhook"]); got != 204 {
		t.Errorf("good: %d", got)
	}
	const line = `link.claimed  evt_01k5vectors00000000000000b  {"id":"lnk_01k5vectors00000000000000c","status":"claimed"}`
	if !strings.Contains(out.String(), line+"\n") {
		t.Errorf("not printed: %s", out)
	}
	// This case is another token for the same event.
	if got := post(t, url, tokens["audience as an array of one"]); got != 204 || !strings.Contains(out.String(), line+"  (again)\n") {
		t.Errorf("again: %d\n%s", got, out)
	}
	if got := post(t, url, tokens["a stranger's signature"]); got != 401 || !strings.Contains(out.String(), "not accepted: verify: the webhook is refused: wrong_signature") {
		t.Errorf("hostile: %d\n%s", got, out)
	}
	ctrlC()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if f.url != "" || f.bodies["/webhook_endpoint/delete"] != `{"endpointId":"`+vectors.EndpointID+`"}` {
		t.Errorf("the endpoint was not deleted: %v", f.bodies)
	}
}

func TestControlCharactersAreReplaced(t *testing.T) {
	out := &screen{}
	r := &receiver{out: out}
	// ESC [2J clears the screen, U+009B is ESC [ as one character, and U+202E turns the direction of the text.
	r.print("%s", "a\x1b[2Jb\u009bc\u202ed\ne")
	if got := strings.TrimSuffix(out.String(), "\n"); got != "a\ufffd[2Jb\ufffdc\ufffdd\ufffde" {
		t.Errorf("%q", got)
	}
}

func TestARefusedRegistrationShowsTheProblem(t *testing.T) {
	f := &fakeAPI{status: http.StatusConflict}
	r, _ := start(t, f)
	err := r.run(t.Context())
	if err == nil || errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, want := range []string{"409 limit_reached", "An app has 20 endpoints.", "/url: No.", "/webhook_endpoint/delete"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "lk_test") {
		t.Error("the error has the key")
	}
}
