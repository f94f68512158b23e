package store_test

import (
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// linksOf creates n pending links as an API key.
func (c *connected) linksOf(t *testing.T, by id.Key, n int) (made []madeLink) {
	t.Helper()
	for range n {
		m, err := c.CreateLink(ctx, store.NewLink{OrgID: c.org, AppID: c.app, ClientUserID: "u", ExpiresIn: time.Hour, By: by}, store.Once[store.MintedLink]{})
		noError(t, err)
		token, err := link.ParseToken(m.Made.Token.Text.Reveal())
		noError(t, err)
		made = append(made, madeLink{m.Made.Link, token})
	}
	return made
}

// TestLinksOfABarredKeyCannotBeClaimed: each claim that begins after RevokeLinksOf has returned is refused. This includes links
// that an earlier request of the key makes afterwards. A claim reads the bar row outside of its transaction: otherwise claims,
// which anyone can make, would conflict with the write of the bar row and delay it.
func TestLinksOfABarredKeyCannotBeClaimed(t *testing.T) {
	c := connect(t)
	thief, honest := makeKey(t, c.Table, c.org, c.ada, 0).ID, makeKey(t, c.Table, c.org, c.ada, 0).ID
	thiefLinks, honestLinks := c.linksOf(t, thief, 3), c.linksOf(t, honest, 2)
	claimed, pending, other := thiefLinks[0], thiefLinks[1], thiefLinks[2]
	noError(t, errorOf(c.ClaimLink(ctx, claimed.claim("k"))))
	noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, thief))
	bar := func() error { return c.RevokeLinksOf(ctx, admin(c.ada), c.org, thief) }
	// Between the claim's reads of the link and of the bar row.
	c.Faults.Before("BatchGetItem", func() { noError(t, bar()) })
	expectCode(t, errorOf(c.ClaimLink(ctx, pending.claim("k"))), problem.LinkRevoked)
	expectCode(t, errorOf(c.ClaimLink(ctx, other.claim("k"))), problem.LinkRevoked)
	expectCode(t, errorOf(c.ClaimLink(ctx, c.linksOf(t, thief, 1)[0].claim("k"))), problem.LinkRevoked)
	noError(t, errorOf(c.ClaimLink(ctx, claimed.claim("k")))) // its device repeats the claim from before the barring
	noError(t, errorOf(c.ClaimLink(ctx, honestLinks[0].claim("k"))))
	noError(t, bar()) // a second barring changes nothing, and has no audit entry
	audited := 0
	for _, r := range c.rowsOf(t, "AUD#") {
		if text(r, "action") == "key.links_revoked" && text(r, "target") == string(thief) {
			audited++
		}
	}
	if audited != 1 || c.Faults.Pending() {
		t.Errorf("%d audit entries", audited)
	}
	// DisableEndpointsOf writes the same bar row: it neither removes nor sets the mark of the links.
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, thief))
	expectCode(t, errorOf(c.ClaimLink(ctx, other.claim("k"))), problem.LinkRevoked)
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, honest))
	noError(t, errorOf(c.ClaimLink(ctx, honestLinks[1].claim("k"))))
}

// TestBarringMakesTheSameCallsForManyLinks counts the calls for a key without links and for a key with 120: each time one
// read and one transaction. The sweep revokes the links afterwards.
func TestBarringMakesTheSameCallsForManyLinks(t *testing.T) {
	c := connect(t)
	var calls []int
	for _, n := range []int{0, 120} {
		k := makeKey(t, c.Table, c.org, c.ada, 0).ID
		c.linksOf(t, k, n)
		c.forgetCalls()
		noError(t, c.RevokeLinksOf(ctx, admin(c.ada), c.org, k))
		calls = append(calls, len(c.Faults.Calls()))
	}
	if calls[0] != 2 || calls[1] != 2 {
		t.Errorf("%v calls for 0 and 120 links", calls)
	}
}

// TestLinksOfABarredKeyAreRevokedPageByPage: each call of CleanLinks reads 90 links of the app, and revokes the
// links of the barred key without an event. A second pass, two minutes after the bar was written, finds the link
// that a late request made.
func TestLinksOfABarredKeyAreRevokedPageByPage(t *testing.T) {
	c := connect(t)
	thief := makeKey(t, c.Table, c.org, c.ada, 0).ID
	thiefLinks := c.linksOf(t, thief, 100)
	honestLinks := c.linksOf(t, makeKey(t, c.Table, c.org, c.ada, 0).ID, 30)
	thiefLinks = append(thiefLinks, c.linksOf(t, thief, 60)...)
	noError(t, c.RevokeLinksOf(ctx, admin(c.ada), c.org, thief))
	clean := func() (calls int) { // calls CleanLinks until no page is left
		t.Helper()
		for more := true; more; calls++ {
			var err error
			c.forgetCalls()
			more, err = c.CleanLinks(ctx, c.app, thief)
			noError(t, err)
			if n := len(c.Faults.Calls()); n > 4 { // the bar, a page, a transaction, the position
				t.Errorf("CleanLinks makes %d calls of the database", n)
			}
		}
		return calls
	}
	if calls := clean(); calls != 3 {
		t.Errorf("%d calls of CleanLinks for 190 links", calls)
	}
	late := c.linksOf(t, thief, 1)
	if calls := clean(); calls != 1 {
		t.Errorf("%d calls of CleanLinks while the second pass is not due", calls)
	}
	c.advanceClock(2 * time.Minute)
	clean()
	for _, l := range append(thiefLinks, late...) {
		if found, err := c.Link(ctx, c.app, l.ID); err != nil || found.RevokedAt == 0 {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	for _, l := range honestLinks {
		if found, err := c.Link(ctx, c.app, l.ID); err != nil || found.RevokedAt != 0 {
			t.Fatalf("another key's link: %+v, %v", found, err)
		}
	}
	if n := len(c.events(t, webhook.LinkRevoked)); n != 0 {
		t.Errorf("%d events", n)
	}
	if due, err := c.DueBefore(ctx, store.DueBar, c.Now().Add(time.Hour), 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

// TestAnUnclaimableLinkExpiresWithoutAnEvent: one link is of a barred key, and one is of a deleted org.
func TestAnUnclaimableLinkExpiresWithoutAnEvent(t *testing.T) {
	c := connect(t)
	thief := makeKey(t, c.Table, c.org, c.ada, 0).ID
	ofBarred := c.linksOf(t, thief, 1)[0]
	gone := &connected{Table: c.Table, ada: c.ada, org: c.NewOrg(t, c.ada)}
	gone.app = id.DefaultApp(gone.org)
	ofDeleted := gone.linksOf(t, "", 1)[0]
	noError(t, c.RevokeLinksOf(ctx, admin(c.ada), c.org, thief))
	noError(t, c.DeleteOrg(ctx, admin(c.ada), gone.org))
	c.advanceClock(time.Hour)
	noError(t, c.ExpireLink(ctx, c.app, ofBarred.ID))
	noError(t, c.ExpireLink(ctx, gone.app, ofDeleted.ID))
	if n := len(c.events(t, webhook.LinkExpired)) + len(gone.events(t, webhook.LinkExpired)); n != 0 {
		t.Errorf("%d events", n)
	}
	if due, err := c.DueBefore(ctx, store.DueLink, c.Now(), 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}
