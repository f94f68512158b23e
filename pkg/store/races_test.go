package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// overtaken runs do, and first runs before its transaction.
func (c *connected) overtaken(t *testing.T, do, first func() error) (err, firstErr error) {
	t.Helper()
	c.Faults.Before("TransactWriteItems", func() { firstErr = first() })
	err = do()
	if c.Faults.Pending() {
		t.Fatal("nothing came between")
	}
	return err, firstErr
}

// counters compares the org's counters with its rows, and both rows of each membership with each
// other.
func (c *connected) counters(t *testing.T, what string) {
	t.Helper()
	admins, members := 0, 0
	copies := map[string]string{}
	var meta map[string]types.AttributeValue
	for _, r := range c.Rows(t) {
		pk, sk := text(r, "PK"), text(r, "SK")
		switch {
		case pk == "ORG#"+string(c.org) && sk == "META":
			meta = r
		case pk == "ORG#"+string(c.org) && strings.HasPrefix(sk, "MEM#"):
			members++
			if text(r, "role") == string(org.Admin) {
				admins++
			}
			copies[strings.TrimPrefix(sk, "MEM#")] += text(r, "role") + " "
		case sk == "ORG#"+string(c.org):
			copies[strings.TrimPrefix(pk, "USER#")] += text(r, "role") + " "
		}
	}
	if text(meta, "admins") != strconv.Itoa(admins) || text(meta, "members") != strconv.Itoa(members) {
		t.Errorf("%s: counted %s admins and %s members, rows of %d and %d", what, text(meta, "admins"), text(meta, "members"), admins, members)
	}
	for u, roles := range copies {
		if both := strings.Fields(roles); len(both) != 2 || both[0] != both[1] {
			t.Errorf("%s: the copies of %s: %v", what, u, both)
		}
	}
}

// TestCountersEqualRowsAfterEveryRaceOnAMember has two admins change one member at once, each in
// every way.
func TestCountersEqualRowsAfterEveryRaceOnAMember(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	const email = "bob@example.com"
	bob := addMember(t, c.Table, c.org, c.ada, email, org.Viewer)
	change := func(by id.User, to org.Role) error {
		if to == "" {
			return c.RemoveMember(ctx, admin(by), c.org, bob)
		}
		return second(c.ChangeRole(ctx, admin(by), c.org, bob, to))
	}
	isMember := true
	for _, was := range []org.Role{org.Admin, org.Viewer} {
		for _, mine := range []org.Role{org.Admin, org.Member, org.Viewer, ""} {
			for _, theirs := range []org.Role{org.Admin, org.Member, org.Viewer, ""} {
				if mine == was || theirs == was {
					continue // nothing is written
				}
				if isMember {
					wants(t, change(c.ada, was), "")
				} else {
					wants(t, second(c.AddMember(ctx, admin(c.ada), c.org, email, was, store.Once[id.User]{})), "")
				}
				what := fmt.Sprintf("from %q to %q, overtaken by %q", was, mine, theirs)
				err, first := c.overtaken(t, func() error { return change(c.ada, mine) }, func() error { return change(eve, theirs) })
				wants(t, first, "")
				if theirs == "" {
					wants(t, err, problem.MemberNotFound)
				} else {
					wants(t, err, "")
				}
				c.counters(t, what)
				isMember = mine != "" && theirs != ""
			}
		}
	}
}

func TestAMemberAddedTwiceAtOnceCountsOnce(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	c.NewUser(t, "bob@example.com")
	add := func(by id.User) func() error {
		return func() error {
			return second(c.AddMember(ctx, admin(by), c.org, "bob@example.com", org.Admin, store.Once[id.User]{}))
		}
	}
	err, first := c.overtaken(t, add(c.ada), add(eve))
	wants(t, first, "")
	wants(t, err, problem.MemberExists)
	c.counters(t, "added twice")
}

// keysAre compares the org's keys that are neither revoked nor rotated with those in the map of
// active keys, and both with wanted. total is the number of rows.
func (c *connected) keysAre(t *testing.T, what string, total int, want ...id.Key) {
	t.Helper()
	keys, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{})
	wants(t, err, "")
	var active, live []string
	for _, k := range keys {
		if k.RevokedAt == 0 && k.RotatedTo == "" {
			active = append(active, string(k.ID))
		}
	}
	for _, r := range c.rowsOf(t, "KEYS#") {
		if m, ok := r["live"].(*types.AttributeValueMemberM); ok {
			for k := range m.Value {
				live = append(live, k)
			}
		}
	}
	var wanted []string
	for _, k := range want {
		wanted = append(wanted, string(k))
	}
	for _, list := range [][]string{active, live, wanted} {
		slices.Sort(list)
	}
	if !slices.Equal(active, wanted) || !slices.Equal(live, wanted) || len(keys) != total {
		t.Errorf("%s: active %v, in the map %v, want %v; %d keys, want %d", what, active, live, wanted, len(keys), total)
	}
}

