package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2" //nolint:depguard // the choices of a history follow from its seed
	"strings"
	"sync"
	"time"
)

// kind is a kind of history, and the promise that it tries.
type kind struct {
	name, promise string
	seldom        bool // it needs many rows: only the first of the rounds that run together has one
	run           func(*history)
}

// kinds returns the kinds of histories. The model of each promise is in the file of its run.
func kinds() []kind {
	return []kind{
		{"revoked", "A revoked key is refused at every door, from the answer on", false, revoked},
		{"narrowed", "A change of a key's scopes counts from the answer on, at every door", false, narrowed},
		{"expired", "A key is taken until its expiry, and not after it", false, expired},
		{"rotated", "A rotated key lives for its grace, and its successor carries what it carried", false, rotated},
		{"ended", "The keys of a deleted org are refused, from the answer on", true, ended},
		{"suspended", "The keys of a suspended org are refused at every door, and good again when it is resumed, from the answers on", false, suspended},
		{"stopped", "No token of a stopped person, and none of a sign-in before a sign-out, is good anywhere, from the answers on", false, stopped},
		{"admins", "An org keeps an admin, and each change is by one who may make it at that moment", false, admins},
		{"claimed", "A link is claimed once", false, claimed},
		{"retried", "One Idempotency-Key has one effect and one answer", false, retried},
		{"limited", "No limit is passed, and none is reached too early", true, limited},
		{"barred", "A revoked key leaves no endpoint and no link", false, barred},
		{"inputs", "A bad request has a documented answer", false, badInputs},
	}
}

const (
	lanes     = 6   // histories at once
	faultRate = 0.1 // of the calls of AWS, in the rounds that have faults
	together  = 10  // rounds whose histories may run at once; then the network changes
)

// options are the settings of a run.
type options struct {
	during time.Duration
	seed   uint64
	only   func(kind string) bool // which kinds
	again  int                    // the round to repeat, as a violation named it; -1: none
	stop   bool                   // end at the first violation
	soak   bool                   // no faults and no kills: for the memory of the functions
}

// proof is a run, and what it found.
type proof struct {
	*world
	options
	begun time.Time

	hooks      *webhooks       // nil: no one asked for them
	memory     memory          // of a soak
	written    map[string]bool // orgs with a row that was changed without the product
	tried      map[string]int  // histories by kind; orgs audited and counted
	mu         sync.Mutex
	violations map[string]int // by kind
	found      time.Time      // the first
}

// newHistory returns a history whose choices follow from its seed, its kind and its round.
func (p *proof) newHistory(ctx context.Context, kind string, round int, faulty bool) *history {
	sum := fnv.New64a()
	fmt.Fprint(sum, p.seed, kind, round)
	return &history{
		world: p.world, ctx: ctx, kind: kind, repeat: fmt.Sprintf("%d/%s/%d", p.seed, kind, round), faulty: faulty,
		rnd: rand.New(rand.NewPCG(p.seed, sum.Sum64())), did: map[string]*effects{}, actions: map[string]bool{},
	}
}

// run makes rounds of histories, one of each kind, until the time is over. The first of them have faults, then every second ten.
func (p *proof) run(ctx context.Context) error {
	p.begun, p.written, p.tried, p.violations = time.Now(), map[string]bool{}, map[string]int{}, map[string]int{}
	background, stop := p.startWebhooks(ctx)
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if p.soak {
		background.Go(func() { p.memory = p.watchMemory(watched) })
	}
	background.Go(func() { p.tally.watchStalls(watched) })
	for round := 0; !p.over(ctx); round += together {
		p.rounds(ctx, round)
		fmt.Printf("%d rounds after %s\n", round+together, time.Since(p.begun).Round(time.Second))
	}
	stop()
	unwatch()
	background.Wait()
	p.network.Set(0, p.seed)
	if p.soak {
		p.countAll(ctx)
	}
	if p.hooks != nil && ctx.Err() == nil {
		if !p.stop || !p.tally.found.Load() {
			p.hooks.finish()
		}
		p.keep(p.hooks.history)
		p.tried["webhooks"] = len(p.hooks.published) * len(p.hooks.receivers)
	}
	return ctx.Err()
}

// countAll counts every org of the table again that is not deleted.
func (p *proof) countAll(ctx context.Context) {
	h := p.newHistory(ctx, "whole table", 0, false)
	for _, row := range h.rows("") {
		if row["apps"] != nil && row["deletedAt"] == nil {
			org := strings.TrimPrefix(textOf(row["PK"]), "ORG#")
			h.rowsWritten = p.written[org]
			h.counted(org)
			p.tried[h.kind]++
		}
	}
	p.keep(h)
}

// startWebhooks publishes events in the background until stop is called.
func (p *proof) startWebhooks(ctx context.Context) (background *sync.WaitGroup, stop func()) {
	background = &sync.WaitGroup{}
	if !p.only("webhooks") {
		return background, func() {}
	}
	p.hooks = newWebhooks(p.newHistory(ctx, "webhooks", 0, true))
	publishing, stop := context.WithCancel(ctx)
	background.Go(func() { p.hooks.run(publishing, !p.soak) })
	return background, stop
}

// rounds runs histories of each kind. It mixes the histories of a few rounds, all with faults or all without.
func (p *proof) rounds(ctx context.Context, first int) {
	if p.again >= 0 {
		first = p.again / together * together
	}
	faulty := first/together%2 == 0 && !p.soak
	rate := 0.0
	if faulty {
		rate = faultRate
	}
	p.network.Set(rate, p.seed+uint64(first))
	type turn struct {
		kind
		round int
	}
	var turns, long []turn
	for round := first; round < first+together; round++ {
		for _, k := range kinds() {
			switch {
			case !p.only(k.name), k.seldom && round != first, p.again >= 0 && round != p.again:
			case k.seldom:
				long = append(long, turn{k, round}) // these begin first, so that none is waited for at the end
			default:
				turns = append(turns, turn{k, round})
			}
		}
	}
	rand.New(rand.NewPCG(p.seed, uint64(first))).Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	next := make(chan turn, len(turns)+len(long))
	for _, t := range append(long, turns...) {
		next <- t
	}
	close(next)
	var all sync.WaitGroup
	for range lanes {
		all.Go(func() {
			for t := range next {
				if !p.over(ctx) {
					p.one(ctx, t.kind, t.round, faulty)
				}
			}
		})
	}
	all.Wait()
}

// over reports whether no other history begins.
func (p *proof) over(ctx context.Context) bool {
	return time.Since(p.begun) > p.during || ctx.Err() != nil || p.stop && p.tally.found.Load()
}

// one runs one history.
func (p *proof) one(ctx context.Context, k kind, round int, faulty bool) {
	h := p.newHistory(ctx, k.name, round, faulty)
	k.run(h)
	if ctx.Err() != nil {
		return // half a history proves nothing
	}
	if k.name != "ended" { // a deleted org has neither
		for _, org := range h.orgs {
			h.audited(org)
			h.counted(org)
		}
		p.count("audited", len(h.orgs))
	}
	p.count(k.name, 1)
	if h.rowsWritten {
		p.mu.Lock()
		for _, org := range h.orgs {
			p.written[org] = true
		}
		p.mu.Unlock()
	}
	p.keep(h)
}

func (p *proof) count(what string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried[what] += n
}

// keep keeps the violations of a history, and prints them.
func (p *proof) keep(h *history) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range h.violations {
		if p.found.IsZero() {
			p.found = time.Now()
		}
		p.violations[h.kind]++
		fmt.Printf("VIOLATION, again with SEED=%s:\n%s\n", h.repeat, text)
	}
}
