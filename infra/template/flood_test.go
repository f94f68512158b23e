package template_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/infra"
	"latchkey/infra/tools"
	"latchkey/pkg/api"
	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/console"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// maxSent limits the bytes that a public route may send in a second. Above it, the traffic out of AWS costs more than the requests.
// Compression does not count: a client that sends no Accept-Encoding gets uncompressed answers.
const maxSent = 4_000_000

// TestNoPublicRouteSendsMoreThanFourMegabytesASecond measures the largest answer of each public route, with its header lines.
func TestNoPublicRouteSendsMoreThanFourMegabytesASecond(t *testing.T) {
	rates := ratesOf(t)
	s := newOpenServer(t)
	for _, r := range route.All() {
		if r.Takes != principal.Public {
			continue
		}
		rate, ok := rates[r.Method+" /"+strings.ReplaceAll(r.Pattern, "/", "~1")]
		if !ok {
			t.Errorf("%s has no throttle", r.Name())
		}
		for _, path := range s.paths(r.Pattern) {
			size := max(s.size(t, r.Method, path, s.bodies[path]), s.refusal(t, r.Method, path))
			if sent := float64(size) * rate; sent > maxSent {
				t.Errorf("%s %s: %d bytes, %v a second: %.1f MB a second", r.Method, path, size, rate, sent/1e6)
			}
		}
	}
}

// ratesOf returns the requests a second of each throttle, with the defaults of the parameters.
func ratesOf(t *testing.T) map[string]float64 {
	t.Helper()
	tpl, rates := template(t), map[string]float64{}
	for _, stage := range tpl.Named("AWS::ApiGateway::Stage") {
		for _, v := range list(tpl.Resources[stage].Properties["MethodSettings"]) {
			s := object(v)
			rate, err := strconv.ParseFloat(fmt.Sprint(s["ThrottlingRateLimit"]), 64)
			if err != nil {
				t.Fatal(err)
			}
			rates[fmt.Sprint(s["HttpMethod"], " ", s["ResourcePath"])] = rate
		}
	}
	return rates
}

// openServer serves the public routes as their functions do, with the files that are deployed.
type openServer struct {
	mux    *http.ServeMux
	files  []string
	kid    string
	bodies map[string]string // of POST, by path
}

func newOpenServer(t *testing.T) *openServer {
	t.Helper()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	dist := filepath.Join(root, "functions/console/dist")
	pages, err := console.New(os.DirFS(dist), console.Settings{Issuer: "https://issuer.example", ClientID: "console", Scope: "openid"}, func(context.Context) (jwks.Document, error) {
		return jwks.Document{Authorization: "https://issuer.example/authorize", Token: "https://issuer.example/token"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table := storetest.New(t)
	token, kid := makeLink(t, table), makeSigningKeys(t, table)
	// The largest catalogue: 64 KB with the 65 other characters of this JSON.
	if err := table.PutCatalogue(t.Context(), `{"scopes":[],"events":[{"type":"a.b","description":"c","schema":{"d":"`+strings.Repeat("e", 64<<10-65)+`"}}]}`); err != nil {
		t.Fatal(err)
	}
	s := &openServer{mux: http.NewServeMux(), kid: kid, bodies: map[string]string{
		"/key/revoke":                   `{"key":"sk_unknown","source":"https://example.com/` + strings.Repeat("s", 480) + `"}`,
		"/key/leaks/github":             `[{"token":"` + token + `","type":"a","url":"","source":"content"}]`,
		"/link/claim":                   `{"token":"` + token + `","claimKey":"` + strings.Repeat("k", 43) + `"}`,
		"/webhook_verification_key/get": `{"kid":"` + kid + `"}`,
	}}
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := pages.File(e.Name()); ok {
			s.files = append(s.files, e.Name())
		}
	}
	functions := map[string]http.Handler{
		"console": api.Console(pages), "webhookkeys": api.WebhookKeys(table.Store, infra.OpenAPI, []string{"https://console.example"}), "links": api.Links(table.Store, nil, nil),
		"keys":  api.Keys(table.Store, "lk", true, 0, nil, nil, 0),
		"leaks": api.Leaks(table.Store, "tell", func(context.Context, string, string, []byte) (bool, error) { return true, nil }, true),
	}
	for _, r := range route.All() {
		if r.Takes == principal.Public {
			s.mux.HandleFunc(strings.Replace(r.Name(), "+}", "...}", 1), func(w http.ResponseWriter, req *http.Request) {
				req.Pattern = r.Name()
				functions[r.Function].ServeHTTP(w, req)
			})
		}
	}
	return s
}

// makeLink returns the token of a link. The name of its app has the maximum length.
func makeLink(t *testing.T, table *storetest.Table) string {
	t.Helper()
	ada := table.NewUser(t, "ada@acme.test")
	o := table.NewOrg(t, ada)
	made, err := table.CreateApp(t.Context(), store.Actor{User: ada, May: []org.Role{org.Admin}}, o, store.NewApp{Name: strings.Repeat("😀", 100)}, store.Once[store.App]{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := table.CreateLink(t.Context(), store.NewLink{OrgID: o, AppID: made.Made.ID, ClientUserID: "u", ExpiresIn: time.Hour}, store.Once[store.MintedLink]{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Made.Token.Text.Reveal()
}

// makeSigningKeys writes the most signing keys that the key set can list: RotationDays is 1, and retired keys are listed for 30 days. It
// returns the kid of a retired key.
func makeSigningKeys(t *testing.T, table *storetest.Table) (kid string) {
	t.Helper()
	for range 33 {
		key, errKey := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		der, errDER := x509.MarshalPKIXPublicKey(&key.PublicKey)
		jwk, errJWK := webhook.ParsePublicKey(der)
		was, errRead := table.SigningKeys(t.Context())
		lease, errLease := table.LeaseSigningKeys(t.Context(), time.Minute)
		errActive := table.ActivateSigningKey(t.Context(), lease, was, jwk, "arn")
		for _, err := range []error{errKey, errDER, errJWK, errRead, errLease, errActive, table.ReleaseSigningKeys(t.Context(), lease)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		kid = was.ActiveKid
	}
	return kid
}

// paths returns paths that match a pattern, one for each different answer.
func (s *openServer) paths(pattern string) (out []string) {
	if before, ok := strings.CutSuffix(pattern, "{file}"); ok {
		for _, name := range s.files {
			out = append(out, before+name)
		}
		return out
	}
	return []string{strings.NewReplacer("{kid}", s.kid, "{proxy+}", "orgs/o", "{", "", "}", "").Replace(pattern)}
}

// refusal returns the size of the answer that names an unknown member. The member's name is as long as a body allows.
func (s *openServer) refusal(t *testing.T, method, path string) int {
	t.Helper()
	if method != http.MethodPost {
		return 0
	}
	return s.size(t, method, path, `{"`+strings.Repeat("<", route.DefaultMaxBody-10)+`":1}`)
}

// size returns the bytes of an answer, with its header. For HEAD it counts the body that the function returns.
func (s *openServer) size(t *testing.T, method, path, body string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "https://api.example"+path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodOptions {
		r.Header.Set("Origin", "https://console.example")
		r.Header.Set("Access-Control-Request-Method", "GET")
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	if isRefused := body != "" && body != s.bodies[path]; isRefused != (w.Code >= http.StatusMultipleChoices) {
		t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	size := w.Body.Len()
	for name, values := range w.Header() {
		size += len(name) + len(": \r\n") + len(strings.Join(values, ", "))
	}
	return size
}
