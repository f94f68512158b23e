package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// tellNotices brings all notices to the fan-out function, as the stream does.
func (c *connected) tellNotices(t *testing.T) {
	t.Helper()
	for _, row := range c.rowsOf(t, "NOTE#") {
		noError(t, c.Tell(ctx, text(row, "PK"), text(row, "SK")))
	}
}

// TestANoticeIsAnEventOfItsApp: the notice of a key goes to the key's app, and names the key that was used last. The notice of an org goes
// to the default app.
func TestANoticeIsAnEventOfItsApp(t *testing.T) {
	c := connect(t)
	noError(t, c.setAllowance("1000/M"))
	app, err := c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "x"}, store.Once[store.App]{})
	noError(t, err)
	made, err := c.CreateKey(ctx, admin(c.ada), c.org, store.NewKey{Prefix: "lk", AppID: app.Made.ID, Carried: store.Carried{Limits: "5/d"}}, store.Once[store.MintedKey]{})
	noError(t, err)
	first := made.Made
	used := c.successorOf(t, first.ID, store.KeyChange{})
	all := c.processes(1)
	if got := c.spend(t, 4, all, store.MintedKey{ID: used.ID}); got != 4 {
		t.Fatalf("%d let through", got)
	}
	c.tellNotices(t)
	if got := c.events(t, webhook.KeyLimitReached); len(got) != 0 {
		t.Errorf("%v", got)
	}
	c.spend(t, 2, all, store.MintedKey{ID: used.ID})
	for range 2 {
		c.tellNotices(t)
	}
	for kind, leased := range map[webhook.Type]int{webhook.KeyLimitNear: 4, webhook.KeyLimitReached: 5} {
		got := c.eventsOf(t, app.Made.ID, kind)
		want := fmt.Sprintf("map[appId:%s endsAt:1.8000576e+12 expiresAt:<nil> keyId:%s keyPrefix:%s leased:%d limit:map[per:day requests:5] name: revokedAt:<nil>]",
			app.Made.ID, used.ID, used.Prefix, leased)
		if len(got) != 1 || fmt.Sprint(got[0]) != want {
			t.Errorf("%s: %v, want %s", kind, got, want)
		}
	}
	noError(t, c.setAllowance("7/M"))
	other := makeKey(t, c.Table, c.org, c.ada, 0)
	c.spend(t, 9, all, other)
	c.tellNotices(t)
	want := fmt.Sprintf("[map[endsAt:1.80144e+12 leased:7 limit:map[per:month requests:7] orgId:%s]]", c.org)
	if got := fmt.Sprint(c.events(t, webhook.OrgAllowanceReached)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// killed is a table for processes that end before, between or after the two writes of a notice. announced has the notices whose rows
// were written.
type killed struct {
	unhurried
	c         *connected
	announced *sync.Map
}

func (k killed) Announce(ctx context.Context, n limit.Notice) error {
	end := rand.IntN(3)
	if end == 0 {
		return errors.New("ended before the first write")
	}
	if err := k.c.Announce(context.WithoutCancel(ctx), n); err != nil {
		return err
	}
	k.announced.Store(marked{n.Key, n.Row, n.Mark}, true)
	if end == 2 {
		return nil
	}
	day := map[limit.Per]string{limit.Day: "2027-01-15#", limit.Month: "2027-01#"}[n.Row] // ended after the first write
	_, err := k.c.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &k.c.Name, UpdateExpression: aws.String("REMOVE nearNoted, reachedNoted"), Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "USAGE#" + string(n.Org)}, "SK": &types.AttributeValueMemberS{Value: day + string(n.Key)},
		},
	})
	return err
}

// marked identifies a notice: a key, a length of its windows, and the part of the limit that was reached.
type marked struct {
	id.Key
	limit.Per
	limit.Mark
}

