package limit

import (
	"context"
	"errors"
	"time"

	"latchkey/pkg/id"
)

// Refusal is why a request was refused although the secret of its key matched.
type Refusal int

// The refusals. A key that is Revoked or Expired is dead.
const (
	Revoked Refusal = iota
	Expired
	Suspended
	Limited
	Scope    // the key lacks a scope
	refusals // the number of reasons
)

// Refusals counts refused requests by reason.
type Refusals [refusals]int64

// Refused is a key whose requests were refused.
type Refused struct {
	Org     id.Org
	Key     id.Key
	LimitID id.Key // as in Request

	Limited bool // the key itself has limits
	Rotated bool // another key has replaced this key, and may have other limits
}

const (
	refusedEvery = time.Minute // how often a process writes the refusals of a key
	deadEvery    = time.Hour   // how often it writes the refusals of a dead key
	maxRefused   = 1000        // keys whose refusals a process counts
)

// refused are the refusals of a key that a process has not written yet.
type refused struct {
	days []refusedDay
	next time.Time // when they may be written
}

type refusedDay struct {
	day int64
	n   Refusals
}

// isDue reports whether the refusals may be written. A time that is too far away means that the clock was set back.
func (r *refused) isDue(now time.Time) bool {
	wait := r.next.Sub(now)
	return wait <= 0 || wait > deadEvery
}

// add adds refusals to those of a day.
func (r *refused) add(day int64, n Refusals) {
	i := 0
	for i < len(r.days) && r.days[i].day != day {
		i++
	}
	if i == len(r.days) {
		r.days = append(r.days, refusedDay{day: day})
	}
	for why, times := range n {
		r.days[i].n[why] += times
	}
}

// Refuse counts one refused request of a key whose secret has matched. The first refusal of a key waits for a write, 200 ms at most, and
// so does the first one a minute or more after the last write (an hour for a dead key). When a process ends, its unwritten counts are
// lost, and a write without an answer is not repeated: the row never shows too many refusals. An error does not change the answer.
func (l *Limiter) Refuse(ctx context.Context, k Refused, why Refusal) {
	due := l.refuseOne(k, why)
	if due == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyWithin)
	defer cancel()
	for _, d := range due {
		if err := l.table.NoteRefusals(ctx, k, d.day, d.n); errors.Is(err, ErrNotCharged) {
			l.keepRefusals(k, d)
		}
	}
}

// refuseOne counts one refusal. It returns the refusals to write now: none, or those of one day, or of two days after midnight.
func (l *Limiter) refuseOne(k Refused, why Refusal) []refusedDay {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	r := l.refused[account{k.Org, k.Key}]
	if r == nil {
		if len(l.refused) >= maxRefused && !l.forgetRefused(now) {
			return nil
		}
		r = &refused{}
		l.refused[account{k.Org, k.Key}] = r
	}
	day, _ := Day.window(now)
	var one Refusals
	one[why] = 1
	r.add(day, one)
	if !r.isDue(now) {
		return nil
	}
	due := r.days
	r.days, r.next = nil, now.Add(refusedEvery)
	if why == Revoked || why == Expired {
		r.next = now.Add(deadEvery)
	}
	return due
}

// forgetRefused makes room: it removes keys that may be written again now. The others stay, so that they are not written too soon. If there
// is no room then, the refusals of a new key are not counted: otherwise a caller with many keys could cause a write with each request.
func (l *Limiter) forgetRefused(now time.Time) (hasRoom bool) {
	for of, r := range l.refused {
		if r.isDue(now) {
			delete(l.refused, of)
		}
	}
	return len(l.refused) < maxRefused
}

// keepRefusals keeps refusals that were certainly not written, for the next write.
func (l *Limiter) keepRefusals(k Refused, d refusedDay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.refused[account{k.Org, k.Key}]; r != nil {
		r.add(d.day, d.n)
	}
}
