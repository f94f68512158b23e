package receivers_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/infra/examples/receivers"
	"latchkey/infra/examples/vectors"
	"latchkey/infra/tools"
)

func TestDocumentsShowTheTestedExamples(t *testing.T) {
	for file, in := range map[string]struct{ document, language string }{
		"receivers/node/verify.mjs":         {"webhooks.md", "js"},
		"consumer/python/behind_fastapi.py": {"frameworks.md", "python"}, "consumer/python/behind_django.py": {"frameworks.md", "python"}, "consumer/node/behind_express.mjs": {"frameworks.md", "js"},
		"consumer/python/authorize.py": {"frameworks.md", "python"}, "consumer/python/ask_fastapi.py": {"frameworks.md", "python"}, "consumer/python/ask_django.py": {"frameworks.md", "python"},
		"consumer/node/ask_express.mjs": {"frameworks.md", "js"}, "consumer/python/service_token.py": {"services.md", "python"},
	} {
		document, err := os.ReadFile("../../docs/" + in.document)
		if err != nil {
			t.Fatal(err)
		}
		code, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		shown := "<!-- infra/examples/" + file + " -->\n```" + in.language + "\n" + string(code) + "```\n"
		if !bytes.Contains(document, []byte(shown)) {
			t.Errorf("%s does not show the text of %s", in.document, file)
		}
	}
	example, err := os.ReadFile("../../../pkg/guard/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(example), "func ExampleFromContext() {\n")
	body, _, _ = strings.Cut(body, "\thttp.Handle(")
	document, err := os.ReadFile("../../docs/protect.md")
	if shown := "<!-- pkg/guard/example_test.go -->\n```go" + strings.ReplaceAll("\n"+strings.TrimSpace(body), "\n\t", "\n") + "\n```\n"; err != nil || !bytes.Contains(document, []byte(shown)) {
		t.Errorf("protect.md does not show %s, %v", shown, err)
	}
}

// TestLockFileNamesNoHost checks that packages have no address, so that npm installs from the user's registry, and that they have
// hashes, so that no registry can replace a package.
func TestLockFileNamesNoHost(t *testing.T) {
	b, err := os.ReadFile("node/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(`"resolved"`)) || !bytes.Contains(b, []byte(`"integrity"`)) {
		t.Error("the lock file has an address of a package, or has no hashes")
	}
}

// output keeps a receiver's output.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *output) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *output) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.b.String(), text)
}

// start starts a receiver. If the machine lacks the language, start prints a line and skips the test; in CI it fails.
func start(t *testing.T, l receivers.Language, c receivers.Config) *receivers.Receiver {
	t.Helper()
	r, err := receivers.Start(t.Context(), l, c)
	var missing *tools.MissingError
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		fmt.Printf("SKIPPED: the %s receiver was not tested: %v. CI never skips it.\n", l, missing)
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// startOnVectors starts the receiver of each language, and calls try with it. try may call two functions: answer sets the
// handler of the receiver's key lookups; mint makes vectors for the present time, and sets their handler.
func startOnVectors(t *testing.T, output io.Writer, try func(t *testing.T, r *receivers.Receiver, mint func() vectors.Vectors, answer func(http.Handler))) {
	for _, l := range []receivers.Language{receivers.Node, receivers.Python, receivers.FastAPI} {
		t.Run(string(l), func(t *testing.T) {
			var handler atomic.Value // the method ServeHTTP of a handler: an atomic.Value keeps only values of one type
			answer := func(h http.Handler) { handler.Store(h.ServeHTTP) }
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.Load().(func(http.ResponseWriter, *http.Request))(w, r)
			}))
			defer api.Close()
			mint := func() vectors.Vectors {
				v := vectors.Mint(time.Now())
				answer(v.Handler())
				return v
			}
			v := mint()
			try(t, start(t, l, receivers.Config{BaseURL: api.URL, Issuer: v.Issuer, EndpointID: v.EndpointID, Output: output}), mint, answer)
		})
	}
}

// TestReceiversAcceptGoodAndRefuseHostileWebhooks sends every vector to each receiver.
func TestReceiversAcceptGoodAndRefuseHostileWebhooks(t *testing.T) {
	var out output
	startOnVectors(t, &out, func(t *testing.T, r *receivers.Receiver, mint func() vectors.Vectors, _ func(http.Handler)) {
		// The vectors of startOnVectors may be too old: installing the receiver's packages can take minutes.
		before, v, good := out.count(handled), mint(), 0
		for _, c := range v.Cases {
			if got := post(t, r.URL, c.Token); got != c.Status {
				t.Errorf("%s: %d instead of %d", c.Name, got, c.Status)
			}
			if c.Valid {
				good++
			}
		}
		// One good vector expires 30 seconds after it is made.
		if took := time.Since(time.Unix(v.Now, 0)); took > 25*time.Second {
			t.Errorf("the vectors were out of date after %v", took)
		}
		if got := out.count(handled) - before; got != good || good < 10 {
			t.Errorf("%d events handled, of %d good ones", got, good)
		}
	})
}

