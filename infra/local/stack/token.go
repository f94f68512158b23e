package stack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// tokenTimeout bounds one request to the issuer.
const tokenTimeout = time.Minute

// IssueToken gets a token from the issuer at issuerURL (Stack.Issuer). If sub is empty it is the email,
// so that the same email is the same person. A Service token needs no email.
func IssueToken(ctx context.Context, issuerURL string, kind Kind, sub, email, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"local"}, "client_secret": {"local"}, "kind": {string(kind)},
		"sub": {cmp.Or(sub, email, "service")}, "email": {email}, "name": {name},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, issuerURL+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("no answer of the issuer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return "", err
	}
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.AccessToken == "" {
		return "", fmt.Errorf("the issuer gave no token: status %d: %.4000s", res.StatusCode, body)
	}
	return answer.AccessToken, nil
}

// Token returns a token of the stack's own issuer; see IssueToken.
func (s *Stack) Token(ctx context.Context, kind Kind, sub, email, name string) (string, error) {
	if !s.ownIssuer {
		return "", fmt.Errorf("the stack takes tokens of %s: ask there", s.Issuer)
	}
	return IssueToken(ctx, s.Issuer, kind, sub, email, name)
}
