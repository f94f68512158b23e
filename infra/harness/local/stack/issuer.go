package stack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"latchkey/infra/harness/lab/backing"
	"latchkey/pkg/fetch"
)

// Audience is the aud of the local issuer's tokens.
const Audience = "https://api.latchkey.test"

// ConsoleClient is the console's client at the local issuer.
const ConsoleClient = "latchkey-console"

// serviceClients has the subject of each service, by the id of the service's client.
var serviceClients = map[string]string{"billing": "service", "support": "support"}

// IssuerURL returns the URL of the stack's issuer on a port. The issuer's tokens have this URL as iss.
func IssuerURL(port int) string { return backing.IssuerURL(port, StackName) }

// Kind is a kind of token that the local issuer makes.
type Kind string

// The kinds of token.
const (
	// User is an access token (RFC 9068) of a person with a verified email.
	User Kind = "user"
	// Unverified is a token of a person whose email is not verified.
	Unverified Kind = "unverified"
	// Service is a token of a service, without an email.
	Service Kind = "service"
	// IDToken is an ID token with the claims of User.
	IDToken Kind = "idtoken"
	// Userinfo is a token without email and name. Only the userinfo endpoint returns these (userinfoHandler).
	Userinfo Kind = "userinfo"
	// OtherAudience is a User's token for another API.
	OtherAudience Kind = "otheraudience"
)

// Claims of a Userinfo token. The userinfo endpoint returns them as email and name; Latchkey does not read them.
const (
	hiddenEmail = "userinfo_email"
	hiddenName  = "userinfo_name"
)

// kinds returns the types and claims of the local issuer's tokens. ${name} is a parameter of the request for a token. The parameter
// kind selects the kind. A request without it comes from an ordinary OAuth client: a sign-in by any client, or a service's client.
func kinds() []backing.TokenKind {
	tokenKind := func(kind Kind, typ string, claims map[string]any) backing.TokenKind {
		all := map[string]any{"sub": "${sub}", "aud": []string{Audience}, "client_id": "${client_id}"}
		maps.Copy(all, claims)
		return backing.TokenKind{Name: string(kind), Type: typ, Claims: all}
	}
	person := func(verified bool) map[string]any {
		return map[string]any{"email": "${email}", "email_verified": verified, "name": "${name}"}
	}
	idToken := person(true)
	idToken["token_use"], idToken["at_hash"] = "id", "MTIzNDU2Nzg5MDEyMzQ1Ng" // the value of at_hash does not matter; only ID tokens have this claim
	other := person(true)
	other["aud"] = []string{"https://another.test"}
	signedIn := map[string]any{ // at a sign-in, the issuer knows only the address in the form (${subject})
		"sub": "${subject}", "email": "${subject}", "email_verified": true,
		// The issuer gives ID tokens the claims of access tokens, so the audiences also have the client.
		"aud": []string{Audience, "${client_id}"}, "azp": "${client_id}",
	}
	const accessToken = "at+jwt"
	selected := []backing.TokenKind{ // the first match counts
		tokenKind(User, accessToken, person(true)),
		tokenKind(Unverified, accessToken, person(false)),
		tokenKind(Service, accessToken, nil),
		tokenKind(IDToken, "JWT", idToken),
		tokenKind(Userinfo, accessToken, map[string]any{hiddenEmail: "${email}", hiddenName: "${name}"}),
		tokenKind(OtherAudience, accessToken, other),
		tokenKind("authorization_code|refresh_token", accessToken, signedIn),
	}
	selected[len(selected)-1].Param = "grant_type"
	for client, subject := range serviceClients {
		service := tokenKind(Kind(client), accessToken, map[string]any{"sub": subject})
		service.Param = "client_id"
		selected = append(selected, service)
	}
	return selected
}

// tokenTimeout is the time limit of one request to the issuer.
const tokenTimeout = time.Minute

// IssueToken gets a token from the issuer at issuerURL (Stack.Issuer). With sub "" the token's subject is the email, so
// that one email is one person. A Service token needs no email.
func IssueToken(ctx context.Context, issuerURL string, kind Kind, sub, email, name string) (string, error) {
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"local"}, "client_secret": {"local"}, "kind": {string(kind)},
		"sub": {cmp.Or(sub, email, "service")}, "email": {email}, "name": {name},
	}
	return postGrant(ctx, issuerURL, form)
}

// postGrant gets a token for a grant.
func postGrant(ctx context.Context, issuerURL string, grant url.Values) (string, error) {
	body, _, err := postForm(ctx, issuerURL+"/token", grant)
	if err != nil {
		return "", err
	}
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.AccessToken == "" {
		return "", fmt.Errorf("the issuer gave no token: %.4000s", body)
	}
	return answer.AccessToken, nil
}

// postForm sends a form to the issuer. It follows no redirect, and returns the location of a redirect.
func postForm(ctx context.Context, address string, form url.Values) (body []byte, location string, err error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := fetch.Do(http.DefaultClient, req, 1<<20)
	if err != nil {
		return nil, "", fmt.Errorf("the issuer did not answer: %w", err)
	}
	return a.Body, a.Header.Get("Location"), nil
}

// Token returns a token of the stack's own issuer; see IssueToken.
func (s *Stack) Token(ctx context.Context, kind Kind, sub, email, name string) (string, error) {
	if !s.OwnIssuer {
		return "", fmt.Errorf("the stack accepts only tokens of %s: get a token there", s.Issuer)
	}
	return IssueToken(ctx, s.Issuer, kind, sub, email, name)
}

// SignIn returns a token of the kind User with the time of the sign-in (auth_time). A token that is issued later than the sign-in is a
// refreshed one. Other tokens of the issuer have no auth_time, because only the form of its page accepts a number as a claim.
func (s *Stack) SignIn(ctx context.Context, email, name string, at, issued time.Time) (string, error) {
	grant := url.Values{
		"client_id": {"local"}, "redirect_uri": {s.Issuer}, "response_type": {"code"}, "scope": {"openid"}, "grant_type": {"authorization_code"},
		"kind": {string(User)}, "sub": {email}, "email": {email}, "name": {name},
	}
	claims := fmt.Sprintf(`{"auth_time":%d,"iat":%d}`, at.Unix(), issued.Unix())
	body, location, err := postForm(ctx, s.Issuer+"/authorize?"+grant.Encode(), url.Values{"username": {email}, "claims": {claims}})
	if err != nil {
		return "", err
	}
	callback, err := url.Parse(location)
	if err != nil || !callback.Query().Has("code") {
		return "", fmt.Errorf("the issuer gave no code: %.4000s", body)
	}
	grant.Set("code", callback.Query().Get("code"))
	return postGrant(ctx, s.Issuer, grant)
}
