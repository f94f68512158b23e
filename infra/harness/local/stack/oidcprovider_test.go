package stack_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// oidcProvider is a running oidc-provider, a widely used issuer from npm. testdata/oidcprovider configures it.
type oidcProvider struct{ issuer string }

const providersAudience = "https://api.example.com" // the aud of its access tokens

func startOIDCProvider(t *testing.T) *oidcProvider {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata/oidcprovider", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	modules, err := tools.NodeModules(t.Context(), "oidc-provider", read("package.json"), read("package-lock.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "issuer.mjs"), []byte(read("issuer.mjs")), 0o600),
		os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "issuer.mjs"))
	cmd.Env = append(os.Environ(), "AUDIENCE="+providersAudience)
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // t.Context ends the process
	lines := bufio.NewScanner(out)       // the program prints its URL once it listens
	if !lines.Scan() {
		t.Fatal("oidc-provider did not start")
	}
	return &oidcProvider{issuer: lines.Text()}
}

// setKeys sets the keys that the provider publishes. kids has their kids, separated by commas. A kid that was used before keeps
// its key. The first key signs from now on.
func (p *oidcProvider) setKeys(t *testing.T, kids string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPut, p.issuer+"/keys", strings.NewReader(kids))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := do(t, http.DefaultClient, req); status != http.StatusNoContent {
		t.Fatalf("keys %s: %d", kids, status)
	}
}

var (
	formAction = regexp.MustCompile(`action="([^"]+)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]+)"`)
)

// signIn signs a user in like a browser, by the authorization code flow with PKCE, and returns the tokens.
func (p *oidcProvider) signIn(t *testing.T, user string) (access, idToken string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var code string
	browser := &http.Client{Jar: jar, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if code = req.URL.Query().Get("code"); code != "" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	client := url.Values{"client_id": {"console"}, "redirect_uri": {p.issuer + "/callback"}, "resource": {providersAudience}}
	request := url.Values{
		"response_type": {"code"}, "scope": {"openid email api"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}
	next, body := p.issuer+"/auth?"+client.Encode()+"&"+request.Encode(), ""
	for range 3 { // get the login page, send the login, send the consent; then the provider redirects with a code
		form := url.Values{}
		if prompt := formPrompt.FindStringSubmatch(body); prompt != nil {
			form = url.Values{"prompt": {prompt[1]}, "login": {user}, "password": {"any"}}
		}
		body = p.post(t, browser, next, form)
		if code != "" {
			break
		}
		action := formAction.FindStringSubmatch(body)
		if action == nil {
			t.Fatalf("oidc-provider shows no form: %s", body)
		}
		if next = action[1]; strings.HasPrefix(next, "/") {
			next = p.issuer + next
		}
	}
	exchange := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}}
	for name, value := range client {
		exchange[name] = value
	}
	return p.tokens(t, exchange)
}

// serviceToken returns an access token of the client billing, which has no person.
func (p *oidcProvider) serviceToken(t *testing.T) string {
	t.Helper()
	access, _ := p.tokens(t, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"billing"}, "client_secret": {"secret"}, "scope": {"api"}, "resource": {providersAudience},
	})
	return access
}

// tokens returns the provider's tokens for a grant. idToken is "" if the provider gives none.
func (p *oidcProvider) tokens(t *testing.T, grant url.Values) (access, idToken string) {
	t.Helper()
	var tokens struct {
		Access string `json:"access_token"`
		ID     string `json:"id_token"`
	}
	answer := p.post(t, http.DefaultClient, p.issuer+"/token", grant)
	if err := json.Unmarshal([]byte(answer), &tokens); err != nil || tokens.Access == "" {
		t.Fatalf("no tokens: %s, %v", answer, err)
	}
	return tokens.Access, tokens.ID
}

// post sends a form. If the form is empty, it gets the page.
func (p *oidcProvider) post(t *testing.T, browser *http.Client, address string, form url.Values) string {
	t.Helper()
	method := http.MethodPost
	if len(form) == 0 {
		method = http.MethodGet
	}
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, body := do(t, browser, req)
	return body
}

