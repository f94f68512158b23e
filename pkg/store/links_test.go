package store_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

func TestOneOfFortyDevicesClaimsALink(t *testing.T) {
	c := connect(t)
	for range 2 { // rounds, with a link each
		l := c.link(t, time.Hour)
		var winner atomic.Int64
		name := func(i int) *string { s := fmt.Sprint("device ", i); return &s }
		got := tally(atOnce(40, func(i int) error {
			return persistent(func() error {
				claim := l.claim(fmt.Sprint(i))
				claim.Device = &link.Device{Name: name(i)}
				out, err := c.ClaimLink(ctx, claim)
				if err == nil {
					winner.Store(int64(i))
					if out.Replayed || out.AppName == "" {
						return unexpected("the winner's answer is %+v", out)
					}
				}
				return err
			})
		}))
		if got[""] != 1 || got[problem.LinkAlreadyClaimed] != 39 {
			t.Fatalf("%v", got)
		}
		found, err := c.Link(ctx, c.app, l.ID)
		if err != nil || found.Device == nil || *found.Device.Name != *name(int(winner.Load())) {
			t.Errorf("%+v, %v: want the device of %d", found, err, winner.Load())
		}
	}
	if n := len(c.events(t, webhook.LinkClaimed)); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// TestFortyClaimsByOneDeviceAreOneClaim: one device makes 40 claims at once. All succeed: one is the
// first, and the others are replays.
func TestFortyClaimsByOneDeviceAreOneClaim(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	var firsts atomic.Int64
	for _, err := range atOnce(40, func(int) error {
		return persistent(func() error {
			out, err := c.ClaimLink(ctx, l.claim("k"))
			if err != nil {
				return err
			}
			if !out.Replayed {
				firsts.Add(1)
			}
			if out.ClaimedAt != c.Now().UnixMilli() || out.ID != l.ID {
				return unexpected("%+v", out)
			}
			return nil
		})
	}) {
		noError(t, err)
	}
	if n := len(c.events(t, webhook.LinkClaimed)); firsts.Load() != 1 || n != 1 {
		t.Errorf("%d firsts, %d events", firsts.Load(), n)
	}
}

// TestALinkIsEitherClaimedOrRevoked: of five claims by one device and five revocations at once, either all claims succeed or all
// revocations do.
func TestALinkIsEitherClaimedOrRevoked(t *testing.T) {
	c := connect(t)
	const links = 6
	for range links {
		l := c.link(t, time.Hour)
		errs := atOnce(10, func(i int) error {
			return persistent(func() error {
				if i%2 == 0 {
					return errorOf(c.ClaimLink(ctx, l.claim("k")))
				}
				return errorOf(c.RevokeLink(ctx, c.app, l.ID, store.Changer{}))
			})
		})
		found, err := c.Link(ctx, c.app, l.ID)
		noError(t, err)
		claimed, revoked := found.ClaimedAt != 0, found.RevokedAt != 0
		if claimed == revoked {
			t.Fatalf("%+v", found)
		}
		want := map[problem.Code]int{"": 5, problem.LinkAlreadyClaimed: 5}
		if revoked {
			want = map[problem.Code]int{"": 5, problem.LinkRevoked: 5}
		}
		if got := tally(errs); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if n := len(c.events(t, webhook.LinkClaimed)) + len(c.events(t, webhook.LinkRevoked)); n != links {
		t.Errorf("%d events for %d links", n, links)
	}
}

// TestAWrongLinkSecretIs404InEveryState: a claim with a wrong secret gets the same answer as a
// claim of a link that does not exist, so that the answer does not show whether the link exists.
func TestAWrongLinkSecretIs404InEveryState(t *testing.T) {
	c := connect(t)
	pending, claimed, revoked, expired := c.link(t, time.Hour), c.link(t, time.Hour), c.link(t, time.Hour), c.link(t, time.Minute)
	noError(t, errorOf(c.ClaimLink(ctx, claimed.claim("k"))))
	noError(t, errorOf(c.RevokeLink(ctx, c.app, revoked.ID, store.Changer{})))
	c.advanceClock(time.Minute)
	unknown := pending.claim("k")
	unknown.Token.Link = id.NoLink
	otherApp := pending.claim("k")
	otherApp.Token.App = id.NoApp
	want := problem.From(errorOf(c.ClaimLink(ctx, unknown)))
	if want.Code != problem.LinkNotFound {
		t.Fatal(want)
	}
	claims := map[string]store.Claim{"the right secret at another app": otherApp}
	for state, l := range map[string]madeLink{"pending": pending, "claimed": claimed, "revoked": revoked, "expired": expired} {
		guess := l.claim("k")
		guess.Token.Hash = hashOf("guess")
		claims[state] = guess
	}
	for name, claim := range claims {
		if got := problem.From(errorOf(c.ClaimLink(ctx, claim))); got.Code != want.Code || got.Detail != want.Detail {
			t.Errorf("%s: %v", name, got)
		}
	}
	// With the right secret, another device learns the state.
	for code, l := range map[problem.Code]madeLink{
		problem.LinkAlreadyClaimed: claimed, problem.LinkRevoked: revoked, problem.LinkExpired: expired, "": pending,
	} {
		expectCode(t, errorOf(c.ClaimLink(ctx, l.claim("another key"))), code)
	}
}

func TestADeviceMayRepeatItsClaimForADay(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	noError(t, errorOf(c.ClaimLink(ctx, l.claim("k"))))
	c.advanceClock(dayLong - time.Millisecond)
	if got, err := c.ClaimLink(ctx, l.claim("k")); err != nil || !got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
	expectCode(t, errorOf(c.RevokeLink(ctx, c.app, l.ID, store.Changer{})), problem.LinkAlreadyClaimed)
	c.advanceClock(time.Millisecond)
	expectCode(t, errorOf(c.ClaimLink(ctx, l.claim("k"))), problem.LinkAlreadyClaimed)
}

// expireLinks does the work of the sweep for every link that is due. It returns the number of these links, and their errors.
func (c *connected) expireLinks(t *testing.T) (due int, errs []error) {
	t.Helper()
	found, err := c.DueBefore(ctx, store.DueLink, c.Now(), 100)
	if err != nil {
		t.Error(err)
	}
	return len(found), atOnce(len(found), func(i int) error { return c.ExpireLink(ctx, found[i].App, found[i].Link) })
}

func TestALinkExpiresOnceUnlessItHasEnded(t *testing.T) {
	c := connect(t)
	expired, claimed, revoked := c.link(t, time.Minute), c.link(t, time.Minute), c.link(t, time.Minute)
	pending := c.link(t, time.Hour)
	noError(t, errorOf(c.ClaimLink(ctx, claimed.claim("k"))))
	noError(t, errorOf(c.RevokeLink(ctx, c.app, revoked.ID, store.Changer{})))
	c.advanceClock(time.Minute - time.Millisecond)
	if n, _ := c.expireLinks(t); n != 0 {
		t.Errorf("%d links are due too early", n)
	}
	c.advanceClock(time.Millisecond)
	sweep := func(int) error {
		return persistent(func() error { _, errs := c.expireLinks(t); return cmp.Or(errs...) })
	}
	for _, err := range atOnce(20, sweep) {
		noError(t, err)
	}
	// The index is a little late, so the sweep may find links that are no longer due: these calls change nothing.
	for _, l := range []madeLink{claimed, revoked, pending, expired} {
		noError(t, c.ExpireLink(ctx, c.app, l.ID))
	}
	got := c.events(t, webhook.LinkExpired)
	if len(got) != 1 || got[0]["id"] != string(expired.ID) || got[0]["status"] != "expired" {
		t.Errorf("%v", got)
	}
	if n, _ := c.expireLinks(t); n != 0 {
		t.Errorf("%d links are still due", n)
	}
	expectCode(t, errorOf(c.RevokeLink(ctx, c.app, expired.ID, store.Changer{})), problem.LinkExpired)
}

// TestALinkThatHasExpiredIsNeitherClaimedNorRevoked: the sweep expires a link after the request has read it, and before the request
// writes. The clock of the request may be slower than the sweep's: then its next read comes before the expiry, too.
func TestALinkThatHasExpiredIsNeitherClaimedNorRevoked(t *testing.T) {
	for name, slow := range map[string]time.Duration{"one clock": 0, "a slow clock": time.Second} {
		c := connect(t)
		for what, act := range map[string]func(madeLink) error{
			"a claim":                 func(l madeLink) error { return errorOf(c.ClaimLink(ctx, l.claim("k"))) },
			"a revocation with a key": func(l madeLink) error { return errorOf(c.RevokeLink(ctx, c.app, l.ID, store.Changer{})) },
			"a revocation by an admin": func(l madeLink) error {
				return errorOf(c.RevokeLink(ctx, c.app, l.ID, store.Changer{Actor: admin(c.ada)}))
			},
		} {
			l, before := c.link(t, time.Minute), len(c.events(t, webhook.LinkExpired))
			c.advanceClock(time.Minute - time.Millisecond)
			err, errSweep := c.interleave(t, func() error { return act(l) }, func() error {
				c.advanceClock(time.Millisecond)
				err := c.ExpireLink(ctx, c.app, l.ID)
				c.advanceClock(-slow)
				return err
			})
			noError(t, errSweep)
			if !problem.Is(err, problem.LinkExpired) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if n := len(c.events(t, webhook.LinkExpired)) - before; n != 1 {
				t.Errorf("%s, %s: %d events of the expiry", name, what, n)
			}
			c.advanceClock(slow)
		}
		if n := len(c.events(t, webhook.LinkClaimed)) + len(c.events(t, webhook.LinkRevoked)); n != 0 {
			t.Errorf("%s: %d events of links that have expired", name, n)
		}
	}
}

// TestALinksEventHasNoToken: the event has only the nine fields that an answer shows of a link.
func TestALinksEventHasNoToken(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	noError(t, errorOf(c.ClaimLink(ctx, l.claim("k"))))
	got := c.events(t, webhook.LinkClaimed)[0]
	want := map[string]any{
		"id": string(l.ID), "status": "claimed", "clientUserId": "user-1", "metadata": map[string]any{"plan": "pro"}, "device": nil,
		"createdAt": float64(l.CreatedAt), "expiresAt": float64(l.ExpiresAt), "claimedAt": float64(c.Now().UnixMilli()), "revokedAt": nil,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestARetriedCreateMakesOneLink(t *testing.T) {
	c := connect(t)
	create := func(request, answer string) (string, error) {
		wanted := store.NewLink{OrgID: c.org, AppID: c.app, ClientUserID: "user-1", ExpiresIn: time.Hour}
		made, err := c.CreateLink(ctx, wanted, once[store.MintedLink](c, idempotencyKey, request, answer))
		return replayedAnswer(made), err
	}
	kept := make([]string, 20) // by request; "" for the request that made the link
	for _, err := range atOnce(20, func(i int) error {
		return persistent(func() (err error) { kept[i], err = create("{}", fmt.Sprint("answer ", i)); return err })
	}) {
		noError(t, err)
	}
	first := slices.Index(kept, "")
	for i, k := range kept {
		if i != first && k != fmt.Sprint("answer ", first) {
			t.Errorf("%d got %q, the first was %d", i, k, first)
		}
	}
	expectCode(t, errorOf(create(`{"x":1}`, "")), problem.IdempotencyKeyReused)
	if links, _, err := c.Links(ctx, c.app, store.Page{Limit: 10}); err != nil || len(links) != 1 {
		t.Errorf("%d links, %v", len(links), err)
	}
}

func TestLinksAreListedNewestFirstEachOnce(t *testing.T) {
	c := connect(t)
	var want []id.Link
	for range 7 {
		c.advanceClock(time.Millisecond)
		want = append(want, c.link(t, time.Hour).ID)
	}
	slices.Reverse(want)
	var got []id.Link
	p := store.Page{Limit: 3}
	for pages := 1; ; pages++ { // pages of 3, 3 and 1
		links, next, err := c.Links(ctx, c.app, p)
		noError(t, err)
		for _, l := range links {
			got = append(got, l.ID)
		}
		if next == "" {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		p.After = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if links, _, err := c.Links(ctx, id.NoApp, store.Page{Limit: 3}); err != nil || len(links) != 0 {
		t.Errorf("another app: %v, %v", links, err)
	}
}
