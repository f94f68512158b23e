package pipeline_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/link"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// claim creates and claims a link of an app, which causes the event link.claimed.
func (s *stack) claim(t *testing.T, o id.Org, a id.App) id.Link {
	t.Helper()
	l := s.newLink(t, o, a, time.Hour)
	parsed, err := link.ParseToken(l.Token.Text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ClaimLink(ctx, store.Claim{Token: parsed, ClaimKeyHash: sha256.Sum256([]byte("k"))}); err != nil {
		t.Fatal(err)
	}
	return l.ID
}

func TestAnEventReachesOnlyTheEndpointsThatSubscribe(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	otherOrg := s.NewOrg(t, s.ada)
	all, one := s.receiver(t, nil), s.receiver(t, nil, "link.claimed")
	other, off := s.receiver(t, nil, "link.revoked"), s.receiver(t, nil)
	foreign := s.receiverOf(t, otherOrg, id.DefaultApp(otherOrg), nil)
	off.setEnabled(false)
	l := s.claim(t, s.org, s.app)
	s.fanOutAll(t)
	s.attemptAll(t)
	s.fanOutAll(t) // a second time changes nothing
	s.attemptAll(t)
	for _, r := range []*receiver{all, one} {
		r.wantRequests("subscribes to the type", 1)
		var data struct{ ID, Status string }
		if got := r.requests()[0]; json.Unmarshal(got.data, &data) != nil || got.kind != "link.claimed" || data.ID != string(l) || data.Status != "claimed" {
			t.Errorf("%+v", got)
		}
	}
	other.wantRequests("other type", 0)
	off.wantRequests("disabled", 0)
	foreign.wantRequests("other app", 0)
	if a, b := all.requests()[0], one.requests()[0]; a.jti == b.jti || a.event != b.event {
		t.Errorf("two deliveries of one event: %+v, %+v", a, b)
	}
	if got := off.statuses(); got["held"] != 1 || len(got) != 1 {
		t.Errorf("disabled: %v", got)
	}
}

func TestATestEventGoesOnlyToItsEndpoint(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r, other := s.receiver(t, nil, "link.claimed"), s.receiver(t, nil)
	e := r.newEvent()
	s.fanOutAll(t)
	s.attemptAll(t)
	r.wantRequests("the endpoint", 1)
	other.wantRequests("another", 0)
	if got := r.requests()[0]; got.event != string(e) || got.kind != "test" || string(got.data) != `{"message":"This is a test of your webhook endpoint."}` {
		t.Errorf("%+v", got)
	}
	if w := r.readDelivery(e); w.Status != webhook.DeliveryDelivered || w.Attempts != 1 || w.Last == nil || *w.Last.Status != http.StatusNoContent || w.Last.ID != r.requests()[0].jti {
		t.Errorf("%+v", w.Delivery)
	}
}

func TestRecordsOtherThanEventsAreIgnored(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.receiver(t, nil)
	for _, k := range [][2]string{{"ORG#" + string(s.org), "META"}, {"EVTS#x", "evt_x"}, {"", ""}, {"EVTS#" + string(s.app), string(id.NoEvent)}} {
		if err := s.fan.Record(ctx, k[0], k[1]); err != nil {
			t.Errorf("%v: %v", k, err)
		}
	}
	if n := s.queue.count(); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// TestANoticeThatLosesEachRaceIsBroughtAgain: a notice is never due, unlike an event, so the sweep cannot find it.
func TestANoticeThatLosesEachRaceIsBroughtAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const month = 1_798_761_600 // 2027-01-01
	of := limit.Owner{Org: s.org}
	lease := limit.Lease{Owner: of, Row: limit.Month, Start: month}
	lease.Wants[limit.Month] = limit.Want{Start: month, Requests: 5, Limit: 5}
	_, _, err := s.Lease(ctx, lease)
	if err = errors.Join(err, s.Announce(ctx, limit.Notice{Owner: of, Row: limit.Month, Start: month, Mark: limit.Reached, Limit: 5})); err != nil {
		t.Fatal(err)
	}
	record := func() error { return s.fan.Record(ctx, "NOTE#"+string(s.org), "2027-01#ORG#reached#5") }
	s.Faults.Plan("TransactWriteItems", storetest.Conflict, 5) // all tries
	if err := record(); err == nil {
		t.Error("no error, although the notice's event was not written")
	}
	if err := errors.Join(record(), record()); err != nil || s.Faults.Pending() {
		t.Error(err)
	}
	s.pass(time.Minute)
	events, _, err := s.Events(ctx, s.app, id.NoEvent, 10)
	if err != nil || len(events) != 1 || events[0].Type != webhook.OrgAllowanceReached {
		t.Errorf("%v %v", events, err)
	}
}

func TestOnlyUnreadableMessagesAreDeadLetters(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, body := range []string{"", "{", `"x"`, `[]`} {
		if s.deliver.Body(ctx, body) == nil {
			t.Errorf("%q is no error", body)
		}
	}
	// The message of a delivery that does not exist is done.
	if err := s.deliver.Body(ctx, `{"appId":"`+string(id.NoApp)+`","endpointId":"`+string(id.NoEndpoint)+`","eventId":"`+string(id.NoEvent)+`"}`); err != nil {
		t.Errorf("a delivery that does not exist: %v", err)
	}
}
