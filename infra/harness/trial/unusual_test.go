package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/lab/gateway"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// echo is the function of companion.yaml.
type echo struct{}

func (echo) Invoke(_ context.Context, _ string, payload []byte) ([]byte, error) {
	var event struct{ Headers map[string]string }
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	if wanted := event.Headers["X-Answer"]; wanted != "" {
		return []byte(wanted), nil
	}
	return json.Marshal(map[string]any{"statusCode": 200, "body": string(payload)})
}

// startEcho returns the URL of the API of companion.yaml, in the lab's gateway.
func startEcho(t *testing.T) string {
	t.Helper()
	api, err := gateway.New(&translated.API{Stage: "stage", Routes: []translated.Route{
		{Path: "/{proxy+}", Method: "ANY", Function: "f"}, {Path: "/hardcoded", Method: "ANY", Function: "f"},
	}}, echo{}, log.New(io.Discard, "", 0), "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return server.URL
}

// front is a server in front of a stack's API. It joins Authorization lines. With remembers, it accepts again any key that the API has
// accepted once, like a cache.
type front struct {
	to        *url.URL
	remembers bool
	mu        sync.Mutex
	kept      map[string]bool // keys that the API has accepted
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.Join(r.Header.Values("Authorization"), ", ")
	if key != "" {
		r.Header.Set("Authorization", key)
	}
	f.mu.Lock()
	known := f.remembers && f.kept[key] && r.URL.Path == "/app/get"
	f.mu.Unlock()
	if known {
		_, _ = io.WriteString(w, "{}")
		return
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(f.to); p.Out.Host = p.In.Host }}
	proxy.ModifyResponse = func(res *http.Response) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.remembers {
			f.kept[key] = f.kept[key] || res.StatusCode == http.StatusOK && strings.HasPrefix(key, "Bearer ")
		}
		return nil
	}
	proxy.ServeHTTP(w, r)
}

// programs builds the programs of a trial, and returns the root of the repository and the SAM CLI.
func programs(t *testing.T) (root, sam string) {
	t.Helper()
	root, errRoot := tools.Root()
	sam, errSAM := tools.SAM(t.Context(), nil)
	if err := errors.Join(errRoot, errSAM); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", filepath.Join(root, ".local", "bin")+"/", "latchkey/infra/deploy", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root, sam
}

// freeAddress returns a URL with a free port for a stack.
func freeAddress(t *testing.T) (at *url.URL, port int) {
	t.Helper()
	site, err := lab.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	at, errURL := url.Parse(site.URL)
	port, errPort := strconv.Atoi(at.Port())
	if err := errors.Join(errURL, errPort, site.Close()); err != nil {
		t.Fatal(err)
	}
	return at, port
}

// unusualTrial runs a trial in an unusual account: it runs only ten functions at once, the global host of S3 redirects, the event bus
// accepts everything, and the API joins Authorization lines. unusualTrial returns the report and the trial's error.
func unusualTrial(t *testing.T) (report string, err error) {
	t.Helper()
	root, sam := programs(t)
	h := newHost(t.Context())
	defer h.Close()
	h.Settle(true)
	h.Set(standin.Faults{Concurrency: 10})
	h.Echo, h.options.Concurrency = startEcho(t), 10
	var at *url.URL
	at, h.options.Port = freeAddress(t)
	frontServer := httptest.NewServer(&front{to: at})
	defer frontServer.Close()
	start := h.Deployed
	h.Deployed = func(name string, parameters map[string]string) (*standin.Live, error) {
		live, err := start(name, parameters)
		if err != nil {
			return nil, err
		}
		outputs := live.Outputs
		live.Outputs = func() map[string]string {
			all := outputs()
			all["ApiUrl"] = frontServer.URL
			return all
		}
		return live, nil
	}
	hosts, err := exec.CommandContext(t.Context(), cloud.Python(sam), filepath.Join(root, "infra/deploy/standin/testdata/hosts.py"), t.TempDir(), h.URL).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range append(h.env, strings.Fields(string(hosts))...) {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") || name == "ARCH" || name == "SAM_CLI_POLL_DELAY" {
			t.Setenv(name, value)
		}
	}
	if err := os.Unsetenv("AWS_ENDPOINT_URL"); err != nil { // with this variable, S3 would have only one host
		t.Fatal(err)
	}
	t.Setenv("LAB_PORT", at.Port())
	reports := func() []string {
		all, _ := filepath.Glob(filepath.Join(root, ".local", "trial", prefix+"*.md"))
		return all
	}
	old := reports()
	err = try(t.Context(), root, true)
	for _, path := range reports() {
		if !slices.Contains(old, path) {
			text, errRead := os.ReadFile(path)
			report, err = string(text), errors.Join(err, errRead)
		}
	}
	if left, harmed := h.Left(), h.Harmed(); left != nil || harmed != nil {
		t.Errorf("not removed: %q; changed, of others: %q", left, harmed)
	}
	return report, err
}

