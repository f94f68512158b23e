package api_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"latchkey/pkg/api"
	"latchkey/pkg/authn/jwks"
	pages "latchkey/pkg/console"
	"latchkey/pkg/problem"
)

// consoleOf returns the console of a deployment. Its pages are made-up files.
func consoleOf(params settings) http.Handler {
	files := fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "verify.html": {Data: []byte("<title>v")}, "reference.html": {Data: []byte("<title>r")}, "llms.txt": {Data: []byte("# L")}, "elements.js": {Data: []byte("2")}, "accent.css": {Data: []byte("b{}")}, "main-1.js": {Data: []byte("1")}, "page-1.css": {Data: []byte("a{}")}, "icon-1.svg": {Data: []byte("<svg/>")}}
	s := pages.Settings{Issuer: issuer, ClientID: params.consoleClient, Scope: "openid email", Parameters: "audience=https%3A%2F%2Fapi.test", MaxKeyDays: params.maxKeyDays, OrgsBy: cmp.Or(params.orgsBy, "anyone"), KeyPrefix: "lk"}
	c, err := pages.New(files, s, func(context.Context) (jwks.Document, error) {
		if params.issuerDown {
			return jwks.Document{}, errors.New("down")
		}
		return jwks.Document{Authorization: "https://login.test/authorize", Token: "https://tokens.test:8443/token", Revocation: params.revocation}, nil
	})
	if err != nil {
		panic(err)
	}
	return api.Console(c)
}

// TestTheConsoleIsServedWithItsPolicy: the page can load only its own files, and can call only this API and the issuer's token
// endpoint.
func TestTheConsoleIsServedWithItsPolicy(t *testing.T) {
	s := newServerFor(t, settings{consoleClient: "console"})
	page := s.want(t, request{method: "GET", path: "/console"}, 200, "")
	policy := page.header.Get("Content-Security-Policy")
	for _, directive := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self' https://tokens.test:8443", "frame-ancestors 'none'",
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types lit-html",
	} {
		if !strings.Contains("; "+policy+"; ", "; "+directive+"; ") {
			t.Errorf("no %s in %s", directive, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || page.header.Get("Cache-Control") != "no-cache" || page.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", page.header)
	}
	for name, want := range map[string]string{"main-1.js": "text/javascript", "page-1.css": "text/css", "icon-1.svg": "image/svg+xml"} {
		f := s.want(t, request{method: "GET", path: "/console/files/" + name}, 200, "")
		if f.header.Get("Content-Type") != want+"; charset=utf-8" || f.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || f.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, f.header)
		}
	}
	if f := s.want(t, request{method: "GET", path: "/console/files/elements.js"}, 200, ""); f.header.Get("Cache-Control") != "no-cache" || f.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("elements.js: %v", f.header)
	}
	for _, name := range []string{"index.html", "verify.html", "reference.html", "llms.txt", "main-2.js", "%2e%2e%2fmain.go", "dist"} {
		s.want(t, request{method: "GET", path: "/console/files/" + name}, 404, problem.RouteNotFound)
	}
	const want = `{"issuer":"https://issuer.test","clientId":"console","scope":"openid email","parameters":{"audience":"https://api.test"},` +
		`"authorizationEndpoint":"https://login.test/authorize","tokenEndpoint":"https://tokens.test:8443/token","endSessionEndpoint":null,"revocationEndpoint":null,"maxKeyDays":0,"orgsBy":"anyone","keyPrefix":"lk","supportUrl":null,"accent":null}`
	if r := s.want(t, request{method: "GET", path: "/console/config.json"}, 200, ""); strings.TrimSpace(r.text) != want {
		t.Errorf("%s", r.text)
	}
}

// TestTheConsoleGetsRevocationEndpointAndKeyLife: the page can also call the issuer's revocation endpoint, on any host.
func TestTheConsoleGetsRevocationEndpointAndKeyLife(t *testing.T) {
	for revocation, connect := range map[string]string{
		"https://tokens.test:8443/revoke": "'self' https://tokens.test:8443", "https://end.test/revoke": "'self' https://tokens.test:8443 https://end.test",
	} {
		s := newServerFor(t, settings{consoleClient: "console", revocation: revocation, maxKeyDays: 45, orgsBy: "services"})
		if policy := s.want(t, request{method: "GET", path: "/console"}, 200, "").header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src "+connect+";") {
			t.Errorf("%s: %s", revocation, policy)
		}
		want := `"endSessionEndpoint":null,"revocationEndpoint":"` + revocation + `","maxKeyDays":45,"orgsBy":"services","keyPrefix":"lk","supportUrl":null,"accent":null}`
		if r := s.want(t, request{method: "GET", path: "/console/config.json"}, 200, ""); !strings.HasSuffix(strings.TrimSpace(r.text), want) {
			t.Errorf("%s", r.text)
		}
	}
}

