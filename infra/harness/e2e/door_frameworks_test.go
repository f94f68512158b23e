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

// djangoProject has a view and the middlewares of an example. The first %s is the middlewares, the second the module of the view.
const djangoProject = `from django.conf import settings
settings.configure(ROOT_URLCONF="project", ALLOWED_HOSTS=["*"], SECRET_KEY="of this test", MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware", %s])
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

// frameworks starts three examples: in FastAPI, in Django and in Express. The names of their files begin with kind. Each change is an
// old and a new text of the files.
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
	for _, path := range []string{filepath.Join(python, kind+"_fastapi.py"), filepath.Join(python, kind+"_django.py"), filepath.Join(node, kind+"_express.mjs")} {
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
		address := freeAddress(t)
		_, port, _ := strings.Cut(address, ":")
		cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], map[string]string{"FastAPI": port, "Django": address}[name])...)
		cmd.Dir, cmd.Env = python, append([]string{"PATH=" + os.Getenv("PATH"), "PORT=" + port}, env...)
		serve(t, cmd)
		out[name] = newTarget(name, "http://"+address, nil)
	}
	for _, tg := range out {
		waitForServer(t, strings.TrimPrefix(tg.url, "http://"))
	}
	return out
}

// behindProxies runs the documented examples of frameworks behind a proxy. They refuse requests that do not come through the proxy.
func (f *frontDoor) behindProxies(t *testing.T) {
	_, key := f.key(t)
	_, bare := f.ada.key(t, f.org, `{"scopes":["invoices:read"]}`)
	sent := func(version, kind string) http.Header {
		return http.Header{
			"X-Latchkey-Proxy-Secret": {programSecret}, "X-Latchkey-V": {version}, "X-Latchkey-Kind": {kind}, "X-Latchkey-Org-Id": {f.org}, "X-Latchkey-Key-Name": {"B%C3%BCro"},
			"X-Latchkey-Scopes": {"invoices:read"},
		}
	}
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
			{program, sent("1", "key"), key, 200}, {program, sent("", "key"), key, 500}, {program, sent("2", "key"), key, 500}, {program, sent("1", "user"), key, 500},
		} {
			r, err := c.to.try(t.Context(), call{method: "GET", path: "/invoices", bearer: c.bearer, header: c.header})
			if err != nil || r.status != c.status || c.status == 200 && !isInvoices(r, f.org, "Büro") {
				t.Errorf("%s %v: %d %s %v, want %d", name, c.header, r.status, r.text, err, c.status)
			}
		}
		wantPost(t, name, proxy, key)
		for _, to := range []*target{proxy, f.proxy(t, "nginx", program.url)} { // nginx sends no header without a value
			if r, err := to.try(t.Context(), call{method: "GET", path: "/invoices", bearer: bare}); err != nil || r.status != 200 || !isInvoices(r, f.org, "") {
				t.Errorf("%s behind %s, a key without a name: %d %s %v", name, to.name, r.status, r.text, err)
			}
		}
	}
}

// wantPost sends a POST. Django must accept it, although it has no CSRF token.
func wantPost(t *testing.T, name string, to *target, key string) {
	t.Helper()
	if r, err := to.try(t.Context(), call{method: "POST", path: "/invoices", body: "{}", bearer: key}); name == "Django" && (err != nil || r.status != 200) {
		t.Errorf("a POST: %d %s %v", r.status, r.text, err)
	}
}

// isInvoices reports whether an answer of an example has the org, and the name and scopes of the key.
func isInvoices(r reply, org, name string) bool {
	return r.str("orgId") == org && r.str("name") == name && fmt.Sprint(r.body["scopes"]) == "[invoices:read]"
}

// withoutProxy runs the documented examples of frameworks that call the function URL themselves. They let a caller in only if the check
// accepts the credential. They pass its refusals on, and answer 503 if it does not decide.
func (f *frontDoor) withoutProxy(t *testing.T) {
	check := newScripted(t)
	at, err := url.Parse(f.FunctionURLs["ForwardAuthFunction"])
	if err != nil {
		t.Fatal(err)
	}
	toURL := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	programs := frameworks(t, "ask", "", []string{"LATCHKEY=" + check.URL + "/", "SECRET=" + doorSecret})
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			check.answers(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Latchkey-Secret") != doorSecret {
					t.Errorf("the check gets %q instead of the secret", r.Header.Get("X-Latchkey-Secret"))
				}
				toURL.ServeHTTP(w, r)
			})
			id, key := f.key(t)
			_, narrow := f.ada.key(t, f.org, `{"scopes":["x"]}`)
			_, limited := f.ada.key(t, f.org, `{"name":"Büro","scopes":["invoices:read"],"limits":[{"requests":1,"per":"day"}]}`)
			// send sends a request, and checks the status, the code and the header WWW-Authenticate of the answer.
			send := func(status int, code, challenge string, authorization ...string) reply {
				t.Helper()
				r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", header: http.Header{"Authorization": authorization}})
				if err != nil || r.status != status || r.code() != code || r.header.Get("WWW-Authenticate") != challenge || (status == 200) != isInvoices(r, f.org, "Büro") || strings.Contains(r.text, "AWS") ||
					status != 200 && status != 503 && (r.header.Get("X-Latchkey-Code") != code || r.header.Get("Content-Type") != "application/problem+json") {
					t.Errorf("%d %v %s %v, want %d %s", r.status, r.header, r.text, err, status, code)
				}
				return r
			}
			const invalid = `Bearer error="invalid_token"`
			send(200, "", "", "Bearer "+key)
			wantPost(t, name, program, key)
			send(401, "missing_credentials", "Bearer")
			send(401, "invalid_credentials", invalid, "Bearer lk_none")
			send(401, "api_key_required", invalid, "Bearer "+f.ada.token)
			send(403, "insufficient_scope", `Bearer error="insufficient_scope", scope="invoices:read"`, "Bearer "+narrow)
			send(200, "", "", "Bearer "+limited)
			if r := send(429, "rate_limited", "", "Bearer "+limited); r.header.Get("Retry-After") == "" || !strings.Contains(r.header.Get("RateLimit"), `"day";r=0;t=`) {
				t.Errorf("over the limit: %v", r.header)
			}
			for _, values := range [][]string{{"Bearer " + key, "Bearer " + key}, {"", "Bearer " + key}, {"Basic eA==", "Bearer " + key}, {"Bearer " + key + "\xff"}, {"Bearer ä"}} {
				if r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", header: http.Header{"Authorization": values}}); err != nil || r.status != 400 && r.status != 401 {
					t.Errorf("%q: %d %s %v", values, r.status, r.text, err)
				}
			}
			f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
			send(401, "key_revoked", invalid, "Bearer "+key)
			for what, answer := range undecided {
				check.answers(answer)
				if r := send(503, "unavailable", "", "Bearer "+key); !slices.Equal(r.header.Values("Retry-After"), []string{"1"}) || check.n.Load() != 1 {
					t.Errorf("%s: %v, %d requests to the check", what, r.header, check.n.Load())
				}
			}
			check.answers(plain(200, "X-Latchkey-V", "1", "X-Latchkey-Org-Id", f.org)) // without the headers that have no value
			if r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", bearer: key}); err != nil || r.status != 200 || r.str("orgId") != f.org || r.str("name") != "" {
				t.Errorf("%d %s %v", r.status, r.text, err)
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
