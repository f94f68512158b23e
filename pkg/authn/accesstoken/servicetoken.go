package accesstoken

import (
	"slices"
	"strings"
)

// isService reports whether a token with the subject of a service really belongs to the service: it has a mark of its issuer, or only
// claims that any token may have. It must not have a claim that only a person's tokens have.
func (r *rules) isService(p map[string]any) bool {
	marks := marksOf(p)
	if r.showsPerson(p, marks) {
		return false
	}
	return marks.any() || hasOnlyNeutral(p)
}

// marks are the ways in which issuers mark a token of a client without a person.
type marks struct {
	client   bool // sub is the client (RFC 9068, section 2.2): Okta, Cognito, oidc-provider; with @clients at the end: Auth0
	cognito  bool // client is true, for a token of Cognito; such tokens have an auth_time
	keycloak bool // preferred_username is the user of a client's service account
	entra    bool // idtyp is app, or oid equals sub, which differ for a person
	auth0    bool // gty is client-credentials
}

func (m marks) any() bool { return m.client || m.keycloak || m.entra || m.auth0 }

// marksOf returns the marks of a token.
func marksOf(p map[string]any) (m marks) {
	sub, username := textOf(p, "sub"), textOf(p, "preferred_username")
	for _, name := range clientClaims {
		client := textOf(p, name)
		if client == "" {
			continue
		}
		m.client = m.client || sub == client || sub == client+"@clients"
		m.keycloak = m.keycloak || strings.EqualFold(username, keycloakUser+client)
	}
	m.keycloak = m.keycloak || username == "" && hasAny(p, "clientHost") && hasAny(p, "clientAddress")
	m.cognito = m.client && p["token_use"] == "access"
	isApp := sub != "" && textOf(p, "oid") == sub && !hasAny(p, "scp")
	m.entra = isApp || p["idtyp"] == "app"
	m.auth0 = p["gty"] == "client-credentials"
	return m
}

// keycloakUser is the beginning of the name of the user that Keycloak makes for a client.
const keycloakUser = "service-account-"

// personClaims are claims that no issuer puts into a client's token.
var personClaims = []string{"email", "nonce", "sid", "amr", "name", "given_name", "family_name", "phone_number", "username", "upn", "unique_name", "uid"}

// showsPerson reports whether a token has a claim, in any letter case, that only a person's tokens have, or a claim
// of another kind of token.
func (r *rules) showsPerson(p map[string]any, m marks) bool {
	for name, value := range p {
		isName := func(claim string) bool { return strings.EqualFold(claim, name) }
		isOther := isName("idtyp") && value != "app" || isName("gty") && value != "client-credentials" ||
			isName("preferred_username") && !m.keycloak || isName("auth_time") && !m.cognito
		if isOther || isName(r.cfg.EmailClaim) || isName(r.cfg.NameClaim) || slices.ContainsFunc(personClaims, isName) {
			return true
		}
	}
	return !m.keycloak && (hasScopeIn(p, "openid") || hasScopeIn(p, "offline_access")) // Keycloak gives these scopes to a client that requests them
}

// neutralClaims are claims that tokens of any kind may have.
var neutralClaims = []string{
	"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "scope", "scp", "client_id", "azp", "cid", "appid", "typ", "token_use", "ver", "version", "permissions", "roles",
}

// hasOnlyNeutral reports whether a token has only neutral claims.
func hasOnlyNeutral(p map[string]any) bool {
	for name := range p {
		if !slices.Contains(neutralClaims, name) {
			return false
		}
	}
	return true
}

// textOf returns a claim that is a text, or "" for any other value.
func textOf(p map[string]any, name string) string {
	text, _ := p[name].(string)
	return text
}
