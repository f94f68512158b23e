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

// interleave runs do, and runs first between the reads of do and its transaction. It returns the errors of both.
func (c *connected) interleave(t *testing.T, do, first func() error) (err, firstErr error) {
	t.Helper()
	c.Faults.Before("TransactWriteItems", func() { firstErr = first() })
	err = do()
	if c.Faults.Pending() {
		t.Fatal("the test proves nothing: first was not called")
	}
	return err, firstErr
}

// checkCounters is an error of the test unless the org's counters of admins and members are equal to its rows, and each member has the
// same role in both rows of the membership.
func (c *connected) checkCounters(t *testing.T, what string) {
	t.Helper()
	admins, members := 0, 0
	rolesOf := map[string][]string{} // by user: one role from each of the two rows
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
			u := strings.TrimPrefix(sk, "MEM#")
			rolesOf[u] = append(rolesOf[u], text(r, "role"))
		case sk == "ORG#"+string(c.org):
			u := strings.TrimPrefix(pk, "USER#")
			rolesOf[u] = append(rolesOf[u], text(r, "role"))
		}
	}
	if text(meta, "admins") != strconv.Itoa(admins) || text(meta, "members") != strconv.Itoa(members) {
		t.Errorf("%s: counted %s admins and %s members, rows of %d and %d", what, text(meta, "admins"), text(meta, "members"), admins, members)
	}
	for u, roles := range rolesOf {
		if len(roles) != 2 || roles[0] != roles[1] {
			t.Errorf("%s: the rows of %s have the roles %v", what, u, roles)
		}
	}
}

