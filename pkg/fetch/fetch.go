// Package fetch sends a request to a server from the settings: an issuer of tokens, the API that sends webhooks, or the
// management interface of API Gateway. Its errors contain neither the address nor a text of the answer.
package fetch

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"latchkey/pkg/cause"
)

// ErrTooLarge means that an answer is larger than allowed.
var ErrTooLarge = errors.New("the answer is too large")

// Answer is an answer with its whole body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and reads its answer, within the time of the request's context. The body may have at most maxBytes bytes. Do
// follows no redirect, so no other scheme or host can replace the URL of the settings or get a
// credential. Errors: ErrTooLarge, and the errors of package cause.
func Do(client *http.Client, req *http.Request, maxBytes int64) (Answer, error) {
	direct := *client // a copy, so that the caller's client keeps its own policy
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := direct.Do(req) //nolint:gosec // the address comes from settings
	if err != nil {
		return Answer{}, cause.Of(err)
	}
	defer func() { _ = res.Body.Close() }() // an error does not matter: the body is read, or not needed
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err != nil {
		return Answer{}, cause.Of(err)
	}
	if int64(len(body)) > maxBytes {
		return Answer{}, ErrTooLarge
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// IsSafe reports whether no one in the network can read or answer a request to this URL: https, or http on this machine.
func IsSafe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	isLoopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback
}
