package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/golang-jwt/jwt/v5"

	"latchkey/infra/harness/lab/backing"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	roles "latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const (
	tableName = "bench"
	bareKey   = "BARE" // PK and SK of the row that the baselines read, which has no other attributes

	// answersAfter is how long the services wait. The SDK drops a connection whose answer arrives
	// before its own goroutine waits for it.
	answersAfter = time.Millisecond

	// signature is what KMS answers: r and s in DER, in base64. Its value does not matter.
	signature = "MEQCIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAiACAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=="
)

// world is a DynamoDB Local that has an org with an API key, a user and a delivery that is due, and the
// services that the functions call: AWS, the issuer of access tokens and the receiver of webhooks.
type world struct {
	database *backing.Process
	services *httptest.Server
	known    sync.Map // the database's answers by operation and request, because the database is slow on a busy machine
	jwks     []byte   // the key set of the issuer
	token    string   // an access token of a known user
	key      string   // an API key's text
	limited  string   // an API key's text; the key has limits
	keyID    id.Key
	org      id.Org
	actor    store.Actor     // the org's admin
	message  webhook.Message // names the delivery that is due
}

// newWorld fills a table of DynamoDB Local by the product's own use cases.
func newWorld(ctx context.Context) (*world, error) {
	database, err := backing.StartDynamoDB(ctx, backing.Options{})
	if err != nil {
		return nil, err
	}
	w := &world{database: database}
	w.services = httptest.NewServer(http.HandlerFunc(w.serve))
	table, err := backing.ReadTable("template.yaml")
	if err == nil {
		err = table.CreateIn(ctx, backing.NewDynamoDBClient(database.Endpoint), tableName)
	}
	if err == nil {
		err = w.sign()
	}
	if err == nil {
		err = w.fill(ctx)
	}
	if err == nil {
		err = w.put(ctx, []string{fmt.Sprintf(`{"PK":{"S":%q},"SK":{"S":%q}}`, bareKey, bareKey)})
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) close() error {
	w.services.Close()
	return w.database.Stop()
}

// env returns the environment of every function.
func (w *world) env() []string {
	aws := w.services.URL
	return []string{
		"AWS_ENDPOINT_URL=" + aws, "TABLE=" + tableName, "STACK=bench", "QUEUE_URL=" + aws + "/queue", "EVENT_BUS=bench", "SIGNING_KEY_ARN=arn", "WEBHOOK_ISSUER=https://bench.test",
		"WEBHOOK_ALLOW_CIDRS=127.0.0.0/8", "ISSUER=" + aws, "JWKS_URL=" + aws, "AUDIENCE=bench", "PK=" + bareKey, "SK=" + bareKey,
		"ORG_PARAMETER=orgId", "API_GATEWAY=" + aws, "KEY_AUTHORIZER=arn:key", "MEMBER_AUTHORIZER=arn:member",
	}
}

// serve passes each read on to DynamoDB Local once. It accepts every write and stores none, so that one delivery can be
// attempted any number of times. It answers a GET with the key set.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program has gone
	}
	time.Sleep(answersAfter)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	answer, media := []byte(`{}`), "application/x-amz-json-1.0"
	switch operation {
	case "GetItem", "BatchGetItem":
		if known, ok := w.known.Load(operation + string(body)); ok {
			answer = known.([]byte)
		} else if answer, err = w.call(r.Context(), operation, string(body)); err == nil {
			w.known.Store(operation+string(body), answer)
		}
	case "Sign":
		answer = fmt.Appendf(nil, `{"KeyId":"bench","Signature":%q,"SigningAlgorithm":"ECDSA_SHA_256"}`, signature)
	case "SendMessageBatch":
		answer = []byte(`{"Successful":[],"Failed":[]}`)
	case "UpdateItem", "TransactWriteItems":
	case "": // no call of AWS: a GET of the key set, or the POST of a webhook
		if r.Method == http.MethodGet {
			answer, media = w.jwks, "application/json"
		}
	default:
		err = fmt.Errorf("no answer to %s", operation)
	}
	rw.Header().Set("Content-Type", media)
	if err != nil {
		rw.WriteHeader(http.StatusInternalServerError)
		answer = []byte(err.Error())
	}
	_, _ = rw.Write(answer) // if the program has ended, its own missing answers are an error
}