// forgedToken returns a token for a subject of an issuer, signed with a key that the issuer never had.
func forgedToken(t *testing.T, issuer, subject string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": issuer, "aud": providersAudience, "sub": subject, "iat": now, "exp": now + 600})
	token.Header["kid"], token.Header["typ"] = rand.Text(), "at+jwt"
	signed, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// checkKeysDoNotWait lets 16 callers send a forged token of an issuer that hangs, so that each waits for a second. At the same
// time it checks an API key many times: all checks must succeed, and only few may be slow.
func checkKeysDoNotWait(t *testing.T, call func(method, path, token, body string) (int, string), key, forged string) {
	t.Helper()
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			if status, body := call("GET", "/v1/orgs", forged, ""); status != 503 {
				t.Errorf("a forged token of an issuer that hangs: %d %s", status, body)
			}
		})
	}
	var waiting atomic.Bool
	waiting.Store(true)
	go func() { callers.Wait(); waiting.Store(false) }()
	checks, slow := 0, 0
	for ; waiting.Load(); checks++ {
		begun := time.Now()
		if status, body := call("POST", "/app/get", key, ""); status != 200 {
			t.Errorf("an API key at the same time: %d %s", status, body)
		}
		if time.Since(begun) > 900*time.Millisecond {
			slow++
		}
	}
	if checks < 10 || slow > checks/10 {
		t.Errorf("%d of %d checks of a key were slow", slow, checks)
	}
}

// TestOIDCProvidersTokensStayGoodWhenKeysChange permits a 503 while the stack does not know a new key yet, but no 401.
func TestOIDCProvidersTokensStayGoodWhenKeysChange(t *testing.T) {
	t.Parallel()
	p := startOIDCProvider(t)
	hung, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hung.Close() }()
	hungURL := "http://" + hung.Addr().String()
	s := start(t, stack.Options{Parameters: map[string]string{
		"Issuer": p.issuer, "Audience": providersAudience, "Services": "billing=" + p.issuer + "#billing,deploy=" + hungURL + "#role",
	}})
	if _, err := os.Stat(filepath.Join(s.LogDir, "issuer.log")); !os.IsNotExist(err) || s.OwnIssuer || s.Issuer != p.issuer {
		t.Errorf("the stack's issuer is %s, and it has started its own: %v", s.Issuer, err)
	}
	if _, err := s.Token(t.Context(), stack.User, "", "ada@example.com", "Ada"); err == nil || !strings.Contains(err.Error(), p.issuer) {
		t.Errorf("a token of the stack: %v", err)
	}
	call := func(method, path, token, body string) (int, string) {
		req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		return do(t, http.DefaultClient, req)
	}
	orgs := func(method, token, body string) (int, string) { return call(method, "/v1/orgs", token, body) }
	access, idToken := p.signIn(t, "ada")
	if status, body := orgs("POST", access, `{"name":"Acme"}`); status != 201 {
		t.Fatalf("the first token: %d %s", status, body)
	}
	if status, body := orgs("GET", idToken, ""); idToken == "" || status != 401 {
		t.Errorf("an ID token: %d %s", status, body)
	}
	service := p.serviceToken(t)
	var made struct{ ID, Key string }
	if status, body := orgs("POST", service, `{"name":"Customer","externalId":"cus_1"}`); status != 201 || json.Unmarshal([]byte(body), &made) != nil {
		t.Fatalf("a service: %d %s", status, body)
	}
	if status, body := call("POST", "/v1/orgs/"+made.ID+"/keys", service, `{}`); status != 201 || json.Unmarshal([]byte(body), &made) != nil {
		t.Fatalf("a service's key: %d %s", status, body)
	}
	checkKeysDoNotWait(t, call, made.Key, forgedToken(t, hungURL, "role"))
	alias, _ := p.signIn(t, "billing")
	if status, body := orgs("GET", alias, ""); status != 401 || !strings.Contains(body, "person") {
		t.Errorf("a user with the subject of a service: %d %s", status, body)
	}
	awaitGoodToken := func(what string) { // waits until a new token is accepted; 503 is permitted until then
		token, _ := p.signIn(t, "ada")
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(250 * time.Millisecond) {
			status, body := orgs("GET", token, "")
			switch {
			case status == 200 && strings.Contains(body, "Acme"):
				return
			case status != 503 || time.Now().After(deadline):
				t.Fatalf("%s: %d %s", what, status, body)
			}
		}
	}
	p.setKeys(t, "one,two")
	if status, body := orgs("GET", forgedToken(t, p.issuer, "eve"), ""); status != 401 { // this makes the authorizer fetch the keys again
		t.Errorf("a forged token: %d %s", status, body)
	}
	p.setKeys(t, "two,one")
	awaitGoodToken("a key that was published before its use")
	for range 20 { // the first one makes the authorizer fetch the keys; then it fetches none for ten seconds
		if status, body := orgs("GET", forgedToken(t, p.issuer, "eve"), ""); status != 401 && status != 503 {
			t.Fatalf("a forged token: %d %s", status, body)
		}
	}
	p.setKeys(t, "three")
	awaitGoodToken("a new key that was not published before, after forged tokens")
}
