package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// checkServer replaces the function URL: it records each check, and sends the answer that the test sets.
type checkServer struct {
	*httptest.Server
	mu      sync.Mutex
	checks  []check
	refusal refusal // the answer; zero: a 200 with a principal
}

// check is a request that a proxy sent to the function URL.
type check struct {
	method, uri, body string
	header            http.Header
}

type refusal struct {
	status int
	code   string
}

// anyKey is a key that each checkServer accepts.
const anyKey = "lk_any"

func newCheckServer(t *testing.T) *checkServer {
	t.Helper()
	s := &checkServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *checkServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	header := r.Header.Clone()
	header.Del("Connection") // not part of the check: nginx closes the connection
	if header.Get("Authorization") == "" {
		header.Del("Authorization") // an empty header counts as no header
	}
	s.checks = append(s.checks, check{r.Method, r.RequestURI, string(body), header})
	answer := s.refusal
	if answer == (refusal{}) && r.Header.Get("Authorization") != "Bearer "+anyKey {
		answer = refusal{401, "invalid_credentials"}
	}
	if answer != (refusal{}) {
		w.Header().Set("X-Latchkey-Code", answer.code)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(answer.status)
		return
	}
	for name, value := range map[string]string{"V": "1", "Kind": "key", "Org-Id": "org_1", "Metadata": strings.Repeat("x", 5000)} {
		w.Header().Set("X-Latchkey-"+name, value)
	}
}

// answers sets the answer, and forgets the checks so far.
func (s *checkServer) answers(r refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks, s.refusal = nil, r
}

// newChecks returns the checks since it was last called.
func (s *checkServer) newChecks() []check {
	s.mu.Lock()
	defer s.mu.Unlock()
	checks := s.checks
	s.checks = nil
	return checks
}

// bodySizes starts a program that answers with the length of the body that it got.
func bodySizes(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		w.Header().Set("Size", strconv.FormatInt(n, 10))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// invoicesCheck is a line of nginx.conf. Tests add settings of the location /invoices below it.
const invoicesCheck = "set $check authorize?limited=403&scope=invoices:read;"

// bodies sends bodies through proxies whose location /invoices allows 20 MB. The check does not change this limit.
func (f *frontDoor) bodies(t *testing.T) {
	const mb = 1 << 20
	program := bodySizes(t)
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}} // waits for the answer 100 Continue
	t.Cleanup(client.CloseIdleConnections)
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			door := newCheckServer(t)
			proxy := startProxy(t, name, door.URL, program.URL, invoicesCheck, invoicesCheck+" client_max_body_size 20m;")
			for _, c := range []struct {
				what    string
				size    int
				chunked bool // without Content-Length
				answer  refusal
				status  int
			}{
				{"no body", 0, false, refusal{}, 200},
				{"1 MB", mb, false, refusal{}, 200},
				{"over nginx's default", mb + 1, false, refusal{}, 200},
				{"15 MB", 15 * mb, false, refusal{}, 200},
				{"15 MB of unknown length", 15 * mb, true, refusal{}, 200},
				{"without a key", 15 * mb, false, refusal{401, "missing_credentials"}, 401},
				{"another scope", 15 * mb, false, refusal{403, "insufficient_scope"}, 403},
				{"a spent key", 15 * mb, false, spentAt(name), 429},
				{"a spent key, chunked", 15 * mb, true, spentAt(name), 429},
				{"no decision", 15 * mb, false, refusal{503, "unavailable"}, 503},
				{"no decision, chunked", 15 * mb, true, refusal{503, "unavailable"}, 503},
				{"over the bound that nginx has here", 21 * mb, false, refusal{}, map[string]int{"Caddy": 200, "nginx": 413}[name]},
			} {
				for _, expects := range []string{"", "100-continue"} {
					if name == "Caddy" && c.status != 200 && expects == "" {
						continue // Caddy closes the connection if the body is not read, so the client may not get the answer
					}
					door.answers(c.answer)
					var body io.Reader = bytes.NewReader(make([]byte, c.size))
					if c.chunked {
						body = io.MultiReader(body)
					}
					r, err := http.NewRequestWithContext(t.Context(), "POST", proxy.url+"/invoices", body)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Authorization", "Bearer "+anyKey)
					if expects != "" {
						r.Header.Set("Expect", expects)
					}
					res, err := client.Do(r)
					if err != nil {
						t.Errorf("%s: %v", c.what, err)
						continue
					}
					_ = res.Body.Close()
					if res.StatusCode != c.status || c.status == 200 && res.Header.Get("Size") != strconv.Itoa(c.size) {
						t.Errorf("%s: %d, size %s; want %d", c.what, res.StatusCode, res.Header.Get("Size"), c.status)
					}
				}
			}
		})
	}
}

