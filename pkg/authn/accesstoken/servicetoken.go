package accesstoken

import (
	"slices"
	"strings"
)

// isService reports whether a token with the subject of a service is the service's own: it has a mark of its issuer, or only
// claims that any token may have. It must not have a claim that only a person's tokens have.
func (r *rules) isService(p map[string]any) bool {
	marks := marksOf(p)
	if r.showsPerson(p, marks) {
		return false
	}
	return marks.any() || hasOnlyPlain(p)
}

// marks are the forms in which issuers mark a token as a client's own, without a person.
type marks struct {
	client   bool // sub is the client, as RFC 9068 (section 2.2) has it: Okta, Cognito, oidc-provider; with @clients, Auth0
	cognito  bool // the same of Cognito, whose tokens have an auth_time
	keycloak bool // the user of a client's service account
	entra    bool // idtyp is app, or oid and sub are one, which differ for a person
	auth0    bool // gty is client-credentials
}

func (m marks) any() bool { return m.client || m.keycloak || m.entra || m.auth0 }

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

// keycloakUser begins the name of the user that Keycloak makes for a client.
const keycloakUser = "service-account-"

// ofPersons are claims that no issuer gives a client of its own.
var ofPersons = []string{"email", "nonce", "sid", "amr", "name", "given_name", "family_name", "phone_number", "username", "upn", "unique_name", "uid"}

// showsPerson reports whether a token has a claim, in any case of its letters, that only a person's tokens have, or a claim
// that names another kind of token.
func (r *rules) showsPerson(p map[string]any, m marks) bool {
	for name, value := range p {
		isName := func(claim string) bool { return strings.EqualFold(claim, name) }
		isOther := isName("idtyp") && value != "app" || isName("gty") && value != "client-credentials" ||
			isName("preferred_username") && !m.keycloak || isName("auth_time") && !m.cognito
		if isOther || isName(r.cfg.EmailClaim) || isName(r.cfg.NameClaim) || slices.ContainsFunc(ofPersons, isName) {
			return true
		}
	}
	return !m.keycloak && (hasScopeIn(p, "openid") || hasScopeIn(p, "offline_access")) // Keycloak gives them to clients that request them
}

// plain are claims that tokens of any kind may have.
var plain = []string{
	"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "scope", "scp", "client_id", "azp", "cid", "appid", "typ", "token_use", "ver", "version", "permissions", "roles",
}

// hasOnlyPlain reports whether a token has no claim but plain ones.
func hasOnlyPlain(p map[string]any) bool {
	for name := range p {
		if !slices.Contains(plain, name) {
			return false
		}
	}
	return true
}

// textOf returns a claim that is a text, "" for every other one.
func textOf(p map[string]any, name string) string {
	text, _ := p[name].(string)
	return text
}