// TestEachMarkOfAWindowHasOneEvent: in each of 50 windows, eight processes use up the limit, and end before, between or after the
// writes of a notice. One more request follows in each window. The stream brings each notice twice at once, in any order, and half of
// them a day later.
func TestEachMarkOfAWindowHasOneEvent(t *testing.T) {
	c := connect(t)
	table := killed{unhurried{c.Store}, c, &sync.Map{}}
	var want []marked
	for n := range 50 {
		per := limit.Day + limit.Per(n%2)
		k := c.limitedKey(t, []string{"20/d", "20/M"}[n%2])
		c.spend(t, 4, c.processesOn(table, 8), k)
		c.spend(t, 1, c.processes(1), k)
		want = append(want, marked{k.ID, per, limit.Reached})
		if _, ok := table.announced.Load(marked{k.ID, per, limit.Near}); ok {
			want = append(want, marked{k.ID, per, limit.Near})
		}
	}
	notices := c.rowsOf(t, "NOTE#")
	rand.Shuffle(len(notices), func(i, j int) { notices[i], notices[j] = notices[j], notices[i] })
	for n, row := range notices {
		if n == len(notices)/2 {
			c.advanceClock(24 * time.Hour)
		}
		for _, err := range atOnce(2, func(int) error { return c.Tell(ctx, text(row, "PK"), text(row, "SK")) }) {
			noError(t, err)
		}
	}
	told := map[marked]int{}
	for mark, kind := range []webhook.Type{limit.Near: webhook.KeyLimitNear, limit.Reached: webhook.KeyLimitReached} {
		for _, data := range c.events(t, kind) {
			of, _ := data["limit"].(map[string]any)
			per, _ := limit.ParsePer(fmt.Sprint(of["per"]))
			told[marked{id.Key(fmt.Sprint(data["keyId"])), per, limit.Mark(mark)}]++
		}
	}
	for _, of := range want {
		if told[of] != 1 {
			t.Errorf("%v has %d events", of, told[of])
		}
	}
	if len(told) != len(want) || len(want) < 50+20 {
		t.Errorf("%d marks have events, want %d", len(told), len(want))
	}
}

// TestTheNextLeaseAnnouncesAfterAProcessDies: a process dies before one of the writes that follow its lease, or this write fails.
// Then the next process leases, and there is one event.
func TestTheNextLeaseAnnouncesAfterAProcessDies(t *testing.T) {
	for fault, times := range map[storetest.Fault]int{storetest.LostBefore: -1, storetest.Malformed: 1} {
		for written := range 3 {
			c := connect(t)
			k := c.limitedKey(t, "1/d")
			for range 1 + written { // the lease, and the writes of the notice before the fault
				c.letPass("UpdateItem")
			}
			c.Faults.Before("UpdateItem", func() { c.Faults.Plan("UpdateItem", fault, times) })
			c.spend(t, 1, c.processes(1), k)
			c.Faults.Heal()
			c.spend(t, 1, c.processes(1), k)
			c.tellNotices(t)
			if got := c.events(t, webhook.KeyLimitReached); len(got) != 1 {
				t.Errorf("%s, after %d writes of the notice: %v", fault, written, got)
			}
		}
	}
}

// TestARaisedLimitHasMarksAgain: after a limit is raised, its marks (80 and 100 % of the limit) cause events again. When both marks are
// passed at once, only the higher mark causes an event. When all marks are noted, a request writes only its leases: in the row of the
// day, and with a monthly limit also in the row of the month.
func TestARaisedLimitHasMarksAgain(t *testing.T) {
	for per, leases := range map[string]int{"/d": 1, "/M": 2} {
		c := connect(t)
		k := c.limitedKey(t, "10"+per)
		all := c.processes(2)
		for _, step := range []struct {
			limit         string
			requests      int
			near, reached int // all events after the step
		}{
			{"10", 9, 1, 0}, {"10", 3, 1, 1}, {"20", 4, 1, 1}, {"20", 3, 2, 1}, {"20", 9, 2, 2}, {"10", 3, 2, 2}, {"20", 3, 2, 2}, {"21", 9, 2, 3},
		} {
			noError(t, c.update(k.ID, store.KeyChange{Limits: ptr(step.limit + per)}))
			for n := range step.requests {
				c.spend(t, 1, all[n%2:n%2+1], k)
			}
			c.tellNotices(t)
			near, reached := c.events(t, webhook.KeyLimitNear), c.events(t, webhook.KeyLimitReached)
			if len(near) != step.near || len(reached) != step.reached {
				t.Errorf("%s%s, %d requests: %v and %v", step.limit, per, step.requests, near, reached)
			}
		}
		row, _, err := c.APIKey(ctx, c.org, k.ID)
		noError(t, err)
		c.forgetCalls()
		expectCode(t, errorOf(c.processes(1)[0].Spend(ctx, row)), problem.RateLimited)
		if calls := c.Faults.Calls(); !slices.Equal(calls, slices.Repeat([]string{"UpdateItem"}, leases)) {
			t.Errorf("%s: a lease when all is noted: %v", per, calls)
		}
	}
}