// recordedHere matches the recordings in a report. infra/harness/lab/testdata/recorded-trial.yaml has them, without the date.
var recordedHere = regexp.MustCompile("(?s)```yaml\n(gateway:\n.*?)```")

// TestATrialInAnUnusualAccountBreaksNoPromise also compares the recordings with the file that the lab's tests read.
func TestATrialInAnUnusualAccountBreaksNoPromise(t *testing.T) {
	report, err := unusualTrial(t)
	if err != nil || strings.Contains(report, "| broken |") {
		t.Fatalf("%v\n%s", err, report)
	}
	for _, words := range []string{"Lambda runs 10 functions", "left out: the function URL", "3 clients, 200 requests", "| " + string(qBus) + " | held |", "| " + string(qConsole) + " | held |", "| " + string(qTwo) + " | noted | local: 401 invalid_credentials"} {
		if !strings.Contains(report, words) {
			t.Errorf("the report lacks %q:\n%s", words, report)
		}
	}
	fixture := filepath.Join("..", "lab", "testdata", "recorded-trial.yaml")
	found := recordedHere.FindStringSubmatch(report)
	if found == nil || strings.Count(found[1], "\n") != 11 {
		t.Fatalf("the report has no ten recordings:\n%s", report)
	}
	date := regexp.MustCompile(`a trial, [0-9-]+`)
	recorded := "# Recordings of a make trial on the lab itself (TestATrialInAnUnusualAccountBreaksNoPromise). A test changes them, to check that the comparison\n# finds differences.\n" +
		date.ReplaceAllString(found[1], "a trial")
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(fixture, []byte(recorded), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(fixture); err != nil || string(want) != recorded {
		t.Errorf("%v: %s differs from these recordings; UPDATE_GOLDEN=1 writes it:\n%s", err, fixture, recorded)
	}
}

// TestATrialFindsARevokedKeyThatWorks runs the trial's smoke test on a stack behind a front that remembers accepted keys.
func TestATrialFindsARevokedKeyThatWorks(t *testing.T) {
	root, _ := programs(t)
	at, port := freeAddress(t)
	frontServer := httptest.NewServer(&front{to: at, remembers: true, kept: map[string]bool{}})
	defer frontServer.Close()
	dir := filepath.Join(root, ".local", "trial")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	jwks, err := makeKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, jwks) }))
	defer keys.Close()
	s, err := stack.Start(t.Context(), stack.Options{Port: port, Dir: t.TempDir(), Parameters: map[string]string{"Issuer": issuer, "Audience": audience, "JwksUrl": keys.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	tr := &trial{
		root: root, dir: dir, out: t.Output(), local: true, stack: prefix + "abc234", limit: 1000, aws: &cloud.Client{}, account: standin.Account,
		env: append(os.Environ(), "LAB_PORT="+at.Port()), rows: map[question]row{}, leftOut: map[question]string{},
	}
	if tr.running, err = lockFile(filepath.Join(t.TempDir(), "programs")); err != nil {
		t.Fatal(err)
	}
	defer tr.running.release()
	errSmoke, errReport := tr.smoke(t.Context(), frontServer.URL), tr.report()
	if r := tr.rows[qRevoked]; errSmoke == nil || errReport == nil || r.result != broken {
		t.Errorf("%v, %v: %+v", errSmoke, errReport, r)
	}
}
