package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"latchkey/infra/harness/local/stack"
)

// ownersBus is the event bus of the owner.
const ownersBus = "owner"

// onBus keeps the events that the owner's bus gets.
type onBus struct {
	isDown atomic.Bool // EventBridge answers only errors
	mu     sync.Mutex
	got    []string
}

// network makes the functions' calls of EventBridge fail while isDown is set. Deleting the bus would cause no error: EventBridge
// accepts events for a deleted bus, and loses them.
func (b *onBus) network(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !b.isDown.Load() || !strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AWSEvents.") {
			return next.RoundTrip(r)
		}
		answer := httptest.NewRecorder()
		answer.WriteHeader(http.StatusInternalServerError)
		_, _ = answer.WriteString(`{"__type":"InternalException"}`)
		return answer.Result(), nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (b *onBus) add(event string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, event)
}

// text returns all events, one a line.
func (b *onBus) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.got, "\n")
}

// has reports whether the bus got an event or an audit entry with an id.
func (b *onBus) has(id string) bool { return strings.Contains(b.text(), `"`+id+`"`) }

// outage stops EventBridge. Webhooks continue. Afterwards the bus gets the events that it missed.
func (b *onBus) outage(t *testing.T, s *stack.Stack, tg *target) {
	c, billing := tg.server(t), serviceOf(t, s, tg)
	hook := c.receiver(t, nil, "invoice.paid")
	b.isDown.Store(true)
	path := "/v1/orgs/" + c.org
	event, _ := billing.want(t, "POST", path+"/apps/"+c.appID+"/events", `{"events":[{"type":"invoice.paid","data":{}}]}`, 202, "").list("events")[0]["id"].(string)
	billing.want(t, "PATCH", path, `{"name":"Renamed"}`, 200, "")
	if got := hook.one(t, "invoice.paid", ""); got.ID != event {
		t.Errorf("%s arrived", got.ID)
	}
	time.Sleep(10 * time.Second) // long enough for several tries of the pump
	if b.has(event) {
		t.Error("the bus got an event while EventBridge was down")
	}
	b.isDown.Store(false)
	entry, _ := c.owner.want(t, "GET", path+"/audit", "", 200, "").list("entries")[0]["id"].(string)
	eventually(t, 2*time.Minute, "the missed events on the bus", func() bool { return b.has(event) && b.has(entry) })
	for line := range strings.Lines(b.text()) {
		var sent struct {
			Detail struct {
				Entry struct {
					ID    string
					Actor struct{ Type, Name, Issuer, Subject string }
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &sent); err != nil {
			t.Fatal(err)
		}
		if by := sent.Detail.Entry.Actor; sent.Detail.Entry.ID == entry && (by.Type != "service" || by.Name != "billing" || by.Issuer != s.Issuer || by.Subject != "service") {
			t.Errorf("renamed by %+v", by)
		}
	}
}

// hasAll checks that the bus got every event and audit entry of the table, except examples, in the form of the schema.
func (b *onBus) hasAll(t *testing.T, s *stack.Stack) {
	var ids []string
	for _, row := range allRows(t, s) {
		pk, _ := row["PK"].(*types.AttributeValueMemberS)
		sk, _ := row["SK"].(*types.AttributeValueMemberS)
		if _, isExample := row["isTest"]; isExample {
			continue
		}
		if strings.HasPrefix(pk.Value, "EVTS#") || strings.HasPrefix(pk.Value, "AUD#") {
			ids = append(ids, sk.Value)
		}
	}
	if len(ids) < 500 { // the suite makes more
		t.Errorf("only %d events and audit entries", len(ids))
	}
	eventually(t, time.Minute, "every event and audit entry on the bus", func() bool {
		time.Sleep(200 * time.Millisecond)
		text := b.text()
		ids = slices.DeleteFunc(ids, func(id string) bool { return strings.Contains(text, `"`+id+`"`) })
		return len(ids) == 0
	})
	schema, err := jsonschema.NewCompiler().Compile("../../examples/tap.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.text()) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Fatalf("%s %v", line, err)
		}
	}
}
