package accesstoken_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
)

// FuzzVerify: no text makes the verifier panic, and none is accepted that the issuer's key has
// not signed in this form.
func FuzzVerify(f *testing.F) {
	// A fixed key, because each worker process makes the seeds again.
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte("a key that is for this test only"))
	if err != nil {
		f.Fatal(err)
	}
	set, err := json.Marshal(object{"keys": []any{ecJWK("ec", key)}})
	if err != nil {
		f.Fatal(err)
	}
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return answer(http.StatusOK, string(set)), nil
	})}
	cfg := accesstoken.Config{Issuer: "https://issuer.example", JWKSURL: "https://issuer.example/jwks", Audience: audience}
	v := accesstoken.New(cfg, client, newClock().now)

	const header = `{"alg":"ES256","kid":"ec","typ":"at+jwt"}`
	const payload = `{"iss":"https://issuer.example","aud":"` + audience + `","sub":"alice","exp":1900000000}`
	good := signed(f, header, payload, jwt.SigningMethodES256, key)
	signedPart := good[:strings.LastIndex(good, ".")] // header and payload
	for _, seed := range []string{
		good, "", "..", signedPart + ".", good + "=", good + "\n", " " + good,
		b64(`{"alg":"none","kid":"ec"}`) + "." + b64(payload) + ".",
		signed(f, `{"alg":"HS256","kid":"ec"}`, payload, jwt.SigningMethodHS256, []byte("x")),
		signed(f, header, `{"sub":"a","sub":"b"}`, jwt.SigningMethodES256, key),
		b64(header) + "." + b64(strings.Repeat("[", 100)) + ".AAAA",
		b64(header) + "." + b64(payload) + "." + strings.Repeat("A", 86),
	} {
		f.Add(seed)
	}
	if _, err := v.Verify(f.Context(), good); err != nil {
		f.Fatalf("the good seed is refused: %v", err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		_, err := v.Verify(t.Context(), raw)
		// An ECDSA signature has a second valid form, so only the signed part is compared with
		// the good token.
		if at := strings.LastIndex(raw, "."); err == nil && raw[:at] != signedPart {
			t.Errorf("accepted without a signature: %q", raw)
		}
	})
}
