package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
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

	"github.com/golang-jwt/jwt/v5"

	"latchkey/infra/tools"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// For each state, the last commit whose code does not know the state.
const (
	beforeHeld    = "c11fb5b6bba2ee5f25a6487d3780fcc7c736338b" // attrHeld: while its org is suspended, the row of a key has the hash in it
	beforeStopped = "6a6f70c2eccca4e63214309d574287cfc8f46c27" // attrStoppedUser: while a person is stopped, an identity has the user in it
)

var billing = store.Actor{Service: "billing"}

// state is a state of the table, and the answer that an older release must give to a credential.
type state struct {
	name   string
	change func() error // changes the table to this state; may be nil
	want   string
}

// TestAnOlderReleaseRefusesAKeyOfASuspendedOrg checks two programs of an older release: an owner's server with package guard, and the
// authorizer. Both must answer 503 while the org is suspended, and must accept the key before and after.
func TestAnOlderReleaseRefusesAKeyOfASuspendedOrg(t *testing.T) {
	table, ctx := storetest.New(t), t.Context()
	org, err := table.CreateOrgAs(ctx, billing, store.NewOrg{Name: "Acme"}, store.Once[store.Org]{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := table.CreateKey(ctx, billing, org.Made.ID, store.NewKey{Prefix: "lk", Carried: store.Carried{Scopes: "invoices:read"}}, store.Once[store.MintedKey]{})
	if err != nil {
		t.Fatal(err)
	}
	suspend := func(suspended bool) (err error) {
		_, err = table.ChangeOrg(ctx, billing, org.Made.ID, store.OrgChange{Suspended: &suspended})
		return err
	}
	checkAnswers(t, table, call{commit: beforeHeld, guarded: "/invoices", route: "POST /app/get", credential: key.Made.Minted.Key.Reveal()}, []state{
		{"active", nil, "good"},
		{"suspended", func() error { return suspend(true) }, "unknown"}, {"resumed", func() error { return suspend(false) }, "good"},
	})
}

// TestAnOlderReleaseRefusesAStoppedPerson checks the same programs. They must answer 503 while the person is stopped. After a
// sign-out they still accept a token from before the sign-out, which this test allows.
func TestAnOlderReleaseRefusesAStoppedPerson(t *testing.T) {
	table, ctx := storetest.New(t), t.Context()
	ada := table.NewUser(t, "ada@example.com")
	org := table.NewOrg(t, ada)
	jwksURL, token := signedIn(t, "ada@example.com")
	checkAnswers(t, table, call{commit: beforeStopped, guarded: "/orgs/" + string(org) + "/invoices", route: "GET /v1/orgs", credential: token, jwksURL: jwksURL}, []state{
		{"active", nil, "good"},
		{"stopped", func() error { _, err := table.StopUser(ctx, billing, ada); return err }, "unknown"},
		{"resumed", func() error { _, err := table.ResumeUser(ctx, billing, ada); return err }, "good"},
		{"signed out", func() error { return table.SignOutUser(ctx, billing, ada) }, "good"},
	})
}

// signedIn returns the access token of a user of storetest.NewUser who signed in a minute ago. At jwksURL is the key for its signature.
func signedIn(t *testing.T, address string) (jwksURL, token string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Minute)
	made := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": "https://issuer.test", "aud": "latchkey", "sub": "sub-" + address, "iat": then.Unix(), "exp": then.Add(time.Hour).Unix(),
		"email": address, "email_verified": true,
	})
	made.Header["kid"], made.Header["typ"] = "1", "at+jwt"
	if token, err = made.SignedString(key); err != nil {
		t.Fatal(err)
	}
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"RSA","kid":"1","e":"AQAB","n":"%s"}]}`, base64.RawURLEncoding.EncodeToString(key.N.Bytes()))
	}))
	t.Cleanup(issuer.Close)
	return issuer.URL, token
}

// call is a call of an older release with a credential.
type call struct {
	commit     string
	guarded    string // a path of the owner's server
	route      string // a route of the API, which the authorizer protects: METHOD PATH
	credential string
	jwksURL    string // the issuer's keys; "": the credential is an API key
}

// checkAnswers builds an older release, and checks the answers of its guard and of its authorizer in each state in turn.
func checkAnswers(t *testing.T, table *storetest.Table, c call, states []state) {
	t.Helper()
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "older")
	git(t, root, "clone", "-q", "--no-checkout", ".", older)
	git(t, older, "checkout", "-q", needCommit(t, root, c.commit))
	built := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", older+"/", "./infra/examples/consumer/server", "./functions/authorizer")
	built.Dir = older
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	endpoint := *table.DB.Options().BaseEndpoint
	settings := append(os.Environ(), "TABLE="+table.Name, "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"ISSUER=https://issuer.test", "AUDIENCE=latchkey", "JWKS_URL="+c.jwksURL)
	programs := map[string]func() string{
		"guard":      startGuard(t, filepath.Join(older, "server"), settings, c),
		"authorizer": startAuthorizer(t, filepath.Join(older, "authorizer"), settings, c),
	}
	for _, s := range states {
		if s.change != nil {
			if err := s.change(); err != nil {
				t.Fatal(err)
			}
		}
		for name, send := range programs {
			if got := send(); got != s.want {
				t.Errorf("%s, %s: %s, want %s", s.name, name, got, s.want)
			}
		}
	}
}

// startGuard starts an owner's server. It returns a function that sends the call: its result is good for 200, unknown for 503, or
// the whole answer.
func startGuard(t *testing.T, program string, settings []string, c call) func() string {
	t.Helper()
	port, err := tools.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", port)
	startProgram(t, program, append(settings, "LISTEN="+address))
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+c.guarded, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.credential)
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

// startAuthorizer starts the authorizer as Lambda does. It returns a function that sends the call: its result is good for Allow,
// unknown for the error to which the gateway answers 503, or the whole answer.
func startAuthorizer(t *testing.T, program string, settings []string, c call) func() string {
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
	startProgram(t, program, append(settings, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(runtime.URL, "http://")))
	method, path, _ := strings.Cut(c.route, " ")
	return func() string {
		events <- fmt.Sprintf(`{"type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/v1/%[1]s%[2]s","resource":"%[2]s","path":"%[2]s",`+
			`"httpMethod":"%[1]s","headers":{"Authorization":"Bearer %[3]s"},"multiValueHeaders":{"Authorization":["Bearer %[3]s"]},"requestContext":{}}`, method, path, c.credential)
		return <-answers
	}
}

// startProgram runs a program until the test ends.
func startProgram(t *testing.T, program string, settings []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = settings
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
}
