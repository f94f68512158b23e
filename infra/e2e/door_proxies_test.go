package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey/infra/local/backing"
	"latchkey/pkg/forwardauth"
)

// upstream is the plain server behind a proxy. It answers with the headers that it got.
func upstream(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := map[string]string{}
		for name, values := range r.Header {
			if strings.HasPrefix(name, "X-Latchkey") || strings.HasPrefix(strings.ToLower(name), "x_latchkey") {
				got[name] = strings.Join(values, "|")
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(got)
	}))
	t.Cleanup(s.Close)
	return s
}

// proxy runs a proxy with the configuration of infra/consumer, and returns it as a target.
func (f *frontDoor) proxy(t *testing.T, name, upstream string) *target {
	t.Helper()
	listen, door := freeAddress(t), strings.TrimSuffix(f.FunctionURLs["ForwardAuthFunction"], "/")
	at, err := url.Parse(door)
	if err != nil {
		t.Fatal(err)
	}
	dir, configurations := t.TempDir(), filepath.Join(rootOf(t), "infra/consumer")
	var cmd *exec.Cmd
	switch name {
	case "Caddy":
		cmd = exec.CommandContext(t.Context(), "caddy", "run", "--adapter", "caddyfile", "--config", configurations+"/Caddyfile")
		cmd.Env = []string{"HOME=" + dir, "LISTEN=" + listen, "LATCHKEY=" + door, "UPSTREAM=" + upstream, "PATH=" + os.Getenv("PATH")}
	case "nginx":
		text, err := os.ReadFile(configurations + "/nginx.conf")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				lines[i] = strings.NewReplacer("LATCHKEY_HOST", at.Host, "LATCHKEY", door, "RESOLVER", "127.0.0.1", "UPSTREAM", upstream, "LISTEN", listen).Replace(line)
			}
		}
		if err := os.WriteFile(dir+"/nginx.conf", []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(t.Context(), "nginx", "-p", dir, "-c", dir+"/nginx.conf", "-e", "stderr",
			"-g", "daemon off; master_process off; pid "+dir+"/pid;")
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v (Debian's packages caddy and nginx-light)", name, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %.2000s", name, said.String())
		}
	})
	tg := newTarget(name, "http://"+listen, nil)
	eventually(t, 10*time.Second, name+" answers", func() bool {
		r, err := tg.try(t.Context(), call{method: "GET", path: "/"})
		return err == nil && r.status == 404
	})
	return tg
}

// spring asks with Spring Security's own introspector.
func (f *frontDoor) spring(t *testing.T) {
	at := filepath.Join(rootOf(t), "infra/consumer/spring")
	pom, err := os.ReadFile(at + "/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	jars, err := backing.Jars(t.Context(), "spring", string(pom), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	id, key := f.key(t)
	revoked, old := f.key(t)
	f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+revoked, "", 204, "")
	cmd := exec.CommandContext(t.Context(), "java", "-cp", jars+"/*", at+"/Introspect.java", f.FunctionURLs["ForwardAuthFunction"]+"/introspect", key, key, old)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if want := id + " " + f.org + " [SCOPE_invoices:read]\nrefused\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s\n%.2000s", err, out, want, said.String())
	}
}

// proxies runs real proxies before a plain server: what arrives there is what the check answered.
func (f *frontDoor) proxies(t *testing.T) {
	server := upstream(t)
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			tg := f.proxy(t, name, server.URL)
			id, key := f.ada.key(t, f.org, `{"name":"Büro","scopes":["invoices:read","x"],"metadata":{"plan":"ä"}}`)
			_, narrow := f.ada.key(t, f.org, `{"scopes":["x"]}`)
			want := map[string]string{
				"X-Latchkey-V": "1", "X-Latchkey-Kind": "key", "X-Latchkey-Org-Id": f.org, "X-Latchkey-App-Id": strings.Replace(f.org, "org_", "app_", 1),
				"X-Latchkey-Key-Id": id, "X-Latchkey-Key-Prefix": key[:11], "X-Latchkey-Key-Name": "B%C3%BCro", "X-Latchkey-Scopes": "invoices:read x",
				"X-Latchkey-Metadata": base64.RawURLEncoding.EncodeToString([]byte(`{"plan":"ä"}`)),
			}
			forged := http.Header{}
			for _, h := range forwardauth.Headers() {
				forged.Set(h, "forged")
				forged[strings.ReplaceAll(h, "-", "_")] = []string{"forged"} // which CGI reads alike
			}
			forged.Set("Connection", "X-Latchkey-Scopes, X-Latchkey-Metadata") // a proxy removes what it names
			for what, c := range map[string]call{
				"plain":  {method: "GET", path: "/invoices", bearer: key},
				"forged": {method: "POST", path: "/invoices/1?scope=z&org=forged&x=/../authorize", body: "{}", bearer: key, header: forged},
			} {
				r, err := tg.try(t.Context(), c)
				got := map[string]string{}
				for h, v := range r.body {
					if v != "" { // an empty header is as good as none
						got[h] = fmt.Sprint(v)
					}
				}
				if err != nil || r.status != 200 || !maps.Equal(got, want) {
					t.Errorf("%s: %d %v %s, want %v", what, r.status, err, r.text, want)
				}
			}
			refused := func(what, credential string, status int, code string) {
				t.Helper()
				r, err := tg.try(t.Context(), call{method: "GET", path: "/invoices", bearer: credential, header: forged})
				if err != nil || r.status != status || r.code() != code || r.header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s: %d %s %v, want %d %s", what, r.status, r.text, err, status, code)
				}
			}
			refused("no key", "", 401, "missing_credentials")
			refused("an access token", f.ada.token, 401, "api_key_required")
			refused("another scope", narrow, 403, "insufficient_scope")
			f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
			refused("revoked", key, 401, "key_revoked")
			if err := f.StopDB(); err != nil {
				t.Fatal(err)
			}
			refused("database away", narrow, 503, "unavailable")
			if err := f.StartDB(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.answers(t)
			_, again := f.key(t)
			if r, err := tg.try(t.Context(), call{method: "GET", path: "/invoices", bearer: again}); err != nil || r.status != 200 {
				t.Errorf("the database is back: %d %s %v", r.status, r.text, err)
			}
		})
	}
}
