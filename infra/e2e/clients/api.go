package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
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

const (
	newMember = "x_new"    // a member of an answer that does not exist yet
	newCode   = "code_new" // a code of an error that does not exist yet
)

// changing returns a reverse proxy in front of the API that changes the JSON of
// its answers.
func changing(api *url.URL, change func(value any) any) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(api)
			r.Out.Header.Del("Accept-Encoding") // the transport sets its own, and decodes the answer
		},
		ModifyResponse: func(res *http.Response) error {
			media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // "" is not JSON
			isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
			if !isJSON || res.StatusCode == http.StatusNoContent {
				return nil
			}
			decoder := json.NewDecoder(res.Body)
			decoder.UseNumber()
			var value any
			if err := decoder.Decode(&value); err != nil {
				return err
			}
			changed, err := json.Marshal(change(value))
			if err != nil {
				return err
			}
			res.Body = io.NopCloser(bytes.NewReader(changed))
			res.ContentLength = int64(len(changed))
			res.Header.Del("Content-Length")
			return nil
		},
	}
}

// maps are members whose values are maps by names that the caller chose. The API adds no
// members to them.
var maps = map[string]bool{"metadata": true, "changes": true}

// withNewMember adds a member to each object of a value, nested objects included.
func withNewMember(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = withNewMember(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if !maps[name] {
				v[name] = withNewMember(member)
			}
		}
		v[newMember] = map[string]any{"deep": []any{1, nil, "text"}}
	}
	return value
}

// withNewCode returns an error, and each invalid value that it names, a new code.
func withNewCode(value any) any {
	problem, _ := value.(map[string]any)
	if _, ok := problem["code"]; !ok {
		return value
	}
	problem["code"], problem["type"] = newCode, "urn:latchkey:problem:"+newCode
	invalid, _ := problem["errors"].([]any)
	for _, one := range invalid {
		if v, ok := one.(map[string]any); ok {
			v["code"] = newCode
		}
	}
	return value
}
