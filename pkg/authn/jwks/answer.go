package jwks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxAnswer bounds an answer of the issuer, in bytes.
const maxAnswer = 1 << 20

// ErrTooLarge means that an answer of the issuer has more than 1 MiB.
var ErrTooLarge = errors.New("jwks: the answer has more than 1 MiB")

// Answer is an answer of the issuer, with its whole body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request to the issuer and reads its answer, at most 1 MiB, within the time of the
// request's context. It follows no redirect: keys come from the configured address only, and no
// other scheme or host may replace it or see a token.
func Do(client *http.Client, req *http.Request) (Answer, error) {
	direct := *client // a copy, so that the caller's client keeps its own policy
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := direct.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = res.Body.Close() }() // the body is read, or no longer needed
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, err
	}
	if len(body) > maxAnswer {
		return Answer{}, ErrTooLarge
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// statusError is the error for an answer with this status, which is not 200.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("jwks: the issuer answers %d", int(e)) }

// read fetches a document of the issuer and returns its body.
func read(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	a, err := Do(client, req)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, statusError(a.Status)
	}
	return a.Body, nil
}

// checkAddress checks an address in a discovery document: it must be absolute. Its scheme must be https, or http when
// the issuer's own scheme is http, as on a developer's machine.
func checkAddress(address, issuer string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	issuerURL, err := url.Parse(issuer)
	if err != nil {
		return err
	}
	isGoodScheme := u.Scheme == "https" || u.Scheme == "http" && issuerURL.Scheme == "http"
	if u.Host == "" || !isGoodScheme {
		return errors.New("jwks: the discovery document has an address that cannot be used")
	}
	return nil
}
