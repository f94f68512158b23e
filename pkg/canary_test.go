package pkg_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/console"
	"latchkey/pkg/consumers"
	"latchkey/pkg/store"
	"latchkey/pkg/verify"
)

// canary is a text that no error may contain. The tests send it as a key and in a query, and servers send it as an answer,
// also as a number.
const canary = "98765432109876543210"

// hostile is a transport. Its answers and errors contain the canary.
type hostile func(*http.Request) (*http.Response, error)

func (h hostile) RoundTrip(r *http.Request) (*http.Response, error) { return h(r) }

// says answers with this status and body, and with the canary in headers.
func says(status int, body string) hostile {
	return func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Location": {"https://elsewhere.example/?key=" + canary}, "Content-Type": {"application/json"}, "Canary": {canary}}
		return &http.Response{StatusCode: status, Status: canary, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func fails(err error) hostile {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// hostiles are the ways in which other servers may fail.
var hostiles = map[string]hostile{
	"a status":            says(403, canary),
	"a redirect":          says(307, canary),
	"no JSON":             says(200, canary+"{"),
	"a number":            says(200, `{"keys":CANARY,"issuer":CANARY,"kty":CANARY,"sub":CANARY,"item":CANARY}`),
	"a text":              says(200, `{"keys":"CANARY","issuer":"CANARY","kty":"CANARY","sub":{"CANARY":1,"CANARY":1},"item":"CANARY"}`),
	"a name twice":        says(200, `{"CANARY":1,"CANARY":1}`),
	"a broken redirect":   says(302, canary),
	"not HTTP":            fails(fmt.Errorf("malformed HTTP response %q", canary)),
	"a name of a host":    fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: canary, Name: canary, Server: canary}}),
	"a proxy":             fails(&url.Error{Op: "CONNECT", URL: canary, Err: errors.New(canary)}),
	"words in base64":     fails(errors.New(base64.StdEncoding.EncodeToString([]byte("key=" + canary)))),
	"words in hex":        fails(errors.New(hex.EncodeToString([]byte(canary)))),
	"words in full width": fails(errors.New(strings.Map(func(r rune) rune { return r + 0xfee0 }, canary))),
}

// doors are the exported functions whose errors may come from another server, or from an owner's code.
var doors = map[string]func(ctx context.Context, client *http.Client) error{
	"jwks.Source": func(ctx context.Context, client *http.Client) error {
		_, err := jwks.New("https://id.example/?key="+canary, nil, client, jwks.Patient, time.Now).Keys(ctx)
		return err
	},
	"jwks.Discovery": func(ctx context.Context, client *http.Client) error {
		_, err := jwks.NewDiscovery("https://"+canary+"@id.example", client, jwks.Patient, time.Now).Get(ctx)
		return err
	},
	"jwks.New by a broken address": func(ctx context.Context, client *http.Client) error {
		_, err := jwks.New("https://%zz/?key="+canary, nil, client, jwks.Patient, time.Now).Keys(ctx)
		return err
	},
	"console.Config": func(ctx context.Context, client *http.Client) error {
		files := fstest.MapFS{"index.html": {}, "verify.html": {}, "reference.html": {}, "llms.txt": {}, "elements.js": {}, "accent.css": {}}
		c, err := console.New(files, console.Settings{}, jwks.NewDiscovery("https://id.example", client, jwks.Patient, time.Now).Get)
		if err == nil {
			_, err = c.Config(ctx)
		}
		return err
	},
	"accesstoken.Verify": func(ctx context.Context, client *http.Client) error {
		v := accesstoken.New(accesstoken.Config{Issuer: "https://id.example", Audience: "a", JWKSURL: "https://id.example/?key=" + canary}, client, time.Now)
		header, claims := `{"alg":"ES256","kid":"`+canary+`","typ":"at+jwt"}`, `{"iss":"https://id.example","sub":"`+canary+`","aud":"a","exp":4000000000}`
		encoded := base64.RawURLEncoding.EncodeToString
		_, err := v.Verify(ctx, encoded([]byte(header))+"."+encoded([]byte(claims))+"."+strings.Repeat("A", 86))
		return err
	},
	"accesstoken.Userinfo": func(ctx context.Context, client *http.Client) error {
		v := accesstoken.New(accesstoken.Config{Issuer: "https://id.example", Audience: "a", UserinfoURL: "https://id.example/?key=" + canary}, client, time.Now)
		p, err := v.Userinfo(ctx, canary, "alice")
		if err == nil && p.Email == "" { // the answer names no user, or cannot be read
			err = fmt.Errorf("no profile: %+v", p)
		}
		return err
	},
	"verify.Verify": func(ctx context.Context, client *http.Client) error {
		webhook, endpoint, now, err := vector()
		if err != nil {
			return err
		}
		v, err := verify.New(verify.Config{BaseURL: "https://api.example", EndpointID: endpoint, Client: client, Now: func() time.Time { return now }})
		if err == nil {
			_, err = v.Verify(ctx, []byte(webhook))
		}
		return err
	},
	"verify.New": func(context.Context, *http.Client) error {
		_, err := verify.New(verify.Config{BaseURL: "https://user:" + canary + "@%zz/?key=" + canary, EndpointID: "whe_a"})
		return err
	},
	"consumers.Page": func(ctx context.Context, client *http.Client) error {
		var page struct {
			Item, Keys []string
			Sub        int
		}
		err := searchOf(client, nil).Page(ctx, "/restapis", canary, &page)
		if err == nil && page.Item == nil {
			err = errors.New("no page")
		}
		return err
	},
	"consumers.Export": func(ctx context.Context, client *http.Client) error {
		document, err := searchOf(client, nil).Export(ctx, "r1", "prod")
		if err == nil && len(document) > 0 {
			err = errors.New("the answer counts as a document")
		}
		return err
	},
	"consumers.Run": func(ctx context.Context, client *http.Client) error {
		s := consumers.Search{API: searchOf(client, errors.New(canary)), Say: func(string, ...any) {}}
		return s.Run(ctx)
	},
	"a fallback": func(ctx context.Context, client *http.Client) error {
		return ofFallback(ctx, func(ctx context.Context, text string) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://earlier.example/?key="+text, nil)
			if err != nil {
				return err
			}
			res, err := client.Do(req)
			if err != nil {
				return fmt.Errorf("no answer about %s: %w", text, err)
			}
			body, err := io.ReadAll(res.Body)
			return errors.Join(fmt.Errorf("%d %s", res.StatusCode, body), err)
		})
	},
	"a fallback that panics": func(ctx context.Context, client *http.Client) error {
		return ofFallback(ctx, func(_ context.Context, text string) error {
			_, err := client.Get("https://earlier.example/?key=" + text)
			panic(fmt.Errorf("%s: %w", text, err))
		})
	},
}

