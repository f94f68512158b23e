package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/pipeline"
	"latchkey/pkg/store"
)

// memoryBus is a bus that keeps what it gets.
type memoryBus struct {
	got  []string
	at   []time.Time
	away error
}

func (b *memoryBus) Put(_ context.Context, detailType string, at time.Time, detail []byte) error {
	if b.away != nil {
		return b.away
	}
	b.got, b.at = append(b.got, detailType+" "+string(detail)), append(b.at, at)
	return nil
}

func key(row map[string]types.AttributeValue, name string) string {
	v, _ := row[name].(*types.AttributeValueMemberS)
	return v.Value
}

// TestTheTapPassesOnEventsAndAuditEntries, each once for each time that the stream brings its row, and nothing else.
func TestTheTapPassesOnEventsAndAuditEntries(t *testing.T) {
	s := newStack(t)
	bus := &memoryBus{}
	tap := pipeline.Tap{Store: s.Store, Bus: bus, Service: func(name string) (string, string, bool) {
		return "https://issuer.test", "sub of " + name, name == "billing"
	}}
	for _, name := range []string{"billing", "gone"} {
		if _, err := s.CreateOrgAs(t.Context(), store.Actor{Service: name}, store.NewOrg{Name: "<Acme>"}, store.Once[store.Org]{}); err != nil {
			t.Fatal(err)
		}
	}
	s.claim(t, s.org, s.app)
	all := func() error {
		var errs []error
		for _, r := range s.Rows(t) {
			errs = append(errs, tap.Record(t.Context(), key(r, "PK"), key(r, "SK")))
		}
		return errors.Join(errs...)
	}
	bus.away = errors.New("the bus is away")
	if err := all(); !errors.Is(err, bus.away) {
		t.Errorf("without the bus: %v", err)
	}
	bus.away = nil
	if err := all(); err != nil {
		t.Error(err)
	}
	events, entries := 0, map[string]string{}
	for i, got := range bus.got {
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
