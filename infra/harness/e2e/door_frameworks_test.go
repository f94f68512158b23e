package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// djangoProject has a view and middlewares of the examples. %s are the middlewares and the module of the view.
const djangoProject = `from django.conf import settings
settings.configure(ROOT_URLCONF="project", ALLOWED_HOSTS=["*"], SECRET_KEY="of this test", MIDDLEWARE=[%s])
from django.core.wsgi import get_wsgi_application
from django.urls import path
from %s import invoices
urlpatterns, app = [path("invoices", invoices)], get_wsgi_application()
`

// consumerPrograms copies the examples in Python to a folder, and returns the folder.
func consumerPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(rootOf(t), "infra/examples/consumer/python"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// frameworks starts one example in FastAPI, one in Django and one in Express, whose file begins with kind. Old and new are texts to
// replace in the file for FastAPI and in the one for Express.
func frameworks(t *testing.T, kind, middleware string, env []string, change ...[2]string) map[string]*target {
	t.Helper()
	python, node, interpreter := consumerPrograms(t), consumerNode(t), consumerPython(t)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(python, "project.py"), fmt.Sprintf(djangoProject, middleware, kind+"_django"))
	for _, path := range []string{filepath.Join(python, kind+"_fastapi.py"), filepath.Join(node, kind+"_express.mjs")} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := string(text)
		for _, c := range change {
			changed = strings.Replace(changed, c[0], c[1], 1)
		}
		write(path, changed)
	}
	out := map[string]*target{}
	for name, args := range map[string][]string{
		"FastAPI": {interpreter, "-m", "uvicorn", kind + "_fastapi:app", "--no-access-log", "--port"},
		"Django":  {interpreter, "-m", "gunicorn", "project:app", "--chdir", python, "--worker-class", "gthread", "--threads", "8", "--bind"},
		"Express": {"node", filepath.Join(node, kind+"_express.mjs")},
	} {
		if change != nil && name == "Django" {
			continue
		}
		address := freeAddress(t)
		_, port, _ := strings.Cut(address, ":")
		cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], map[string]string{"FastAPI": port, "Django": address}[name])...)
		cmd.Dir, cmd.Env = python, append([]string{"PATH=" + os.Getenv("PATH"), "PORT=" + port}, env...)
		serve(t, cmd)
		out[name] = newTarget(name, "http://"+address, nil)
	}
	for _, tg := range out {
		listening(t, strings.TrimPrefix(tg.url, "http://"))
	}
	return out
}

// behindProxies runs the examples of frameworks behind a proxy, as the documents show them. Around the proxy they answer no one.
func (f *frontDoor) behindProxies(t *testing.T) {
	_, key := f.key(t)
	for name, program := range frameworks(t, "behind", `"behind_django.from_proxy"`, []string{"PROXY_SECRET=" + programSecret}) {
		proxy := f.proxy(t, "Caddy", program.url)
		for _, c := range []struct {
			to     *target
			header http.Header
			bearer string
			status int
		}{
			{proxy, http.Header{"X-Latchkey-Org-Id": {"org_forged"}}, key, 200}, {proxy, nil, "", 401},
			{program, nil, key, 403}, {program, http.Header{"X-Latchkey-Proxy-Secret": {"x"}}, key, 403}, {program, http.Header{"X-Latchkey-Proxy-Secret": {""}}, key, 403},
			{program, http.Header{"X-Latchkey-Proxy-Secret": {programSecret}}, key, 500},
			{program, http.Header{"X-Latchkey-Proxy-Secret": {programSecret}, "X-Latchkey-V": {"1"}, "X-Latchkey-Kind": {"user"}}, key, 500},
		} {
			r, err := c.to.try(t.Context(), call{method: "GET", path: "/invoices", bearer: c.bearer, header: c.header})
			if err != nil || r.status != c.status || c.status == 200 && !isInvoices(r, f.org) {
				t.Errorf("%s %v: %d %s %v, want %d", name, c.header, r.status, r.text, err, c.status)
			}
		}
	}
}

// isInvoices reports whether an example has answered with the org and the key of a call.
func isInvoices(r reply, org string) bool {
	return r.str("orgId") == org && r.str("name") == "Büro" && fmt.Sprint(r.body["scopes"]) == "[invoices:read]"
}

