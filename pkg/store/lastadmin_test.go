package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// duel is an org with two admins, who try to demote or remove each other or themselves.
type duel struct {
	*storetest.Table
	org    id.Org
	admins [2]id.User
	emails [2]string // of the admins
}

const moves = 4 // the kinds of moves

// move has an admin try a kind of move: to demote or remove the other admin or themselves. who is the admin's index.
func (d *duel) move(who, kind int) error {
	self, other := d.admins[who], d.admins[1-who]
	switch kind {
	case 0:
		return errorOf(d.ChangeRole(ctx, admin(self), d.org, other, org.Member))
	case 1:
		return d.RemoveMember(ctx, admin(self), d.org, other)
	case 2:
		return errorOf(d.ChangeRole(ctx, admin(self), d.org, self, org.Viewer))
	default:
		return d.RemoveMember(ctx, admin(self), d.org, self)
	}
}

// watch reads the org's counters and both memberships in one transaction, again and again, until it finds a fault or
// the context ends. A fault is that the org has no admin, or that its counter of admins is wrong. reads is the number
// of reads.
func (d *duel) watch(until context.Context) (reads int, fault string) {
	key := func(sk string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: &d.Name, Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "ORG#" + string(d.org)}, "SK": &types.AttributeValueMemberS{Value: sk},
		}}}
	}
	in := &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		key("META"), key("MEM#" + string(d.admins[0])), key("MEM#" + string(d.admins[1])),
	}}
	for until.Err() == nil {
		out, err := d.DB.TransactGetItems(ctx, in)
		if err != nil {
			continue // a transaction was writing these rows
		}
		reads++
		admins := 0
		for _, r := range out.Responses[1:] {
			if role, ok := r.Item["role"].(*types.AttributeValueMemberS); ok && role.Value == "admin" {
				admins++
			}
		}
		counted, _ := out.Responses[0].Item["admins"].(*types.AttributeValueMemberN)
		if admins == 0 || counted.Value != strconv.Itoa(admins) {
			return reads, fmt.Sprintf("%d admins, counter %s", admins, counted.Value)
		}
	}
	return reads, ""
}

// restore makes both users admins of the org again after a round.
func (d *duel) restore(t *testing.T) {
	t.Helper()
	members, _, err := d.Members(ctx, store.Actor{User: d.survivor(t), May: anyMember}, d.org, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	role := map[id.User]org.Role{}
	for _, m := range members {
		role[m.UserID] = m.Role
	}
	for i, u := range d.admins {
		switch by := admin(d.admins[1-i]); role[u] { // when one is not an admin, the other is
		case org.Admin:
		case "": // not a member
			noError(t, errorOf(d.AddMember(ctx, by, d.org, d.emails[i], org.Admin, store.Once[id.User]{})))
		default:
			noError(t, errorOf(d.ChangeRole(ctx, by, d.org, u, org.Admin)))
		}
	}
}

// survivor returns a user who is still an admin.
func (d *duel) survivor(t *testing.T) id.User {
	t.Helper()
	for _, u := range d.admins {
		if _, err := d.Org(ctx, admin(u), d.org); err == nil {
			return u
		}
	}
	t.Fatal("the org has no admin")
	return ""
}

func newDuel(t *testing.T) *duel {
	t.Helper()
	d := &duel{Table: storetest.New(t), emails: [2]string{"a@example.com", "b@example.com"}}
	d.admins[0] = d.NewUser(t, d.emails[0])
	d.org = d.NewOrg(t, d.admins[0])
	d.admins[1] = addMember(t, d.Table, d.org, d.admins[0], d.emails[1], org.Admin)
	return d
}

// TestLastAdminSurvivesConcurrentDemotions plays 200 rounds. In each, both admins make a random move, one of
// them up to 5 ms after the other. At any moment the org must have an admin. A planted bug is found in far
// fewer rounds (infra/harness/mutants).
func TestLastAdminSurvivesConcurrentDemotions(t *testing.T) {
	const rounds = 200
	d := newDuel(t)
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	var reads int
	var fault string
	watcher.Go(func() { reads, fault = d.watch(watching) })
	defer func() { // also when a round fails
		stop()
		watcher.Wait()
		if fault != "" {
			t.Errorf("seen: %s", fault)
		}
	}()
	overlaps, wins, losses := 0, [2]int{}, map[problem.Code]int{} // wins by admin, losses by their error
	for range rounds {
		var begun, ended [2]time.Time
		var outcome [2]error
		var wg sync.WaitGroup
		kinds, late := [2]int{rand.IntN(moves), rand.IntN(moves)}, rand.IntN(2) // late: the index of the admin who moves later
		wait := time.Duration(rand.IntN(int(5 * time.Millisecond)))
		for who := range 2 {
			wg.Go(func() {
				if who == late {
					time.Sleep(wait)
				}
				begun[who] = time.Now()
				outcome[who] = d.move(who, kinds[who])
				ended[who] = time.Now()
			})
		}
		wg.Wait()
		if begun[0].Before(ended[1]) && begun[1].Before(ended[0]) {
			overlaps++
		}
		for who, err := range outcome {
			switch code := problem.From(err).Code; {
			case err == nil:
				wins[who]++
			case code == problem.Internal || code == problem.Unavailable:
				t.Fatalf("a move failed: %v", err)
			default:
				losses[code]++
			}
		}
		d.restore(t)
	}
	stop()
	watcher.Wait()
	t.Logf("%d reads, %d of %d rounds overlapped, wins %v, losses %v", reads, overlaps, rounds, wins, losses)
	bothWin := wins[0] >= rounds/10 && wins[1] >= rounds/10
	if overlaps < rounds/5 || !bothWin || reads < rounds {
		t.Error("the rounds did not race: the test proves nothing")
	}
	d.countsEqualRows(t)
}

// countsEqualRows fails unless the org's counters of admins and members are equal to the rows of its memberships.
func (d *duel) countsEqualRows(t *testing.T) {
	t.Helper()
	admins, members, counted := 0, 0, map[string]types.AttributeValue{}
	for _, row := range d.Rows(t) {
		sk, _ := row["SK"].(*types.AttributeValueMemberS)
		pk, _ := row["PK"].(*types.AttributeValueMemberS)
		role, _ := row["role"].(*types.AttributeValueMemberS)
		switch {
		case pk.Value != "ORG#"+string(d.org): // of another partition
		case sk.Value == "META":
			counted = row
		case role != nil: // only a membership has a role
			members++
			if role.Value == "admin" {
				admins++
			}
		}
	}
	number := func(name string) string { n, _ := counted[name].(*types.AttributeValueMemberN); return n.Value }
	if number("admins") != strconv.Itoa(admins) || number("members") != strconv.Itoa(members) {
		t.Errorf("counters %s and %s, rows %d and %d", number("admins"), number("members"), admins, members)
	}
}