// spentAt returns the check's answer for a key that is over its limits, in the form that the proxy requests.
func spentAt(proxy string) refusal {
	if proxy == "nginx" {
		return refusal{403, "rate_limited"}
	}
	return refusal{429, "rate_limited"}
}

// headersOfACheck sends requests with many headers. The check is a GET with only the documented headers, at the path that the
// configuration names.
func (f *frontDoor) headersOfACheck(t *testing.T) {
	program := bodySizes(t)
	extra := http.Header{
		"Cookie": {"session=1", "b=2"}, "X-Api-Key": {"k"}, "Proxy-Authorization": {"Basic eA=="}, "X-Amz-Security-Token": {"t"}, "Host-X": {"h"}, "A": {"a"},
		"X-Latchkey-Secret": {"forged"}, "X-Latchkey-Client-Ip": {"192.0.2.1"}, "X-Latchkey-Other": {"forged"}, "X_latchkey_secret": {"forged"}, "Authorization-2": {"x"},
		"X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Host": {"h"}, "X-Forwarded-Uri": {"/u"}, "X-Original-Url": {"/u"}, "Forwarded": {"for=x"}, "Referer": {"https://a/?t=1"},
		"If-None-Match": {"*"}, "If-Modified-Since": {"Sat, 28 Nov 2026 03:00:00 GMT"}, "If-Match": {`"x"`}, "Range": {"bytes=0-0"}, "If-Range": {`"x"`}, "Accept-Encoding": {"br"},
		"Expect": {"100-continue"}, "Te": {"trailers"}, "Connection": {"Upgrade, Authorization, X-Latchkey-Secret"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"eA=="},
		"User-Agent": {"client"}, "Cache-Control": {"no-cache"}, "X-Amzn-Trace-Id": {"Root=1"}, "Traceparent": {"00-1"}, "X-Http-Method-Override": {"DELETE"}, "Large": {strings.Repeat("x", 7000)},
	}
	for n := range 60 {
		extra.Set("Extra-"+strconv.Itoa(n), "x")
	}
	const good, forged = "Bearer " + anyKey, "Bearer {env.SECRET}$http_cookie"
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			door := newCheckServer(t)
			proxy := startProxy(t, name, door.URL, program.URL)
			query := map[string]string{"Caddy": "scope=", "nginx": "limited=403&scope="}[name]
			for _, c := range []struct {
				method, path, body string
				authorization      []string
				uri, sent          string // the path and query of the check, and its Authorization; "": there is no check
			}{
				{"GET", "/invoices/1?scope=x&org=y", "", []string{good}, "/authorize?" + query + "invoices:read", good},
				{"HEAD", "/reports", "", []string{good}, "/authorize?" + query + "reports:read", good},
				{"OPTIONS", "/invoices", "", []string{good}, "/authorize?" + query + "invoices:read", good},
				{"POST", "/reports/1?a", "{}", []string{good}, "/authorize?" + query + "reports:write", good},
				{"PROPFIND", "/reports", "x", []string{good}, "/authorize?" + query + "reports:write", good},
				{"GET", "/orgs/org_1/invoices?org=org_2", "", []string{good}, "/authorize-member?role=member&org=org_1", good},
				{"GET", "/invoices", "", []string{forged}, "/authorize?" + query + "invoices:read", forged},
				{"GET", "/invoices", "", nil, "/authorize?" + query + "invoices:read", ""},
				{"GET", "/other", "", []string{good}, "", ""},
			} {
				r, err := http.NewRequestWithContext(t.Context(), c.method, proxy.url+c.path, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = extra.Clone()
				r.Header["Authorization"] = c.authorization
				res, err := proxy.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				want := []check{{"GET", c.uri, "", http.Header{"X-Latchkey-Secret": {doorSecret}, "X-Latchkey-Client-Ip": {"127.0.0.1"}}}}
				if c.sent != "" {
					want[0].header.Set("Authorization", c.sent)
				}
				if c.uri == "" {
					want = nil
				}
				if got := door.newChecks(); !reflect.DeepEqual(got, want) || (res.StatusCode == 200) != (c.sent == good) {
					t.Errorf("%s %s: %d, the check was %v, want %v", c.method, c.path, res.StatusCode, got, want)
				}
			}
		})
	}
}

// twoCredentials sends a good key with a second credential. Both are refused: the check could check one, and the program read the other.
func (f *frontDoor) twoCredentials(t *testing.T) {
	_, key := f.key(t)
	f.eachProxy(t, func(t *testing.T, proxy *target) {
		for _, values := range [][]string{{"Bearer " + key, "Bearer " + key}, {"Bearer " + key, "Bearer x"}, {"Basic eA==", "Bearer " + key}, {"", "Bearer " + key}, {"Bearer " + key + ",Bearer " + key}} {
			r, err := proxy.try(t.Context(), call{method: "GET", path: "/invoices", header: http.Header{"Authorization": values}})
			if err != nil || r.status != 400 && r.status != 401 {
				t.Errorf("%d values: %d %s %v", len(values), r.status, r.text, err)
			}
		}
	})
}

