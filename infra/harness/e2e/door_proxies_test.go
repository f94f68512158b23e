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
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"latchkey/pkg/forwardauth"
)

// upstream starts a plain server to run behind a proxy. It does not resolve dots in paths. It answers with the headers of a
// principal and the credential that it got, and with the path as it was sent.
func upstream(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := map[string]string{}
		for name, values := range r.Header {
			if strings.Contains(strings.ToLower(name), "latchkey") || name == "Authorization" {
				got[name] = strings.Join(values, "|")
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Path", r.RequestURI)
		_ = json.NewEncoder(w).Encode(got)
	}))
	t.Cleanup(s.Close)
	return s
}

const (
	browsersOrigin = "https://app.example.com"
	doorSecret     = "the-new-secret-of-the-proxies-0123456789"
	programSecret  = "the-secret-of-the-programs-behind-01234567"
)

// proxy runs a proxy that sends its checks to the stack's function URL.
func (f *frontDoor) proxy(t *testing.T, name, upstream string, pairs ...string) *target {
	t.Helper()
	return startProxy(t, name, strings.TrimSuffix(f.FunctionURLs["ForwardAuthFunction"], "/"), upstream, pairs...)
}

// startProxy runs a proxy with the configuration of infra/examples/consumer, and returns the proxy as a target. The proxy sends
// its checks to the URL door. pairs are old and new texts of the configuration.
func startProxy(t *testing.T, name, door, upstream string, pairs ...string) *target {
	t.Helper()
	dir, listen := t.TempDir(), freeAddress(t)
	at, err := url.Parse(door)
	if err != nil {
		t.Fatal(err)
	}
	var cmd *exec.Cmd
	switch name {
	case "Caddy":
		cmd = exec.CommandContext(t.Context(), "caddy", "run", "--adapter", "caddyfile", "--config", configuration(t, dir, "Caddyfile", pairs...))
		host, port, _ := strings.Cut(listen, ":")
		cmd.Env = []string{"HOME=" + dir, "HOST=" + host, "PORT=" + port, "LATCHKEY=" + door, "UPSTREAM=" + upstream, "ORIGIN=" + browsersOrigin, "SECRET=" + doorSecret, "PROXY_SECRET=" + programSecret, "PATH=" + os.Getenv("PATH")}
	case "nginx":
		pairs = append(pairs, "LATCHKEY_HOST", at.Host, "LATCHKEY", door, "RESOLVER", "127.0.0.1", "UPSTREAM", upstream, "LISTEN", listen, "ORIGIN", browsersOrigin, "PROXY_SECRET", programSecret, "SECRET", doorSecret)
		cmd = exec.CommandContext(t.Context(), "nginx", "-p", dir, "-c", configuration(t, dir, "nginx.conf", pairs...), "-e", "stderr",
			"-g", "daemon off; master_process off; pid "+dir+"/pid;")
	}
	serve(t, cmd)
	tg := newTarget(name, "http://"+listen, nil)
	eventually(t, 10*time.Second, name+" answers", func() bool {
		r, err := tg.try(t.Context(), call{method: "GET", path: "/"})
		return err == nil && r.status == 404
	})
	return tg
}

// configuration copies a file of infra/examples/consumer to dir, replaces the texts of the pairs outside comments, and returns
// the path of the copy.
func configuration(t *testing.T, dir, name string, pairs ...string) string {
	t.Helper()
	lines := strings.Split(consumerFile(t, name), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines[i] = strings.NewReplacer(pairs...).Replace(line)
		}
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a program, which ends with the test. Its command has the context of the test.
func serve(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var output strings.Builder
	cmd.Stderr = &output
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (Debian's packages caddy, nginx-light and php-cgi)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // t.Context has ended, so the program gets SIGTERM
		if t.Failed() {
			text := output.String()
			t.Logf("%s: %s", cmd.Path, text[max(0, len(text)-2000):])
		}
	})
}