// written counts the audit entries of an action, and the events of a kind.
func (c *connected) written(t *testing.T, action string, kind webhook.Type) (entries, events int) {
	t.Helper()
	for _, r := range c.rowsOf(t, "AUD#") {
		if text(r, "action") == action {
			entries++
		}
	}
	return entries, len(c.events(t, kind))
}

// TestKeysThatAreChangedAtOnceChangeOnce pairs rotations and revocations of one key. One comes
// between the reads of the other and its transaction.
func TestKeysThatAreChangedAtOnceChangeOnce(t *testing.T) {
	type race struct {
		*connected
		old   id.Key
		fresh [2]store.MintedKey // by rotations
	}
	revoke := func(r *race, _ int) error { return r.RevokeKey(ctx, admin(r.ada), r.org, r.old) }
	turn := func(r *race, n int) error {
		return second(r.RotateKey(ctx, admin(r.ada), r.org, store.Rotation{Old: r.old, Grace: time.Hour, Prefix: "lk"}, recording(&r.fresh[n])))
	}
	for name, v := range map[string]struct {
		do, first            func(r *race, n int) error
		want                 problem.Code
		rotated, revocations int
	}{
		"a rotation against a rotation":     {turn, turn, problem.KeyNotActive, 1, 0},
		"a rotation against a revocation":   {turn, revoke, problem.KeyNotActive, 0, 1},
		"a revocation against a rotation":   {revoke, turn, "", 1, 1},
		"a revocation against a revocation": {revoke, revoke, "", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &race{connected: connect(t)}
			r.old = makeKey(t, r.Table, r.org, r.ada, 0).ID
			at := r.Now().Add(time.Second).UnixMilli()
			err, first := r.overtaken(t, func() error { return v.do(r, 0) }, func() error {
				r.pass(time.Second) // so that the times show which of the two was first
				return v.first(r, 1)
			})
			wants(t, first, "")
			wants(t, err, v.want)
			var active []id.Key
			if v.rotated == 1 {
				active = append(active, r.fresh[1].ID)
			}
			r.keysAre(t, name, 1+v.rotated, active...)
			old := row(t, r.Table, r.org, r.old)
			if v.rotated == 1 && old.ExpiresAt != at+time.Hour.Milliseconds() || (old.RevokedAt != 0) != (v.revocations == 1) {
				t.Errorf("the old key: %+v", old)
			}
			if v.rotated == 0 && old.RevokedAt != at {
				t.Errorf("revoked at %d, want the first time, %d", old.RevokedAt, at)
			}
			if entries, events := r.written(t, "key.revoked", webhook.KeyRevoked); entries != v.revocations || events != v.revocations {
				t.Errorf("%d entries and %d events of %d revocations", entries, events, v.revocations)
			}
			if entries, events := r.written(t, "key.rotated", webhook.KeyCreated); entries != v.rotated || events != 1+v.rotated {
				t.Errorf("%d entries of %d rotations, %d keys created", entries, v.rotated, events)
			}
		})
	}
}

func TestADeliveryIsNotReleasedOnceItsEndpointIsDisabled(t *testing.T) {
	c := connect(t)
	h := c.endpoint(t)
	c.enable(t, h.ID, false)
	e := c.fanned(t, h.ID)
	h = c.enable(t, h.ID, true)
	released := true
	err, first := c.overtaken(t, func() (err error) {
		released, err = c.Deliveries().Release(ctx, h, webhook.DeliveryID{App: c.app, Endpoint: h.ID, Event: e})
		return err
	}, func() error {
		c.enable(t, h.ID, false)
		return nil
	})
	wants(t, errors.Join(err, first), "")
	if got := c.status(t, h.ID, e); released || got != webhook.DeliveryHeld {
		t.Errorf("released: %v, %s", released, got)
	}
	h = c.enable(t, h.ID, true)
	if ok, err := c.Deliveries().Release(ctx, h, webhook.DeliveryID{App: c.app, Endpoint: h.ID, Event: e}); !ok || err != nil || c.status(t, h.ID, e) != webhook.DeliveryPending {
		t.Errorf("enabled again: %v, %v", ok, err)
	}
}
