// Package proof checks a deployment of Latchkey from outside, without a secret: the API answers, and its authorizer can read
// the issuer's keys and the table.
package proof

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

// Deployment is the address of an API to prove, and parameters of its stack.
type Deployment struct {
	API       string             // base URL, without a slash at its end
	Tokens    accesstoken.Config // the rules for access tokens
	KeyPrefix string
}

// TokensOf returns the rules for access tokens that a stack's parameters set.
func TokensOf(parameter func(name string) string) accesstoken.Config {
	r := boot.From(func(name string) (string, bool) { return parameter(name), true })
	return accesstoken.Config{
		Issuer: parameter("Issuer"), JWKSURL: parameter("JwksUrl"), Audience: parameter("Audience"), RequiredScope: parameter("RequiredScope"),
		EmailClaim: parameter("EmailClaim"), EmailVerifiedClaim: parameter("EmailVerifiedClaim"), ClientIDs: r.List("ClientIds"),
	}
}

// Request is a request with a known right answer.
type Request struct {
	method, url, credential string
	unavailable             string // the reason for an answer of 503

	Name string // of the request, without the credential
	Want int    // the status of the right answer
}

// Requests returns five requests: for the signing keys, without a credential, to a route that does not exist, with an access
// token, and with an API key. Token and key are well-formed, but no one made them. The authorizer refuses the token only after it
// has read the issuer's keys, and the key only after it has read the table. Error: KeyPrefix is not valid.
func (d Deployment) Requests() ([]Request, error) {
	now := time.Now()
	key, err := apikey.Mint(d.KeyPrefix, id.Source{}.NewOrg(), id.Source{}.NewKey(now), nil)
	if err != nil {
		return nil, fmt.Errorf("KeyPrefix=%s: %w", d.KeyPrefix, err)
	}
	all := []Request{
		{"GET", "/.well-known/jwks.json", "", "the table cannot be read", "", http.StatusOK},
		{"GET", "/v1/orgs", "", "the authorizer does not start (see its log)", "", http.StatusUnauthorized},
		{"GET", "/no/such/route", "", "the API is not ready", "", http.StatusNotFound},
		{
			"GET", "/v1/orgs", StrangersToken(d.Tokens, now),
			"the authorizer cannot read the keys of the issuer " + d.Tokens.Issuer + ", so no access token works (see its log, and JwksUrl=)",
			" with a stranger's token", http.StatusUnauthorized,
		},
		{
			"POST", "/app/get", key.Key.Reveal(), "the authorizer cannot read the table, so no API key works (see its log, and its role)",
			" with a stranger's API key", http.StatusUnauthorized,
		},
	}
	for i, r := range all {
		all[i].url, all[i].Name = d.API+r.url, r.method+" "+d.API+r.url+r.Name
	}
	return all, nil
}

// Send sends the request. Error: the answer is not the right one.
func (r Request) Send(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, nil)
	if err != nil {
		return err
	}
	if r.credential != "" {
		req.Header.Set("Authorization", "Bearer "+r.credential)
	}
	a, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	switch {
	case a.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("%s answers 503 instead of %d: %s", r.Name, r.Want, r.unavailable)
	case a.StatusCode != r.Want:
		return fmt.Errorf("%s answers %d instead of %d", r.Name, a.StatusCode, r.Want)
	case r.Want != http.StatusOK:
		return nil
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.NewDecoder(a.Body).Decode(&set); err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	if len(set.Keys) == 0 {
		return fmt.Errorf("%s has no key", r.Name)
	}
	return nil
}

// StrangersToken returns an access token with claims that are right by c, and a signature by a key that no issuer has. Claims are
// checked first, so a 401 shows that the issuer's keys were read.
func StrangersToken(c accesstoken.Config, now time.Time) string {
	claims := map[string]any{
		"iss": c.Issuer, "sub": "deployment", "iat": now.Add(-time.Hour).Unix(), "exp": now.Add(time.Hour).Unix(), "token_use": "access",
	}
	if c.Audience != "" {
		claims["aud"] = c.Audience
	}
	if len(c.ClientIDs) > 0 {
		claims["client_id"] = c.ClientIDs[0]
	}
	if c.RequiredScope != "" {
		claims["scope"] = c.RequiredScope
	}
	part := func(v any) string {
		text, _ := json.Marshal(v) // no error: only maps, texts and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	header := map[string]string{"alg": "ES256", "typ": "at+jwt", "kid": "deployment"}
	return part(header) + "." + part(claims) + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64))
}

// ErrUnreachable means that the issuer cannot be reached from this machine.
var ErrUnreachable = errors.New("it cannot be reached from this machine")

// ReadIssuer reads the issuer's discovery document and keys, as the functions will. The document must name exactly this issuer, and
// at least one key must be usable. Errors: ErrUnreachable, or a fault of the issuer.
func ReadIssuer(ctx context.Context, c accesstoken.Config, client *http.Client) error {
	recorder := &transport{next: client.Transport}
	recording := *client
	recording.Transport = recorder
	_, err := accesstoken.New(c, &recording, time.Now).Verify(ctx, StrangersToken(c, time.Now()))
	switch {
	case problem.Is(err, problem.TokenInvalid):
		return nil // the keys were read: only the token's key is unknown
	case recorder.failure != nil:
		return fmt.Errorf("%w: %w", ErrUnreachable, recorder.failure)
	}
	return errors.Unwrap(err) // without the sentence for clients
}

// transport records the error of a request that got no answer.
type transport struct {
	next    http.RoundTripper // nil: http.DefaultTransport
	failure error
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := cmp.Or(t.next, http.DefaultTransport).RoundTrip(r)
	if err != nil {
		t.failure = err
	}
	return answer, err
}