// TestThePublicPagesCallOnlyThisAPI: they need no sign-in, so they call no issuer.
func TestThePublicPagesCallOnlyThisAPI(t *testing.T) {
	s := newServerFor(t, settings{consoleClient: "console"})
	for path, want := range map[string]struct{ text, mediaType, connect string }{
		"/console/verify": {"<title>v", "text/html", "'self'"}, "/reference": {"<title>r", "text/html", "'self'"}, "/llms.txt": {"# L", "text/plain", "'none'"},
	} {
		page := s.want(t, request{method: "GET", path: path}, 200, "")
		policy := page.header.Get("Content-Security-Policy")
		if page.text != want.text || page.header.Get("Content-Type") != want.mediaType+"; charset=utf-8" || page.header.Get("Cache-Control") != "no-cache" ||
			!strings.Contains(policy, "; connect-src "+want.connect+"; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %q %v", path, page.text, page.header)
		}
	}
}

// TestCachesKeepAnAnswerForEachCoding: the gateway compresses answers for clients that accept it.
func TestCachesKeepAnAnswerForEachCoding(t *testing.T) {
	r := newKeyServer(t)
	for _, path := range []string{"/openapi.yaml", "/.well-known/jwks.json", keyByPath + r.active, keyByPath + strings.Repeat("A", 43)} {
		if got := r.do(t, request{method: "GET", path: path}); got.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
	s := newServerFor(t, settings{consoleClient: "console"})
	for _, path := range []string{"/console", "/console/verify", "/reference", "/llms.txt", "/console/files/main-1.js", "/console/files/elements.js"} {
		if got := s.do(t, request{method: "GET", path: path}); got.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
}

// TestTheConsoleIsOffWithoutAClientID: its paths then answer like paths without a route.
func TestTheConsoleIsOffWithoutAClientID(t *testing.T) {
	s := newServer(t)
	for _, path := range []string{"/console", "/console/config.json", "/console/files/main-1.js", "/console/verify", "/reference", "/llms.txt"} {
		s.want(t, request{method: "GET", path: path}, 404, problem.RouteNotFound)
	}
}

// TestTheConsolePageIsServedWhileTheIssuerIsDown: the page can then call only this API, and gets a 503 for the sign-in
// settings.
func TestTheConsolePageIsServedWhileTheIssuerIsDown(t *testing.T) {
	s := newServerFor(t, settings{consoleClient: "console", issuerDown: true})
	page := s.want(t, request{method: "GET", path: "/console"}, 200, "")
	if !strings.Contains(page.header.Get("Content-Security-Policy"), "connect-src 'self';") {
		t.Errorf("%v", page.header)
	}
	if r := s.want(t, request{method: "GET", path: "/console/config.json"}, 503, problem.Unavailable); r.header.Get("Retry-After") == "" {
		t.Errorf("%v", r.header)
	}
}

// TestAddressesWithASlashAtTheEndAreRedirected: API Gateway routes them like the address without slashes, but the page's
// relative links would lead nowhere.
func TestAddressesWithASlashAtTheEndAreRedirected(t *testing.T) {
	h := consoleOf(settings{consoleClient: "console"})
	for sent, want := range map[string]string{
		"/console/": "/console", "/console//": "/console", "/console/verify/": "/console/verify", "/reference/": "/reference", "/llms.txt/": "/llms.txt",
	} {
		r := httptest.NewRequest("GET", "https://api.test"+sent, nil)
		r.Pattern = "GET " + want
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		stage, _ := url.Parse("https://api.test/live" + sent)
		if to, err := stage.Parse(w.Header().Get("Location")); w.Code != 308 || err != nil || to.Path != "/live"+want {
			t.Errorf("%s: %d %v", sent, w.Code, w.Header())
		}
	}
	off := httptest.NewRequest("GET", "https://api.test/console/", nil)
	off.Pattern = "GET /console"
	w := httptest.NewRecorder()
	if consoleOf(settings{}).ServeHTTP(w, off); w.Code != 404 {
		t.Errorf("without a console: %d", w.Code)
	}
}
