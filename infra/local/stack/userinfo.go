package stack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// userinfoHandler returns a userinfo endpoint for the issuer at issuerURL. It verifies the token by
// the issuer's keys, and answers with the subject, and with email and name for a Userinfo token. The
// issuer's own endpoint does not take an at+jwt, and only repeats the token's claims.
func userinfoHandler(issuerURL string) http.Handler {
	client := &http.Client{Timeout: tokenTimeout}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		claims := jwt.MapClaims{}
		keys := func(t *jwt.Token) (any, error) { return issuerPublicKey(client, issuerURL, t.Header["kid"]) }
		_, err := jwt.ParseWithClaims(bearer, claims, keys, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer(issuerURL))
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(profile(claims))
	})
}

func profile(claims jwt.MapClaims) map[string]any {
	out := map[string]any{"sub": claims["sub"]}
	if email, ok := claims[hiddenEmail]; ok {
		out["email"], out["email_verified"], out["name"] = email, true, claims[hiddenName]
	}
	return out
}

func issuerPublicKey(client *http.Client, issuerURL string, kid any) (*ecdsa.PublicKey, error) {
	res, err := client.Get(issuerURL + "/jwks")
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var set struct{ Keys []struct{ Kid, X, Y string } }
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil {
		return nil, fmt.Errorf("the issuer's keys: %w", err)
	}
	for _, k := range set.Keys {
		if k.Kid != kid {
			continue
		}
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		if err := errors.Join(errX, errY); err != nil {
			return nil, err
		}
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	}
	return nil, fmt.Errorf("the issuer has no key %v", kid)
}
