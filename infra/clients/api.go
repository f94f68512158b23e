package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"latchkey/infra/local/stack"
	"latchkey/infra/tools"
)

// api is the API on the local stack, and the ways to it.
type api struct {
	stack *stack.Stack
	ways  []way

	servers []*httptest.Server
}

// way is a base URL by which a program reaches the API.
type way struct {
	name string
	url  string
	code string // replaces each error's code; "": codes stay
}

// startAPI starts the local stack and the proxies in front of it.
func startAPI(ctx context.Context, say tools.Progress) (*api, error) {
	s, err := stack.Start(ctx, stack.Options{Progress: say})
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	a := &api{stack: s, ways: []way{{name: "on the API as it is", url: s.URL}}}
	proxy := func(name, code string, change func(any) any) {
		server := httptest.NewServer(changing(base, change))
		a.servers = append(a.servers, server)
		a.ways = append(a.ways, way{name: name, url: server.URL, code: code})
	}
	proxy("with a new member in each object", "", withNewMember)
	proxy("with a new code in each error", newCode, withNewCode)
	return a, nil
}

// token returns an access token of a user.
func (a *api) token(ctx context.Context, email string) (string, error) {
	return stack.IssueToken(ctx, a.stack.Issuer, stack.User, "", email, "Client")
}

// made is what is read of an org or an API key that was made.
type made struct{ ID, Key string }

// post makes something by an access token.
func (a *api) post(ctx context.Context, token, path, body string) (m made, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stack.URL+path, strings.NewReader(body))
	if err != nil {
		return m, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return m, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusCreated {
		return m, fmt.Errorf("%s: %s", path, res.Status)
	}
	return m, json.NewDecoder(res.Body).Decode(&m)
}

// close stops the stack and the proxies, and returns an error that ended the stack early.
func (a *api) close() error {
	for _, server := range a.servers {
		server.Close()
	}
	err := a.stack.Close()
	select {
	case failed := <-a.stack.Failed():
		return errors.Join(err, failed)
	default:
		return err
	}
}
