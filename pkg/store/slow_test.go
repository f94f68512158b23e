package store_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// slow is a database that needs some time for each call, by the store's clock. It notes how old each event is when the event's
// transaction arrives.
type slow struct {
	*connected
	next  http.RoundTripper
	needs time.Duration
	ages  []time.Duration
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		TransactItems []struct {
			Put struct {
				Item struct {
					PK        struct{ S string }
					CreatedAt struct{ N string }
				}
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	for _, o := range in.TransactItems {
		if row := o.Put.Item; strings.HasPrefix(row.PK.S, "EVTS#") {
			at, err := strconv.ParseInt(row.CreatedAt.N, 10, 64)
			if err != nil {
				return nil, err
			}
			s.ages = append(s.ages, s.Now().Sub(time.UnixMilli(at)))
		}
	}
	s.advanceClock(s.needs)
	return s.next.RoundTrip(r)
}

// TestNoEventIsCommittedLongAfterItsTime: the feed shows events that are 10 s old, and none may appear before a shown one. Each call of
// the database needs six or eight seconds. A key is created at the time before its first read: with four seconds for a call, its
// transaction has three real seconds left, so that it ends on a loaded machine too.
func TestNoEventIsCommittedLongAfterItsTime(t *testing.T) {
	leakAndRevoke := cause{"report leak and revoke", webhook.KeyLeaked, true, func(t *testing.T, c *connected) (func() error, func() bool) {
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		return func() error { return c.leak(t, k.ID, "", true) },
			func() bool { used := c.rowsOf(t, "USED#"); return len(used) == 1 && text(used[0], "leakedAt") != "" }
	}}
	for _, cause := range append(causes(), leakAndRevoke) {
		t.Run(cause.name, func(t *testing.T) {
			t.Parallel()
			short := 6 * time.Second
			if cause.name == "create key" {
				short = 4 * time.Second
			}
			for _, needs := range []time.Duration{short, 8 * time.Second} {
				c := connect(t)
				do, done := cause.prepare(t, c)
				before, s := len(c.events(t, cause.kind)), &slow{connected: c, next: c.Faults.Next, needs: needs}
				c.Faults.Next = s
				err := do()
				c.Faults.Next = s.next
				for _, age := range s.ages {
					if age > 7*time.Second {
						t.Errorf("calls of %s: an event is committed when it is %s old", needs, age)
					}
				}
				isLate, want := needs > 7*time.Second && problem.Is(err, problem.Unavailable), 1
				if isLate {
					want = 0
				}
				if n := len(c.events(t, cause.kind)) - before; err != nil && !isLate || done() == isLate || n != want {
					t.Errorf("calls of %s: %v, done: %v, %d events", needs, err, done(), n)
				}
			}
		})
	}
}

// TestATransactionWithAnEventEndsInTime: the reads before it needed 6.5 s, so it has 0.5 s, which is less than one try.
func TestATransactionWithAnEventEndsInTime(t *testing.T) {
	c := connect(t)
	c.Faults.Next = &slow{connected: c, next: c.Faults.Next, needs: 6500 * time.Millisecond}
	c.Faults.Plan("TransactWriteItems", storetest.Hang, -1)
	c.forgetCalls()
	expectCode(t, errorOf(c.CreateKey(ctx, admin(c.ada), c.org, wantedKey(0), store.Once[store.MintedKey]{})), problem.Unavailable)
	if calls := strings.Join(c.Faults.Calls(), " "); calls != "BatchGetItem TransactWriteItems" {
		t.Errorf("%s", calls)
	}
}
