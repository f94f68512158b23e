// Package examples_test checks that the example programs print no secrets and follow no redirects.
package examples_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/examples/receivers"
	"latchkey/infra/tools"
)

// canary is a part of each key, token and query that a program gets. No program may print it.
const canary = "c4n4ry98765432109876543210"

// output keeps what a program writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// requests are sent to each program that listens, byte for byte; %s is its host. Some are malformed, because servers log errors
// about such requests.
var requests = []string{
	"GET /invoices?key=CANARY HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer lk_CANARY\r\nConnection: close\r\n\r\n",
	"GET /orgs/org_1/invoices?key=CANARY HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer eyJhbGciOiJub25lIn0.CANARY.x\r\nConnection: close\r\n\r\n",
	"GET /invoices HTTP/1.1\r\nHost: %s\r\nX-Latchkey-Proxy-Secret: CANARY\r\nAuthorization: CANARY\r\nConnection: close\r\n\r\n",
	"POST /hooks?key=CANARY HTTP/1.1\r\nHost: %s\r\nContent-Length: 39\r\nConnection: close\r\n\r\neyJ.c4n4ry98765432109876543210.cccccccc",
	"PUT /hooks?key=CANARY HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", "HEAD /?key=CANARY HTTP/1.0\r\n\r\n", "GET /?a=1;key=CANARY HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
	"POST /hooks?key=CANARY HTTP/9.9\r\nHost: %s\r\n\r\n", "POST /hooks?key=CANARY x HTTP/1.1\r\n\r\n", "CANARY\r\n\r\n", "POST /?key=CANARY HTTP/1.1\r\nHost: %s\r\nCANARY\r\n\r\n",
	"POST /?key=CANARY HTTP/1.1\r\nHost: %s\r\nContent-Length: CANARY\r\nConnection: close\r\n\r\n", "POST /hooks?key=CANARY HTTP/1.1\r\nHost: %s\r\nContent-Length: 9\r\n\r\n",
}

// send sends all requests, and closes each connection.
func send(t *testing.T, host string) {
	t.Helper()
	for _, r := range requests {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		text := strings.ReplaceAll(strings.ReplaceAll(r, "%s", host), "CANARY", canary)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
}

// answers are the answers of a server that the programs call. A program may log the status, and nothing else of an answer.
var answers = map[string]http.HandlerFunc{
	"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	"a redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere?key="+canary, http.StatusTemporaryRedirect)
	},
	"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{"+canary) },
	"a refusal": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, "https://a.example/?key="+canary)
	},
	"accepted, and no JSON": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "{"+canary)
	},
	"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
}

