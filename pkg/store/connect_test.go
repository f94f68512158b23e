package store_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// idempotencyKey is a value of the header Idempotency-Key.
const idempotencyKey = "6f2d9b0c-1111-4222-8333-444455556666"

// connected is an app on a new table. Its clock moves only by advanceClock.
type connected struct {
	*storetest.Table
	ada id.User // the admin of the app's org
	org id.Org
	app id.App

	mu  sync.Mutex
	now time.Time
}

// connect returns the default app of a new org. Ada is its only member.
func connect(t *testing.T) *connected {
	t.Helper()
	c := &connected{Table: storetest.New(t), now: time.UnixMilli(1_800_000_000_000)} // any time
	c.Now = func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.now
	}
	c.ada = c.NewUser(t, "ada@example.com")
	c.org = c.NewOrg(t, c.ada)
	c.app = id.DefaultApp(c.org)
	return c
}

// advanceClock moves the store's clock forward.
func (c *connected) advanceClock(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// forgetCalls makes the next Faults.Calls return only the calls from now on.
func (c *connected) forgetCalls() { c.Faults.Calls() }

// letPass plans that nothing happens before the next call of an operation. Each call uses one plan, in order: so
// a plan that is made after letPass is for the second call.
func (c *connected) letPass(operation string) { c.Faults.Before(operation, func() {}) }

// rowsOf returns the rows whose partition key begins with a text.
func (c *connected) rowsOf(t *testing.T, begins string) (rows []map[string]types.AttributeValue) {
	t.Helper()
	for _, r := range c.Rows(t) {
		if strings.HasPrefix(text(r, "PK"), begins) {
			rows = append(rows, r)
		}
	}
	return rows
}

// text returns an attribute of a row as text, "" when it is absent.
func text(row map[string]types.AttributeValue, name string) string {
	switch v := row[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// events returns the data of the app's events of a type.
func (c *connected) events(t *testing.T, kind webhook.Type) []map[string]any {
	return c.eventsOf(t, c.app, kind)
}

func (c *connected) eventsOf(t *testing.T, app id.App, kind webhook.Type) (data []map[string]any) {
	t.Helper()
	for _, r := range c.rowsOf(t, "EVTS#"+string(app)) {
		if text(r, "type") != string(kind) {
			continue
		}
		var d map[string]any
		if err := json.Unmarshal([]byte(text(r, "data")), &d); err != nil {
			t.Fatal(err)
		}
		data = append(data, d)
	}
	return data
}

// madeLink is a link with its token, which only the answer of its create shows.
type madeLink struct {
	link.Link
	token link.Token
}

// link creates a pending link, as if by a request without an API key.
func (c *connected) link(t *testing.T, life time.Duration) madeLink {
	t.Helper()
	made, err := c.CreateLink(ctx, store.NewLink{
		OrgID: c.org, AppID: c.app, ClientUserID: "user-1", Metadata: map[string]string{"plan": "pro"}, ExpiresIn: life,
	}, store.Once[store.MintedLink]{})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := link.ParseToken(made.Made.Token.Text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return madeLink{made.Made.Link, parsed}
}

// claim returns a claim of the link, by the device that has this claim key.
func (l madeLink) claim(key string) store.Claim {
	return store.Claim{Token: l.token, ClaimKeyHash: sha256.Sum256([]byte(key))}
}

// endpoint creates an endpoint with a new URL. The endpoint gets these types of events; none: all types.
func (c *connected) endpoint(t *testing.T, events ...string) store.Endpoint {
	t.Helper()
	if len(events) == 0 {
		events = []string{webhook.Every}
	}
	wanted := c.wanted("")
	wanted.URL, wanted.Events = fmt.Sprint("https://receiver.example/", rand.Uint64()), events
	made, err := c.CreateEndpoint(ctx, wanted, store.Once[store.Endpoint]{})
	if err != nil {
		t.Fatal(err)
	}
	return c.readEndpoint(t, made.Made.ID)
}

// wanted describes an endpoint that an API key creates; "": no key.
func (c *connected) wanted(by id.Key) store.NewEndpoint {
	return store.NewEndpoint{OrgID: c.org, AppID: c.app, By: store.ByKey(by)}
}

// readEndpoint reads an endpoint as it is now.
func (c *connected) readEndpoint(t *testing.T, endpoint id.Endpoint) store.Endpoint {
	t.Helper()
	found, err := c.Endpoint(ctx, c.app, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// enable enables or disables an endpoint, as a request of its app.
func (c *connected) enable(t *testing.T, endpoint id.Endpoint, enabled bool) store.Endpoint {
	t.Helper()
	changed, err := c.UpdateEndpoint(ctx, c.app, endpoint, store.EndpointChange{Enabled: &enabled})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// testEvent writes a test event for one endpoint, and returns the event's id.
func (c *connected) testEvent(t *testing.T, endpoint id.Endpoint) id.Event {
	t.Helper()
	e, err := c.Deliveries().Test(ctx, c.org, c.app, endpoint, "", nil, store.Changer{}, store.Once[id.Event]{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Made
}

// fanOutAll fans out every event of the app, as the table's stream does.
func (c *connected) fanOutAll(t *testing.T) {
	t.Helper()
	for _, r := range c.rowsOf(t, "EVTS#") {
		noError(t, errorOf(c.Deliveries().FanOut(ctx, c.app, id.Event(text(r, "SK")))))
	}
}

// fanOutTest writes a test event for one endpoint and fans it out, so that the endpoint has a delivery of the event.
func (c *connected) fanOutTest(t *testing.T, endpoint id.Endpoint) id.Event {
	t.Helper()
	e := c.testEvent(t, endpoint)
	if _, err := c.Deliveries().FanOut(ctx, c.app, e); err != nil {
		t.Fatal(err)
	}
	return e
}

// readWork reads a delivery as the deliver function does before an attempt.
func (c *connected) readWork(t *testing.T, endpoint id.Endpoint, e id.Event) store.Work {
	t.Helper()
	w, ok, err := c.Deliveries().Work(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint, Event: e})
	if err != nil || !ok {
		t.Fatalf("Work = %v, %v", ok, err)
	}
	return w
}

// status returns the status of a delivery.
func (c *connected) status(t *testing.T, endpoint id.Endpoint, e id.Event) webhook.DeliveryStatus {
	t.Helper()
	return c.readWork(t, endpoint, e).Status
}

// atOnce calls do n times at once, with i from 0 to n-1, and returns the error of each call at its i.
func atOnce(n int, do func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// tally counts outcomes by their code; "" is success.
func tally(errs []error) map[problem.Code]int {
	out := map[problem.Code]int{}
	for _, err := range errs {
		if err == nil {
			out[""]++
			continue
		}
		out[problem.From(err).Code]++
	}
	return out
}

// persistent repeats a call that was unavailable because of too many races, as a client does. It waits a random
// time, which may be longer each time: otherwise forty callers at once could keep the database of a busy
// machine from answering any of them in time.
func persistent(do func() error) error {
	const tries = 12
	for try := 0; ; try++ {
		err := do()
		if !problem.Is(err, problem.Unavailable) || try == tries {
			return err
		}
		time.Sleep(rand.N(min(100*time.Millisecond<<try, 5*time.Second)))
	}
}

// once makes a create idempotent. key is the app's header Idempotency-Key, and request is the body. answer is the answer of
// the first create, and also of a later create with the same key and body.
func once[Made any](c *connected, key, request, answer string) store.Once[Made] {
	return store.Once[Made]{
		Request: store.Request{Key: secret.New(key), Principal: string(c.app), Method: "POST", Path: "/x", Body: sha256.Sum256([]byte(request))},
		Render:  func(Made) ([]byte, error) { return []byte(answer), nil },
	}
}

// recording copies to *made the thing that a create is about to make, so that a test knows it also when the create fails.
func recording[Made any](made *Made) store.Once[Made] {
	return store.Once[Made]{Render: func(m Made) ([]byte, error) { *made = m; return nil, nil }}
}

var errWrong = errors.New("not as it must be")

// unexpected returns an error about the result of a call, for a function that returns errors and has no *testing.T.
func unexpected(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errWrong}, args...)...)
}

// deliveryRow returns the row of a delivery, for write.
func (c *connected) deliveryRow(endpoint id.Endpoint, event, status string) map[string]string {
	return map[string]string{
		"PK": "DLV#" + string(endpoint), "SK": event, "status": status,
		"orgId": string(c.org), "appId": string(c.app), "eventType": "test", "attempts": "0", "createdAt": "1",
	}
}

// hashOf returns the hash of a text without the form of a token, so that no token has this hash.
func hashOf(s string) secret.Hash { return sha256.Sum256([]byte(s)) }

// numbers are the attributes that write writes as numbers. It writes all others as texts.
var numbers = []string{"attempts", "createdAt", "served", "leased", "counted"}

// write puts rows directly into the table, because the store is slow for many.
func write(t *testing.T, tb *storetest.Table, rows []map[string]string) {
	t.Helper()
	for len(rows) > 0 {
		n := min(len(rows), 25) // DynamoDB accepts 25 in a batch
		var puts []types.WriteRequest
		for _, r := range rows[:n] {
			item := map[string]types.AttributeValue{}
			for name, value := range r {
				item[name] = &types.AttributeValueMemberS{Value: value}
				if slices.Contains(numbers, name) {
					item[name] = &types.AttributeValueMemberN{Value: value}
				}
			}
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}
		if _, err := tb.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tb.Name: puts}}); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
}
