package e2e_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/infra/deploy/cloud"
)

// keptAllows notes whether a cached Allow ends after AllowForSeconds. It makes an API that caches answers of the authorizer
// for five minutes, against our advice, and deletes it again.
func (p awsPlatform) keptAllows(t *testing.T, tg *target) {
	seconds := p.parameter(t, "AllowForSeconds")
	if seconds == "" || seconds == "0" {
		note(t, "KeptAllow", "AllowForSeconds is off: nothing was tried")
		return
	}
	allowFor, err := time.ParseDuration(seconds + "s")
	if err != nil {
		t.Fatal(err)
	}
	ada := tg.person(t, "ada")
	org := ada.org(t)
	id, key := ada.key(t, org, `{}`)
	url := p.cachingAPI(t)
	revoke := func() { ada.want(t, "DELETE", "/v1/orgs/"+org+"/keys/"+id, "", 204, "") }
	switch ends, err := keptAllowEnds(t.Context(), newTarget("caching", url, nil), key, allowFor, 5*time.Minute, revoke); {
	case err != nil:
		note(t, "KeptAllow", "not tried: %v", err)
	case ends:
		note(t, "KeptAllow", "it ends after AllowForSeconds=%s", seconds)
	default:
		note(t, "KeptAllow", "it outlives AllowForSeconds=%s: API Gateway does not evaluate its condition again. Set it to 0: it protects nothing", seconds)
	}
}

func (localPlatform) keptAllows(t *testing.T, _ *target) {
	note(t, "KeptAllow", "only AWS shows whether API Gateway evaluates the condition of a cached Allow")
}

// keptAllowEnds lets the API cache an Allow for a key, revokes the key, and reports whether the key is refused after allowFor.
// It returns an error if the API does not answer as expected within patience.
func keptAllowEnds(ctx context.Context, caching *target, key string, allowFor, patience time.Duration, revoke func()) (ends bool, err error) {
	// send repeats a request, because the name and the deployment of a new API are not known everywhere at once.
	send := func(wanted func(status int) bool) (int, error) {
		for begun := time.Now(); ; time.Sleep(min(time.Second, patience/10)) {
			r, err := caching.try(ctx, call{method: "GET", path: "/", bearer: key})
			if err == nil && wanted(r.status) {
				return r.status, nil
			}
			if time.Since(begun) > patience {
				return r.status, cmp.Or(err, fmt.Errorf("the API that caches answers returns %d", r.status))
			}
		}
	}
	if _, err := send(func(status int) bool { return status == http.StatusOK }); err != nil {
		return false, err
	}
	revoke()
	time.Sleep(allowFor + min(2*time.Second, patience))
	status, err := send(func(int) bool { return true })
	return status != http.StatusOK, err
}

// cachingAPI makes a REST API that caches answers of the shared authorizer, and returns its URL.
func (p awsPlatform) cachingAPI(t *testing.T) string {
	t.Helper()
	var api, authorizer struct{ ID string }
	var resources struct{ Items []struct{ ID string } }
	// run calls API Gateway, with the id of the new API if it exists already.
	run := func(operation string, in cloud.Params, out any) {
		t.Helper()
		if api.ID != "" {
			in["restApiId"] = api.ID
		}
		p.call(t, "apigateway", operation, in, out)
	}
	tags := cloud.Params{} // the tags of the stack
	for _, one := range p.describe(t).Tags {
		tags[one.Key] = one.Value
	}
	run("create_rest_api", cloud.Params{"name": p.stack + "-smoke", "tags": tags, "endpointConfiguration": cloud.Params{"types": []string{"REGIONAL"}}}, &api)
	remove, err := p.aws.Later("apigateway", "delete_rest_api", cloud.Params{"restApiId": api.ID}) // also when the test is killed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("the API %s was not removed: %v", api.ID, err)
		}
	})
	run("get_resources", cloud.Params{}, &resources)
	uri := "arn:aws:apigateway:" + p.region + ":lambda:path/2015-03-31/functions/" + p.output(t, "KeyAuthorizerArn") + "/invocations"
	run("create_authorizer", cloud.Params{
		"name": "caching", "type": "REQUEST", "authorizerUri": uri, "identitySource": "method.request.header.Authorization", "authorizerResultTtlInSeconds": 300,
	}, &authorizer)
	for _, c := range []struct {
		operation string
		in        cloud.Params
	}{
		{"put_method", cloud.Params{"authorizationType": "CUSTOM", "authorizerId": authorizer.ID}},
		{"put_integration", cloud.Params{"type": "MOCK", "requestTemplates": cloud.Params{"application/json": `{"statusCode":200}`}}},
		{"put_method_response", cloud.Params{"statusCode": "200"}},
		{"put_integration_response", cloud.Params{"statusCode": "200"}},
	} {
		c.in["resourceId"], c.in["httpMethod"] = resources.Items[0].ID, "GET"
		run(c.operation, c.in, nil)
	}
	run("create_deployment", cloud.Params{"stageName": "live"}, nil)
	return "https://" + api.ID + ".execute-api." + p.region + ".amazonaws.com/live"
}

