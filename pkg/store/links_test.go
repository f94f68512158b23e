package store_test

import (
	"fmt"
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

func TestFortyDevicesRaceForALinkAndOneGetsIt(t *testing.T) {
	c := connect(t)
	for range 2 {
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
						return wrong("the winner's answer is %+v", out)
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

func TestADeviceThatAsksFortyTimesHasClaimedOnce(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	var firsts atomic.Int64
	for _, err := range atOnce(40, func(int) error {
		return persistent(func() error {
			out, err := c.ClaimLink(ctx, l.claim("mine"))
			if err == nil && !out.Replayed {
				firsts.Add(1)
			}
			if err == nil && (out.ClaimedAt != c.Now().UnixMilli() || out.ID != l.ID) {
				return wrong("%+v", out)
			}
			return err
		})
	}) {
		wants(t, err, "")
	}
	if n := len(c.events(t, webhook.LinkClaimed)); firsts.Load() != 1 || n != 1 {
		t.Errorf("%d firsts, %d events", firsts.Load(), n)
	}
}

func TestALinkEndsInOneWay(t *testing.T) {
	c := connect(t)
	const links = 6
	for range links {
		l := c.link(t, time.Hour)
		errs := atOnce(10, func(i int) error {
			return persistent(func() error {
				if i%2 == 0 {
					return second(c.ClaimLink(ctx, l.claim("k")))
				}
				return second(c.RevokeLink(ctx, c.app, l.ID))
			})
		})
		found, err := c.Link(ctx, c.app, l.ID)
		wants(t, err, "")
		if (found.ClaimedAt != 0) == (found.RevokedAt != 0) {
			t.Fatalf("%+v", found)
		}
		want := map[problem.Code]int{"": 5, problem.LinkAlreadyClaimed: 5}
		if found.RevokedAt != 0 {
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

func TestAWrongSecretIsTheSame404WhateverTheLinksStateIs(t *testing.T) {
	c := connect(t)
	pending, claimed, revoked, expired := c.link(t, time.Hour), c.link(t, time.Hour), c.link(t, time.Hour), c.link(t, time.Minute)
	wants(t, second(c.ClaimLink(ctx, claimed.claim("k"))), "")
	wants(t, second(c.RevokeLink(ctx, c.app, revoked.ID)), "")
	c.pass(time.Minute)
	unknown := pending.claim("k")
	unknown.Token.Link = id.NoLink
	elsewhere := pending.claim("k")
	elsewhere.Token.App = id.NoApp
	want := problem.From(second(c.ClaimLink(ctx, unknown)))
	if want.Code != problem.LinkNotFound {
		t.Fatal(want)
	}
	for name, claim := range map[string]store.Claim{
		"pending": pending.claim("k"), "claimed": claimed.claim("k"), "revoked": revoked.claim("k"), "expired": expired.claim("k"), "other app": elsewhere,
	} {
		if name != "other app" {
			claim.Token.Hash = hashOf("guess")
		}
		if got := problem.From(second(c.ClaimLink(ctx, claim))); got.Code != want.Code || got.Detail != want.Detail {
			t.Errorf("%s: %v", name, got)
		}
	}
	for code, l := range map[problem.Code]madeLink{
		problem.LinkAlreadyClaimed: claimed, problem.LinkRevoked: revoked, problem.LinkExpired: expired, "": pending,
	} {
		wants(t, second(c.ClaimLink(ctx, l.claim("another key"))), code)
	}
}

func TestADeviceMayAskAgainForADayAndPastTheLinksEnd(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	wants(t, second(c.ClaimLink(ctx, l.claim("k"))), "")
	c.pass(24*time.Hour - time.Millisecond)
	if got, err := c.ClaimLink(ctx, l.claim("k")); err != nil || !got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
	wants(t, second(c.RevokeLink(ctx, c.app, l.ID)), problem.LinkAlreadyClaimed)
	c.pass(time.Millisecond)
	wants(t, second(c.ClaimLink(ctx, l.claim("k"))), problem.LinkAlreadyClaimed)
}

// expire runs what the sweep does for every link that is due.
func (c *connected) expire(t *testing.T) (due int, errs []error) {
	t.Helper()
	found, err := c.DueBefore(ctx, store.DueLink, c.Now(), 100)
	if err != nil {
		t.Error(err)
	}
	return len(found), atOnce(len(found), func(i int) error { return c.ExpireLink(ctx, found[i].App, found[i].Link) })
}

func TestALinkExpiresOnceUnlessItHasEnded(t *testing.T) {
	c := connect(t)
	lapsed, claimed, revoked, longer := c.link(t, time.Minute), c.link(t, time.Minute), c.link(t, time.Minute), c.link(t, time.Hour)
	wants(t, second(c.ClaimLink(ctx, claimed.claim("k"))), "")
	wants(t, second(c.RevokeLink(ctx, c.app, revoked.ID)), "")
	c.pass(time.Minute - time.Millisecond)
	if n, _ := c.expire(t); n != 0 {
		t.Errorf("%d links are due too early", n)
	}
	c.pass(time.Millisecond)
	for _, err := range atOnce(20, func(int) error { return persistent(func() error { _, errs := c.expire(t); return tallyError(errs) }) }) {
		wants(t, err, "")
	}
	// The index may be behind: a run for these links changes nothing.
	for _, l := range []madeLink{claimed, revoked, longer, lapsed} {
		wants(t, c.ExpireLink(ctx, c.app, l.ID), "")
	}
	got := c.events(t, webhook.LinkExpired)
	if len(got) != 1 || got[0]["id"] != string(lapsed.ID) || got[0]["status"] != "expired" {
		t.Errorf("%v", got)
	}
	if n, _ := c.expire(t); n != 0 {
		t.Errorf("%d links are still due", n)
	}
	wants(t, second(c.RevokeLink(ctx, c.app, lapsed.ID)), problem.LinkExpired)
}

func tallyError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTheEventOfALinkShowsItAsAnAnswerDoesAndNoToken(t *testing.T) {
	c := connect(t)
	l := c.link(t, time.Hour)
	wants(t, second(c.ClaimLink(ctx, l.claim("k"))), "")
	got := c.events(t, webhook.LinkClaimed)[0]
	if got["id"] != string(l.ID) || got["status"] != "claimed" || got["clientUserId"] != "user-1" || fmt.Sprint(got["metadata"]) != "map[plan:pro]" ||
		got["claimedAt"] != float64(c.Now().UnixMilli()) || got["revokedAt"] != nil || got["device"] != nil || len(got) != 9 {
		t.Errorf("%v", got)
	}
}

func TestARetriedCreateMakesOneLinkAndAnswersTheSame(t *testing.T) {
	c := connect(t)
	const header = "6f2d9b0c-1111-4222-8333-444455556666"
	create := func(request, answer string) (string, error) {
		wanted := store.NewLink{OrgID: c.org, AppID: c.app, ClientUserID: "user-1", ExpiresIn: time.Hour}
		made, err := c.CreateLink(ctx, wanted, once[store.MintedLink](c, header, request, answer))
		return keptOf(made), err
	}
	kept := make([]string, 20)
	for _, err := range atOnce(20, func(i int) error {
		return persistent(func() (err error) { kept[i], err = create("{}", fmt.Sprint("answer ", i)); return err })
	}) {
		wants(t, err, "")
	}
	first := slices.Index(kept, "")
	for i, k := range kept {
		if i != first && k != fmt.Sprint("answer ", first) {
			t.Errorf("%d got %q, the first was %d", i, k, first)
		}
	}
	wants(t, second(create(`{"x":1}`, "")), problem.IdempotencyKeyReused)
	if links, _, err := c.Links(ctx, c.app, store.Page{Limit: 10}); err != nil || len(links) != 1 {
		t.Errorf("%d links, %v", len(links), err)
	}
}

func TestLinksAreListedNewestFirstEachOnce(t *testing.T) {
	c := connect(t)
	var want []id.Link
	for range 7 {
		c.pass(time.Millisecond)
		want = append(want, c.link(t, time.Hour).ID)
	}
	slices.Reverse(want)
	var got []id.Link
	p := store.Page{Limit: 3}
	for pages := 1; ; pages++ {
		links, next, err := c.Links(ctx, c.app, p)
		wants(t, err, "")
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
