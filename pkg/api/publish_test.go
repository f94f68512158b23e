package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/problem"
)

const publishPath = "/v1/orgs/{orgId}/apps/{appId}/events"

// TestServicesPublishEventsOfTheirOwn: the answer has the ids in the order of the request, and the events have the data that
// was sent.
func TestServicesPublishEventsOfTheirOwn(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	at := time.Now()
	w.Now = func() time.Time { return at }
	publish := func(events string, header map[string]string, status int, code problem.Code) reply {
		t.Helper()
		r := w.request("POST", publishPath, service(), `{"events":[`+events+`]}`)
		r.header = header
		return w.want(t, r, status, code)
	}
	const data = `{"text":"<b>&</b>\u00e4","n":12345678901234567890.50,"deep":[[[[{"a":[1]}]]]]}`
	first := publish(`{"id":"in_1","type":"invoice.paid","data":`+strings.ReplaceAll(data, ":", " : ")+`},{"type":"a.b.c","data":{}}`, nil, 202, "")
	ids := first.each("events", "id")
	if again := publish(`{"type":"x.y","data":{}},{"id":"in_1","type":"invoice.paid","data":`+data+`}`, nil, 202, "").each("events", "id"); again[1] != ids[0] {
		t.Errorf("%v, again %v", ids, again)
	}
	publish(`{"id":"in_1","type":"invoice.paid","data":{}}`, nil, 409, problem.Conflict)
	header := map[string]string{"Idempotency-Key": strings.Repeat("k", 32)}
	once := publish(`{"type":"once.only","data":{}}`, header, 202, "")
	if twice := publish(`{"type":"once.only","data":{}}`, header, 202, ""); twice.text != once.text || twice.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s, then %s", once.text, twice.text)
	}
	at = at.Add(time.Minute)
	event := w.want(t, w.request("POST", "/webhook_event/get", w.caller("key"), `{"eventId":"`+ids[0]+`"}`), 200, "")
	if !strings.Contains(event.text, `"type":"invoice.paid"`) || !strings.Contains(event.text, `12345678901234567890.50`) || !strings.Contains(event.text, `[[[[{"a":[1]}]]]]`) {
		t.Errorf("%s", event.text)
	}
	if feed := w.want(t, w.request("POST", "/webhook_event/list", w.caller("key"), `{}`), 200, ""); len(feed.each("events", "id")) != 5 { // one of them is key.created
		t.Errorf("%s", feed.text)
	}
}

// TestABadPublicationPublishesNothing, also when only the last event is bad.
func TestABadPublicationPublishesNothing(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	const good = `{"id":"a","type":"a.b","data":{}}`
	size := func(n int) string {
		return `{"type":"a.b","data":{"s":"` + strings.Repeat("x", n-len(`{"s":""}`)) + `"}}`
	}
	member := func(name, value string) string {
		event := map[string]string{"id": `"b"`, "type": `"a.b"`, "data": `{}`}
		event[name] = value
		return fmt.Sprintf(`{"id":%s,"type":%s,"data":%s}`, event["id"], event["type"], event["data"])
	}
	for _, c := range []struct{ events, pointer string }{
		{"", "/events"}, {strings.Repeat(`{"type":"a.b","data":{}},`, 25) + good, "/events"},
		{good + "," + member("type", "null"), "/events/1/type"}, {member("type", `"a"`), "/events/0/type"}, {member("type", `"key.created"`), "/events/0/type"},
		{member("data", "null"), "/events/0/data"}, {member("data", "[]"), "/events/0/data"}, {member("data", `"x"`), "/events/0/data"},
		{`{"type":"a.b"}`, "/events/0/data"}, {size(8<<10 + 1), "/events/0/data"}, {good + "," + good, "/events/1/id"},
		{member("id", `""`), "/events/0/id"}, {member("id", `"a b"`), "/events/0/id"}, {member("id", `"`+strings.Repeat("i", 65)+`"`), "/events/0/id"},
	} {
		refused := w.want(t, w.request("POST", publishPath, service(), `{"events":[`+c.events+`]}`), 422, problem.ValidationFailed)
		if got := refused.each("errors", "pointer"); len(got) != 1 || got[0] != c.pointer {
			t.Errorf("%.80s: %q, want %s", c.events, got, c.pointer)
		}
	}
	w.want(t, w.request("POST", publishPath, service(), `{"events":[`+good+`,{"type":"a.b","data":{},"to":"x"}]}`), 400, problem.InvalidJSON)
	w.want(t, w.request("POST", publishPath, service(), `{"events":[{"type":"a.b","data":{"a":1,"a":2}}]}`), 400, problem.InvalidJSON)
	const most = 1280 << 10
	full := `{"events":[` + strings.Repeat(size(8<<10)+",", 24) + size(8<<10) + `]}`
	over := w.want(t, w.request("POST", publishPath, service(), full+strings.Repeat(" ", most-len(full)+1)), 413, problem.BodyTooLarge)
	if !strings.Contains(over.text, "1280 KB") {
		t.Errorf("%s", over.text)
	}
	if rows := w.events(t); rows != 1 { // newWorld has made one: key.created
		t.Errorf("%d events", rows)
	}
	w.want(t, w.request("POST", publishPath, service(), full+strings.Repeat(" ", most-len(full))), 202, "")
	w.want(t, w.request("POST", publishPath, service(), `{"events":[`+member("id", `"`+strings.Repeat("i", 64)+`"`)+`]}`), 202, "")
	w.want(t, w.request("POST", publishPath, service(), `{"events":[`+member("id", "null")+`]}`), 202, "") // without an id
	if rows := w.events(t); rows != 1+25+2 {
		t.Errorf("%d events", rows)
	}
}

// events counts the rows of events.
func (w *world) events(t *testing.T) (n int) {
	t.Helper()
	for _, r := range w.Rows(t) {
		if strings.HasPrefix(text(r, "PK"), "EVTS#") {
			n++
		}
	}
	return n
}

// TestPublishedEventsGetAscendingIDs in the order of the request. An event that was published before keeps its id.
func TestPublishedEventsGetAscendingIDs(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	now := w.Now()
	w.Now = func() time.Time { return now } // all ids have the same time
	publish := func(ids ...string) (made []string) {
		t.Helper()
		var events []string
		for _, id := range ids {
			events = append(events, `{"type":"a.b","data":{"n":"`+id+`"}`+strings.Repeat(`,"id":"`+id+`"`, min(len(id), 1))+`}`)
		}
		r := w.request("POST", "/v1/orgs/{orgId}/apps/{appId}/events", service(), `{"events":[`+strings.Join(events, ",")+`]}`)
		for _, e := range w.want(t, r, 202, "").body["events"].([]any) {
			made = append(made, e.(map[string]any)["id"].(string))
		}
		return made
	}
	for _, n := range []int{2, 3, 24, 25} {
		if made := publish(make([]string, n)...); !slices.IsSorted(made) || len(slices.Compact(made)) != n {
			t.Errorf("%d events: %v", n, made)
		}
	}
	old := publish("old")[0]
	again := publish("x", "old", "y", "", "z")
	if again[1] != old || !slices.IsSorted(slices.Delete(slices.Clone(again), 1, 2)) {
		t.Errorf("%s published before: %v", old, again)
	}
}
