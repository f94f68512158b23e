package store_test

import (
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// TestAKeyIsNotWarnedOfAtItsEndOrLater makes the sweep come late, as after days without a table.
// The warning comes before the end, to the millisecond, and a key that has ended is no longer
// due.
func TestAKeyIsNotWarnedOfAtItsEndOrLater(t *testing.T) {
	for late, want := range map[time.Duration]int{-time.Millisecond: 1, 0: 0, time.Millisecond: 0, 30 * dayLong: 0} {
		c := connect(t)
		const life = 30 * dayLong
		k := makeKey(t, c.Table, c.org, c.ada, life).ID
		// The grace of a rotated key ends before its life would have.
		rotated := makeKey(t, c.Table, c.org, c.ada, life).ID
		rotate(t, c.Table, c.org, c.ada, rotated, 7*dayLong, "") // its successor lives as long, from now
		c.pass(life + late)
		for range 2 {
			due, err := c.DueBefore(ctx, store.DueKey, c.Now(), 100)
			wants(t, err, "")
			for _, d := range due {
				wants(t, c.WarnOfKey(ctx, d.Org, d.Key), "")
			}
		}
		warned := 0
		for _, e := range c.events(t, webhook.KeyExpiring) {
			switch id.Key(e["keyId"].(string)) {
			case k:
				warned++
			case rotated:
				t.Errorf("%s after its end: a rotated key is warned of", late)
			}
		}
		if warned != want {
			t.Errorf("%s after its end: %d warnings, want %d", late, warned, want)
		}
		if due, err := c.DueBefore(ctx, store.DueKey, c.Now(), 100); err != nil || len(due) != 0 {
			t.Errorf("%s after its end: %d keys wait still, %v", late, len(due), err)
		}
	}
}
