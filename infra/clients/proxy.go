package main

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

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
