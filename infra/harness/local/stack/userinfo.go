package stack

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/authn/accesstoken"
)

// userinfoHandler returns a userinfo endpoint for the issuer at issuerURL. It verifies the token like Latchkey's authorizer.
// Its answer has the subject, and for a Userinfo token also email and name. The endpoint of the issuer itself cannot be used:
// it refuses tokens of the type at+jwt, and only repeats the token's claims.
func userinfoHandler(issuerURL string) http.Handler {
	tokens := accesstoken.New(accesstoken.Config{
		Issuer: issuerURL, JWKSURL: issuerURL + "/jwks", Audience: Audience, EmailClaim: hiddenEmail, NameClaim: hiddenName,
	}, &http.Client{Timeout: tokenTimeout}, time.Now)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		claims, err := tokens.Verify(r.Context(), bearer)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		profile := map[string]any{"sub": claims.Subject}
		if claims.Email != "" {
			profile["email"], profile["email_verified"], profile["name"] = claims.Email, true, claims.Name
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(profile)
	})
}
