package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey/infra/tools"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// beforeHeld is the last commit whose code does not know attrHeld, in which the row of a key has the hash while its org is suspended.
const beforeHeld = "c11fb5b6bba2ee5f25a6487d3780fcc7c736338b"

// TestAnOlderReleaseRefusesAKeyOfASuspendedOrg by 503, at the owner's own server with package guard and at the authorizer, and lets the
// same key in before and after the suspension.
func TestAnOlderReleaseRefusesAKeyOfASuspendedOrg(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "older")
	git(t, root, "clone", "-q", "--no-checkout", ".", older)
	git(t, older, "checkout", "-q", fetched(t, root, beforeHeld))
	built := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", older+"/", "./infra/examples/consumer/server", "./functions/authorizer")
	built.Dir = older
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	table, ctx := storetest.New(t), t.Context()
	service := store.Actor{Service: "billing"}
	org, err := table.CreateOrgAs(ctx, service, store.NewOrg{Name: "Acme"}, store.Once[store.Org]{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := table.CreateKey(ctx, service, org.Made.ID, store.NewKey{Prefix: "lk", Carried: store.Carried{Scopes: "invoices:read"}}, store.Once[store.MintedKey]{})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := *table.DB.Options().BaseEndpoint
	settings := append(os.Environ(), "TABLE="+table.Name, "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"ISSUER=https://issuer.test", "AUDIENCE=latchkey")
	doors := map[string]func(string) string{
		"guard":      startGuard(t, filepath.Join(older, "server"), settings),
		"authorizer": startAuthorizer(t, filepath.Join(older, "authorizer"), settings),
	}
	for turn, want := range []string{"good", "unknown", "good"} {
		if suspended := want != "good"; turn > 0 {
			if _, err := table.ChangeOrg(ctx, service, org.Made.ID, store.OrgChange{Suspended: &suspended}); err != nil {
				t.Fatal(err)
			}
		}
		for name, ask := range doors {
			if got := ask(key.Made.Minted.Key.Reveal()); got != want {
				t.Errorf("turn %d, %s: %s, want %s", turn, name, got, want)
			}
		}
	}
}

// startGuard starts an owner's server, and returns how it finds a key: good for 200, unknown for 503, or the answer.
func startGuard(t *testing.T, program string, settings []string) func(key string) string {
	t.Helper()
	port, err := tools.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", port)
	runs(t, program, append(settings, "LISTEN="+address))
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return func(key string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/invoices", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		switch res.StatusCode {
		case http.StatusOK:
			return "good"
		case http.StatusServiceUnavailable:
			return "unknown"
		}
		return fmt.Sprint(res.StatusCode, " ", string(body))
	}
}

// startAuthorizer starts the authorizer as Lambda does, and returns how it finds a key: good for Allow, unknown for the error that the
// gateway answers by 503, or the answer.
func startAuthorizer(t *testing.T, program string, settings []string) func(key string) string {
	t.Helper()
	events, answers := make(chan string), make(chan string)
	runtime := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			select {
			case event := <-events:
				_, _ = io.WriteString(w, event)
			case <-r.Context().Done():
			}
			return
		}
		body, _ := io.ReadAll(r.Body)
		answer := string(body)
		switch {
		case strings.HasSuffix(r.URL.Path, "/error") && strings.Contains(answer, "cannot tell who calls"):
			answer = "unknown"
		case strings.HasSuffix(r.URL.Path, "/response") && strings.Contains(answer, `"Effect":"Allow"`):
			answer = "good"
		}
		w.WriteHeader(http.StatusAccepted)
		answers <- answer
	}))
	t.Cleanup(runtime.Close)
	runs(t, program, append(settings, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(runtime.URL, "http://")))
	return func(key string) string {
		events <- `{"type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/v1/POST/app/get","resource":"/app/get","path":"/app/get",` +
			`"httpMethod":"POST","headers":{"Authorization":"Bearer ` + key + `"},"multiValueHeaders":{"Authorization":["Bearer ` + key + `"]},"requestContext":{}}`
		return <-answers
	}
}

// runs runs a program until the test ends.
func runs(t *testing.T, program string, settings []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = settings
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
}
