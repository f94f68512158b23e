package pipeline_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// received is one request at a receiver, verified.
type received struct {
	jti, kid    string
	iat         int64
	event, kind string
	data        json.RawMessage
}

// receiver is an endpoint of an app, with a server that keeps the requests.
type receiver struct {
	store.Endpoint
	stack *stack
	t     *testing.T

	mu     sync.Mutex
	got    []received
	answer func(w http.ResponseWriter, n int) // n from 1; nil: 204
}

// receiver makes an endpoint of the app for these types. Without types, it subscribes to all types except endpoint.created,
// .updated and .deleted, which the other endpoints of the test cause.
func (s *stack) receiver(t *testing.T, answer func(w http.ResponseWriter, n int), kinds ...string) *receiver {
	t.Helper()
	return s.receiverOf(t, s.org, s.app, answer, kinds...)
}

// receiverOf makes an endpoint of an app. Without types it chooses them as receiver does.
func (s *stack) receiverOf(t *testing.T, o id.Org, a id.App, answer func(w http.ResponseWriter, n int), kinds ...string) *receiver {
	t.Helper()
	r := &receiver{stack: s, t: t, answer: answer}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	if len(kinds) == 0 {
		for _, kind := range webhook.AllTypes() {
			if !slices.Contains([]webhook.Type{webhook.EndpointCreated, webhook.EndpointUpdated, webhook.EndpointDeleted}, kind) {
				kinds = append(kinds, string(kind))
			}
		}
	}
	made, err := s.CreateEndpoint(ctx, store.NewEndpoint{OrgID: o, AppID: a, URL: server.URL + "/hook", Events: kinds}, store.Once[store.Endpoint]{})
	if err != nil {
		t.Fatal(err)
	}
	r.Endpoint = made.Made
	return r
}

// status returns a function that answers every request with this status.
func status(code int) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) { w.WriteHeader(code) }
}

// setAnswer replaces the function that answers.
func (r *receiver) setAnswer(answer func(w http.ResponseWriter, n int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// ServeHTTP verifies a webhook by the key in the table, and checks that its sender had the lease.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	got, err := r.verify(req, string(body))
	if err != nil {
		r.t.Errorf("a webhook is refused: %v: %s", err, body)
	}
	r.mu.Lock()
	r.got = append(r.got, got)
	n, answer := len(r.got), r.answer
	r.mu.Unlock()
	if answer == nil {
		answer = status(http.StatusNoContent)
	}
	answer(w, n)
}

// verify checks a webhook as a receiver does, and that the row of its delivery has its jti as the lease.
func (r *receiver) verify(req *http.Request, token string) (got received, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/jwt" || req.Header.Get("User-Agent") != "Latchkey-Webhooks/1" {
		return got, fmt.Errorf("%s, %v", req.Method, req.Header)
	}
	var header struct{ Alg, Kid, Typ string }
	var claims struct {
		Iss, Aud, Jti string
		Iat, Exp      int64
		Event         struct {
			ID, Type  string
			CreatedAt int64
			Data      json.RawMessage
		}
	}
	for i, into := range []any{&header, &claims} {
		text, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if err != nil {
			return got, err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return got, err
		}
	}
	got = received{claims.Jti, header.Kid, claims.Iat, claims.Event.ID, claims.Event.Type, claims.Event.Data}
	key, err := store.New(r.stack.DB, r.stack.Name).VerificationKey(ctx, header.Kid) // a store without injected faults
	if err != nil {
		return got, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(raw) != len(webhook.Signature{}) {
		return got, errors.Join(err, fmt.Errorf("a signature of %d bytes", len(raw)))
	}
	now := r.stack.Now()
	expired := key.ExpiredAt != 0 && claims.Iat*1000 >= key.ExpiredAt
	switch {
	case !key.Verify(sha256.Sum256([]byte(parts[0]+"."+parts[1])), webhook.Signature(raw)):
		return got, errors.New("the signature does not verify")
	case key.State == webhook.SigningRevoked || expired:
		return got, errors.New("the key is revoked or expired")
	case header.Alg != "ES256" || header.Typ != "webhook+jwt" || claims.Iss != issuer || claims.Aud != string(r.ID):
		return got, errors.New("the header or the claims are wrong")
	case claims.Iat != now.Unix() || claims.Exp != now.Unix()+300 || claims.Event.ID != req.Header.Get("Webhook-Id"):
		return got, errors.New("the time or the id is wrong")
	}
	row, err := r.stack.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.stack.Name, Key: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "DLV#" + string(r.ID)}, "SK": &types.AttributeValueMemberS{Value: claims.Event.ID},
	}})
	if err != nil {
		return got, err
	}
	if lease := attr(row.Item, "lease"); lease != claims.Jti {
		return got, fmt.Errorf("sent without the lease, which belongs to %s", lease)
	}
	return got, nil
}

// requests returns the requests since the beginning.
func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// wantRequests fails unless the receiver has had n requests since the beginning.
func (r *receiver) wantRequests(when string, n int) {
	r.t.Helper()
	if got := r.requests(); len(got) != n {
		r.t.Errorf("%s: %d requests, want %d", when, len(got), n)
	}
}

// newEvent writes a test event for the receiver.
func (r *receiver) newEvent() id.Event {
	r.t.Helper()
	e, err := r.stack.Deliveries().Test(ctx, r.OrgID, r.AppID, r.ID, "", nil, store.Changer{}, store.Once[id.Event]{})
	if err != nil {
		r.t.Fatal(err)
	}
	return e.Made
}

// readDelivery reads one of the receiver's deliveries.
func (r *receiver) readDelivery(e id.Event) store.Work {
	r.t.Helper()
	w, ok, err := r.stack.Deliveries().Work(ctx, webhook.DeliveryID{App: r.AppID, Endpoint: r.ID, Event: e})
	if err != nil || !ok {
		r.t.Fatalf("Work = %v, %v", ok, err)
	}
	return w
}

// statuses counts the receiver's deliveries by status.
func (r *receiver) statuses() map[webhook.DeliveryStatus]int {
	out := map[webhook.DeliveryStatus]int{}
	for _, row := range r.stack.Rows(r.t) {
		if attr(row, "PK") == "DLV#"+string(r.ID) {
			out[webhook.DeliveryStatus(attr(row, "status"))]++
		}
	}
	return out
}

// endpoint reads the row of the receiver's endpoint.
func (r *receiver) endpoint() store.Endpoint {
	r.t.Helper()
	endpoint, err := r.stack.Endpoint(ctx, r.AppID, r.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return endpoint
}

// enable enables the receiver's endpoint, and returns the endpoint as the answer shows it.
func (r *receiver) enable() store.Endpoint {
	r.t.Helper()
	yes := true
	endpoint, err := r.stack.UpdateEndpoint(ctx, r.AppID, r.ID, store.EndpointChange{Enabled: &yes})
	if err != nil {
		r.t.Fatal(err)
	}
	return endpoint
}