// built compiles the Go programs, and returns their folder.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, program := range map[string]string{"server": "consumer/server", "behind": "consumer/behind", "receiver": "receivers/cli", "latchkey": "cli", "go": "publishers/go"} {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, name), "./"+program).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// consumers returns a Python interpreter with the packages of the consumers in Python, and a folder with the consumers in Node
// and their modules.
func consumers(t *testing.T) (python, node string) {
	t.Helper()
	text := func(name string) string {
		b, err := os.ReadFile("consumer/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	python, errPython := tools.VirtualEnv(t.Context(), "consumer-python", text("python/requirements.txt"), nil)
	modules, errNode := tools.NodeModules(t.Context(), "consumer-node", text("node/package.json"), text("node/package-lock.json"), nil)
	node = t.TempDir()
	if err := errors.Join(errPython, errNode, os.CopyFS(node, os.DirFS("consumer/node")), os.Symlink(modules+"/node_modules", node+"/node_modules")); err != nil {
		t.Fatal(err)
	}
	return python, node
}

// TestExamplesPrintNoKeyAndNoQuery runs the examples with canaries in their requests, their answers and their environment.
func TestExamplesPrintNoKeyAndNoQuery(t *testing.T) {
	bin := built(t)
	python, node := consumers(t)
	for what, answer := range answers {
		called := httptest.NewUnstartedServer(answer)
		called.Config.ErrorLog = nil
		called.Start()
		t.Cleanup(called.Close)
		base := called.URL
		framework := []string{"LATCHKEY=" + base, "SECRET=" + canary, "PROXY_SECRET=" + canary, "PYTHONDONTWRITEBYTECODE=1"}
		host := func() string {
			port, err := tools.FreePort(0)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint("127.0.0.1:", port)
		}
		for name, p := range map[string]struct {
			command []string
			listens string // the address at which it listens; "": it calls the API and ends
			env     []string
		}{
			"server": {[]string{bin + "/server"}, host(), []string{
				"TABLE=t", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + canary, "AWS_SECRET_ACCESS_KEY=" + canary, "AWS_ENDPOINT_URL=" + base, "ISSUER=" + base,
				"AUDIENCE=a", "JWKS_URL=" + base + "/?key=" + canary, "IMPORTED_KEYS=true", "EARLIER_SYSTEM=" + base + "/?key=" + canary, "LATCHKEY_API=" + base, "SERVICE_TOKEN=" + canary,
			}},
			"behind":                 {[]string{bin + "/behind"}, host(), []string{"PROXY_SECRET=" + canary}},
			"FastAPI behind a proxy": {[]string{python, "-m", "uvicorn", "behind_fastapi:app", "--app-dir", "consumer/python", "--no-access-log"}, host(), framework},
			"FastAPI without proxy":  {[]string{python, "-m", "uvicorn", "ask_fastapi:app", "--app-dir", "consumer/python", "--no-access-log"}, host(), framework},
			"Express behind a proxy": {[]string{"node", node + "/behind_express.mjs"}, host(), framework}, "Express without proxy": {[]string{"node", node + "/ask_express.mjs"}, host(), framework},
			"embed":     {[]string{"node", "embed/serve.mjs"}, host(), []string{"API=" + base, "ORG=org_1", "TOKEN=" + canary}},
			"receiver":  {[]string{bin + "/receiver"}, "", []string{"BASE_URL=" + base, "KEY=lk_" + canary}},
			"latchkey":  {[]string{bin + "/latchkey", "find", "--key", "-"}, "", []string{"BASE_URL=" + base, "KEY=lk_" + canary, "TOKEN_CMD=echo " + canary}},
			"publisher": {[]string{bin + "/go"}, "", nil}, "publisher in Node": {[]string{"node", "publishers/publish.mjs"}, "", nil},
			"publisher in Python": {[]string{"python3", "publishers/publish.py"}, "", nil},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				var out output
				cmd := exec.CommandContext(t.Context(), p.command[0], p.command[1:]...)
				_, port, _ := strings.Cut(p.listens, ":")
				cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LISTEN=" + p.listens, "PORT=" + port, "UVICORN_PORT=" + port, "API=" + base, "ORG=org_1", "APP=app_1", "TOKEN=" + canary}, p.env...)
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if p.listens != "" {
					awaitListener(t, p.listens)
					send(t, p.listens)
					_ = cmd.Process.Kill()
				}
				_ = cmd.Wait()
				checkOutput(t, out.String(), name == "server" || p.listens == "")
			})
		}
	}
}

// TestReceiversPrintNoKeyAndNoQuery checks the same of the receivers of webhooks.
func TestReceiversPrintNoKeyAndNoQuery(t *testing.T) {
	for _, l := range []receivers.Language{receivers.Node, receivers.Python, receivers.FastAPI} {
		for what, answer := range answers {
			t.Run(string(l)+" "+what, func(t *testing.T) {
				called := httptest.NewServer(answer)
				defer called.Close()
				var out output
				r, err := receivers.Start(t.Context(), l, receivers.Config{BaseURL: called.URL, EndpointID: "whe_" + canary, Output: &out})
				if err != nil {
					t.Fatal(err)
				}
				send(t, strings.Trim(strings.TrimPrefix(r.URL, "http://"), "/"))
				if err := r.Stop(); err != nil {
					t.Error(err)
				}
				checkOutput(t, out.String(), false)
			})
		}
	}
}

// checkOutput checks that a program's output has neither the canary nor a query. mustPrint: an empty output is a failure.
func checkOutput(t *testing.T, text string, mustPrint bool) {
	t.Helper()
	if strings.Contains(text, canary) || strings.Contains(text, "?key=") || strings.Contains(text, ";key=") || mustPrint && text == "" {
		t.Errorf("it wrote %q", text)
	}
}

// awaitListener waits until a program accepts connections, 30 seconds at most.
func awaitListener(t *testing.T, host string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", host)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