// proxies runs real proxies in front of a plain server. The server must get exactly the headers of the check's answer, and
// a client must get the check's refusals.
func (f *frontDoor) proxies(t *testing.T) {
	server := upstream(t)
	for _, name := range []string{"Caddy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			tg := f.proxy(t, name, server.URL)
			f.billing.want(t, "PATCH", "/v1/orgs/"+f.org, `{"plan":"pro-2"}`, 200, "")
			id, key := f.ada.key(t, f.org, `{"name":"Büro","scopes":["invoices:read","x"],"metadata":{"plan":"ä"}}`)
			_, narrow := f.ada.key(t, f.org, `{"scopes":["x"]}`)
			want := map[string]string{
				"X-Latchkey-V": "1", "X-Latchkey-Kind": "key", "X-Latchkey-Org-Id": f.org, "X-Latchkey-App-Id": strings.Replace(f.org, "org_", "app_", 1),
				"X-Latchkey-Key-Id": id, "X-Latchkey-Key-Prefix": key[:len("lk_12345678")], "X-Latchkey-Key-Name": "B%C3%BCro", "X-Latchkey-Scopes": "invoices:read x",
				"X-Latchkey-Metadata": base64.RawURLEncoding.EncodeToString([]byte(`{"plan":"ä"}`)), "X-Latchkey-Proxy-Secret": programSecret, "X-Latchkey-Plan": "pro-2",
			}
			forged := http.Header{}
			for _, h := range setByProxies() {
				forged.Set(h, "forged")
			}
			forged.Set("Connection", "X-Latchkey-Scopes, X-Latchkey-Metadata") // a proxy removes headers that Connection names
			for what, c := range map[string]call{
				"plain":  {method: "GET", path: "/invoices", bearer: key},
				"forged": {method: "POST", path: "/invoices/1?scope=z&org=forged&x=/../authorize", body: "{}", bearer: key, header: forged},
			} {
				r, err := tg.try(t.Context(), c)
				got := map[string]string{}
				for h, v := range r.body {
					if v != "" { // an empty header counts as no header
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
				challenges := r.header.Values("WWW-Authenticate")
				good := len(challenges) == 0
				switch {
				case status == 401:
					good = len(challenges) == 1 && strings.HasPrefix(challenges[0], "Bearer")
				case code == "insufficient_scope":
					good = slices.Equal(challenges, []string{`Bearer error="insufficient_scope", scope="invoices:read"`})
				}
				if !good {
					t.Errorf("%s: %d with WWW-Authenticate %q", what, status, challenges)
				}
				if status == 503 && !slices.Equal(r.header.Values("Retry-After"), []string{"1"}) {
					t.Errorf("%s: Retry-After %q", what, r.header.Values("Retry-After"))
				}
			}
			// Only Caddy's configuration names its host; nginx's accepts any host.
			if status := statusForHost(t, tg, "other.example"); name == "Caddy" && status != 404 {
				t.Errorf("another host: %d", status)
			}
			refused("no key", "", 401, "missing_credentials")
			refused("an access token", f.ada.token, 401, "api_key_required")
			refused("another scope", narrow, 403, "insufficient_scope")
			f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
			refused("revoked", key, 401, "key_revoked")
			if log := f.logOf(t, "ForwardAuthFunction"); !strings.Contains(log, `"clientIp":"127.0.0.1","caller":"`+id+`"`) {
				t.Errorf("the refusal's line does not name the proxy's client and the key %s", id)
			}
			if err := f.DB.Stop(); err != nil {
				t.Fatal(err)
			}
			refused("database away", narrow, 503, "unavailable")
			if err := f.DB.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.waitForDatabase(t)
			_, again := f.key(t)
			if r, err := tg.try(t.Context(), call{method: "GET", path: "/invoices", bearer: again}); err != nil || r.status != 200 {
				t.Errorf("the database is back: %d %s %v", r.status, r.text, err)
			}
			tg = f.proxy(t, name, "http://"+freeAddress(t)) // no server listens there
			refused("the server is away", again, 503, "unavailable")
		})
	}
}

// setByProxies returns every header of ours that a request can have. A proxy must set or remove each of them.
func setByProxies() []string {
	return append(forwardauth.Headers(), "X-Latchkey-Secret", "X-Latchkey-Client-Ip", "X-Latchkey-Proxy-Secret")
}

// statusForHost requests /invoices from the target with another Host, and returns the status.
func statusForHost(t *testing.T, tg *target, host string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", tg.url+"/invoices", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := tg.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// logOf returns what a function has logged.
func (f *frontDoor) logOf(t *testing.T, function string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.LogDir, function+".log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
