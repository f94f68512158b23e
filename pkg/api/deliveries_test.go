package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// testEvent writes a test event for an endpoint, and its delivery.
func (d *appServer) testEvent(t *testing.T, endpoint string) string {
	t.Helper()
	e := d.post(t, "/webhook_endpoint/test", bodyWith("endpointId", endpoint), 200, "").str("eventId")
	if _, err := d.Deliveries().FanOut(t.Context(), d.key.AppID, id.Event(e)); err != nil {
		t.Fatal(err)
	}
	return e
}

// settle ends a delivery as the deliver function does: by one attempt that fails or succeeds.
func (d *appServer) settle(t *testing.T, event, endpoint string, as webhook.DeliveryStatus) {
	t.Helper()
	work, ok, err := d.Deliveries().Work(t.Context(), webhook.DeliveryID{App: d.key.AppID, Endpoint: id.Endpoint(endpoint), Event: id.Event(event)})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	status := 200
	if as == webhook.DeliveryFailed {
		status = 500
	}
	if ok, err = d.Deliveries().LeaseAttempt(t.Context(), work, "attempt-1"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	last := store.LastAttempt{ID: "attempt-1", At: d.at.UnixMilli(), Status: &status, DurationMs: 7}
	if err := d.Deliveries().RecordAttempt(t.Context(), work, store.Attempted{Last: last, Status: as}); err != nil {
		t.Fatal(err)
	}
	if got := d.status(t, event, endpoint); got != string(as) {
		t.Fatalf("%s, want %s", got, as)
	}
}

// status returns the status of one delivery.
func (d *appServer) status(t *testing.T, event, endpoint string) string {
	t.Helper()
	for _, row := range d.post(t, "/webhook_delivery/list", bodyWith("eventId", event), 200, "").list("deliveries") {
		if row["endpointId"] == endpoint {
			return fmt.Sprint(row["status"])
		}
	}
	return ""
}

// TestTheFeedShowsEventsAfter10Seconds: an event must be more than 10 s old.
func TestTheFeedShowsEventsAfter10Seconds(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	d.pass(time.Minute)
	made := d.post(t, "/webhook_event/list", `{}`, 200, "")
	same(t, "at first", made.each("events", "type"), []string{"endpoint.created"})
	empty := d.post(t, "/webhook_event/list", bodyWith("cursor", made.str("nextCursor")), 200, "")
	if len(empty.list("events")) != 0 || empty.str("nextCursor") == "" {
		t.Errorf("%s", empty.text)
	}
	e := d.testEvent(t, h)
	got := d.post(t, "/webhook_event/get", bodyWith("eventId", e), 200, "")
	want := fmt.Sprintf(`{"id":%q,"type":"test","createdAt":%d,"data":{"message":"This is a test of your webhook endpoint."}}`, e, d.at.UnixMilli())
	if strings.TrimSpace(got.text) != want {
		t.Errorf("%s, want %s", got.text, want)
	}
	feed := func(cursor string) reply {
		return d.post(t, "/webhook_event/list", bodyWith("cursor", cursor), 200, "")
	}
	d.pass(10 * time.Second)
	if r := feed(empty.str("nextCursor")); len(r.list("events")) != 0 {
		t.Errorf("too early: %s", r.text)
	}
	d.pass(time.Millisecond)
	r := feed(empty.str("nextCursor"))
	same(t, "settled", r.each("events", "id"), []string{e})
	if r = feed(r.str("nextCursor")); len(r.list("events")) != 0 || r.str("nextCursor") == "" {
		t.Errorf("%s", r.text)
	}
	later := d.testEvent(t, h)
	d.pass(time.Minute)
	same(t, "the events since then", feed(r.str("nextCursor")).each("events", "id"), []string{later})
	for _, other := range []string{string(id.Source{}.NewEvent(d.at)), "x", "", strings.ToUpper(e)} {
		d.post(t, "/webhook_event/get", bodyWith("eventId", other), 404, problem.EventNotFound)
	}
	d.foreign(t, "/webhook_event/get", bodyWith("eventId", e), 404, problem.EventNotFound)
	if r := d.foreign(t, "/webhook_event/list", `{}`, 200, ""); len(r.list("events")) != 0 {
		t.Errorf("%s", r.text)
	}
}

func TestTheFeedHasNoGapsAndNoDuplicates(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	at := []int64{d.at.UnixMilli()} // when the events of want were made
	d.pass(time.Minute)
	want := d.post(t, "/webhook_event/list", `{}`, 200, "").each("events", "id") // endpoint.created
	for range 7 {
		at = append(at, d.at.UnixMilli())
		want = append(want, d.testEvent(t, h))
		d.pass(time.Second)
	}
	d.pass(time.Minute)
	for limit := 1; limit <= 8; limit++ {
		var got []string
		body := fmt.Sprintf(`{"limit":%d}`, limit)
		for len(got) <= len(want) {
			r := d.post(t, "/webhook_event/list", body, 200, "")
			if n := len(r.list("events")); n == 0 {
				break
			} else if n > limit {
				t.Errorf("%d events, limit %d", n, limit)
			}
			got = append(got, r.each("events", "id")...)
			body = fmt.Sprintf(`{"limit":%d,"cursor":%q}`, limit, r.str("nextCursor"))
		}
		same(t, fmt.Sprintf("pages of %d", limit), got, want)
	}
	for i := range want {
		since := func(at int64) []string {
			return d.post(t, "/webhook_event/list", fmt.Sprintf(`{"since":%d}`, at), 200, "").each("events", "id")
		}
		same(t, "since", since(at[i]), want[i:])
		same(t, "since a little later", since(at[i]+1), want[i+1:])
	}
	for i, from := range want { // of cursor and since, the later one decides
		for j := range want {
			r := d.post(t, "/webhook_event/list", fmt.Sprintf(`{"since":%d,"cursor":%q}`, at[j], d.cursorAfter(t, i)), 200, "")
			same(t, "a cursor after "+from+" and since", r.each("events", "id"), want[max(i+1, j):])
		}
	}
	future := d.post(t, "/webhook_event/list", fmt.Sprintf(`{"since":%d}`, d.at.Add(time.Hour).UnixMilli()), 200, "")
	if len(future.list("events")) != 0 || future.str("nextCursor") == "" {
		t.Errorf("%s", future.text)
	}
}

func TestDeliveriesAreListedByEventAndByEndpoint(t *testing.T) {
	d := newAppServer(t)
	first, second := d.newEndpoint(t), d.newEndpoint(t)
	link, _ := d.newLink(t)
	d.post(t, "/link/revoke", bodyWith("linkId", link), 200, "")
	d.pass(time.Minute)
	feed := d.post(t, "/webhook_event/list", `{}`, 200, "")
	e := feed.each("events", "id")[slices.Index(feed.each("events", "type"), "link.revoked")]
	if r := d.post(t, "/webhook_delivery/list", bodyWith("eventId", e), 200, ""); len(r.list("deliveries")) != 0 {
		t.Errorf("before the event is fanned out: %s", r.text)
	}
	if _, err := d.Deliveries().FanOut(t.Context(), d.key.AppID, id.Event(e)); err != nil {
		t.Fatal(err)
	}
	both := d.post(t, "/webhook_delivery/list", bodyWith("eventId", e), 200, "").each("deliveries", "endpointId")
	slices.Sort(both)
	same(t, "of an event", both, slices.Sorted(slices.Values([]string{first, second})))
	events := []string{e} // of the first endpoint: pending, then failed, delivered, failed and pending
	from := d.at.UnixMilli()
	for i := range 4 {
		d.pass(time.Second)
		events = append(events, d.testEvent(t, first))
		if i%2 == 0 {
			d.settle(t, events[i+1], first, webhook.DeliveryFailed)
		}
	}
	d.settle(t, events[2], first, webhook.DeliveryDelivered)
	byEndpoint := fmt.Sprintf(`"endpointId":%q`, first)
	for limit := 1; limit <= 6; limit++ {
		page := func(fields string) []string {
			return d.pages(t, "/webhook_delivery/list", byEndpoint+fields, "deliveries", "eventId", limit)
		}
		same(t, "all", page(""), events)
		same(t, "failed", page(`,"status":"failed"`), []string{events[1], events[3]})
		same(t, "delivered", page(`,"status":"delivered"`), events[2:3])
		same(t, "held", page(`,"status":"held"`), nil)
		same(t, "since", page(fmt.Sprintf(`,"since":%d`, from)), events[1:])
	}
	same(t, "of the second endpoint", d.pages(t, "/webhook_delivery/list", fmt.Sprintf(`"endpointId":%q`, second), "deliveries", "eventId", 2), events[:1])
	// With a cursor that is earlier than since, since decides.
	old := d.post(t, "/webhook_delivery/list", `{`+byEndpoint+`,"limit":1}`, 200, "").str("nextCursor")
	body := fmt.Sprintf(`{%s,"since":%d,"cursor":%q}`, byEndpoint, from, old)
	same(t, "a cursor from before since", d.post(t, "/webhook_delivery/list", body, 200, "").each("deliveries", "eventId"), events[1:])
	last := d.post(t, "/webhook_delivery/list", bodyWith("eventId", events[2]), 200, "").text
	if !strings.Contains(last, `"lastAttempt":{"id":"attempt-1"`) || !strings.Contains(last, `"attempts":1`) {
		t.Errorf("%s", last)
	}
}

func TestARequestSelectsDeliveriesInOneWay(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	e := d.testEvent(t, h)
	for path, bodies := range map[string][]string{
		"/webhook_delivery/list": {
			`{}`, `{"eventId":"E","endpointId":"H"}`, `{"eventId":"E","since":0}`, `{"eventId":"E","status":"failed"}`,
			`{"eventId":"E","limit":1}`, `{"eventId":"E","cursor":"x"}`,
		},
		"/webhook_delivery/redeliver": {
			`{"endpointId":"H"}`, `{"endpointId":"H","eventId":"E","since":0}`, `{"endpointId":"H","eventId":"E","status":"failed"}`,
			`{"endpointId":"H","eventId":"E","cursor":"x"}`,
		},
	} {
		for _, body := range bodies {
			d.invalid(t, path, strings.NewReplacer("H", h, "E", e).Replace(body), "/eventId")
		}
	}
	d.invalid(t, "/webhook_delivery/redeliver", bodyWith("eventId", e), "/endpointId")
	for _, path := range []string{"/webhook_delivery/list", "/webhook_delivery/redeliver"} {
		d.invalid(t, path, fmt.Sprintf(`{"endpointId":%q,"since":0,"status":"lost"}`, h), "/status")
	}
	unknown := string(id.Source{}.NewEvent(d.at))
	d.post(t, "/webhook_delivery/list", bodyWith("eventId", unknown), 404, problem.EventNotFound)
	d.foreign(t, "/webhook_delivery/list", bodyWith("eventId", e), 404, problem.EventNotFound)
	for _, other := range []string{unknown, "x", ""} {
		d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"eventId":%q}`, h, other), 404, problem.DeliveryNotFound)
	}
	if got := d.status(t, e, h); got != "pending" {
		t.Errorf("status %s", got)
	}
}

func TestRedeliveryWithoutAStatusResendsOnlyFailedDeliveries(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	failed, delivered := d.testEvent(t, h), d.testEvent(t, h)
	d.settle(t, failed, h, webhook.DeliveryFailed)
	d.settle(t, delivered, h, webhook.DeliveryDelivered)
	d.queue.messages = nil
	r := d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"since":0}`, h), 200, "")
	if r.num("queued") != 1 || d.status(t, failed, h) != "pending" || d.status(t, delivered, h) != "delivered" {
		t.Errorf("%s: %s, %s", r.text, d.status(t, failed, h), d.status(t, delivered, h))
	}
	if want := (webhook.Message{Org: d.key.OrgID, DeliveryID: webhook.DeliveryID{App: d.key.AppID, Endpoint: id.Endpoint(h), Event: id.Event(failed)}}); !slices.Equal(d.queue.messages, []webhook.Message{want}) {
		t.Errorf("%v", d.queue.messages)
	}
}

