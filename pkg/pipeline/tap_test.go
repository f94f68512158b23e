package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/principal"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// memoryBus is a bus that keeps its entries.
type memoryBus struct {
	got  []string
	at   []time.Time
	away error // not nil: Put accepts nothing and returns it
	lost error // not nil: Put accepts the entry, but returns it
}

func (b *memoryBus) Put(_ context.Context, detailType string, at time.Time, detail []byte) error {
	if b.away != nil {
		return b.away
	}
	b.got, b.at = append(b.got, detailType+" "+string(detail)), append(b.at, at)
	return b.lost
}

func keyPart(row map[string]types.AttributeValue, name string) string {
	v, _ := row[name].(*types.AttributeValueMemberS)
	return v.Value
}

// TestTheTapPassesOnEventsAndAuditEntries: each entry comes once for each time that the stream brings its row. No other row is passed on.
func TestTheTapPassesOnEventsAndAuditEntries(t *testing.T) {
	s := newStack(t)
	bus := &memoryBus{}
	tap := pipeline.Tap{Store: s.Store, Bus: bus, Service: func(name string) (string, string, bool) {
		return "https://issuer.test", "sub of " + name, name != "gone"
	}}
	for _, name := range []string{"billing", "gone"} {
		ctx := t.Context()
		if name == "billing" {
			ctx = principal.WithClaim(ctx, principal.Claim{Operator: "ada", Reason: "why"})
		}
		if _, err := s.CreateOrgAs(ctx, store.Actor{Service: name}, store.NewOrg{Name: "<Acme>"}, store.Once[store.Org]{}); err != nil {
			t.Fatal(err)
		}
	}
	s.claim(t, s.org, s.app)
	recordAll := func() error {
		var errs []error
		for _, r := range s.Rows(t) {
			errs = append(errs, tap.Record(t.Context(), keyPart(r, "PK"), keyPart(r, "SK")))
		}
		return errors.Join(errs...)
	}
	bus.away = errors.New("the bus is away")
	if err := recordAll(); !errors.Is(err, bus.away) {
		t.Errorf("without the bus: %v", err)
	}
	bus.away = nil
	if err := recordAll(); err != nil {
		t.Error(err)
	}
	events, entries := 0, map[string]string{}
	for i, got := range bus.got {
		if strings.Contains(got, `"name":"billing"`) != strings.Contains(got, `"reason":"why","operator":"ada"`) {
			t.Errorf("the operator and the reason that the service claims: %s", got)
		}
		var d struct {
			OrgID, AppID string
			Event        struct {
				ID, Type  string
				CreatedAt int64
			}
			Entry struct {
				At      int64
				Action  string
				Actor   struct{ Type, Name, Issuer, Subject, ID string }
				Target  struct{ ID string }
				Changes json.RawMessage
			}
		}
		kind, detail, _ := strings.Cut(got, " ")
		if err := json.Unmarshal([]byte(detail), &d); err != nil {
			t.Fatal(err)
		}
		switch kind {
		case pipeline.TapEvent:
			events++
			if d.Event.ID == "" || d.AppID != string(s.app) || d.OrgID != string(s.org) || bus.at[i].UnixMilli() != d.Event.CreatedAt {
				t.Errorf("%s at %s", got, bus.at[i])
			}
		case pipeline.TapAudit:
			if d.Entry.Actor.Type == "service" {
				entries[d.Entry.Actor.Name] = d.Entry.Action + " " + d.Entry.Actor.Issuer + " " + d.Entry.Actor.Subject
			}
			if d.Entry.Actor.Type != "service" && d.Entry.Actor.Issuer+d.Entry.Actor.Subject != "" {
				t.Errorf("an issuer or a subject without a service: %s", got)
			}
			if d.OrgID == "" || d.Entry.Target.ID == "" || bus.at[i].UnixMilli() != d.Entry.At {
				t.Errorf("%s at %s", got, bus.at[i])
			}
		}
	}
	if entries["billing"] != "org.created https://issuer.test sub of billing" || entries["gone"] != "org.created  " || events == 0 {
		t.Errorf("%d events, entries %q", events, entries)
	}
	if err := tap.Record(t.Context(), "EVTS#"+string(s.app), "evt_00000000000000000000000000"); err != nil {
		t.Errorf("a row that was deleted: %v", err)
	}
}

// TestTheTapLosesNothing: when the bus may not have accepted an entry, Record returns an error, so that Lambda brings the record again.
// It skips only a row that it cannot decode.
func TestTheTapLosesNothing(t *testing.T) {
	s := newStack(t)
	bus := &memoryBus{}
	tap := pipeline.Tap{Store: s.Store, Bus: bus, Service: func(string) (string, string, bool) { return "", "", false }}
	s.claim(t, s.org, s.app)
	keys := map[string][2]string{}
	for _, r := range s.Rows(t) {
		for _, kind := range []string{"EVTS#", "AUD#"} {
			if strings.HasPrefix(keyPart(r, "PK"), kind) {
				keys[kind] = [2]string{keyPart(r, "PK"), keyPart(r, "SK")}
			}
		}
	}
	errLost := errors.New("the answer is lost")
	for kind, k := range keys {
		for _, fault := range []storetest.Fault{storetest.LostBefore, storetest.LostAfter, storetest.ServerError, storetest.Throttle, storetest.Hang} {
			s.Faults.Plan("GetItem", fault, 3)
			if err := tap.Record(t.Context(), k[0], k[1]); err == nil || s.Faults.Pending() || len(bus.got) != 0 {
				t.Errorf("%s, %s: %v, %q on the bus", kind, fault, err, bus.got)
			}
		}
		bus.lost = errLost
		if err := tap.Record(t.Context(), k[0], k[1]); !errors.Is(err, errLost) || len(bus.got) != 1 {
			t.Errorf("%s, the bus loses its answer: %v, %q on the bus", kind, err, bus.got)
		}
		bus.lost = nil
		if err := tap.Record(t.Context(), k[0], k[1]); err != nil || len(bus.got) != 2 || bus.got[0] != bus.got[1] {
			t.Errorf("%s, again: %v, %q on the bus", kind, err, bus.got)
		}
		bus.got = nil
		s.putRows(t, 1, func(int) row { return row{"PK": str(k[0]), "SK": str(k[1])} })
		if err := tap.Record(t.Context(), k[0], k[1]); err != nil || bus.got != nil {
			t.Errorf("%s, a row without its attributes: %v, %q on the bus", kind, err, bus.got)
		}
	}
	if len(keys) != 2 {
		t.Errorf("only %v", keys)
	}
}

// TestTheTapPassesOnNoExample: an API key chooses the type and the data of an example. A rule of the owner that matches only the type must
// not take them for the owner's. The event "test" says by its type what it is.
func TestTheTapPassesOnNoExample(t *testing.T) {
	s := newStack(t)
	bus := &memoryBus{}
	tap := pipeline.Tap{Store: s.Store, Bus: bus}
	r := s.receiver(t, nil)
	made, err := s.Deliveries().Test(t.Context(), s.org, s.app, r.ID, "invoice.paid", json.RawMessage(`{"amount":1}`), store.Changer{}, store.Once[id.Event]{})
	if err != nil {
		t.Fatal(err)
	}
	plain := r.newEvent()
	for _, e := range []id.Event{made.Made, plain} {
		if err := tap.Record(t.Context(), "EVTS#"+string(s.app), string(e)); err != nil {
			t.Error(err)
		}
	}
	if len(bus.got) != 1 || !strings.Contains(bus.got[0], string(plain)) {
		t.Errorf("%q on the bus", bus.got)
	}
}
