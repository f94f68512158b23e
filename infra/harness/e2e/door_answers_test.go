package e2e_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scripted is a server whose answer a test sets. It counts the requests.
type scripted struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	n      atomic.Int64
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.n.Add(1)
		body, _ := io.ReadAll(r.Body) // so that a client that is still sending gets the answer too
		r.Body = io.NopCloser(bytes.NewReader(body))
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// answers sets the answer, and sets the count of requests to 0.
func (s *scripted) answers(h http.HandlerFunc) {
	s.answer.Store(&h)
	s.n.Store(0)
}

// plain answers with a status, with headers in pairs of a name and a value, and with a body that a proxy must not pass on.
func plain(status int, pairs ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			w.Header().Set(pairs[i], pairs[i+1])
		}
		w.WriteHeader(status)
		if status >= 200 && status != 204 && status != 304 {
			_, _ = io.WriteString(w, "of AWS")
		}
	}
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// undecided are answers that do not come from the check, or that come from a failed check.
var undecided = map[string]http.HandlerFunc{
	"a throttle": plain(429), "a wrong host": plain(403, "Content-Type", "application/json"), "a crash": plain(502), "a redirect": plain(302, "Location", "/authorize"),
	"a permanent redirect": plain(308, "Location", "https://other.example/"), "no such path": plain(404), "an error": plain(500), "busy": plain(503), "late": plain(504),
	"no credential": plain(401), "a page": plain(200, "Content-Type", "text/html"), "another version": plain(200, "X-Latchkey-V", "2"),
	"a longer version": plain(200, "X-Latchkey-V", "11"), "an empty version": plain(200, "X-Latchkey-V", ""), "no content": plain(204), "accepted": plain(202),
	"not modified": plain(304), "another header": plain(200, "X-Latchkey-Kind", "key"), "a code without a refusal": plain(404, "X-Latchkey-Code", "not_found"),
	"no answer": hangUp,
}

// answersOfACheck answers the proxies in place of the function URL. After an answer that is not a decision of the check, the client gets
// a 503, and the program gets no request.
func (f *frontDoor) answersOfACheck(t *testing.T) {
	door, program := newScripted(t), newScripted(t)
	program.answers(plain(200))
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			proxy := startProxy(t, name, door.URL, program.URL)
			for what, answer := range undecided {
				for _, method := range []string{"GET", "POST"} {
					door.answers(answer)
					program.n.Store(0)
					r, err := proxy.try(t.Context(), call{method: method, path: "/invoices", bearer: anyKey})
					if err != nil || r.status != 503 || r.code() != "unavailable" || !slices.Equal(r.header.Values("Retry-After"), []string{"1"}) ||
						r.header.Get("Location") != "" || strings.Contains(r.text, "AWS") || program.n.Load() != 0 {
						t.Errorf("%s %s: %d %v %s %v, %d requests to the program", method, what, r.status, r.header, r.text, err, program.n.Load())
					}
				}
			}
			door.answers(plain(403, "X-Latchkey-Code", "insufficient_scope")) // the client must get no header that the check did not send
			r, err := proxy.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey})
			if err != nil || r.status != 403 || len(r.header.Values("WWW-Authenticate")) != 0 || strings.Contains(fmt.Sprint(r.header), "{http.") {
				t.Errorf("a refusal: %d %v %v", r.status, r.header, err)
			}
			// AWS may leave out headers without a value. Then the program gets no such header, or an empty one.
			door.answers(plain(200, "X-Latchkey-V", "1", "X-Latchkey-Kind", "key", "X-Latchkey-Org-Id", "org_1"))
			echo := startProxy(t, name, door.URL, upstream(t).URL)
			r, err = echo.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey})
			if err != nil || r.status != 200 || r.str("X-Latchkey-Org-Id") != "org_1" || strings.Contains(strings.TrimSpace(r.text)[1:], "{") {
				t.Errorf("%d %s %v", r.status, r.text, err)
			}
		})
	}
}

// failingPrograms makes the program fail. The client gets Retry-After only if no program got the request.
func (f *frontDoor) failingPrograms(t *testing.T) {
	door, program := newCheckServer(t), newScripted(t)
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			// Old and new texts, first of Caddy's configuration and then of nginx's: the proxy waits a second for the program.
			timeout := []string{"reverse_proxy {$UPSTREAM}", "reverse_proxy {$UPSTREAM} {\ntransport http {\nresponse_header_timeout 1s\n}\n}", invoicesCheck, invoicesCheck + " proxy_read_timeout 1s;"}
			proxy := startProxy(t, name, door.URL, program.URL, timeout...)
			for what, c := range map[string]struct {
				answer http.HandlerFunc
				status int
			}{
				"it breaks off": {hangUp, 502}, "it hangs": {hangs, 504},
				"it answers 401": {plain(401), 401}, "it answers 403": {plain(403), 403}, "it answers 500": {plain(500), 500}, "it answers 502": {plain(502), 502},
				"it answers 503": {plain(503), 503}, "it answers 504": {plain(504), 504}, "it answers 429": {plain(429), 429}, "it answers 404": {plain(404), 404},
			} {
				program.answers(c.answer)
				r, err := proxy.try(t.Context(), call{method: "POST", path: "/invoices", body: "{}", bearer: anyKey})
				isOwn := strings.HasPrefix(what, "it answers")
				if err != nil || r.status != c.status || r.header.Get("Retry-After") != "" || r.code() != "" || program.n.Load() != 1 || isOwn && r.text != "of AWS" {
					t.Errorf("%s: %d %v %s %v, %d requests", what, r.status, r.header, r.text, err, program.n.Load())
				}
			}
			if name == "nginx" {
				proxy = startProxy(t, name, door.URL, program.URL, invoicesCheck, invoicesCheck+" proxy_intercept_errors on;")
				for _, status := range []int{401, 403, 500, 502, 504} {
					program.answers(plain(status))
					r, err := proxy.try(t.Context(), call{method: "POST", path: "/invoices", body: "{}", bearer: anyKey})
					if err != nil || r.status != status || r.header.Get("Retry-After") != "" || r.code() != "" {
						t.Errorf("%d with proxy_intercept_errors: %d %v %s %v", status, r.status, r.header, r.text, err)
					}
				}
			}
			proxy = startProxy(t, name, door.URL, "http://"+freeAddress(t)) // no program listens there
			r, err := proxy.try(t.Context(), call{method: "POST", path: "/invoices", body: "{}", bearer: anyKey})
			if err != nil || r.status != 503 || r.header.Get("Retry-After") != "1" {
				t.Errorf("no program listens: %d %v %s %v", r.status, r.header, r.text, err)
			}
		})
	}
}