// TestRedeliveryFindsNoEventThatIsThirtyDaysOld: DynamoDB deletes the rows later than that. The org pays for nothing.
func TestRedeliveryFindsNoEventThatIsThirtyDaysOld(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	e := d.testEvent(t, h)
	d.settle(t, e, h, webhook.DeliveryFailed)
	d.pass(30 * 24 * time.Hour)
	d.Faults.Plan("UpdateItem", storetest.LostBefore, -1) // the charge
	if r := d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"since":0}`, h), 200, ""); r.num("queued") != 0 {
		t.Errorf("%s", r.text)
	}
	d.Faults.Heal()
	d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"eventId":%q}`, h, e), 404, problem.DeliveryNotFound)
	if got := d.status(t, e, h); got != "failed" {
		t.Errorf("status %s", got)
	}
}

// TestARedeliveryThatCannotBeWrittenIs503: after a 200 with nothing queued, the caller would stop.
func TestARedeliveryThatCannotBeWrittenIs503(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	for range 2 {
		d.settle(t, d.testEvent(t, h), h, webhook.DeliveryFailed)
	}
	d.Faults.Plan("TransactWriteItems", storetest.LostBefore, -1) // the charge of the budget, an update, succeeds
	d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"since":0}`, h), 503, problem.Unavailable)
	d.Faults.Heal()
	if r := d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"since":0}`, h), 200, ""); r.num("queued") == 0 {
		t.Errorf("%s", r.text)
	}
}