// TestNoErrorContainsASentOrAnsweredText calls each door with each hostile server.
func TestNoErrorContainsASentOrAnsweredText(t *testing.T) {
	for door, call := range doors {
		for name, transport := range hostiles {
			t.Run(door+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					err := call(t.Context(), &http.Client{Transport: spelled(transport)})
					if err == nil {
						t.Error("no error")
					}
					for ; err != nil; err = errors.Unwrap(err) { // a log may show any error of the chain
						if text := fmt.Sprintf("%v %+v %#v", err, err, err); hasCanary(text) {
							t.Error(text)
						}
					}
				})
			})
		}
	}
}

// spelled replaces CANARY with the canary in the bodies of a transport.
func spelled(h hostile) hostile {
	return func(r *http.Request) (*http.Response, error) {
		res, err := h(r)
		if err == nil {
			body, errBody := io.ReadAll(res.Body)
			res.Body, err = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(body), "CANARY", canary))), errBody
		}
		return res, err
	}
}

// hasCanary reports whether a text contains the canary, or a part of it, in one of several encodings.
func hasCanary(text string) bool {
	for _, part := range []string{canary, canary[:10], canary[10:], "98765432109876543000", "9.8765432", "ODc2NTQzMjE", "OTg3NjU0MzIx", "k4NzY1NDMyM", "3938373635", "９８７"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// ofFallback returns the error of a check of the canary with this fallback, as if it was a key of an earlier system.
func ofFallback(ctx context.Context, fallback authn.Fallback) error {
	a := authn.New(unimported{}, &authntest.Tokens{})
	a.TakeImported(fallback, 1)
	_, err := a.Key(ctx, []string{"Bearer " + canary})
	return err
}

// unimported is a table without imported keys.
type unimported struct{ authn.Table }

func (unimported) Imported(context.Context, apikey.Hash) (at store.Imported, ok bool, err error) {
	return at, false, nil
}

// searchOf returns a client of API Gateway. Its credentials return err.
func searchOf(client *http.Client, err error) *consumers.Client {
	as := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: canary}, err
	})
	return &consumers.Client{AWS: aws.Config{Region: "eu-central-1", Credentials: as}, HTTP: client, URL: "https://gateway.example"}
}

// vector returns a good webhook, its endpoint, and a time at which it is good.
func vector() (webhook, endpoint string, now time.Time, err error) {
	text, err := os.ReadFile("../infra/examples/vectors/webhooks.json")
	if err != nil {
		return "", "", now, err
	}
	var v struct {
		Now        int64
		EndpointID string
		Cases      []struct{ Name, Token string }
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return "", "", now, err
	}
	for _, c := range v.Cases {
		if c.Name == "a webhook" {
			return c.Token, v.EndpointID, time.Unix(v.Now, 0), nil
		}
	}
	return "", "", now, errors.New("the vectors have no good webhook")
}
