package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// pages reads a list to its end, and calls between before each next page. It returns the ids of the items.
func pages(t *testing.T, read func(after id.Event) (found []id.Event, next id.Event, err error), between func()) (all []id.Event) {
	t.Helper()
	for after := id.Event(""); ; {
		found, next, err := read(after)
		noError(t, err)
		all = append(all, found...)
		if next == "" || next == after { // the feed always has a next
			return all
		}
		if len(all) > 1000 {
			t.Fatal("there is no end")
		}
		between()
		after = next
	}
}

// reversed returns the ids in the other order.
func reversed(all []id.Event) []id.Event {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

// TestEventsAreListedOnceInBothOrders lists 250 events, one each second. In one list, a new event is written after each
// page.
func TestEventsAreListedOnceInBothOrders(t *testing.T) {
	c := connect(t)
	c.advanceClock(time.Hour) // after the events that the app has already
	begin := c.Now()
	add := func() id.Event {
		c.advanceClock(time.Second)
		e := id.Source{}.NewEvent(c.Now())
		write(t, c.Table, []map[string]string{{"PK": "EVTS#" + string(c.app), "SK": string(e), "type": "test", "data": "{}", "createdAt": "1"}})
		return e
	}
	var all []id.Event
	for range 250 {
		all = append(all, add())
	}
	newest := func(since time.Time) func(id.Event) ([]id.Event, id.Event, error) {
		return func(before id.Event) ([]id.Event, id.Event, error) {
			found, next, err := c.NewestEvents(ctx, c.app, since, before, 7)
			return eventIDs(found), next, err
		}
	}
	if got := pages(t, newest(begin), func() {}); fmt.Sprint(got) != fmt.Sprint(reversed(all[:239])) { // the 240th is 10 s old
		t.Errorf("%d events, or others; want the 239 that are older than 10 s", len(got))
	}
	c.advanceClock(10*time.Second + time.Millisecond)
	before := all
	if got := pages(t, newest(begin), func() { all = append(all, add()) }); fmt.Sprint(got) != fmt.Sprint(reversed(before)) || len(all) != 250+35 {
		t.Errorf("%d events, or others; want 250; then there are %d", len(got), len(all))
	}
	c.advanceClock(10*time.Second + time.Millisecond)
	if got := pages(t, newest(begin.Add(201*time.Second)), func() {}); fmt.Sprint(got) != fmt.Sprint(reversed(all[200:])) {
		t.Errorf("since a time: %d events, or others; want 85", len(got))
	}
	for name, got := range map[string][]id.Event{
		"oldest first": pages(t, func(after id.Event) ([]id.Event, id.Event, error) {
			found, next, err := c.Events(ctx, c.app, max(after, id.FirstEvent(begin)), 7)
			return eventIDs(found), next, err
		}, func() {}),
		"newest first": reversed(pages(t, newest(begin), func() {})),
	} {
		if fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("%s: %d events, or others; want %d", name, len(got), len(all))
		}
	}
	// These lists are empty.
	c.advanceClock(-5 * time.Second) // the last five are too young again
	for name, read := range map[string]func() ([]webhook.Event, id.Event, error){
		"before since": func() ([]webhook.Event, id.Event, error) {
			return c.NewestEvents(ctx, c.app, begin.Add(time.Minute), all[3], 7)
		},
		"at since": func() ([]webhook.Event, id.Event, error) {
			return c.NewestEvents(ctx, c.app, begin, id.FirstEvent(begin), 7)
		},
		"since now":   func() ([]webhook.Event, id.Event, error) { return c.NewestEvents(ctx, c.app, c.Now(), "", 7) },
		"another app": func() ([]webhook.Event, id.Event, error) { return c.NewestEvents(ctx, id.NoApp, begin, "", 7) },
	} {
		if found, next, err := read(); err != nil || len(found) != 0 || next != "" {
			t.Errorf("%s: %v, %q, %v", name, found, next, err)
		}
	}
	const latest = "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz"
	if found, _, err := c.NewestEvents(ctx, c.app, begin, latest, 1); err != nil || found[0].ID != all[len(all)-6] {
		t.Errorf("%v, %v", found, err)
	}
}

