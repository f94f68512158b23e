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

	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// api is the API on the local stack, with the base URLs that programs use.
type api struct {
	stack *stack.Stack
	ways  []way

	servers []*httptest.Server
}

// way is one of these base URLs: the API's, or a proxy's.
type way struct {
	name string
	url  string
	code string // the code of every error at this URL; "": the API's own codes
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

// made has the fields that are read from the answer to the creation of an org or an API key.
type made struct{ ID, Key string }

// post creates an org or an API key with an access token.
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
	case failed := <-a.stack.Failed:
		return errors.Join(err, failed)
	default:
		return err
	}
}

const (
	newMember = "x_new"    // a member that no answer of the API has today
	newCode   = "code_new" // a code that no error of the API has today
)

// changing returns a reverse proxy in front of the API. It changes the JSON of the API's answers.
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

// dataMaps are members whose values are maps: the names in these maps are data, so the API adds no members there.
var dataMaps = map[string]bool{"metadata": true, "changes": true}

// withNewMember adds a member to each object of a value, nested objects included.
func withNewMember(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = withNewMember(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if !dataMaps[name] {
				v[name] = withNewMember(member)
			}
		}
		v[newMember] = map[string]any{"deep": []any{1, nil, "text"}}
	}
	return value
}

// withNewCode gives a new code to an error, and to each invalid value in it. Other answers stay as they are.
func withNewCode(value any) any {
	problem, _ := value.(map[string]any)
	if _, ok := problem["code"]; !ok {
		return value
	}
	problem["code"], problem["type"] = newCode, "urn:latchkey:problem:"+newCode
	invalid, _ := problem["errors"].([]any)
	for _, each := range invalid {
		if v, ok := each.(map[string]any); ok {
			v["code"] = newCode
		}
	}
	return value
}
