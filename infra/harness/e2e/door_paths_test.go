package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// eachProxy runs a test with each proxy in front of the plain server.
func (f *frontDoor) eachProxy(t *testing.T, test func(t *testing.T, proxy *target)) {
	server := upstream(t)
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) { test(t, f.proxy(t, name, server.URL)) })
	}
}

// unclean sends paths that programs read in different ways. Some programs decode twice, some drop the text after a ; or a NUL, some
// read malformed UTF-8 as a dot or a slash. A proxy must refuse such paths: the program could read another path than the check did.
func (f *frontDoor) unclean(t *testing.T) {
	server := upstream(t)
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			proxy := startProxy(t, name, newCheckServer(t).URL, server.URL)
			for _, path := range uncleanPaths {
				if status := rawStatus(t, proxy, path, anyKey); status != 400 {
					t.Errorf("%q: %d", path, status)
				}
			}
			// Targets that no HTTP library sends: a whole URL, a backslash, a number sign.
			for _, sent := range []string{"http://other.example/reports/../invoices", `/invoices/..\..\reports`, `/invoices\1`, "/invoices#/../reports", "/invoices#"} {
				if status := rawStatus(t, proxy, sent, anyKey); status != 400 && status != 404 {
					t.Errorf("%s: %d", sent, status)
				}
			}
			for _, path := range []string{
				"/invoices", "/invoices/", "/invoices?next=https://a/../b", "/invoices/1?a=%2e%2e%2f//%00%3b%c0%ae", "/invoices/a..b/..c/.well-known", "/invoices/a%20b;c=1/%C3%A9",
				"/invoices/100%25", "/invoices/5%25%20off", "/invoices/3%25fat", "/invoices/...", "/invoices/a%3Fb%23c", "/invoices/%E0%A4%A8/%F0%9F%98%80/%EF%BC%8F", "/invoices/%7E%40%2B", "/invoices/%C3%A9.pdf", "/invoices/.a/..b/._c/..-d", "/invoices/%F4%8F%BF%BF/%ED%9F%BF", "/invoices/%E6%96%87%E6%9B%B8.%E7%94%BB", "/invoices/a:b@c!d$e'f(g)h*i+j,k=l~",
			} {
				r, err := proxy.try(t.Context(), call{method: "GET", path: path, bearer: anyKey})
				if err != nil || r.status != 200 || r.header.Get("Path") != path {
					t.Errorf("%s: %d %s %v", path, r.status, r.header.Get("Path"), err)
				}
			}
			if status := rawStatus(t, proxy, "/invoices/\xc3\xa9\xe0\xa4\xa8", anyKey); status != 200 {
				t.Errorf("UTF-8 that is not encoded: %d", status)
			}
		})
	}
}

var uncleanPaths = []string{
	"/reports/x/../../invoices", "/reports/..;/../invoices", "/reports/%2e%2e/invoices", "/reports/.%2E/invoices", "/reports/..%2finvoices", "/reports/..%5Cinvoices",
	"/invoices/..", "/invoices/.", "/invoices/./1", "/invoices//1", "//invoices", "/invoices/../reports", "/invoices/..?x=/", "/invoices/%2F",
	// Characters that are encoded twice or more. In some, the digits of an encoding are encoded too.
	"/reports/%252e%252e/invoices", "/invoices/..%252f1", "/invoices/%25252e", "/invoices/%25%32%65%25%32%65/", "/invoices/..%25%35c", "/invoices/%252%65", "/invoices/%25%32e", "/invoices/%25%2532%2565",
	"/invoices/%2500", "/invoices/..%253b/1", "/invoices/%25c0%25ae",
	// Characters that end or split a segment in some programs: NUL and other control characters, and characters after dots.
	"/invoices/..%00/admin", "/invoices/1%00", "/invoices/%00", "/invoices/..%3b/1", "/invoices/..%3B", "/invoices/1%3bx", "/invoices/.%09/1", "/invoices/..%0d%0a", "/invoices/..%1f", "/invoices/..%7f/1",
	"/invoices/..%20/1", "/invoices/..%3f/1", "/invoices/..%23", "/invoices/.;x=1/1",
	// Overlong UTF-8, and bytes that are not UTF-8, in place of a dot, a slash, a backslash or a NUL.
	"/invoices/%c0%ae%c0%ae/1", "/invoices/..%C0%AF1", "/invoices/%e0%80%ae", "/invoices/%E0%80%AF", "/invoices/%f0%80%80%af", "/invoices/%f8%80%80%80%af", "/invoices/%fc%80%80%80%80%af",
	// Bytes that are not UTF-8, and invisible characters, next to dots or in place of a character: some programs drop them.
	"/invoices/..\x80/x", "/invoices/.\x80./x", "/invoices/\x80../x", "/invoices/..\xff", "/invoices/..\xe2\x80\x8b/x", "/invoices/..\xc2\xa0/x", "/invoices/.\xcc\x81/x", "/invoices/%80../x", "/invoices/.%80./x",
	"/invoices/%ff%fe/..x", "/invoices/x\xe2\x80/y", "/invoices/%e2%80/y", "/invoices/%e2%80\xff", "/invoices/%c3", "/invoices/%c3\xa9%bf", "/invoices/%ed%a0%80../x", "/invoices/%f4%90%80%80",
	"/invoices/%f5%80%80%80", "/invoices/\xbf", "/invoices/..\xed\xbf\xbf/x", "/invoices/%f1%80%80/x",
	// Dots with a character after them that some file systems drop, and malformed UTF-8.
	"/invoices/..~/x", "/invoices/..:x/1", "/invoices/..*/1", "/invoices/..\"/1", "/invoices/..|", "/invoices/.,/1", "/invoices/..+/1", "/invoices/..=/1",
	"/invoices/..%c1%9c1", "/invoices/%c1%1c", "/invoices/%c0%80", "/invoices/%c0.", "/invoices/\xc0\xae\xc0\xae/1", "/invoices/\xe0\x80\xaf", "/invoices/%e0\x80%ae", "/invoices/\xf0%80\x80\xaf",
}

