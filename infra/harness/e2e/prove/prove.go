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

// kind is a kind of history, and the promise that it tests.
type kind struct {
	name, promise string
	isRare        bool // only one of ten rounds has such a history, because it needs many rows
	run           func(*history)
}

// kinds returns the kinds of histories. The model of each promise is in the file of its run function.
func kinds() []kind {
	return []kind{
		{"revoked", "After the answer to a revocation, every door refuses the key", false, revoked},
		{"narrowed", "After the answer to a change of a key's scopes, it counts at every door", false, narrowed},
		{"expired", "A key is accepted until its expiry, and not after it", false, expired},
		{"rotated", "A rotated key works for its grace, and its successor has the same scopes", false, rotated},
		{"ended", "After the answer to an org's deletion, its keys are refused", true, ended},
		{"suspended", "After the answer to a suspension every door refuses the org's keys, and after the resumption they work again", false, suspended},
		{"stopped", "After the answer every door refuses the tokens of a stopped person, and tokens from before a sign-out", false, stopped},
		{"admins", "An org keeps an admin, and only people with the role at that moment change it", false, admins},
		{"claimed", "A link is claimed once", false, claimed},
		{"retried", "One Idempotency-Key has one effect and one answer", false, retried},
		{"limited", "An org has at most the keys and apps of its limits, and none is refused below them", true, limited},
		{"barred", "A key that is revoked with its endpoints and links leaves none that works", false, barred},
		{"inputs", "A bad request has a documented answer", false, badInputs},
	}
}

const (
	lanes       = 6   // the number of histories that run at once
	faultRate   = 0.1 // the share of the calls of AWS that fail, in rounds with faults
	mixedRounds = 10  // the number of rounds whose histories are mixed; all of them have faults, or none
)

// options are the settings of a run.
type options struct {
	during time.Duration
	seed   uint64
	only   func(kind string) bool // reports whether a kind is chosen
	again  int                    // the round to repeat, from the seed of a violation; -1: none
	stop   bool                   // end at the first violation
	soak   bool                   // make no faults and no kills, and measure the memory of the functions
}

// proof is a run and its results.
type proof struct {
	*world
	options
	begun time.Time

	hooks      *webhooks       // nil: the kind webhooks is not chosen
	memory     memory          // filled in a soak only
	written    map[string]bool // orgs with a row that was changed without the product
	tried      map[string]int  // the number of histories by kind, and of orgs that were compared with their audit log and counters
	mu         sync.Mutex
	violations map[string]int // by kind
	found      time.Time      // the time of the first violation
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

// run makes rounds of histories until the time is over. A round has one history of each kind. The first ten rounds have faults, the
// next ten have none, and so on.
func (p *proof) run(ctx context.Context) error {
	p.begun, p.written, p.tried, p.violations = time.Now(), map[string]bool{}, map[string]int{}, map[string]int{}
	background, stop := p.startWebhooks(ctx)
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if p.soak {
		background.Go(func() { p.memory = p.watchMemory(watched) })
	}
	background.Go(func() { p.tally.watchStalls(watched) })
	for round := 0; !p.over(ctx); round += mixedRounds {
		p.rounds(ctx, round)
		fmt.Printf("%d rounds after %s\n", round+mixedRounds, time.Since(p.begun).Round(time.Second))
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
		p.keepViolations(p.hooks.history)
		p.tried["webhooks"] = len(p.hooks.published) * len(p.hooks.receivers)
	}
	return ctx.Err()
}

// countAll compares the counters of every org in the table that is not deleted.
func (p *proof) countAll(ctx context.Context) {
	h := p.newHistory(ctx, "whole table", 0, false)
	for _, row := range h.rows("") {
		if row["apps"] != nil && row["deletedAt"] == nil {
			org := strings.TrimPrefix(textOf(row["PK"]), "ORG#")
			h.rowsWritten = p.written[org]
			h.checkCounters(org)
			p.tried[h.kind]++
		}
	}
	p.keepViolations(h)
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

// rounds runs the histories of ten rounds in a random order, all with faults or all without.
func (p *proof) rounds(ctx context.Context, first int) {
	if p.again >= 0 {
		first = p.again / mixedRounds * mixedRounds // the first round of its ten
	}
	faulty := first/mixedRounds%2 == 0 && !p.soak // every second group of rounds has faults
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
	for round := first; round < first+mixedRounds; round++ {
		for _, k := range kinds() {
			switch {
			case !p.only(k.name), k.isRare && round != first, p.again >= 0 && round != p.again:
			case k.isRare:
				long = append(long, turn{k, round}) // these take longest, so they begin first
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
					p.runOne(ctx, t.kind, t.round, faulty)
				}
			}
		})
	}
	all.Wait()
}

// over reports whether the run is over, so that no other history begins.
func (p *proof) over(ctx context.Context) bool {
	return time.Since(p.begun) > p.during || ctx.Err() != nil || p.stop && p.tally.found.Load()
}

// runOne runs one history.
func (p *proof) runOne(ctx context.Context, k kind, round int, faulty bool) {
	h := p.newHistory(ctx, k.name, round, faulty)
	k.run(h)
	if ctx.Err() != nil {
		return // an interrupted history proves nothing
	}
	if k.name != "ended" { // a deleted org has no audit log to read, and no counters
		for _, org := range h.orgs {
			h.checkAudit(org)
			h.checkCounters(org)
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
	p.keepViolations(h)
}

func (p *proof) count(what string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried[what] += n
}

// keepViolations counts the violations of a history, and prints them.
func (p *proof) keepViolations(h *history) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range h.violations {
		if p.found.IsZero() {
			p.found = time.Now()
		}
		p.violations[h.kind]++
		fmt.Printf("VIOLATION (repeat it with SEED=%s):\n%s\n", h.repeat, text)
	}
}
