package pipeline

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
)

// TestARowThatFailsStopsNoOther processes rows one after the other. The first fails.
func TestARowThatFailsStopsNoOther(t *testing.T) {
	d := newDealer()
	d.add(store.Due{Kind: store.DueLink, App: "app_1", Link: "lnk_bad"}, store.Due{Kind: store.DueLink, App: "app_1", Link: "lnk_good"})
	d.add(store.Due{Kind: store.DueKey, Org: "org_1", Key: "key_good"})
	broken := errors.New("broken")
	var done []string
	tries := 0
	err := d.deal(t.Context(), 1, func(row store.Due) (bool, error) {
		if row.Link == "lnk_bad" {
			if tries++; tries > 1 {
				t.Error("the row that failed comes again in the same run")
				return false, nil
			}
			return true, broken
		}
		done = append(done, string(row.Link)+string(row.Key))
		return false, nil
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "lnk_bad") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v, want the row that failed, once", err)
	}
	if slices.Sort(done); !slices.Equal(done, []string{"key_good", "lnk_good"}) {
		t.Errorf("done: %v", done)
	}
}

// TestTheErrorOfAFailedRunIsShort: the error is one line of the log, which Lambda cuts at 256 KB.
func TestTheErrorOfAFailedRunIsShort(t *testing.T) {
	d, broken := newDealer(), errors.New(strings.Repeat("broken", 50))
	for i := range 10_000 {
		d.add(store.Due{Kind: store.DueLink, App: "app_1", Link: id.Link("lnk_" + strconv.Itoa(i))})
	}
	err := d.deal(t.Context(), 4, func(store.Due) (bool, error) { return false, broken })
	if !errors.Is(err, broken) || len(err.Error()) > 16<<10 || !strings.HasSuffix(err.Error(), "and 9980 more") {
		t.Errorf("%d bytes: …%s", len(err.Error()), err.Error()[max(0, len(err.Error())-40):])
	}
}

// TestEachTenantHasItsTurn adds one row of an org after 60 rows of another org, in 20 apps.
func TestEachTenantHasItsTurn(t *testing.T) {
	d := newDealer()
	for n := range 60 {
		d.add(store.Due{Kind: store.DueDelivery, Org: "org_many", App: id.App("app_" + string(rune('a'+n%20)))})
	}
	d.add(store.Due{Kind: store.DueDelivery, Org: "org_one", App: "app_one"})
	d.next()
	if row, ok := d.next(); !ok || row.App != "app_one" {
		t.Errorf("the second turn has %v, want app_one", row)
	}
}

// TestEachAppOfAnOrgHasItsTurn adds one row of an app after 30 rows of another app of its org.
func TestEachAppOfAnOrgHasItsTurn(t *testing.T) {
	d := newDealer()
	for range 30 {
		d.add(store.Due{Kind: store.DueDelivery, Org: "org_1", App: "app_many"})
	}
	d.add(store.Due{Kind: store.DueDelivery, Org: "org_1", App: "app_one"})
	d.next()
	if row, ok := d.next(); !ok || row.App != "app_one" {
		t.Errorf("the second turn has %v, want app_one", row)
	}
}