// TestCountersEqualRowsAfterEveryRaceOnAMember: two admins, Ada and Eve, change Bob at once, each in every way. Eve's change
// comes between the reads of Ada's change and its transaction. Ada's change comes last, so it decides, even if Bob already had
// her role when she read it.
func TestCountersEqualRowsAfterEveryRaceOnAMember(t *testing.T) {
	c := connect(t)
	eve := addMember(t, c.Table, c.org, c.ada, "eve@example.com", org.Admin)
	const email = "bob@example.com"
	bob := addMember(t, c.Table, c.org, c.ada, email, org.Viewer)
	roleOfBob := func() org.Role { // "": not a member
		role, _, err := c.Role(ctx, c.org, bob)
		noError(t, err)
		return role
	}
	change := func(by id.User, to org.Role) error {
		if to == "" {
			return c.RemoveMember(ctx, admin(by), c.org, bob)
		}
		return errorOf(c.ChangeRole(ctx, admin(by), c.org, bob, to))
	}
	join := func(by id.User, as org.Role) error {
		return errorOf(c.AddMember(ctx, admin(by), c.org, email, as, store.Once[id.User]{}))
	}
	for _, was := range []org.Role{org.Admin, org.Viewer, ""} {
		for _, adas := range []org.Role{org.Admin, org.Member, org.Viewer, ""} {
			for _, eves := range []org.Role{org.Admin, org.Member, org.Viewer, ""} {
				if eves == was {
					continue // she writes nothing
				}
				switch roleOfBob() {
				case was:
				case "":
					noError(t, join(c.ada, was))
				default:
					noError(t, change(c.ada, was))
				}
				evesChange := change
				if was == "" {
					evesChange = join
				}
				what := fmt.Sprintf("from %q to %q, overtaken by %q", was, adas, eves)
				err, evesErr := c.interleave(t, func() error { return change(c.ada, adas) }, func() error { return evesChange(eve, eves) })
				noError(t, evesErr)
				if eves == "" {
					expectCode(t, err, problem.MemberNotFound)
				} else if noError(t, err); roleOfBob() != adas {
					t.Errorf("%s: %q", what, roleOfBob())
				}
				c.checkCounters(t, what)
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
			return errorOf(c.AddMember(ctx, admin(by), c.org, "bob@example.com", org.Admin, store.Once[id.User]{}))
		}
	}
	err, evesErr := c.interleave(t, add(c.ada), add(eve))
	noError(t, evesErr)
	expectCode(t, err, problem.MemberExists)
	c.checkCounters(t, "added twice")
}

// checkActiveKeys is an error of the test unless the org's keys that are neither revoked nor rotated are want, the map of active keys has
// the same keys, and the org has total keys, including revoked and rotated ones.
func (c *connected) checkActiveKeys(t *testing.T, what string, total int, want ...id.Key) {
	t.Helper()
	keys, _, err := c.Keys(ctx, admin(c.ada), c.org, "", store.Page{})
	noError(t, err)
	var active, live []string
	for _, k := range keys {
		if k.RevokedAt == 0 && k.RotatedTo.Long() == "" {
			active = append(active, string(k.ID))
		}
	}
	for _, r := range c.rowsOf(t, "KEYS#") { // one of these rows has the map
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

// countWritten counts the audit entries of an action, and the events of a kind.
func (c *connected) countWritten(t *testing.T, action string, kind webhook.Type) (entries, events int) {
	t.Helper()
	for _, r := range c.rowsOf(t, "AUD#") {
		if text(r, "action") == action {
			entries++
		}
	}
	return entries, len(c.events(t, kind))
}

// TestAKeyIsRotatedOrRevokedOnceInARace rotates or revokes one key by two requests at once. One request is overtaken: the
// other comes between its reads and its transaction.
func TestAKeyIsRotatedOrRevokedOnceInARace(t *testing.T) {
	type race struct {
		*connected
		old   id.Key
		fresh [2]store.MintedKey // the new keys, by the number of the rotation in the race
	}
	revoke := func(r *race, _ int) error { return r.RevokeKey(ctx, admin(r.ada), r.org, r.old) }
	rotate := func(r *race, n int) error {
		return errorOf(r.RotateKey(ctx, admin(r.ada), r.org, store.Rotation{Old: r.old, Grace: time.Hour, Prefix: "lk"}, recording(&r.fresh[n])))
	}
	for name, v := range map[string]struct {
		overtaken, other       func(r *race, n int) error // n is 0 for overtaken and 1 for other
		want                   problem.Code               // of overtaken; other succeeds
		rotations, revocations int                        // the number that is carried out
	}{
		"a rotation overtaken by a rotation":     {rotate, rotate, problem.KeyNotActive, 1, 0},
		"a rotation overtaken by a revocation":   {rotate, revoke, problem.KeyNotActive, 0, 1},
		"a revocation overtaken by a rotation":   {revoke, rotate, "", 1, 1},
		"a revocation overtaken by a revocation": {revoke, revoke, "", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &race{connected: connect(t)}
			r.old = makeKey(t, r.Table, r.org, r.ada, 0).ID
			otherAt := r.Now().Add(time.Second).UnixMilli()
			err, otherErr := r.interleave(t, func() error { return v.overtaken(r, 0) }, func() error {
				r.advanceClock(time.Second) // so that a time in the row shows which of the two wrote it
				return v.other(r, 1)
			})
			noError(t, otherErr)
			expectCode(t, err, v.want)
			var active []id.Key
			if v.rotations == 1 {
				active = append(active, r.fresh[1].ID)
			}
			r.checkActiveKeys(t, name, 1+v.rotations, active...)
			old := row(t, r.Table, r.org, r.old)
			if v.rotations == 1 && old.ExpiresAt != otherAt+time.Hour.Milliseconds() {
				t.Errorf("the grace of the old key ends at %d", old.ExpiresAt)
			}
			if revoked := old.RevokedAt != 0; revoked != (v.revocations == 1) {
				t.Errorf("the old key: %+v", old)
			}
			if v.rotations == 0 && old.RevokedAt != otherAt {
				t.Errorf("revoked at %d, want the first time, %d", old.RevokedAt, otherAt)
			}
			if entries, events := r.countWritten(t, "key.revoked", webhook.KeyRevoked); entries != v.revocations || events != v.revocations {
				t.Errorf("%d entries and %d events of %d revocations", entries, events, v.revocations)
			}
			if entries, events := r.countWritten(t, "key.rotated", webhook.KeyCreated); entries != v.rotations || events != 1+v.rotations {
				t.Errorf("%d entries of %d rotations, %d keys created", entries, v.rotations, events)
			}
		})
	}
}

// TestADeliveryIsNotReleasedOnceItsEndpointIsDisabled: the sweep is about to release a held delivery, and right
// before its transaction the endpoint is disabled again. The delivery stays held, until the endpoint is enabled
// and swept.
func TestADeliveryIsNotReleasedOnceItsEndpointIsDisabled(t *testing.T) {
	c := connect(t)
	endpoint := c.endpoint(t)
	c.enable(t, endpoint.ID, false)
	e := c.fanOutTest(t, endpoint.ID)
	endpoint = c.enable(t, endpoint.ID, true)
	released := true
	err, disableErr := c.interleave(t, func() (err error) {
		released, err = c.Deliveries().Release(ctx, endpoint, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: e})
		return err
	}, func() error {
		c.enable(t, endpoint.ID, false)
		return nil
	})
	noError(t, errors.Join(err, disableErr))
	if got := c.status(t, endpoint.ID, e); released || got != webhook.DeliveryHeld {
		t.Errorf("released: %v, %s", released, got)
	}
	endpoint = c.enable(t, endpoint.ID, true)
	if ok, err := c.Deliveries().Release(ctx, endpoint, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: e}); !ok || err != nil || c.status(t, endpoint.ID, e) != webhook.DeliveryPending {
		t.Errorf("enabled again: %v, %v", ok, err)
	}
}
