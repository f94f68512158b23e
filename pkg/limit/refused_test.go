package limit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
)

// refused returns a key whose refusals are counted under key_1.
func refused(k id.Key) limit.Refused { return limit.Refused{Org: "org_1", Key: k, LimitID: "key_1"} }

// refusals returns the refusals in key_1's row of a day.
func (w *world) refusals(day string) limit.Refusals {
	return w.refused[row{limit.Owner{Org: "org_1", Key: "key_1"}, limit.Day, at(day + " 00:00:00").Unix()}]
}

// TestManyRefusalsCauseFewWrites: four processes refuse 10,000 requests of one key.
func TestManyRefusalsCauseFewWrites(t *testing.T) {
	for why, atMost := range map[limit.Refusal]int{limit.Limited: 8, limit.Revoked: 4} {
		w := on(t, "2026-11-24 12:00:00", 4)
		for i := range 10_000 {
			w.processes[i%4].Refuse(t.Context(), refused("key_1"), why)
			w.at = w.at.Add(time.Minute / 9_990) // so the last refusals of each process come a minute after its first
		}
		if got := w.refusals("2026-11-24")[why]; w.writes != atMost || got < 4 || got > 10_000 {
			t.Errorf("%d: %d writes of %d refusals, want %d", why, w.writes, got, atMost)
		}
	}
}

// TestRefusalsAreWrittenAtMostOnceAMinute: a process writes the refusals of one key at most once a minute, and of a dead key once an
// hour. Each step has the counts in the row after a refusal.
func TestRefusalsAreWrittenAtMostOnceAMinute(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	for i, step := range []struct {
		after time.Duration // time since the previous step
		key   id.Key
		why   limit.Refusal
		want  limit.Refusals // in the row
	}{
		{0, "key_1", limit.Scope, limit.Refusals{limit.Scope: 1}},
		{time.Minute - 1, "key_1", limit.Limited, limit.Refusals{limit.Scope: 1}},
		{0, "key_2", limit.Suspended, limit.Refusals{limit.Scope: 1, limit.Suspended: 1}}, // the successor of key_1 has its own minute, and the same row
		{1, "key_1", limit.Revoked, limit.Refusals{limit.Scope: 1, limit.Suspended: 1, limit.Limited: 1, limit.Revoked: 1}},
		{time.Hour - 1, "key_1", limit.Revoked, limit.Refusals{limit.Scope: 1, limit.Suspended: 1, limit.Limited: 1, limit.Revoked: 1}},
		{1, "key_1", limit.Revoked, limit.Refusals{limit.Scope: 1, limit.Suspended: 1, limit.Limited: 1, limit.Revoked: 3}},
		{0, "key_3", limit.Expired, limit.Refusals{limit.Scope: 1, limit.Suspended: 1, limit.Limited: 1, limit.Revoked: 3, limit.Expired: 1}},
		{time.Hour - 1, "key_3", limit.Expired, limit.Refusals{limit.Scope: 1, limit.Suspended: 1, limit.Limited: 1, limit.Revoked: 3, limit.Expired: 1}},
		{1, "key_3", limit.Expired, limit.Refusals{limit.Scope: 1, limit.Suspended: 1, limit.Limited: 1, limit.Revoked: 3, limit.Expired: 3}},
	} {
		w.at = w.at.Add(step.after)
		w.processes[0].Refuse(t.Context(), refused(step.key), step.why)
		if got := w.refusals("2026-11-24"); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// TestARefusalCountsForItsDay: a refusal before midnight that was not written yet is written to the row of its day, by the next write.
func TestARefusalCountsForItsDay(t *testing.T) {
	w := on(t, "2026-11-24 23:59:30", 1)
	for _, after := range []time.Duration{0, 10 * time.Second, 30 * time.Second, 20 * time.Second} {
		w.at = w.at.Add(after)
		w.processes[0].Refuse(t.Context(), refused("key_1"), limit.Scope)
	}
	w.equal(int(w.refusals("2026-11-24")[limit.Scope]), 2, "before midnight")
	w.equal(int(w.refusals("2026-11-25")[limit.Scope]), 2, "after midnight")
	w.equal(w.writes, 3, "writes")
}

// TestRefusalsOfAtMost1000KeysAreCounted: a process counts the refusals of 1,000 keys, and of another key only when it has forgotten one of
// them. Without this limit, each request with a new key would cause a write.
func TestRefusalsOfAtMost1000KeysAreCounted(t *testing.T) {
	w := on(t, "2026-11-24 12:00:00", 1)
	for round := range 3 {
		for k := range 1200 {
			w.processes[0].Refuse(t.Context(), refused(id.Key(fmt.Sprint(k))), limit.Revoked)
		}
		if round == 0 {
			w.at = w.at.Add(time.Minute)
		}
	}
	w.equal(w.writes, 1000, "writes")
	w.at = w.at.Add(time.Hour)
	w.processes[0].Refuse(t.Context(), refused("1100"), limit.Revoked)
	w.equal(w.writes, 1001, "an hour after the writes of the other keys")
}

// TestRefusalsThatWereNotWrittenAreKept: only ErrNotCharged proves that nothing was written. After another error they are
// not counted again.
func TestRefusalsThatWereNotWrittenAreKept(t *testing.T) {
	for err, want := range map[error]int{limit.ErrNotCharged: 3, errors.New("lost"): 1} {
		w := on(t, "2026-11-24 12:00:00", 1)
		w.refuse = func(context.Context) error { return err }
		for range 2 {
			w.processes[0].Refuse(t.Context(), refused("key_1"), limit.Scope)
			w.at = w.at.Add(time.Minute)
		}
		w.refuse = nil
		w.processes[0].Refuse(t.Context(), refused("key_1"), limit.Scope)
		w.equal(int(w.refusals("2026-11-24")[limit.Scope]), want, err.Error())
	}
}

// TestRefusalsOfTwoDaysAreKept fails the write of both days.
func TestRefusalsOfTwoDaysAreKept(t *testing.T) {
	w := on(t, "2026-11-24 23:59:30", 1)
	for _, after := range []time.Duration{0, 10 * time.Second, 30 * time.Second, 20 * time.Second, time.Minute} {
		w.at, w.refuse = w.at.Add(after), nil
		if after == 20*time.Second {
			w.refuse = func(context.Context) error { return limit.ErrNotCharged }
		}
		w.processes[0].Refuse(t.Context(), refused("key_1"), limit.Scope)
	}
	w.equal(int(w.refusals("2026-11-24")[limit.Scope]), 2, "before midnight")
	w.equal(int(w.refusals("2026-11-25")[limit.Scope]), 3, "after midnight")
}

// TestARefusalWaits200msAtMost: also when its caller has gone.
func TestARefusalWaits200msAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := on(t, "2026-11-24 12:00:00", 1)
		w.refuse = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		gone, leave := context.WithCancel(t.Context())
		leave()
		began := time.Now()
		w.processes[0].Refuse(gone, refused("key_1"), limit.Scope)
		if took := time.Since(began); took != 200*time.Millisecond || w.writes != 1 {
			t.Errorf("%s, %d writes", took, w.writes)
		}
	})
}
