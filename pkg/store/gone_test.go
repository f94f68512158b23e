package store_test

import (
	"encoding/json"
	"fmt"
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

// populated is an org with a member, an app, keys and a link to change.
type populated struct {
	*connected
	bob, eve id.User         // a viewer and another admin
	second   id.App          // the app that is not the default one
	old, key store.MintedKey // old is in its grace, and key is its successor
	link     madeLink        // a pending link
}

// populate creates such an org.
func populate(t *testing.T) *populated {
	t.Helper()
	s := &populated{connected: connect(t)}
	s.bob = addMember(t, s.Table, s.org, s.ada, "bob@example.com", org.Viewer)
	s.eve = addMember(t, s.Table, s.org, s.ada, "eve@example.com", org.Admin)
	s.NewUser(t, "kim@example.com") // for the invite of changes
	app, err := s.CreateApp(ctx, admin(s.ada), s.org, store.NewApp{Name: "Second"}, store.Once[store.App]{})
	noError(t, err)
	s.second = app.Made.ID
	s.old = makeKey(t, s.Table, s.org, s.ada, 0)
	s.key = rotate(t, s.Table, s.org, s.ada, s.old.ID, time.Hour, "")
	s.link = s.connected.link(t, time.Hour)
	return s
}

// change is a use case that changes something in an org, called by Eve.
type change struct {
	name string
	do   func(s *populated) error
	same bool // the change changes nothing, so the use case has no transaction
}

// changes returns the changes that an org whose deletion has begun must refuse. The revocation of a key is not among
// them: nothing prevents it.
func changes() []change {
	createKey := func(s *populated, app id.App, o store.Once[store.MintedKey]) error {
		return errorOf(s.CreateKey(ctx, admin(s.eve), s.org, store.NewKey{AppID: app, Prefix: "lk"}, o))
	}
	changeRole := func(who func(s *populated) id.User, to org.Role) func(s *populated) error {
		return func(s *populated) error { return errorOf(s.ChangeRole(ctx, admin(s.eve), s.org, who(s), to)) }
	}
	bob, ada := func(s *populated) id.User { return s.bob }, func(s *populated) id.User { return s.ada }
	renameApp := func(name string) func(s *populated) error {
		return func(s *populated) error {
			return errorOf(s.UpdateApp(ctx, admin(s.eve), s.org, s.second, store.AppChange{Name: &name}))
		}
	}
	return []change{
		{"a new name", func(s *populated) error { return errorOf(s.ChangeOrg(ctx, admin(s.eve), s.org, named("Other"))) }, false},
		{"the same name", func(s *populated) error { return errorOf(s.ChangeOrg(ctx, admin(s.eve), s.org, named("Acme"))) }, true},
		{"an invite", func(s *populated) error {
			return errorOf(s.AddMember(ctx, admin(s.eve), s.org, "kim@example.com", org.Viewer, store.Once[id.User]{}))
		}, false},
		{"a promotion", changeRole(bob, org.Admin), false},
		{"a demotion", changeRole(ada, org.Viewer), false},
		{"another role that is not admin", changeRole(bob, org.Member), false},
		{"the same role", changeRole(bob, org.Viewer), true},
		{"a removal", func(s *populated) error { return s.RemoveMember(ctx, admin(s.eve), s.org, s.bob) }, false},
		{"an admin's removal", func(s *populated) error { return s.RemoveMember(ctx, admin(s.eve), s.org, s.ada) }, false},
		{"a leaving", func(s *populated) error { return s.LeaveOrg(ctx, store.Actor{User: s.eve, May: anyMember}, s.org) }, false},
		{"an app", func(s *populated) error {
			return errorOf(s.CreateApp(ctx, admin(s.eve), s.org, store.NewApp{Name: "x"}, store.Once[store.App]{}))
		}, false},
		{"an app's name", renameApp("Other"), false},
		{"an app's same name", renameApp("Second"), true},
		{"a key", func(s *populated) error { return createKey(s, "", store.Once[store.MintedKey]{}) }, false},
		{"a key of an app", func(s *populated) error { return createKey(s, s.second, store.Once[store.MintedKey]{}) }, false},
		{"a key with an Idempotency-Key", func(s *populated) error {
			return createKey(s, "", once[store.MintedKey](s.connected, idempotencyKey, "{}", "{}"))
		}, false},
		{"an imported key", func(s *populated) error {
			return errorOf(s.ImportKeys(ctx, admin(s.eve), s.org, foreign("sk_a"), store.Once[store.MintedKey]{}))
		}, false},
		{"a key's scopes", func(s *populated) error {
			return errorOf(s.UpdateKey(ctx, admin(s.eve), s.org, s.key.ID, store.KeyChange{Scopes: ptr("a")}))
		}, false},
		{"a key's same scopes", func(s *populated) error {
			return errorOf(s.UpdateKey(ctx, admin(s.eve), s.org, s.key.ID, store.KeyChange{Scopes: ptr("")}))
		}, true},
		{"a rotation", func(s *populated) error { return s.rotateKey(store.Once[store.MintedKey]{}) }, false},
	}
}

// deleteRows deletes the row META of the org from each of some partitions, directly in the table. "ORG#" is the
// org's own row, and "KEYS#" is the map of its active keys.
func (s *populated) deleteRows(t *testing.T, partitions ...string) {
	t.Helper()
	for _, pk := range partitions {
		_, err := s.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Name, Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: pk + string(s.org)}, "SK": &types.AttributeValueMemberS{Value: "META"},
		}})
		noError(t, err)
	}
}