// aroundTheProxy runs the example of a program behind a proxy. A program with a secret answers only its proxy. It refuses requests
// that do not come through the proxy, and the proxy passes on none of the forged headers of a client.
func (f *frontDoor) aroundTheProxy(t *testing.T) {
	program := filepath.Join(t.TempDir(), "behind")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./infra/examples/consumer/behind")
	build.Dir = rootOf(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	behind := func(secret string) *target {
		address := freeAddress(t)
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = []string{"LISTEN=" + address, "PROXY_SECRET=" + secret}
		serve(t, cmd)
		waitForServer(t, address)
		return newTarget("behind", "http://"+address, nil)
	}
	status := func(tg *target, secrets ...string) int {
		t.Helper()
		header := http.Header{"X-Latchkey-V": {"1"}, "X-Latchkey-Kind": {"key"}, "X-Latchkey-Org-Id": {"org_forged"}, "X-Latchkey-Proxy-Secret": secrets}
		r, err := tg.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey, header: header})
		if err != nil || strings.Contains(r.text, "forged") && strings.HasPrefix(tg.name, "proxy") {
			t.Errorf("%s %q: %s %v", tg.name, secrets, r.text, err)
		}
		return r.status
	}
	guarded, open := behind(programSecret), behind("")
	for _, secrets := range [][]string{nil, {""}, {"x"}, {doorSecret}, {programSecret + "x"}, {programSecret[1:]}, {"x", programSecret}, {programSecret + "," + programSecret}, {strings.ToUpper(programSecret)}} {
		if got := status(guarded, secrets...); got != 403 {
			t.Errorf("around the proxy with %q: %d", secrets, got)
		}
	}
	if around, without := status(guarded, programSecret), status(open); around != 200 || without != 200 {
		t.Errorf("with the right secret: %d; a program without a secret: %d", around, without)
	}
	server := upstream(t)
	for _, name := range []string{"Caddy", "nginx"} {
		door := newCheckServer(t)
		proxy := startProxy(t, name, door.URL, guarded.url)
		proxy.name = "proxy " + name
		none := []string{"env.PROXY_SECRET", "env.NONE", "PROXY_SECRET", ""} // no secret: an unset variable in Caddy, an empty text in nginx
		withoutSecret, echo := startProxy(t, name, door.URL, guarded.url, none...), startProxy(t, name, door.URL, server.URL, none...)
		for _, secrets := range [][]string{nil, {"x"}, {programSecret}, {programSecret, "x"}, {""}} {
			if through, got := status(proxy, secrets...), status(withoutSecret, secrets...); through != 200 || got != 403 {
				t.Errorf("%s, a client sends the secrets %q: %d; by a proxy without the secret: %d", name, secrets, through, got)
			}
		}
		for _, spelled := range spellings() {
			r, err := echo.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey, header: spelled})
			if err != nil || r.status != 200 || strings.Contains(r.text, "forged") {
				t.Errorf("%s: %d %s %v", name, r.status, r.text, err)
			}
		}
	}
}

// settings adds settings to nginx that are meant for the server's clients. Each request must still be checked, and each refusal must
// reach the client unchanged.
func (f *frontDoor) settings(t *testing.T) {
	door, program := newCheckServer(t), bodySizes(t)
	proxy := startProxy(t, "nginx", door.URL, program.URL, "  server {", `
  proxy_cache_path `+t.TempDir()+` keys_zone=all:1m;
  proxy_cache all;
  proxy_cache_valid any 1m;
  proxy_ignore_headers Cache-Control;
  proxy_intercept_errors on;
  proxy_buffer_size 4k;
  proxy_buffers 4 4k;
  proxy_request_buffering off;
  proxy_http_version 1.1;
  proxy_set_header X-Of-The-Server x;
  client_max_body_size 1k;
  gzip on;
  recursive_error_pages on;
  server {`)
	for _, c := range []struct {
		answer refusal
		status int
		code   string
	}{
		{refusal{}, 200, ""}, {refusal{401, "key_revoked"}, 401, "key_revoked"}, {refusal{403, "insufficient_scope"}, 403, "insufficient_scope"},
		{spentAt("nginx"), 429, "rate_limited"}, {refusal{503, "unavailable"}, 503, "unavailable"}, {refusal{429, ""}, 503, "unavailable"}, {refusal{}, 200, ""},
	} {
		door.answers(c.answer)
		r, err := proxy.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey})
		if checks := door.newChecks(); err != nil || r.status != c.status || r.code() != c.code || len(checks) != 1 {
			t.Errorf("%+v: %d %s %v, %d checks", c, r.status, r.text, err, len(checks))
		}
	}
}