// TestSmokeFindsAnAllowThatOutlivesItsTime tries three gateways that cache an Allow. The first evaluates its condition again for
// each request, the second does not, and the third does not answer.
func TestSmokeFindsAnAllowThatOutlivesItsTime(t *testing.T) {
	for what, evaluates := range map[string]bool{"evaluated": true, "not evaluated": false, "gone": false} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n := requests.Add(1); {
			case n < 3 || n == 5: // no answer, because the name is new
				panic(http.ErrAbortHandler)
			case n == 3:
				w.WriteHeader(http.StatusForbidden)
			case n > 4 && evaluates:
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		if what == "gone" {
			server.Close()
		}
		revoked := false
		ends, err := keptAllowEnds(t.Context(), newTarget("caching", server.URL, nil), "k", 0, 500*time.Millisecond, func() { revoked = true })
		server.Close()
		if ends != evaluates || revoked == (what == "gone") || (err != nil) != (what == "gone") {
			t.Errorf("%s: %v, revoked %v, %v", what, ends, revoked, err)
		}
	}
}

// credentialLimit returns the number of requests with one credential that the stack's own firewall allows in a minute; 0:
// there is no such firewall.
func (p awsPlatform) credentialLimit(t *testing.T) int {
	t.Helper()
	if p.parameter(t, "WebAcl") != "rate-limited" || p.parameter(t, "WebAclArn") != "" {
		return 0
	}
	return 10_000 // TestTheFirewallCountsEachAddressAndEachCredential
}

func (localPlatform) credentialLimit(*testing.T) int { return 0 }

// firewall checks that the stack's own firewall counts requests by credential.
func firewall(t *testing.T, tg *target, p platform) {
	limit := p.credentialLimit(t)
	if limit == 0 {
		t.Log("the stack has no firewall of its own (WebAcl): nothing was tried")
		return
	}
	if err := countsByCredential(t.Context(), tg, limit, 3*time.Minute); err != nil {
		t.Error(err)
	}
}

// countsByCredential sends requests with an invented credential until the firewall blocks it. Another credential from the
// same address must not be blocked. limit is the number of requests that the firewall allows in a minute.
func countsByCredential(ctx context.Context, tg *target, limit int, wait time.Duration) error {
	send := func(credential string) (string, error) {
		r, err := tg.try(ctx, call{method: "POST", path: "/app/get", bearer: credential})
		return r.code(), err
	}
	const flooder, other = "smoke-flooder", "smoke-other"
	begun, sent := time.Now(), 0
	for blocked := false; !blocked; {
		if time.Since(begun) > wait {
			return fmt.Errorf("%d requests with one credential in %v, and none is blocked: the limit is %d a minute", sent, wait, limit)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var errs error
		for range 64 {
			wg.Go(func() {
				code, err := send(flooder)
				mu.Lock()
				defer mu.Unlock()
				sent++
				errs, blocked = errors.Join(errs, err), blocked || code == "request_blocked"
			})
		}
		if wg.Wait(); errs != nil {
			return errs
		}
	}
	if code, err := send(other); code != "invalid_credentials" {
		return errors.Join(err, fmt.Errorf("another credential from the same address gets %s", code))
	}
	return nil
}

// TestSmokeFindsAFirewallThatCountsByAddress tries servers that count by credential, by address, and not at all.
func TestSmokeFindsAFirewallThatCountsByAddress(t *testing.T) {
	for by, passes := range map[string]bool{"credential": true, "address": false, "nothing": false} {
		var mu sync.Mutex
		seen := map[string]int{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := map[string]string{"credential": r.Header.Get("Authorization"), "address": "the only one"}[by] // "": never blocked
			mu.Lock()
			defer mu.Unlock()
			if seen[key]++; key != "" && seen[key] > 200 {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"code":"request_blocked"}`))
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"invalid_credentials"}`))
		}))
		err := countsByCredential(t.Context(), newTarget("deployed", server.URL, nil), 200, time.Second)
		server.Close()
		if (err == nil) != passes {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

// refusesOldTLS returns an error if an address accepts TLS 1.1 or a cipher without forward
// secrecy, or refuses TLS 1.2.
func refusesOldTLS(ctx context.Context, address string, roots *x509.CertPool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	dial := func(c *tls.Config) error {
		c.RootCAs = roots
		connection, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	}
	if err := dial(&tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}); err != nil {
		return fmt.Errorf("TLS 1.2 is refused: %w", err)
	}
	var errs []error
	for what, c := range map[string]*tls.Config{
		"TLS 1.1":                          {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"a cipher without forward secrecy": {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384}},
	} {
		if dial(c) == nil {
			errs = append(errs, errors.New(what+" is accepted"))
		}
	}
	return errors.Join(errs...)
}

// TestSmokeFindsOldTLS runs the smoke test's check on local servers.
func TestSmokeFindsOldTLS(t *testing.T) {
	for name, c := range map[string]struct {
		config *tls.Config
		word   string // in the error; "": no error
	}{
		"modern":  {&tls.Config{MinVersion: tls.VersionTLS12}, ""},
		"old":     {&tls.Config{MinVersion: tls.VersionTLS10}, "TLS 1.1 is accepted"},
		"newest":  {&tls.Config{MinVersion: tls.VersionTLS13}, "TLS 1.2 is refused"},
		"ciphers": {&tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}, "forward secrecy is accepted"},
	} {
		s := httptest.NewUnstartedServer(nil)
		s.TLS = c.config
		s.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		err := refusesOldTLS(t.Context(), s.Listener.Addr().String(), roots)
		s.Close()
		good := err == nil
		if c.word != "" {
			good = err != nil && strings.Contains(err.Error(), c.word)
		}
		if !good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
