package guard

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/apikey"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/service"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// tableAt returns the settings for a table at an address. A check must not use their HTTP client and retries.
func tableAt(address, name string) Config {
	return Config{Table: name, AWS: aws.Config{
		Region: "us-east-1", BaseEndpoint: &address, HTTPClient: broken{}, Retryer: func() aws.Retryer { return aws.NopRetryer{} }, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}}
}

type broken struct{}

func (broken) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("the client of the settings")
}

// emptyTable returns the settings for a table without rows. status is the status of its first answer. Later answers have 200.
func emptyTable(t *testing.T, status int) Config {
	var answers atomic.Int64
	answers.Store(int64(status))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(answers.Swap(http.StatusOK)))
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	return tableAt(server.URL, "t")
}

// TestEachSettingOfKeysHasAnEffect uses a real table with a key of Latchkey that has no limits, and an imported key.
func TestEachSettingOfKeysHasAnEffect(t *testing.T) {
	table := storetest.New(t)
	ada, foreign, ctx := table.NewUser(t, "ada@example.com"), "sk_live_8fKq2Lx0Zr", t.Context()
	o := table.NewOrg(t, ada)
	made, err := table.CreateKey(ctx, store.Actor{User: ada, May: []org.Role{org.Admin}}, o, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{})
	_, errImport := table.ImportKeys(ctx, store.Actor{Service: "billing"}, o, []store.NewImport{{Hash: apikey.HashOf(foreign), Prefix: "sk"}}, store.Once[store.MintedKey]{})
	if err := errors.Join(err, errImport); err != nil {
		t.Fatal(err)
	}
	fallbackCalls := 0
	fallback := func(context.Context, string) error { fallbackCalls++; return nil }
	ours := made.Made.Minted.Key.Reveal()
	for _, c := range []struct { // the order matters: counted requests stay counted
		name, text string // text: the credential
		edit       func(*Config)
		code       problem.Code // "": the check is good
		fallbacks  int          // calls of the fallback in a check
		counted    bool         // whether the requests are counted
	}{
		{"an imported key", foreign, func(c *Config) { c.ImportedKeys = true }, "", 0, false},
		{"an imported key, with a fallback", foreign, func(c *Config) { c.ImportedKeys, c.Fallback = true, fallback }, "", 0, false},
		{"no imported keys", foreign, func(*Config) {}, problem.InvalidCredentials, 0, false},
		{"an unknown text", "sk_unknown", func(c *Config) { c.ImportedKeys = true }, problem.InvalidCredentials, 0, false},
		{"an unknown text, with a fallback", "sk_unknown", func(c *Config) { c.ImportedKeys, c.Fallback = true, fallback }, problem.InvalidCredentials, 1, false},
		{"a key of Latchkey, with a fallback", ours, func(c *Config) { c.ImportedKeys, c.Fallback = true, fallback }, "", 0, false},
		{"requests are counted", ours, func(c *Config) { c.CountRequests = true }, "", 0, true},
	} {
		config := tableAt(*table.DB.Options().BaseEndpoint, table.Name)
		c.edit(&config)
		g, now := New(config), time.Now()
		g.checks.Now = func() time.Time { return now }
		fallbackCalls = 0
		for n := range 2 { // two checks, because requests without a limit are written a minute later
			if _, err := g.Key(ctx, []string{"Bearer " + c.text}); (err == nil) != (c.code == "") || err != nil && !problem.Is(err, c.code) {
				t.Errorf("%s: %v", c.name, err)
			}
			if fallbackCalls != c.fallbacks*(n+1) {
				t.Errorf("%s: the fallback was called %d times in %d checks", c.name, fallbackCalls, n+1)
			}
			now = now.Add(time.Minute)
		}
		used, _, err := table.OrgUsage(ctx, store.Actor{Service: "billing"}, o, now.UTC().Format("2006-01"), store.Page{})
		if isCounted := len(used) > 0; err != nil || isCounted != c.counted {
			t.Errorf("%s: use %+v, %v", c.name, used, err)
		}
	}
}

// TestSixteenFallbacksRunAtOnce: 20 texts are unknown, and no call of the fallback ends. All callers get their 503 in time.
func TestSixteenFallbacksRunAtOnce(t *testing.T) {
	var calls atomic.Int64
	end := make(chan struct{})
	defer close(end)
	config := emptyTable(t, http.StatusOK)
	config.ImportedKeys, config.Fallback = true, func(context.Context, string) error { calls.Add(1); <-end; return nil }
	g := New(config)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // the callers would wait longer than the check
	defer cancel()
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			_, err := g.Key(ctx, []string{fmt.Sprint("Bearer sk_", n)})
			if _, isRefusal := Refused(err); err == nil || isRefusal {
				t.Errorf("text %d: %v", n, err)
			}
		})
	}
	if all.Wait(); calls.Load() != 16 {
		t.Errorf("%d fallbacks ran at once", calls.Load())
	}
}

// TestAFailedCallIsRetried: with the retries and the HTTP client of a check, not those of the settings.
func TestAFailedCallIsRetried(t *testing.T) {
	config := emptyTable(t, http.StatusInternalServerError)
	config.ImportedKeys = true
	if _, err := New(config).Key(t.Context(), []string{"Bearer sk_unknown"}); !problem.Is(err, problem.InvalidCredentials) {
		t.Error(err)
	}
}

// TestNoIssuerOfServicesIsCalled: no door accepts services, so a made-up token must not cause a call to their issuers.
func TestNoIssuerOfServicesIsCalled(t *testing.T) {
	var calls atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer issuer.Close()
	config := emptyTable(t, http.StatusOK)
	config.Tokens = &Tokens{Issuer: "https://id.example", Audience: "a", Services: []service.Service{{Name: "ci", Issuer: issuer.URL, Subject: "ci"}}}
	b64 := base64.RawURLEncoding.EncodeToString
	token := b64([]byte(`{"alg":"ES256","kid":"k","typ":"at+jwt"}`)) + "." +
		b64(fmt.Appendf(nil, `{"iss":%q,"sub":"ci","aud":"a","exp":4000000000}`, issuer.URL)) + "." + strings.Repeat("A", 86)
	if _, err := New(config).Member(t.Context(), []string{"Bearer " + token}, "org", org.Viewer); !problem.Is(err, problem.TokenInvalid) || calls.Load() != 0 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
}