// silentChecks has function URLs that never answer: not with a TLS handshake, and for nginx, which looks names up while it runs, also a
// name without an answer, and a name with four addresses. The client gets a 503 within seconds.
func (f *frontDoor) silentChecks(t *testing.T) {
	server, errTCP := net.Listen("tcp", "127.0.0.1:0")
	silent, errUDP := net.ListenPacket("udp", "127.0.0.1:0")
	names, errNames := net.ListenPacket("udp", "127.0.0.1:0")
	if err := errors.Join(errTCP, errUDP, errNames); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = server.Close(), silent.Close(), names.Close() })
	go answerNames(names)
	_, port, _ := net.SplitHostPort(server.Addr().String())
	program := newScripted(t)
	program.answers(plain(200))
	for _, c := range [][3]string{
		{"Caddy", "https://" + server.Addr().String(), ""}, {"nginx", "https://" + server.Addr().String(), ""},
		{"nginx", "https://id.lambda.example", silent.LocalAddr().String()}, {"nginx", "http://id.lambda.example:" + port, names.LocalAddr().String()},
	} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			t.Parallel()
			proxy := startProxy(t, c[0], c[1], program.URL, "RESOLVER", cmp.Or(c[2], "127.0.0.1"))
			begun := time.Now()
			r, err := proxy.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey})
			if took := time.Since(begun); err != nil || r.status != 503 || r.code() != "unavailable" || took > 8*time.Second || program.n.Load() != 0 {
				t.Errorf("%d %s %v after %s, %d requests at the program", r.status, r.text, err, took, program.n.Load())
			}
		})
	}
}

// answerNames answers each question for an IPv4 address with 127.0.0.1, four times, and each other question with no address
// (RFC 1035, section 4).
func answerNames(names net.PacketConn) {
	for question := make([]byte, 512); ; {
		n, client, err := names.ReadFrom(question)
		if err != nil {
			return // the test has ended
		}
		answer := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[12:n]...)
		if question[n-3] == 1 { // type A
			answer[7] = 4
			answer = append(answer, bytes.Repeat([]byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 1}, 4)...)
		}
		_, _ = names.WriteTo(answer, client)
	}
}

// otherPaths sends headers and paths from which some programs would read another path or method than the proxy has checked.
func (f *frontDoor) otherPaths(t *testing.T) {
	door := newCheckServer(t)
	names := []string{
		"X-Original-URL", "X-Rewrite-URL", "X-Original-URI", "X-Original-Method", "X-Envoy-Original-Path", "X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override",
		"X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Path", "X-Forwarded-Prefix", "X-Script-Name",
	}
	var got atomic.Pointer[http.Header]
	program := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		got.Store(&header)
	}))
	t.Cleanup(program.Close)
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			proxy := startProxy(t, name, door.URL, program.URL)
			for _, sent := range names {
				for _, spelled := range []string{sent, strings.ToLower(sent), strings.ToUpper(sent), strings.ReplaceAll(sent, "-", "_"), strings.ReplaceAll(sent, "-", "."), strings.Replace(sent, "-", "_", 1)} {
					r, err := proxy.try(t.Context(), call{method: "GET", path: "/reports", bearer: anyKey, header: http.Header{spelled: {"/forged"}, "X-Request-Id": {"kept"}}})
					if err != nil || r.status != 200 || got.Load().Get("X-Request-Id") != "kept" {
						t.Fatalf("%s: %d %s %v", spelled, r.status, r.text, err)
					}
					for header, values := range *got.Load() {
						if slices.Contains(values, "/forged") {
							t.Errorf("%s reached the program as %s", spelled, header)
						}
					}
				}
			}
			for _, path := range []string{"/INVOICES", "/Invoices/1", "/reportS", "/ORGS/org_1/invoices", "/orgs/org_1/Invoices", "/invoicesx", "/reports-all", "/orgs/ORG_1/invoices"} {
				door.answers(refusal{})
				r, err := proxy.try(t.Context(), call{method: "GET", path: path, bearer: anyKey})
				if checks := door.newChecks(); err != nil || r.status != 404 || len(checks) != 0 {
					t.Errorf("%s: %d %s %v, %d checks", path, r.status, r.text, err, len(checks))
				}
			}
		})
	}
}
