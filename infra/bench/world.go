package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	roles "latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const tableName = "bench"

// bareRow is the key of the row that the baselines read, which has no other attributes.
var bareRow = [2]string{"BARE", "BARE"}

// world has an org with an API key, a user and a delivery that is due, and the fake services that
// answer with their rows.
type world struct {
	services *services
	issuer   *httptest.Server
	key      string // an API key's text
	keyID    id.Key
	org      id.Org
	actor    store.Actor // its admin
	token    string      // an access token of a known user
	message  webhook.Message
	gogc     string // of the functions, by the template
}

func (w *world) close() {
	w.services.Close()
	w.issuer.Close()
}

// env returns the environment of every function.
func (w *world) env() []string {
	aws := w.services.URL
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + aws, "AWS_ENDPOINT_URL_KMS=" + aws, "AWS_ENDPOINT_URL_SQS=" + aws,
		"TABLE=" + tableName, "STACK=bench", "QUEUE_URL=" + aws + "/queue", "SIGNING_KEY_ARN=arn", "WEBHOOK_ISSUER=https://bench.test",
		"WEBHOOK_ALLOW_CIDRS=127.0.0.0/8", "ISSUER=" + w.issuer.URL, "JWKS_URL=" + w.issuer.URL, "AUDIENCE=bench",
		"PK=" + bareRow[0], "SK=" + bareRow[1], "URL=" + aws,
	}
}

// unreachable returns the environment of a function that opens no connection at its start.
func (w *world) unreachable() []string {
	return append(w.env(), "AWS_ENDPOINT_URL_DYNAMODB=http://[", "AWS_ENDPOINT_URL_KMS=http://[", "AWS_ENDPOINT_URL_SQS=http://[")
}

// newWorld fills a table of DynamoDB Local by the product's own use cases, and takes its rows.
func newWorld(ctx context.Context) (*world, error) {
	database, err := startTable(ctx)
	if err != nil {
		return nil, err
	}
	defer database.Stop() //nolint:errcheck // it ends with this program anyway
	w := &world{}
	if w.gogc, err = gogc(); err != nil {
		return nil, err
	}
	signer, err := w.startIssuer()
	if err != nil {
		return nil, err
	}
	w.services = newServices(nil)
	if err := w.fill(ctx, storeOn(database, boot.NewHTTPClient()), signer); err != nil {
		return nil, err
	}
	if w.services.rows, err = rowsOf(ctx, database.Endpoint); err != nil {
		return nil, err
	}
	w.services.rows[bareRow] = json.RawMessage(`{"PK":{"S":"BARE"},"SK":{"S":"BARE"}}`)
	return w, nil
}

