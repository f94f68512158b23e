package stack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/backing"
)

// startIssuer returns the URL of an issuer.
func startIssuer(t *testing.T) string {
	t.Helper()
	i, err := backing.StartIssuer(context.Background(), backing.IssuerOptions{ID: StackName, Kinds: kinds()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop() })
	return IssuerURL(i.Port)
}

func decode(t *testing.T, token string) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	for i, into := range []*map[string]any{&header, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatalf("token %q: %v", token, err)
		}
	}
	return header, claims
}

func TestIssuerGivesEveryKindOfToken(t *testing.T) {
	issuer := startIssuer(t)
	cases := []struct {
		kind    Kind
		typ     string
		present map[string]any
		absent  []string
	}{
		{User, "at+jwt", map[string]any{"sub": "s1", "email": "a@example.com", "email_verified": true, "name": "Ann"}, []string{"token_use"}},
		{Unverified, "at+jwt", map[string]any{"sub": "s1", "email": "a@example.com", "email_verified": false}, nil},
		{Service, "at+jwt", map[string]any{"sub": "s1"}, []string{"email", "email_verified", "name"}},
		{IDToken, "JWT", map[string]any{"token_use": "id", "email": "a@example.com"}, nil},
		{Userinfo, "at+jwt", map[string]any{"sub": "s1"}, []string{"email", "email_verified", "name"}},
	}
	for _, c := range cases {
		token, err := IssueToken(context.Background(), issuer, c.kind, "s1", "a@example.com", "Ann")
		if err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		header, claims := decode(t, token)
		if header["typ"] != c.typ || header["alg"] != "ES256" || claims["iss"] != issuer {
			t.Errorf("%s: header %v, iss %v", c.kind, header, claims["iss"])
		}
		if aud := claims["aud"]; aud != Audience && !slices.Equal(strs(aud), []string{Audience}) {
			t.Errorf("%s: aud %v", c.kind, aud)
		}
		for name, want := range c.present {
			if claims[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.kind, name, claims[name], want)
			}
		}
		for _, name := range c.absent {
			if v, ok := claims[name]; ok {
				t.Errorf("%s: has %s %v", c.kind, name, v)
			}
		}
	}
}

func strs(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

func TestUserinfoSaysWhatTheTokenHides(t *testing.T) {
	issuer := startIssuer(t)
	h := userinfoHandler(issuer)
	ask := func(bearer string) (int, map[string]any) {
		r := httptest.NewRequest(http.MethodGet, "/userinfo", nil)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var body map[string]any
		_ = json.Unmarshal(w.Body.Bytes(), &body)
		return w.Code, body
	}
	token, err := IssueToken(context.Background(), issuer, Userinfo, "s1", "a@example.com", "Ann")
	if err != nil {
		t.Fatal(err)
	}
	if status, body := ask(token); status != 200 || body["sub"] != "s1" || body["email"] != "a@example.com" || body["email_verified"] != true || body["name"] != "Ann" {
		t.Errorf("%d %v", status, body)
	}
	if status, body := ask(token[:len(token)-4] + "AAAA"); status != http.StatusUnauthorized {
		t.Errorf("a forged token: %d %v", status, body)
	}
}
