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

// key makes an API key, by an access token, in an org of its own.
func (a *api) key(ctx context.Context, token string) (string, error) {
	var org struct{ ID string }
	var key struct{ Key string }
	err := a.post(ctx, token, "/v1/orgs", `{"name":"Acme"}`, &org)
	if err == nil {
		err = a.post(ctx, token, "/v1/orgs/"+org.ID+"/keys", "{}", &key)
	}
	return key.Key, err
}

func (a *api) post(ctx context.Context, token, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stack.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(into)
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