// cutDeletion begins the deletion of the org as Ada, and ends the request before its second transaction: the org is
// closed, but it still has its keys and members.
func (s *populated) cutDeletion(t *testing.T) {
	t.Helper()
	expectCode(t, s.crashDeletion(1), problem.Unavailable)
}

// content returns every row of the table as text, by key.
func (c *connected) content(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, r := range c.Rows(t) {
		b, err := json.Marshal(r)
		noError(t, err)
		rows[text(r, "PK")+" "+text(r, "SK")] = string(b)
	}
	return rows
}

// TestEveryChangeInADeletedOrgIs404 tries every change in an org whose deletion has
// begun, and in one whose rows are missing.
func TestEveryChangeInADeletedOrgIs404(t *testing.T) {
	for state, end := range map[string]func(s *populated){
		"deletion has begun": func(s *populated) { s.cutDeletion(t) },
		"rows are missing":   func(s *populated) { s.deleteRows(t, "ORG#", "KEYS#") },
	} {
		t.Run(state, func(t *testing.T) {
			s := populate(t)
			end(s)
			before := s.content(t)
			for _, c := range changes() {
				if err := c.do(s); !problem.Is(err, problem.OrgNotFound) {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if _, err := s.ClaimLink(ctx, s.link.claim("k")); !problem.Is(err, problem.LinkNotFound) {
				t.Errorf("a claim: %v", err)
			}
			if _, err := s.AccessOf(ctx, s.org, s.app, s.key.ID); !problem.Is(err, problem.KeyNotFound) {
				t.Errorf("the access of an API key: %v", err)
			}
			if after := s.content(t); fmt.Sprint(before) != fmt.Sprint(after) {
				t.Errorf("something was written:\n%v\n%v", before, after)
			}
		})
	}
	// Without the org's row, an admin cannot read or delete the org either.
	s := populate(t)
	s.deleteRows(t, "ORG#")
	expectCode(t, errorOf(s.Org(ctx, admin(s.ada), s.org)), problem.OrgNotFound)
	expectCode(t, s.DeleteOrg(ctx, admin(s.ada), s.org), problem.OrgNotFound)
}

// TestAnOrgDeletedBeforeTheTransactionRefusesTheChange begins the deletion between the reads of
// each change and its transaction.
func TestAnOrgDeletedBeforeTheTransactionRefusesTheChange(t *testing.T) {
	for _, c := range changes() {
		if c.same {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := populate(t)
			var before map[string]string
			err, _ := s.interleave(t, func() error { return c.do(s) }, func() error {
				s.cutDeletion(t)
				before = s.content(t)
				return nil
			})
			expectCode(t, err, problem.OrgNotFound)
			if after := s.content(t); fmt.Sprint(before) != fmt.Sprint(after) {
				t.Errorf("something was written:\n%v\n%v", before, after)
			}
		})
	}
}

// TestAReplayInADeletedOrgIs404 repeats creates with the same Idempotency-Key. Once the org's deletion
// has begun, the kept answer is no longer returned.
func TestAReplayInADeletedOrgIs404(t *testing.T) {
	s := populate(t)
	key := func(n int) string { return fmt.Sprintf("6f2d9b0c-1111-4222-8333-44445555666%d", n) }
	creates := map[string]func() error{
		"an app": func() error {
			return errorOf(s.CreateApp(ctx, admin(s.ada), s.org, store.NewApp{Name: "x"}, once[store.App](s.connected, key(1), "{}", "{}")))
		},
		"a key": func() error {
			return errorOf(s.CreateKey(ctx, admin(s.ada), s.org, wantedKey(0), once[store.MintedKey](s.connected, key(2), "{}", "{}")))
		},
		"a rotation": func() error { return s.rotateKey(once[store.MintedKey](s.connected, key(3), "{}", "{}")) },
		"an invite": func() error {
			return errorOf(s.AddMember(ctx, admin(s.ada), s.org, "kim@example.com", org.Viewer, once[id.User](s.connected, key(4), "{}", "{}")))
		},
	}
	for range 2 { // the second is a replay
		for name, create := range creates {
			if err := create(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	s.cutDeletion(t)
	for name, create := range creates {
		if err := create(); !problem.Is(err, problem.OrgNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rotateKey rotates the org's active key as Eve.
func (s *populated) rotateKey(o store.Once[store.MintedKey]) error {
	return errorOf(s.RotateKey(ctx, admin(s.eve), s.org, store.Rotation{Old: s.key.ID, Grace: time.Hour, Prefix: "lk"}, o))
}

// TestNothingPreventsARevocation revokes keys of an org whose deletion was cut short, and of orgs whose rows
// are missing.
func TestNothingPreventsARevocation(t *testing.T) {
	for state, end := range map[string]func(s *populated){
		"deletion has begun": func(s *populated) { s.cutDeletion(t) },
		"no map":             func(s *populated) { s.deleteRows(t, "KEYS#") },
		"neither row":        func(s *populated) { s.deleteRows(t, "KEYS#", "ORG#") },
	} {
		t.Run(state, func(t *testing.T) {
			s := populate(t)
			end(s)
			for _, k := range []id.Key{s.old.ID, s.key.ID} {
				noError(t, s.RevokeKey(ctx, admin(s.eve), s.org, k))
				if row(t, s.Table, s.org, k).RevokedAt == 0 {
					t.Error("the key is not revoked")
				}
			}
		})
	}
}

// TestAMalformedRequestIsAnInternalError: a request that the database calls malformed is an internal error (500).
// It is not unavailable (503), as other faults are, because repeating the request does not help.
func TestAMalformedRequestIsAnInternalError(t *testing.T) {
	s := populate(t)
	for operation, do := range map[string]func() error{
		"TransactWriteItems": func() error { return s.RevokeKey(ctx, admin(s.ada), s.org, s.key.ID) },
		"BatchGetItem":       func() error { return errorOf(s.Org(ctx, admin(s.ada), s.org)) },
		"Query":              func() error { _, _, err := s.OrgsOf(ctx, s.ada, store.Page{}); return err },
		"GetItem":            func() error { _, _, err := s.APIKey(ctx, s.org, s.key.ID); return err },
	} {
		s.Faults.Plan(operation, storetest.Malformed, 1)
		err := do()
		if got := problem.From(err).Code; got != problem.Internal || s.Faults.Pending() {
			t.Errorf("%s: %v", operation, err)
		}
	}
	s.Faults.Plan("GetItem", storetest.ServerError, -1)
	_, _, err := s.APIKey(ctx, s.org, s.key.ID)
	expectCode(t, err, problem.Unavailable)
}