// gogc returns the pace of the garbage collector that the template sets.
func gogc() (string, error) {
	text, err := os.ReadFile("template.yaml")
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^        GOGC: '(\d+)'`).FindSubmatch(text)
	if found == nil {
		return "", errors.New("template.yaml sets no GOGC")
	}
	return string(found[1]), nil
}

// startIssuer serves the key set of an issuer, and makes a token of it.
func (w *world) startIssuer() (token string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", err
	}
	public, err := webhook.ParsePublicKey(der)
	if err != nil {
		return "", err
	}
	w.issuer = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(rw, `{"keys":[{"kid":%q,"kty":"EC","crv":"P-256","x":%q,"y":%q,"alg":"ES256","use":"sig"}]}`, public.Kid, public.X, public.Y)
	}))
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": w.issuer.URL, "sub": "alice", "aud": "bench", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "alice@example.com", "email_verified": true, "name": "Alice", "client_id": "app", "scope": "openid profile",
	})
	t.Header["typ"], t.Header["kid"] = "at+jwt", public.Kid
	w.token, err = t.SignedString(key)
	return w.token, err
}

// fill makes the rows.
func (w *world) fill(ctx context.Context, table *store.Store, token string) error {
	tokens := accesstoken.New(accesstoken.Config{Issuer: w.issuer.URL, JWKSURL: w.issuer.URL, Audience: "bench"}, boot.NewIssuerClient(), time.Now)
	p, err := authn.New(table, tokens).Authorize(ctx, principal.UserToken, []string{"Bearer " + token})
	if err != nil {
		return err
	}
	org, err := table.CreateOrg(ctx, p.UserID, "Acme", store.Once[store.Org]{})
	if err != nil {
		return err
	}
	actor := store.Actor{User: p.UserID, May: []roles.Role{roles.Admin}}
	key, err := table.CreateKey(ctx, actor, org.Made.ID, store.NewKey{Name: "bench", Prefix: "lk"}, store.Once[store.MintedKey]{})
	if err != nil {
		return err
	}
	w.key, w.keyID, w.org, w.actor = key.Made.Minted.Key.Reveal(), key.Made.ID, org.Made.ID, actor
	owner := authn.New(table, tokens)
	p, err = owner.Authorize(ctx, principal.APIKey, []string{"Bearer " + w.key})
	if err != nil {
		return err
	}
	endpoint, err := table.CreateEndpoint(ctx, store.NewEndpoint{
		OrgID: p.OrgID, AppID: p.AppID, URL: w.services.URL + "/hook", Events: []string{webhook.Every}, By: p.KeyID,
	}, store.Once[store.Endpoint]{})
	if err != nil {
		return err
	}
	event, err := table.Deliveries().Test(ctx, p.OrgID, p.AppID, endpoint.Made.ID, "hello")
	if err != nil {
		return err
	}
	if _, err := table.Deliveries().FanOut(ctx, p.AppID, event); err != nil {
		return err
	}
	w.message = webhook.Message{Org: p.OrgID, DeliveryID: webhook.DeliveryID{App: p.AppID, Endpoint: endpoint.Made.ID, Event: event}}
	return activate(ctx, table)
}

// activate makes a signing key the active one.
func activate(ctx context.Context, table *store.Store) error {
	lease, err := table.LeaseSigningKeys(ctx, time.Minute)
	if err != nil {
		return err
	}
	return table.ActivateSigningKey(ctx, lease, store.SigningKeys{}, webhook.JWK{Kid: "bench", X: "x", Y: "y"}, "arn:aws:kms:us-east-1:123456789012:key/bench")
}

// authorizerEvent is what API Gateway sends for a request of a client that sends a few headers.
func authorizerEvent(method, resource, credential string) []byte {
	headers := map[string]string{
		"Accept": "*/*", "Authorization": "Bearer " + credential, "Content-Type": "application/json", "Host": "abc123.execute-api.us-east-1.amazonaws.com",
		"User-Agent": "acme-client/1.4.2", "X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793", "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Port": "443", "X-Forwarded-Proto": "https",
	}
	many := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		many[name] = []string{headers[name]}
	}
	event, err := json.Marshal(map[string]any{
		"type": "REQUEST", "methodArn": "arn:aws:execute-api:us-east-1:123456789012:abc123/live/" + method + resource,
		"resource": resource, "path": resource, "httpMethod": method, "headers": headers, "multiValueHeaders": many,
		"queryStringParameters": map[string]string{}, "multiValueQueryStringParameters": map[string][]string{}, "pathParameters": map[string]string{}, "stageVariables": map[string]string{},
		"requestContext": map[string]any{
			"resourceId": "x1y2z3", "resourcePath": resource, "httpMethod": method, "extendedRequestId": "JKJaXmPLvHcESHA=", "requestTime": "10/Mar/2026:06:58:27 +0000",
			"path": "/live" + resource, "accountId": "123456789012", "protocol": "HTTP/1.1", "stage": "live", "domainPrefix": "abc123", "requestTimeEpoch": 1773125907000,
			"requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "apiId": "abc123", "domainName": "abc123.execute-api.us-east-1.amazonaws.com",
			"identity": map[string]any{"sourceIp": "203.0.113.7", "userAgent": "acme-client/1.4.2", "caller": nil, "user": nil, "accountId": nil},
		},
	})
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return event
}