// rawStatus sends a request whose target has exactly these bytes, and returns the status.
func rawStatus(t *testing.T, tg *target, sent, key string) int {
	t.Helper()
	at := strings.TrimPrefix(tg.url, "http://")
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", sent, at, key); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// severalPaths requests paths that need different scopes, and a path with an org whose members alone may call it.
func (f *frontDoor) severalPaths(t *testing.T) {
	_, key := f.key(t)
	_, reader := f.ada.key(t, f.org, `{"scopes":["reports:read"]}`)
	_, writer := f.ada.key(t, f.org, `{"scopes":["reports:write"]}`)
	eve := f.tg.person(t, "eve")
	foreign := eve.org(t)
	f.eachProxy(t, func(t *testing.T, proxy *target) {
		for _, c := range []struct {
			method, path, bearer string
			status               int
			code                 string
		}{
			{"GET", "/reports", reader, 200, ""},
			{"HEAD", "/reports/1?scope=x", reader, 200, ""},
			{"POST", "/reports", reader, 403, "insufficient_scope"},
			{"DELETE", "/reports/1", writer, 200, ""},
			{"GET", "/reports", writer, 403, "insufficient_scope"},
			{"GET", "/reports", key, 403, "insufficient_scope"},
			{"GET", "/invoices", reader, 403, "insufficient_scope"},
			{"GET", "/orgs/" + f.org + "/invoices", f.ada.token, 200, ""},
			// The check uses the org of the path. No client can add another org, in the query or by an & in the path.
			{"GET", "/orgs/" + foreign + "/invoices?org=" + f.org, f.ada.token, 403, "insufficient_role"},
			{"GET", "/orgs/" + foreign + "%26org=" + f.org + "/invoices", f.ada.token, 404, ""},
			{"GET", "/orgs/" + f.org + "/invoices", key, 401, "user_token_required"},
			{"GET", "/orgs/" + f.org + "/other", f.ada.token, 404, ""},
			{"GET", "/other", key, 404, ""},
		} {
			r, err := proxy.try(t.Context(), call{method: c.method, path: c.path, bearer: c.bearer})
			if err != nil || r.status != c.status || r.code() != c.code {
				t.Errorf("%s %s: %d %s %v, want %d %s", c.method, c.path, r.status, r.text, err, c.status, c.code)
			}
		}
	})
}

// browsers sends requests and preflights as browsers do, for pages of the allowed origin and of another.
func (f *frontDoor) browsers(t *testing.T) {
	_, key := f.key(t)
	f.eachProxy(t, func(t *testing.T, proxy *target) {
		send := func(method, origin, bearer string, header http.Header) reply {
			t.Helper()
			header = header.Clone()
			header.Set("Origin", origin)
			r, err := proxy.try(t.Context(), call{method: method, path: "/invoices", bearer: bearer, header: header})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		preflight := http.Header{"Access-Control-Request-Method": {"GET"}, "Access-Control-Request-Headers": {"authorization"}}
		r := send("OPTIONS", browsersOrigin, "", preflight)
		if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != browsersOrigin || !strings.Contains(r.header.Get("Access-Control-Allow-Methods"), "GET") ||
			!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") {
			t.Errorf("a preflight: %d %v", r.status, r.header)
		}
		for what, r := range map[string]reply{"a request": send("GET", browsersOrigin, key, http.Header{}), "a refusal": send("GET", browsersOrigin, "", http.Header{})} {
			if r.header.Get("Access-Control-Allow-Origin") != browsersOrigin || r.header.Get("Vary") != "Origin" || r.header.Get("Access-Control-Allow-Methods") != "" {
				t.Errorf("%s: %d %v", what, r.status, r.header)
			}
		}
		for what, r := range map[string]reply{"a preflight": send("OPTIONS", "https://other.example", "", preflight), "a request": send("GET", "https://other.example", key, http.Header{})} {
			if r.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s of another origin: %d %v", what, r.status, r.header)
			}
		}
		if r := send("OPTIONS", browsersOrigin, "", http.Header{}); r.status != 401 {
			t.Errorf("an OPTIONS request that is not a preflight: %d", r.status)
		}
	})
}
