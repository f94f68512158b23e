package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/api"
	"latchkey/pkg/leaks"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

const leakPlace = "https://github.com/acme/app/blob/main/.env"

// gitHub signs reports, and passes them to the handler of functions/leaks. The handler runs in this process, because the deployed
// function fetches its keys only from GitHub. Its AWS calls have the function's credentials, so the function's role limits them.
type gitHub struct {
	key    *ecdsa.PrivateKey
	handle http.Handler
}

// newGitHub returns a gitHub for a deployment with the parameter LeakReports. The handler logs to a file of the stack.
func newGitHub(t *testing.T, s *stack.Stack, leakReports string) *gitHub {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(members{"public_keys": []any{members{"key_identifier": "one", "key": public, "is_current": true}}})
	}))
	t.Cleanup(server.Close)
	log, err := os.OpenFile(filepath.Join(s.LogDir, "LeaksFunction.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(log, nil)).With("service", stack.StackName))
	t.Cleanup(func() { slog.SetDefault(was); _ = log.Close() })
	db := dynamodb.New(backing.NewDynamoDBClient(s.AWS).Options(), func(o *dynamodb.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "LeaksFunction", SecretAccessKey: "x"}, nil
		})
	})
	keys := leaks.New(outbound.NewSender(outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})), server.URL)
	return &gitHub{key, api.Leaks(store.New(db, s.TableName), leakReports, keys.Verify, true)}
}

// report reports texts in one request. It returns the answer, and its label for each text.
func (g *gitHub) report(t *testing.T, texts ...string) (answer string, labels map[string]string) {
	t.Helper()
	var found []any
	for _, text := range texts {
		found = append(found, members{"token": text, "type": "acme_api_key", "url": leakPlace, "source": "content"})
	}
	body, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	signature, err := ecdsa.SignASN1(rand.Reader, g.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	ctx := problem.WithTrace(problem.WithRequestID(t.Context(), rand.Text()[:16]), "1-6b0c3d3c-18db69234c8defd7c472744b")
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/key/leaks/github", bytes.NewReader(body))
	r.Pattern = "POST /key/leaks/github" // as pkg/lambda sets it
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Github-Public-Key-Identifier", "one")
	r.Header.Set("Github-Public-Key-Signature", base64.StdEncoding.EncodeToString(signature))
	out := httptest.NewRecorder()
	g.handle.ServeHTTP(out, r)
	var list []struct {
		Hash  string `json:"token_hash"`
		Label string `json:"label"`
	}
	answer = out.Body.String()
	if out.Code != 200 || json.Unmarshal([]byte(answer), &list) != nil || len(list) != len(texts) {
		t.Fatalf("%d %s", out.Code, answer)
	}
	labels = map[string]string{}
	for i, text := range texts {
		labels[text] = list[i].Label
	}
	return answer, labels
}

// leakedKeys reports keys as GitHub. The stack itself has LeakReports=off.
func leakedKeys(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	tg.want(t, call{method: "POST", path: "/key/leaks/github", body: `[{"token":"` + c.key + `"}]`}, 404, "route_not_found")
	hook := c.receiver(t, nil, "key.leaked", "key.revoked")
	_, token := c.link(t, "u-1")
	_, sibling := c.owner.key(t, c.org, `{}`)

	_, labels := newGitHub(t, s, "tell").report(t, c.key, c.key[:len(c.key)-1], token)
	if labels[c.key] != "true_positive" || labels[c.key[:len(c.key)-1]] != "false_positive" || labels[token] != "false_positive" {
		t.Errorf("%v", labels)
	}
	event := hook.one(t, "key.leaked", c.keyID)
	var data struct {
		URL         string
		RevokedAt   *int64
		EndpointIDs []string
	}
	if err := json.Unmarshal(event.Data, &data); err != nil || data.URL != leakPlace || data.RevokedAt != nil || len(data.EndpointIDs) != 1 || data.EndpointIDs[0] != hook.endpoint {
		t.Errorf("%s, %v", event.Data, err)
	}
	c.ok(t, "/app/get", nil)

	g := newGitHub(t, s, "revoke")
	answer, _ := g.report(t, c.key)
	if got := tg.storm(t, 200, c.key); got["401 key_revoked"] != 200 {
		t.Errorf("after the answer: %v", got)
	}
	hook.one(t, "key.revoked", c.keyID)
	if again, _ := g.report(t, c.key); again != answer {
		t.Errorf("%s, and then %s", answer, again)
	}
	tg.want(t, call{method: "POST", path: "/app/get", bearer: sibling}, 200, "")
	tg.want(t, newDevice().claims(token), 200, "")
	audit := c.owner.want(t, "GET", "/v1/orgs/"+c.org+"/audit", "", 200, "").text
	if strings.Count(audit, `"action":"key.leaked"`) != 1 || strings.Count(audit, `"source":"`+leakPlace+`"`) != 2 || strings.Contains(audit, `"endpoint.updated"`) {
		t.Errorf("the audit log: %s", audit)
	}
	for _, k := range c.owner.want(t, "GET", "/v1/orgs/"+c.org+"/keys", "", 200, "").list("keys") {
		if (k["leakedAt"] != nil) != (k["id"] == c.keyID) {
			t.Errorf("listed: %v", k)
		}
	}
}