func eventIDs(found []webhook.Event) (ids []id.Event) {
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestDeliveriesAreListedOnceInBothOrders lists 250 deliveries. Every third failed. In one list, a new delivery is written
// after each page.
func TestDeliveriesAreListedOnceInBothOrders(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	begin := c.Now()
	var all, failed []id.Event
	add := func() {
		e, status := id.Source{}.NewEvent(begin.Add(time.Duration(len(all))*time.Second)), "delivered"
		if len(all)%3 == 0 {
			status, failed = "failed", append(failed, e)
		}
		all = append(all, e)
		write(t, c.Table, []map[string]string{c.deliveryRow(endpoint.ID, string(e), status)})
	}
	for range 250 {
		add()
	}
	list := func(t *testing.T, span store.DeliverySpan, between func()) []id.Event {
		t.Helper()
		span.Endpoint = endpoint.ID
		return pages(t, func(after id.Event) (got []id.Event, next id.Event, err error) {
			span.After = cmp.Or(after, span.After)
			found, next, err := c.Deliveries().List(ctx, c.app, span)
			for _, d := range found {
				got = append(got, d.Event)
			}
			return got, next, err
		}, between)
	}
	before, since := all, begin.Add(200*time.Second)
	for name, v := range map[string]struct {
		span store.DeliverySpan
		want []id.Event
	}{
		"pages of seven":             {store.DeliverySpan{Limit: 7}, before},
		"one page, exactly full":     {store.DeliverySpan{Limit: 250}, before},
		"failed":                     {store.DeliverySpan{Limit: 7, Status: "failed"}, failed},
		"failed, one on each page":   {store.DeliverySpan{Limit: 1, Status: "failed"}, failed},
		"held, and there are none":   {store.DeliverySpan{Limit: 7, Status: "held"}, nil},
		"since a time":               {store.DeliverySpan{Limit: 7, Since: since}, before[200:]},
		"failed, since a time":       {store.DeliverySpan{Limit: 2, Since: since, Status: "failed"}, failed[67:]},
		"after a cursor":             {store.DeliverySpan{Limit: 7, After: all[100]}, before[:100]},
		"since before the cursor":    {store.DeliverySpan{Limit: 7, Since: since, After: all[210]}, before[200:210]},
		"since after the cursor":     {store.DeliverySpan{Limit: 7, Since: since, After: all[9]}, nil},
		"since later than all":       {store.DeliverySpan{Limit: 7, Since: begin.Add(time.Hour)}, nil},
		"since the time of a cursor": {store.DeliverySpan{Limit: 7, Since: since, After: id.FirstEvent(since)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v.span.Newest = true
			if got := list(t, v.span, func() {}); fmt.Sprint(got) != fmt.Sprint(reversed(v.want)) {
				t.Errorf("%d deliveries, or others; want %d", len(got), len(v.want))
			}
		})
	}
	if got := list(t, store.DeliverySpan{Limit: 7, Newest: true}, add); fmt.Sprint(got) != fmt.Sprint(reversed(before)) || len(all) != 250+35 {
		t.Errorf("%d deliveries, or others; want 250; then there are %d", len(got), len(all))
	}
	if got := list(t, store.DeliverySpan{Limit: 7, Newest: true}, func() {}); fmt.Sprint(got) != fmt.Sprint(reversed(all)) {
		t.Errorf("%d deliveries, or others; want %d", len(got), len(all))
	}
	if got := list(t, store.DeliverySpan{Limit: 7}, func() {}); fmt.Sprint(got) != fmt.Sprint(all) {
		t.Errorf("oldest first: %d deliveries, or others; want %d", len(got), len(all))
	}
}

// readMeter counts the read units of the calls of a store.
type readMeter struct {
	next  http.RoundTripper
	units float64
}

func (m *readMeter) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = append([]byte(`{"ReturnConsumedCapacity":"TOTAL",`), body[1:]...)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer, err := m.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(text))
	var out struct {
		ConsumedCapacity struct{ CapacityUnits float64 }
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	m.units += out.ConsumedCapacity.CapacityUnits
	return answer, err
}