func (w *world) call(ctx context.Context, operation, body string) ([]byte, error) {
	return backing.Call(ctx, w.database.Endpoint, "dynamodb", "DynamoDB_20120810."+operation, []byte(body))
}

// put writes rows in DynamoDB's JSON: 25 at most, the limit of BatchWriteItem.
func (w *world) put(ctx context.Context, rows []string) error {
	requests := `{"PutRequest":{"Item":` + strings.Join(rows, `}},{"PutRequest":{"Item":`) + `}}`
	answer, err := w.call(ctx, "BatchWriteItem", fmt.Sprintf(`{"RequestItems":{%q:[%s]}}`, tableName, requests))
	if err == nil && !strings.Contains(string(answer), `"UnprocessedItems":{}`) {
		err = fmt.Errorf("rows are not written: %.200s", answer)
	}
	return err
}

// rowsOf returns the two rows, in DynamoDB's JSON, whose sort keys end in an id.
func (w *world) rowsOf(ctx context.Context, id string) (rows []string, err error) {
	answer, err := w.call(ctx, "Scan", fmt.Sprintf(`{"TableName":%q}`, tableName))
	if err != nil {
		return nil, err
	}
	var out struct{ Items []json.RawMessage }
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, err
	}
	for _, item := range out.Items {
		var key struct{ SK struct{ S string } }
		if err := json.Unmarshal(item, &key); err != nil {
			return nil, err
		}
		if strings.HasSuffix(key.SK.S, id) {
			rows = append(rows, string(item))
		}
	}
	if len(rows) != 2 {
		return nil, fmt.Errorf("%d rows of %s", len(rows), id)
	}
	return rows, nil
}

var shard = regexp.MustCompile(`(DUE#delivery#)\d`)

// clone copies two rows once for each id, with the id in place of old. The copies are spread over the shards of the index.
func (w *world) clone(ctx context.Context, rows []string, old string, ids []string) error {
	const shards = 8 // of the index; two rows for each of 8 ids are few enough for one put
	return errors.Join(parallel.Each(4, slices.Collect(slices.Chunk(ids, shards)), func(_ int, ids []string) error {
		var copies []string
		for i, id := range ids {
			for _, row := range rows {
				copies = append(copies, shard.ReplaceAllString(strings.ReplaceAll(row, old, id), fmt.Sprint("${1}", i)))
			}
		}
		return w.put(ctx, copies)
	})...)
}

// store returns a store that calls the database by an HTTP client.
func (w *world) store(client aws.HTTPClient) *store.Store {
	config := boot.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil)
	config.HTTPClient = client
	return store.New(dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.BaseEndpoint = &w.database.Endpoint }), tableName)
}

// sign makes the issuer's key set, and an access token that the issuer signed.
func (w *world) sign() error {
	key, jwk, err := backing.NewKey()
	if err != nil {
		return err
	}
	if w.jwks, err = json.Marshal(map[string]any{"keys": []any{jwk}}); err != nil {
		return err
	}
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": w.services.URL, "sub": "alice", "aud": "bench", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "alice@example.com", "email_verified": true, "name": "Alice", "client_id": "app", "scope": "openid profile",
	})
	t.Header["typ"], t.Header["kid"] = "at+jwt", jwk["kid"]
	w.token, err = t.SignedString(key)
	return err
}