// TestAFalseNoticeCausesNoEvent: a door has the right to write any notice. Tell ignores a notice that the table does not confirm.
func TestAFalseNoticeCausesNoEvent(t *testing.T) {
	c := connect(t)
	k, other := c.limitedKey(t, "10/d"), c.limitedKey(t, "10/d")
	c.spend(t, 9, c.processes(1), k)
	stranger := c.NewOrg(t, c.ada)
	const day = "2027-01-15#"
	for _, r := range []map[string]string{
		{"SK": day + string(k.ID) + "#reached#10"}, // 9 are leased
		{"SK": day + string(k.ID) + "#near#12"},
		{"SK": day + string(k.ID) + "#near#0"},
		{"SK": day + string(k.ID) + "#near#+10"},
		{"SK": day + string(k.ID) + "#nearly#10"},
		{"SK": day + string(k.ID) + "#near#10#10"},
		{"SK": "2027-01-1#" + string(k.ID) + "#near#10"},
		{"SK": "2027-01#" + string(k.ID) + "#near#10"},
		{"SK": day + "ORG#near#1"},
		{"SK": day + string(k.ID) + "#near#9", "keyId": string(other.ID)},
		{"SK": day + string(k.ID) + "#near#8", "keyId": "key_03md998g006ech9n62019qx9b2"},
		{"SK": day + string(k.ID) + "#near#7", "PK": "NOTE#" + string(stranger)},
		{"SK": day + string(k.ID) + "#near#6", "PK": "USAGE#" + string(c.org)},
	} {
		row := dbRow{}
		for name, value := range map[string]string{
			"SK": r["SK"], "PK": cmp.Or(r["PK"], "NOTE#"+string(c.org)), "keyId": cmp.Or(r["keyId"], string(k.ID)),
		} {
			row[name] = &types.AttributeValueMemberS{Value: value}
		}
		c.putRow(t, row)
		noError(t, c.Tell(ctx, text(row, "PK"), text(row, "SK")))
		if near, reached := c.events(t, webhook.KeyLimitNear), c.events(t, webhook.KeyLimitReached); len(near)+len(reached) != 0 {
			t.Fatalf("%v: %v %v", row, near, reached)
		}
	}
	noError(t, c.Tell(ctx, "NOTE#"+string(c.org), day+string(k.ID)+"#near#10"))
	if n := len(c.events(t, webhook.KeyLimitNear)); n != 1 {
		t.Errorf("%d events of the true notice", n)
	}
}

// TestAFailedAnnouncementRefusesNoRequest: all announcements of one process fail. Its requests are let through, and the next lease
// of another process announces.
func TestAFailedAnnouncementRefusesNoRequest(t *testing.T) {
	c := connect(t)
	k := c.limitedKey(t, "10/d")
	passed := c.spend(t, 12, c.processesOn(denied{c.Store}, 1), k)
	if passed != 10 || len(c.rowsOf(t, "NOTE#")) != 0 {
		t.Errorf("%d let through, %v", passed, c.rowsOf(t, "NOTE#"))
	}
	c.spend(t, 1, c.processes(1), k) // this lease announces the missed notice
	c.tellNotices(t)
	if near, reached := c.events(t, webhook.KeyLimitNear), c.events(t, webhook.KeyLimitReached); len(near) != 0 || len(reached) != 1 {
		t.Errorf("%v and %v", near, reached)
	}
}

// denied is a table without the right to announce.
type denied struct{ *store.Store }

func (denied) Announce(context.Context, limit.Notice) error { return errors.New("denied") }