// cursorAfter returns the cursor of the feed that follows event number i.
func (d *appServer) cursorAfter(t *testing.T, i int) string {
	t.Helper()
	return d.post(t, "/webhook_event/list", fmt.Sprintf(`{"limit":%d}`, i+1), 200, "").str("nextCursor")
}

// TestOneFailedRedeliveryDelaysNoOther: another request starts the first of three deliveries again at the same time, or DynamoDB
// deletes its row, or its write fails. The others are queued at once.
func TestOneFailedRedeliveryDelaysNoOther(t *testing.T) {
	for name, status := range map[string]int{"pending": 200, "gone": 200, "failing": 503} {
		d := newAppServer(t)
		h := d.newEndpoint(t)
		var events []string
		for range 3 {
			events = append(events, d.testEvent(t, h))
			d.settle(t, events[len(events)-1], h, webhook.DeliveryFailed)
		}
		d.queue.messages = nil
		first := webhook.DeliveryID{App: d.key.AppID, Endpoint: id.Endpoint(h), Event: id.Event(events[0])}
		switch name {
		case "pending":
			d.Faults.Before("UpdateItem", func() { // the charge, which follows the list
				if _, err := d.Deliveries().Again(t.Context(), first, store.Changer{}, false); err != nil {
					t.Error(err)
				}
			})
		case "gone":
			d.Faults.Before("UpdateItem", func() { d.deleteDelivery(t, first.Event) })
		default:
			d.Faults.Next = failsFor{events[0], d.Faults.Next}
		}
		r := d.want(t, request{as: d.key, method: "POST", path: "/webhook_delivery/redeliver", body: fmt.Sprintf(`{"endpointId":%q,"since":0}`, h)}, status,
			map[int]problem.Code{503: problem.Unavailable}[status])
		var queued []string
		for _, m := range d.queue.messages {
			queued = append(queued, string(m.Event))
		}
		slices.Sort(queued) // they start at the same time, in any order
		others := slices.Sorted(slices.Values(events[1:]))
		if status == 200 && r.num("queued") != 2 || !slices.Equal(queued, others) || d.Faults.Pending() {
			t.Errorf("%s: %s, queued %v of %v", name, r.text, queued, events)
		}
	}
}