// asking runs the examples of frameworks that ask the function URL themselves, as the documents show them. They let a caller in for a
// yes of the check only, pass its refusals on, and answer 503 when it has not decided.
func (f *frontDoor) asking(t *testing.T) {
	check := newScripted(t)
	at, err := url.Parse(f.FunctionURLs["ForwardAuthFunction"])
	if err != nil {
		t.Fatal(err)
	}
	real := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	programs := frameworks(t, "ask", "", []string{"LATCHKEY=" + check.URL + "/", "SECRET=" + doorSecret})
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			check.answers(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Latchkey-Secret") != doorSecret {
					t.Errorf("the check gets the secret %q", r.Header.Get("X-Latchkey-Secret"))
				}
				real.ServeHTTP(w, r)
			})
			id, key := f.key(t)
			_, narrow := f.ada.key(t, f.org, `{"scopes":["x"]}`)
			_, limited := f.ada.key(t, f.org, `{"name":"Büro","scopes":["invoices:read"],"limits":[{"requests":1,"per":"day"}]}`)
			ask := func(status int, code, challenge string, authorization ...string) reply {
				t.Helper()
				r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", header: http.Header{"Authorization": authorization}})
				if err != nil || r.status != status || r.code() != code || r.header.Get("WWW-Authenticate") != challenge || (status == 200) != isInvoices(r, f.org) || strings.Contains(r.text, "AWS") ||
					status != 200 && status != 503 && (r.header.Get("X-Latchkey-Code") != code || r.header.Get("Content-Type") != "application/problem+json") {
					t.Errorf("%d %v %s %v, want %d %s", r.status, r.header, r.text, err, status, code)
				}
				return r
			}
			const invalid = `Bearer error="invalid_token"`
			ask(200, "", "", "Bearer "+key)
			ask(401, "missing_credentials", "Bearer")
			ask(401, "invalid_credentials", invalid, "Bearer lk_none")
			ask(401, "api_key_required", invalid, "Bearer "+f.ada.token)
			ask(403, "insufficient_scope", `Bearer error="insufficient_scope", scope="invoices:read"`, "Bearer "+narrow)
			ask(200, "", "", "Bearer "+limited)
			if r := ask(429, "rate_limited", "", "Bearer "+limited); r.header.Get("Retry-After") == "" || !strings.Contains(r.header.Get("RateLimit"), `"day";r=0;t=`) {
				t.Errorf("over the limit: %v", r.header)
			}
			for _, values := range [][]string{{"Bearer " + key, "Bearer " + key}, {"", "Bearer " + key}, {"Basic eA==", "Bearer " + key}, {"Bearer " + key + "\xff"}, {"Bearer ä"}} {
				if r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", header: http.Header{"Authorization": values}}); err != nil || r.status != 400 && r.status != 401 {
					t.Errorf("%q: %d %s %v", values, r.status, r.text, err)
				}
			}
			f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
			ask(401, "key_revoked", invalid, "Bearer "+key)
			for what, answer := range undecided {
				check.answers(answer)
				if r := ask(503, "unavailable", "", "Bearer "+key); !slices.Equal(r.header.Values("Retry-After"), []string{"1"}) || check.n.Load() != 1 {
					t.Errorf("%s: %v, %d requests to the check", what, r.header, check.n.Load())
				}
			}
			check.answers(plain(401, "X-Latchkey-Code", "key_revoked", "X-Amzn-Remapped-WWW-Authenticate", invalid)) // as a function URL sends it on AWS
			if r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", bearer: key}); err != nil || r.status != 401 || r.header.Get("WWW-Authenticate") != invalid {
				t.Errorf("%d %v %v", r.status, r.header, err)
			}
		})
	}
	check.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	var all sync.WaitGroup
	for name, program := range programs {
		all.Go(func() {
			begun := time.Now()
			r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", bearer: anyKey})
			if took := time.Since(begun); err != nil || r.status != 503 || took > 5*time.Second {
				t.Errorf("%s, a check that hangs: %d %v after %s", name, r.status, err, took)
			}
		})
	}
	all.Wait()
}

// tokenEndpoint answers as the token endpoint of an issuer does, with tokens that are good for a time in seconds.
func tokenEndpoint(token string, seconds int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		want := url.Values{"grant_type": {"client_credentials"}, "client_id": {"billing"}, "client_secret": {"s+c r&t"}, "audience": {"https://api.latchkey.test"}}
		if err := r.ParseForm(); err != nil || r.Method != "POST" || r.PostForm.Encode() != want.Encode() {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, seconds)
	}
}

