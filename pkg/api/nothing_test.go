package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// TestAnEmptyPageHasACursorToTheRest has 1,050 other deliveries before the one that the request selects. The first answers are
// empty, and a client that follows nextCursor finds the delivery.
func TestAnEmptyPageHasACursorToTheRest(t *testing.T) {
	const user, app = "/v1/orgs/{orgId}/apps/{appId}/webhook_deliveries", "/webhook_delivery/"
	for _, c := range []struct {
		route, others, status string
		answers               []int64 // the number of items in each answer
	}{
		{"POST " + app + "list", "delivered", "failed", []int64{0, 1}},
		{"GET " + user, "held", "failed", []int64{0, 1}},
		{"POST " + app + "redeliver", "delivered", "failed", []int64{0, 0, 1}},
		{"POST " + user + "/redeliver", "cancelled", "failed", []int64{0, 0, 1}},
		{"POST " + app + "redeliver", "pending", "pending", []int64{0, 0, 0}}, // a pending delivery does not start again
		{"POST " + user + "/redeliver", "pending", "pending", []int64{0, 0, 0}},
	} {
		w := newPeople(t)
		pk, earlier := "DLV#"+w.endpoint, w.Now().Add(-time.Hour)
		w.copyRow(t, pk, w.event, 1050, item{"status": value(c.others)}, func(int) (string, string) { return pk, string(id.Source{}.NewEvent(earlier)) })
		now := w.Now().Add(2 * time.Minute)
		w.Now = func() time.Time { return now }
		method, path, _ := strings.Cut(c.route, " ")
		as := w.caller("key")
		if strings.Contains(path, "{orgId}") {
			as = w.caller("admin")
		}
		var got []int64
		for next := ""; len(got) == 0 || next != "" && len(got) < 9; {
			r := w.request(method, path, as, fmt.Sprintf(`{"endpointId":"{endpointId}","since":0,"status":%q%s}`, c.status, next))
			if method == "GET" {
				r = w.request(method, path+"?endpointId={endpointId}&since=0&status="+c.status+next, as, "")
			}
			answer := w.want(t, r, 200, "")
			items := int64(len(answer.list("deliveries")))
			if strings.Contains(path, "redeliver") {
				items = answer.num("queued")
			}
			got = append(got, items)
			if next = answer.str("nextCursor"); next != "" {
				next = map[string]string{"GET": "&cursor=" + next, "POST": `,"cursor":"` + next + `"`}[method]
			}
		}
		if !slices.Equal(got, c.answers) {
			t.Errorf("%s, after %s deliveries: %v, want %v", c.route, c.others, got, c.answers)
		}
	}
}

// TestARedeliveryThatLosesARaceHasACursor: between the list and the writes of the request, another request starts all its
// deliveries again.
func TestARedeliveryThatLosesARaceHasACursor(t *testing.T) {
	d := newAppServer(t)
	d.Limits.Redelivered = 1
	h := d.newEndpoint(t)
	first := d.testEvent(t, h)
	d.settle(t, first, h, webhook.DeliveryFailed)
	d.pass(time.Second) // ids of the same millisecond have no order
	d.settle(t, d.testEvent(t, h), h, webhook.DeliveryFailed)
	d.Faults.Before("UpdateItem", func() { // the charge, which follows the list
		of := webhook.DeliveryID{App: d.key.AppID, Endpoint: id.Endpoint(h), Event: id.Event(first)}
		if _, err := d.Deliveries().Again(t.Context(), of, store.Changer{}, false); err != nil {
			t.Error(err)
		}
	})
	send := func(more string) (queued int64, next string) {
		r := d.post(t, "/webhook_delivery/redeliver", `{"endpointId":"`+h+`","since":0`+more+`}`, 200, "")
		return r.num("queued"), r.str("nextCursor")
	}
	queued, next := send("")
	if queued != 0 || next == "" {
		t.Fatalf("%d queued, and the cursor %q", queued, next)
	}
	if queued, next = send(`,"cursor":"` + next + `"`); queued != 1 {
		t.Errorf("%d queued, and the cursor %q", queued, next)
	}
}
