package limit

import (
	"context"
	"errors"
	"time"

	"latchkey/pkg/id"
)

// Refusal is a reason for which a request was refused although the secret of its key matched.
type Refusal int

// The refusals. A key that is Revoked or Expired is dead.
const (
	Revoked Refusal = iota
	Expired
	Suspended
	Limited
	Scope    // the key lacks a scope
	refusals // how many there are
)

// Refusals are how many requests were refused, by the reason.
type Refusals [refusals]int64

// Refused is a key whose requests were refused.
type Refused struct {
	Org     id.Org
	Key     id.Key
	LimitID id.Key // as in Request

	Limited bool // the key has limits of its own
	Rotated bool // another key has replaced it, which may have other limits
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

// Refuse counts one request of a key whose secret has matched. The first refusal of a key, and each one a minute or more after the last
// write (an hour or more for a dead key), waits for a write of what was counted, 200 ms at most. What a process has not written when it
// ends is lost, and so is a write without an answer: the row never has more refusals than there were. No error changes an answer.
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

// refuseOne counts one refusal, and returns what is to be written now: nothing, or the refusals of a day, or of two at midnight.
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
	if now.Before(r.next) {
		return nil
	}
	due := r.days
	r.days, r.next = nil, now.Add(refusedEvery)
	if why == Revoked || why == Expired {
		r.next = now.Add(deadEvery)
	}
	return due
}

// forgetRefused makes room by the keys whose refusals may be written again: the others must not be written sooner than they may. Without
// such a key, further ones are not counted, so that no one with many keys causes a write by each request.
func (l *Limiter) forgetRefused(now time.Time) (hasRoom bool) {
	for of, r := range l.refused {
		if !now.Before(r.next) {
			delete(l.refused, of)
		}
	}
	return len(l.refused) < maxRefused
}

// keepRefusals keeps what was surely not written for the next write.
func (l *Limiter) keepRefusals(k Refused, d refusedDay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.refused[account{k.Org, k.Key}]; r != nil {
		r.add(d.day, d.n)
	}
}
