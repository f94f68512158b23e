package stack_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/infra/local/stack"
	"latchkey/infra/tools"
)

// tenant is an issuer that is not the stack's. It has only what the product reads: discovery and keys.
type tenant struct {
	*httptest.Server
	key   *ecdsa.PrivateKey
	asked atomic.Int64
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	one := &tenant{key: key}
	one.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/keys" {
			_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"one","alg":"ES256","use":"sig","x":%q,"y":%q}]}`, b64(point[1:33]), b64(point[33:]))
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, one.URL, one.URL+"/keys")
	}))
	t.Cleanup(one.Close)
	return one
}

func (one *tenant) token(t *testing.T, audience string) string {
	t.Helper()
	now := time.Now().Unix()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": one.URL, "aud": audience, "sub": "ada", "iat": now, "exp": now + 600, "email": "ada@example.com", "email_verified": true,
	})
	token.Header["kid"], token.Header["typ"] = "one", "at+jwt"
	signed, err := token.SignedString(one.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// TestAStackOfATenantAsksNoIssuerOfItsOwn runs the product with tokens of another issuer. The
// product gets the issuer's keys with the first token, not before.
func TestAStackOfATenantAsksNoIssuerOfItsOwn(t *testing.T) {
	t.Parallel()
	const audience = "https://api.tenant.example"
	one := newTenant(t)
	given, err := tools.ParseParameters(" Issuer=" + one.URL + "  Audience=" + audience + " TryTimeout=4000")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, stack.Options{Parameters: given})
	if n := one.asked.Load(); n != 0 {
		t.Errorf("the start asked the tenant %d times", n)
	}
	if s.OwnIssuer() || s.Issuer != one.URL {
		t.Errorf("its issuer is %s", s.Issuer)
	}
	for what, c := range map[string]struct {
		bearer string
		status int
	}{
		"the tenant's token": {one.token(t, audience), 200}, "a token for another API": {one.token(t, stack.Audience), 401}, "none": {"", 401},
	} {
		if status, body := get(t, s.URL+"/v1/orgs", "Bearer "+c.bearer); status != c.status {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	if _, err := s.Token(t.Context(), stack.User, "", "ada@example.com", "Ada"); err == nil || !strings.Contains(err.Error(), one.URL) {
		t.Errorf("a token of the stack: %v", err)
	}
	if status, _ := get(t, s.Control+"/userinfo", ""); status != 404 {
		t.Errorf("userinfo of the stack: %d", status)
	}
	if _, err := os.Stat(filepath.Join(s.LogDir, "issuer.log")); !os.IsNotExist(err) {
		t.Errorf("an issuer was started: %v", err)
	}
}

func TestParametersAreNamesWithValues(t *testing.T) {
	got, err := tools.ParseParameters(" Issuer=https://t.example/?a=b\tAudience= \n")
	if err != nil || !maps.Equal(got, map[string]string{"Issuer": "https://t.example/?a=b", "Audience": ""}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"Issuer", "=x", "Issuer=a Issuer=b", "Issuer=https://t.example, Audience"} {
		if got, err := tools.ParseParameters(wrong); err == nil {
			t.Errorf("%q: %v", wrong, got)
		}
	}
	if got, err := tools.ParseParameters(" "); err != nil || len(got) != 0 {
		t.Errorf("none: %v, %v", got, err)
	}
}
