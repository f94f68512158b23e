package stack

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/authn/accesstoken"
)

// userinfoHandler returns a userinfo endpoint for the issuer at issuerURL. It verifies the token as
// the product does, and answers with the subject, and with email and name for a Userinfo token. The
// issuer's own endpoint does not take an at+jwt, and only repeats the token's claims.
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