// TestReadUnitsOfListsMatchTheCostsPage lists 20,000 events, deliveries and audit entries. A page costs the read units of
// infra/docs/costs.md, in both orders, on the first page and on a later one.
func TestReadUnitsOfListsMatchTheCostsPage(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.advanceClock(time.Second)
	made := c.publish(t, store.Publication{Type: "invoice.paid", Data: json.RawMessage(`{"text":"` + strings.Repeat("x", 512-len(`{"text":""}`)) + `"}`)})[0]
	c.fanOutAll(t)
	c.attempt(t, endpoint.ID, made, "ok", webhook.DeliveryDelivered)
	begin := c.Now()
	audit := c.rowsOf(t, "AUD#")
	created := slices.IndexFunc(audit, func(r dbRow) bool { return text(r, "action") == "org.created" }) // entries of one millisecond have no order
	for _, row := range []dbRow{c.rowsOf(t, "EVTS#")[len(c.rowsOf(t, "EVTS#"))-1], c.rowsOf(t, "DLV#")[0], audit[created]} {
		for _, err := range atOnce(800, func(i int) error {
			var puts []types.WriteRequest
			for j := range 25 {
				one := maps.Clone(row)
				sk := string(id.Source{}.NewEvent(begin.Add(time.Duration(25*i+j) * time.Second)))
				if _, isEntry := row["action"]; isEntry {
					sk = strings.Replace(sk, "evt_", "aud_", 1)
				}
				one["SK"] = &types.AttributeValueMemberS{Value: sk}
				puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: one}})
			}
			_, err := c.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{c.Name: puts}})
			return err
		}) {
			noError(t, err)
		}
	}
	c.advanceClock(7 * dayLong)
	meter := &readMeter{next: c.Faults.Next}
	c.Faults.Next = meter
	page := func(read func() (int, id.Event, error)) (units float64) {
		t.Helper()
		meter.units = 0
		n, next, err := read()
		if err != nil || n != 100 || next == "" {
			t.Fatalf("%d, %q, %v", n, next, err)
		}
		return meter.units
	}
	middle := id.FirstEvent(begin.Add(10_000 * time.Second))
	var events, deliveries []float64
	for _, before := range []id.Event{"", middle} {
		events = append(events, page(func() (int, id.Event, error) {
			found, next, err := c.NewestEvents(ctx, c.app, begin, before, 100)
			return len(found), next, err
		}))
	}
	events = append(events, page(func() (int, id.Event, error) {
		found, next, err := c.Events(ctx, c.app, middle, 100)
		return len(found), next, err
	}))
	for _, span := range []store.DeliverySpan{{Newest: true}, {Newest: true, Since: begin}, {Newest: true, After: middle}, {After: middle}} {
		span.Endpoint, span.Limit = endpoint.ID, 100
		deliveries = append(deliveries, page(func() (int, id.Event, error) {
			found, next, err := c.Deliveries().List(ctx, c.app, span)
			return len(found), next, err
		}))
	}
	text, err := os.ReadFile("../../infra/docs/costs.md")
	noError(t, err)
	meter.units = 0
	found, next, err := c.AuditLog(ctx, admin(c.ada), c.org, store.AuditFilter{Action: "key.leaked", To: begin.Add(20_000 * time.Second)}, store.Page{Limit: 100})
	// The page of costs does not count the read of the role, which is one unit.
	if line := fmt.Sprintf("| 1,000 entries of an audit log, searched for a filter that selects none | %v |\n", meter.units-1); err != nil || len(found) != 0 || next == "" || !strings.Contains(string(text), line) {
		t.Errorf("costs.md lacks %s: %d entries, %q, %v", line, len(found), next, err)
	}
	lines := fmt.Sprintf("| 100 events of 0.5 KB of data | %v |\n| 100 deliveries of an endpoint, each after one attempt | %v |\n", events[0], deliveries[0])
	if len(slices.Compact(slices.Clone(events))) != 1 || len(slices.Compact(slices.Clone(deliveries))) != 1 || !strings.Contains(string(text), lines) {
		t.Errorf("costs.md lacks\n%s: read units of events %v, of deliveries %v", lines, events, deliveries)
	}
}