// handled is the line that a receiver prints for a good vector: all vectors have the same event.
const handled = "evt_01k5vectors00000000000000b link.claimed"

// TestReceiversAnswer503WhileTheLookupFails checks that a webhook is sent again while its key cannot be looked up, and gets a 204
// afterwards.
func TestReceiversAnswer503WhileTheLookupFails(t *testing.T) {
	startOnVectors(t, nil, func(t *testing.T, r *receivers.Receiver, mint func() vectors.Vectors, answer func(http.Handler)) {
		v := mint()
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/none" {
				http.NotFound(w, r)
				return
			}
			header, _, _ := strings.Cut(v.Cases[0].Token, ".")
			// The header is a JSON object with the member kid, like the body of a lookup, which ignores the other members.
			kid, _ := base64.RawURLEncoding.DecodeString(header)
			v.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhook_verification_key/get", bytes.NewReader(kid)))
		}))
		defer other.Close()
		for name, h := range map[string]http.HandlerFunc{
			"another host's key":    http.RedirectHandler(other.URL, http.StatusFound).ServeHTTP,
			"another host's answer": http.RedirectHandler(other.URL+"/none", http.StatusSeeOther).ServeHTTP,
			"503":                   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
			"no JSON":               func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
			"a hung-up connection":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			answer(h)
			if got := post(t, r.URL, v.Cases[0].Token); got != 503 {
				t.Errorf("%s: %d", name, got)
			}
		}
		if got := post(t, r.URL, mint().Cases[0].Token); got != 204 {
			t.Errorf("the lookup is back: %d", got)
		}
	})
}

// TestReceiversAnswerInTimeWhileALookupHangs sends webhooks at once, with a kid that no receiver knows. Their lookups hang. The sender
// waits ten seconds for an answer, and a webhook with a known key need not wait at all.
func TestReceiversAnswerInTimeWhileALookupHangs(t *testing.T) {
	startOnVectors(t, nil, func(t *testing.T, r *receivers.Receiver, mint func() vectors.Vectors, answer func(http.Handler)) {
		if left := time.Minute - time.Duration(time.Now().UnixNano())%time.Minute; left < 15*time.Second {
			time.Sleep(left) // the receivers in Python keep a key until the minute ends
		}
		v := mint()
		known, unknown := v.Cases[0].Token, ""
		for _, c := range v.Cases {
			if c.Name == "a kid that is not known" {
				unknown = c.Token
			}
		}
		if got := post(t, r.URL, known); got != 204 {
			t.Fatalf("before: %d", got)
		}
		ended := make(chan struct{})
		answer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		}))
		want := 503
		if strings.HasSuffix(t.Name(), string(receivers.Node)) {
			want = 401 // it fetched all keys a moment ago, and asks again only after a while
		}
		var all sync.WaitGroup
		begun := time.Now()
		for range 8 {
			all.Go(func() {
				if got, took := post(t, r.URL, unknown), time.Since(begun); got != want || took > 9*time.Second {
					t.Errorf("the lookup hangs: %d after %s", got, took)
				}
			})
		}
		time.Sleep(time.Second)
		if got, took := post(t, r.URL, known), time.Since(begun); got != 204 || took > 4*time.Second {
			t.Errorf("a known key: %d after %s", got, took)
		}
		all.Wait()
		close(ended)
		if got := post(t, r.URL, mint().Cases[0].Token); got != 204 {
			t.Errorf("the lookup is back: %d", got)
		}
	})
}

// TestReceiversSurviveBadCallers sends incomplete requests, a wrong length, and bytes that are not HTTP.
func TestReceiversSurviveBadCallers(t *testing.T) {
	startOnVectors(t, nil, func(t *testing.T, r *receivers.Receiver, mint func() vectors.Vectors, _ func(http.Handler)) {
		for _, request := range []string{
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\neyJ",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\neyJ",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\neyJ",
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\neyJ\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
			"\x16\x03\x01\x00\x05hello", // the first bytes of TLS
		} {
			conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(r.URL, "http://"), "/"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write([]byte(request)); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Millisecond) // so that the receiver reads the request before the connection ends
			conn.Close()
		}
		if got := post(t, r.URL, mint().Cases[0].Token); got != 204 {
			t.Errorf("after that: %d", got)
		}
	})
}

func post(t *testing.T, url, body string) int {
	t.Helper()
	client := http.Client{Timeout: 15 * time.Second}
	res, err := client.Post(url, "application/jwt", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}