// fill makes a user, an org, an API key that was used once, and a webhook whose delivery is due.
func (w *world) fill(ctx context.Context) error {
	table := w.store(boot.NewHTTPClient())
	tokens := accesstoken.New(accesstoken.Config{Issuer: w.services.URL, JWKSURL: w.services.URL, Audience: "bench"}, boot.NewIssuerClient(), time.Now)
	p, err := authn.New(table, tokens).Authorize(ctx, route.Route{Takes: principal.UserToken}, []string{"Bearer " + w.token})
	if err != nil {
		return err
	}
	org, err := table.CreateOrg(ctx, p.UserID, "Acme", store.Once[store.Org]{})
	if err != nil {
		return err
	}
	w.org, w.actor = org.Made.ID, store.Actor{User: p.UserID, May: []roles.Role{roles.Admin}}
	for _, limits := range []string{"1000000000/m 1000000000/d", ""} {
		key, err := table.CreateKey(ctx, w.actor, w.org, store.NewKey{Name: "bench", Prefix: "lk", Carried: store.Carried{Limits: limits}}, store.Once[store.MintedKey]{})
		if err != nil {
			return err
		}
		w.limited = cmp.Or(w.limited, key.Made.Minted.Key.Reveal())
		w.key, w.keyID = key.Made.Minted.Key.Reveal(), key.Made.ID
		if _, err := authn.New(table, nil).Authorize(ctx, route.Route{Takes: principal.APIKey}, []string{"Bearer " + w.key}); err != nil { // notes the last use: the key's second row
			return err
		}
	}
	app := id.DefaultApp(w.org)
	endpoint, err := table.CreateEndpoint(ctx, store.NewEndpoint{
		OrgID: w.org, AppID: app, URL: w.services.URL + "/hook", Events: []string{webhook.Every}, By: store.ByKey(w.keyID),
	}, store.Once[store.Endpoint]{})
	if err != nil {
		return err
	}
	event, err := table.Deliveries().Test(ctx, w.org, app, endpoint.Made.ID, "", nil, store.Changer{}, store.Once[id.Event]{})
	if err != nil {
		return err
	}
	if _, err := table.Deliveries().FanOut(ctx, app, event.Made); err != nil {
		return err
	}
	w.message = webhook.Message{Org: w.org, DeliveryID: webhook.DeliveryID{App: app, Endpoint: endpoint.Made.ID, Event: event.Made}}
	lease, err := table.LeaseSigningKeys(ctx, time.Minute)
	if err != nil {
		return err
	}
	return table.ActivateSigningKey(ctx, lease, store.SigningKeys{}, webhook.JWK{Kid: "bench", X: "x", Y: "y"}, "arn:aws:kms:us-east-1:123456789012:key/bench")
}

// gogc returns the value of GOGC that the template sets.
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

// authorizerEvent is what API Gateway sends for a request of a client that sends a few headers.
func authorizerEvent(method, resource, credential string) []byte {
	headers := []string{
		"Accept", "*/*", "Authorization", "Bearer " + credential, "Content-Type", "application/json", "Host", "abc123.execute-api.us-east-1.amazonaws.com",
		"User-Agent", "acme-client/1.4.2", "X-Amzn-Trace-Id", "Root=1-5759e988-bd862e3fe1be46a994272793",
		"X-Forwarded-For", "203.0.113.7", "X-Forwarded-Port", "443", "X-Forwarded-Proto", "https",
	}
	var one, many []string
	for h := range slices.Chunk(headers, 2) {
		one = append(one, fmt.Sprintf("%q:%q", h[0], h[1]))
		many = append(many, fmt.Sprintf("%q:[%q]", h[0], h[1]))
	}
	return fmt.Appendf(nil, `{"type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abc123/live/%[1]s%[2]s",`+
		`"resource":%[2]q,"path":%[2]q,"httpMethod":%[1]q,"headers":{%[3]s},"multiValueHeaders":{%[4]s},`+
		`"queryStringParameters":{},"multiValueQueryStringParameters":{},"pathParameters":{},"stageVariables":{},`+
		`"requestContext":{"resourceId":"x1y2z3","resourcePath":%[2]q,"httpMethod":%[1]q,"extendedRequestId":"JKJaXmPLvHcESHA=",`+
		`"requestTime":"10/Mar/2026:06:58:27 +0000","path":"/live%[2]s","accountId":"123456789012","protocol":"HTTP/1.1","stage":"live",`+
		`"domainPrefix":"abc123","requestTimeEpoch":1773125907000,"requestId":"c6af9ac6-7b61-11e6-9a41-93e8deadbeef","apiId":"abc123",`+
		`"domainName":"abc123.execute-api.us-east-1.amazonaws.com",`+
		`"identity":{"sourceIp":"203.0.113.7","userAgent":"acme-client/1.4.2","caller":null,"user":null,"accountId":null}}}`,
		method, resource, strings.Join(one, ","), strings.Join(many, ","))
}