// deleteDelivery deletes the row of an event's only delivery, as DynamoDB does when its time is over.
func (d *appServer) deleteDelivery(t *testing.T, event id.Event) {
	t.Helper()
	for _, row := range d.Rows(t) {
		if strings.HasPrefix(text(row, "PK"), "DLV#") && strings.HasSuffix(text(row, "SK"), string(event)) {
			_, err := d.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &d.Name, Key: map[string]types.AttributeValue{"PK": row["PK"], "SK": row["SK"]}})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// failsFor is a transport that fails each transaction that names a row.
type failsFor struct {
	row  string
	next http.RoundTripper
}

func (f failsFor) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && strings.Contains(string(body), f.row) {
		return nil, errors.New("the connection broke")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return f.next.RoundTrip(r)
}

func TestRedeliveredDeliveriesStartAgain(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	outcomes := []webhook.DeliveryStatus{webhook.DeliveryFailed, webhook.DeliveryDelivered, webhook.DeliveryFailed}
	var events []string
	from := d.at.UnixMilli()
	for _, as := range outcomes {
		d.pass(time.Second)
		e := d.testEvent(t, h)
		d.settle(t, e, h, as)
		events = append(events, e)
	}
	again := func(fields string) reply {
		return d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,%s}`, h, fields), 200, "")
	}
	message := func(i int) webhook.Message {
		return webhook.Message{Org: d.key.OrgID, DeliveryID: webhook.DeliveryID{App: d.key.AppID, Endpoint: id.Endpoint(h), Event: id.Event(events[i])}}
	}
	if r := again(fmt.Sprintf(`"eventId":%q`, events[1])); r.num("queued") != 1 || !slices.Equal(d.queue.messages, []webhook.Message{message(1)}) {
		t.Errorf("%s %v", r.text, d.queue.messages)
	}
	row := d.post(t, "/webhook_delivery/list", bodyWith("eventId", events[1]), 200, "").list("deliveries")[0]
	isReset := fmt.Sprintf("%v %v", row["attempts"], row["nextAttemptAt"]) == fmt.Sprintf("0 %d", d.at.UnixMilli())
	if row["status"] != "pending" || !isReset {
		t.Errorf("%v", row)
	}
	d.queue.messages = nil
	d.queue.down = errors.New("the queue is down") // if the queue does not accept a delivery, the sweep sends it later
	if r := again(fmt.Sprintf(`"since":%d`, from+2000)); r.num("queued") != 1 || d.status(t, events[2], h) != "pending" || d.status(t, events[0], h) != "failed" {
		t.Errorf("since: %s", r.text)
	}
	if r := again(`"since":0`); r.num("queued") != 1 || d.status(t, events[0], h) != "pending" || r.str("nextCursor") != "" {
		t.Errorf("failed deliveries: %s", r.text)
	}
	if !slices.Equal(d.queue.messages, []webhook.Message{message(2), message(0)}) {
		t.Errorf("%v", d.queue.messages)
	}
	if r := again(`"since":0,"status":"pending"`); r.num("queued") != 0 {
		t.Errorf("pending: %s", r.text)
	}
	d.post(t, "/webhook_delivery/redeliver", fmt.Sprintf(`{"endpointId":%q,"eventId":%q}`, h, events[1]), 409, problem.Conflict)
	d.settle(t, events[0], h, webhook.DeliveryFailed)
	d.pass(time.Minute)
	d.post(t, "/webhook_endpoint/update", fmt.Sprintf(`{"endpointId":%q,"enabled":false}`, h), 200, "")
	d.queue.messages = nil
	if again(fmt.Sprintf(`"eventId":%q`, events[0])); d.status(t, events[0], h) != "held" || len(d.queue.messages) != 0 {
		t.Errorf("of a disabled endpoint: %s, %v", d.status(t, events[0], h), d.queue.messages)
	}
}
