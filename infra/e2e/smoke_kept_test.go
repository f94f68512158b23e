package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// keptAllows tries whether an Allow that an API keeps ends with AllowForSeconds. It makes an API that keeps answers for five
// minutes, against our advice, and deletes it again.
func (p awsPlatform) keptAllows(t *testing.T, tg *target) {
	seconds := p.parameter(t, "AllowForSeconds")
	if seconds == "" || seconds == "0" {
		t.Log("AllowForSeconds is off: nothing was tried")
		return
	}
	allowFor, err := time.ParseDuration(seconds + "s")
	if err != nil {
		t.Fatal(err)
	}
	ada := tg.person(t, "ada")
	org := ada.org(t)
	id, key := ada.key(t, org, `{}`)
	url := p.keepingAPI(t)
	revoke := func() { ada.want(t, "DELETE", "/v1/orgs/"+org+"/keys/"+id, "", 204, "") }
	if err := keptAllowEnds(t.Context(), newTarget("keeping", url, nil), key, allowFor, revoke); err != nil {
		t.Error(err)
	}
}

func (localPlatform) keptAllows(t *testing.T, _ *target) {
	t.Log("only AWS shows whether API Gateway evaluates the condition of a kept Allow")
}

// keptAllowEnds has the API keep an Allow for a key, revokes the key, and wants a refusal once the time is over.
func keptAllowEnds(ctx context.Context, keeping *target, key string, allowFor time.Duration, revoke func()) error {
	ask := func() (int, error) {
		r, err := keeping.try(ctx, call{method: "GET", path: "/", bearer: key})
		return r.status, err
	}
	first := time.Now()
	for status, err := ask(); status != http.StatusOK; status, err = ask() { // a new deployment takes a moment
		if err != nil || time.Since(first) > time.Minute {
			return fmt.Errorf("the API that keeps answers: %d, %w", status, err)
		}
		time.Sleep(time.Second)
	}
	revoke()
	time.Sleep(allowFor + 2*time.Second)
	switch status, err := ask(); {
	case err != nil:
		return err
	case status == http.StatusOK:
		return fmt.Errorf("a kept Allow outlived AllowForSeconds=%v: API Gateway does not evaluate its condition again. Set it to 0: it protects nothing", allowFor)
	default:
		return nil
	}
}

// keepingAPI makes a REST API that keeps answers of the shared authorizer, and returns its URL.
func (p awsPlatform) keepingAPI(t *testing.T) string {
	t.Helper()
	made := func(out any, args ...string) {
		t.Helper()
		if err := json.Unmarshal(p.cli(t, append([]string{"apigateway"}, args...)...), out); err != nil {
			t.Fatal(err)
		}
	}
	var api, authorizer struct{ ID string }
	var resources struct{ Items []struct{ ID string } }
	made(&api, "create-rest-api", "--name", p.stack+"-smoke", "--endpoint-configuration", "types=REGIONAL")
	t.Cleanup(func() { p.cli(t, "apigateway", "delete-rest-api", "--rest-api-id", api.ID) })
	made(&resources, "get-resources", "--rest-api-id", api.ID)
	uri := "arn:aws:apigateway:" + p.region + ":lambda:path/2015-03-31/functions/" + p.output(t, "KeyAuthorizerArn") + "/invocations"
	made(&authorizer, "create-authorizer", "--rest-api-id", api.ID, "--name", "keeping", "--type", "REQUEST", "--authorizer-uri", uri,
		"--identity-source", "method.request.header.Authorization", "--authorizer-result-ttl-in-seconds", "300")
	on := []string{"--rest-api-id", api.ID, "--resource-id", resources.Items[0].ID, "--http-method", "GET"}
	var ignored any
	made(&ignored, append([]string{"put-method", "--authorization-type", "CUSTOM", "--authorizer-id", authorizer.ID}, on...)...)
	made(&ignored, append([]string{"put-integration", "--type", "MOCK", "--request-templates", `{"application/json":"{\"statusCode\":200}"}`}, on...)...)
	made(&ignored, append([]string{"put-method-response", "--status-code", "200"}, on...)...)
	made(&ignored, append([]string{"put-integration-response", "--status-code", "200"}, on...)...)
	made(&ignored, "create-deployment", "--rest-api-id", api.ID, "--stage-name", "live")
	return "https://" + api.ID + ".execute-api." + p.region + ".amazonaws.com/live"
}

// TestSmokeSeesAnAllowThatOutlivesItsTime has gateways that evaluate a kept answer again, and that do not.
func TestSmokeSeesAnAllowThatOutlivesItsTime(t *testing.T) {
	for what, evaluates := range map[string]bool{"evaluated": true, "not evaluated": false} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) > 1 && evaluates {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		revoked := false
		err := keptAllowEnds(t.Context(), newTarget("keeping", server.URL, nil), "k", 0, func() { revoked = true })
		if server.Close(); !revoked || (err == nil) != evaluates || err != nil && !strings.Contains(err.Error(), "outlived") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