// fallsBackByHTTP has the examples import keys of an earlier system, with a service's token of an issuer.
func (f *frontDoor) fallsBackByHTTP(t *testing.T) {
	issuer := newScripted(t)
	issuer.answers(tokenEndpoint(f.billing.token, 3600))
	env := append(clientOf(issuer), "LATCHKEY="+f.FunctionURLs["ForwardAuthFunction"], "API="+f.URL, "EARLIER_SYSTEM="+f.earlier.url)
	for name, program := range frameworks(t, "ask", "", env, f.fallbackLines(t)...) {
		t.Run(name, func(t *testing.T) {
			issuer.answers(tokenEndpoint(f.billing.token, 3600))
			earlier := func(change func()) {
				f.earlier.mu.Lock()
				defer f.earlier.mu.Unlock()
				change()
			}
			ask := func(text string) string {
				r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", bearer: text})
				if err != nil {
					return err.Error()
				}
				return strings.TrimSpace(fmt.Sprint(r.status, " ", r.code()))
			}
			first, second, unknown := foreignKey(), foreignKey(), foreignKey()
			earlier(func() { f.earlier.keys[first], f.earlier.keys[second] = f.org, f.org })
			if got := []string{ask(first), ask(unknown)}; !slices.Equal(got, []string{"200", "401 invalid_credentials"}) {
				t.Fatalf("%q", got)
			}
			if got := flood(32, func(int) string { return ask(second) }); got["200"] != 32 || issuer.n.Load() != 1 {
				t.Errorf("moved: %v, with %d requests for a token", got, issuer.n.Load())
			}
			earlier(func() { f.earlier.down = true })
			if got := []string{ask(unknown), ask(second)}; !slices.Equal(got, []string{"503 unavailable", "200"}) {
				t.Errorf("the earlier system is away: %q", got)
			}
			earlier(func() { f.earlier.down = false })
			before := 0
			earlier(func() { before = f.earlier.asked[second] })
			for _, k := range f.billing.want(t, "GET", "/v1/orgs/"+f.org+"/keys", "", 200, "").list("keys") {
				if id, _ := k["id"].(string); k["name"] == "moved" && k["revokedAt"] == nil {
					f.billing.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
				}
			}
			if got := ask(second); got != "401 key_revoked" || f.earlier.asked[second] != before || before == 0 {
				t.Errorf("revoked: %s, and the earlier system was asked %d times, then %d", got, before, f.earlier.asked[second])
			}
		})
	}
	f.tokens(t, issuer)
}

// clientOf returns the variables of a client of an issuer.
func clientOf(issuer *scripted) []string {
	return []string{"TOKEN_URL=" + issuer.URL + "/token", "CLIENT_ID=billing", "CLIENT_SECRET=s+c r&t", "AUDIENCE=https://api.latchkey.test"}
}

// fallbackLines returns what infra/docs/moving.md adds to the program that asks: an import, and the fallback of a route.
func (f *frontDoor) fallbackLines(t *testing.T) [][2]string {
	t.Helper()
	document := repositoryFile(t, "infra/docs/moving.md")
	var out [][2]string
	for old, line := range map[string]string{
		"from authorize import authorize\n": "from fallback import import_if_good\n", `key("invoices:read")`: `key("invoices:read", fallback=import_if_good)`,
		"import express from 'express'\n": "import { importIfGood } from './fallback.mjs'\n", "key(['invoices:read'])": "key(['invoices:read'], importIfGood)",
	} {
		if !strings.Contains(document, line) {
			t.Errorf("infra/docs/moving.md does not say %q", line)
		}
		if strings.HasSuffix(old, "\n") {
			line = old + line
		}
		out = append(out, [2]string{old, line})
	}
	return out
}

// tokens has the examples keep a token until a minute before its end, and fail when the issuer gives none.
func (f *frontDoor) tokens(t *testing.T, issuer *scripted) {
	elsewhere := newScripted(t)
	elsewhere.answers(tokenEndpoint("elsewhere", 3600))
	node := consumerNode(t)
	for name, cmd := range map[string]func() *exec.Cmd{
		"Python": func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), consumerPython(t), "-c", "from service_token import service_token as s; print(s(), s())")
			cmd.Dir = consumerPrograms(t)
			return cmd
		},
		"Node": func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", "import { serviceToken as s } from './service_token.mjs'; console.log(await s(), await s())")
			cmd.Dir = node
			return cmd
		},
	} {
		for what, c := range map[string]struct {
			answer   http.HandlerFunc
			requests int64
			out      string // "": it fails
		}{
			"an hour": {tokenEndpoint("t", 3600), 1, "t t\n"}, "70 seconds": {tokenEndpoint("t", 70), 1, "t t\n"}, "a minute": {tokenEndpoint("t", 60), 2, "t t\n"},
			"an error": {plain(401), 1, ""}, "a redirect": {plain(307, "Location", elsewhere.URL), 1, ""}, "no JSON": {plain(200), 1, ""},
		} {
			issuer.answers(c.answer)
			run := cmd()
			run.Env = append(clientOf(issuer), "PATH="+os.Getenv("PATH"))
			out, err := run.Output()
			if (err == nil) != (c.out != "") || string(out) != c.out || issuer.n.Load() != c.requests || elsewhere.n.Load() != 0 {
				t.Errorf("%s, %s: %q %v with %d requests, %d elsewhere", name, what, out, err, issuer.n.Load(), elsewhere.n.Load())
			}
		}
	}
}
