package store_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// entity is a kind of row, with a use case that reads one row of it.
type entity struct {
	name     string
	pk, sk   string       // the partition key and the sort key of the row begin with these
	required string       // the attributes that every row of the kind has, and that read reads
	optional string       // the attributes that only some rows have, and that read reads
	read     func() error // the use case
}

// entities makes a row of each kind, and returns the kinds.
func (c *connected) entities(t *testing.T) []entity {
	t.Helper()
	k := makeKey(t, c.Table, c.org, c.ada, dayLong)
	c.NoteUse(ctx, row(t, c.Table, c.org, k.ID), c.Now().UnixMilli())
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Viewer)
	endpoint := c.endpoint(t, webhook.Every)
	event := c.fanOutTest(t, endpoint.ID)
	w := c.readWork(t, endpoint.ID, event)
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, "jti")))
	noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: "jti"}, Status: webhook.DeliveryPending}))
	w = c.readWork(t, endpoint.ID, event)
	noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, "jti")))
	noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: "jti"}, Status: webhook.DeliveryFailed}))
	l := c.link(t, time.Hour)
	noError(t, errorOf(c.ClaimLink(ctx, l.claim("k"))))
	signing := lease(t, c.Table)
	noError(t, c.ActivateSigningKey(ctx, signing, signingKeys(t, c.Table), jwk("a"), "arn:a"))
	record := once[store.App](c, idempotencyKey, "{}", "{}")
	create := func() error { // a replay from the second call on
		return errorOf(c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "Second"}, record))
	}
	noError(t, create())
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 1))
	noError(t, errorOfThree(c.Lease(ctx, limit.Lease{Owner: limit.Owner{Org: c.org, Key: k.ID}, Row: limit.Day, Start: 1_799_971_200, Requests: 1})))
	// whole returns a use case that reads a whole list.
	whole := func(read func(store.Page) error) func() error { return func() error { return read(store.Page{}) } }
	return []entity{
		{"identity", "IDN#", "META", "userId holds iat", "email name verified folded askedAt stoppedUser notBefore", func() error {
			// The row belongs to Ada or to Bob: the order of the hashes in their keys is not known.
			for _, subject := range []string{"sub-ada@example.com", "sub-bob@example.com"} {
				if _, _, err := c.Identity(ctx, "https://issuer.test", subject); err != nil {
					return err
				}
			}
			return nil
		}},
		{"email", "EMAIL#bob", "META", "userId", "", func() error {
			err := errorOf(c.AddMember(ctx, admin(c.ada), c.org, "bob@example.com", org.Viewer, store.Once[id.User]{}))
			if problem.Is(err, problem.MemberExists) {
				return nil // the address was read, and Bob is a member
			}
			return err
		}},
		{"user", "USER#" + string(bob), "META", "email name", "", whole(func(p store.Page) error {
			_, _, err := c.Members(ctx, admin(c.ada), c.org, p)
			return err
		})},
		{"user with identities", "USER#" + string(bob), "META", "email name createdAt identities", "stoppedAt", func() error { return errorOf(c.User(ctx, bob)) }},
		{"org of a user", "USER#" + string(bob), "ORG#", "role", "addedBy", whole(func(p store.Page) error {
			_, _, err := c.OrgsOf(ctx, bob, p)
			return err
		})},
		{"org", "ORG#", "META", "name createdAt", "createdBy externalId allowance plan allowanceNo suspendedAt revokedUpTo spreadAfter admins", func() error { return errorOf(c.Org(ctx, admin(c.ada), c.org)) }},
		{"membership", "ORG#", "MEM#" + string(c.ada), "role joinedAt", "", whole(func(p store.Page) error {
			_, _, err := c.Members(ctx, admin(c.ada), c.org, p)
			return err
		})},
		{"app", "ORG#", "APP#", "name createdAt", "keysBeginWith", whole(func(p store.Page) error {
			_, _, err := c.Apps(ctx, admin(c.ada), c.org, p)
			return err
		})},
		{"API key", "KEYS#", "KEY#", "prefix appId name createdAt", "hash held createdBy expiresAt revokedAt rotatedTo predecessor predecessorEnds purgeAt scopes metadata limits ceilings limitId allowance plan allowanceNo", func() error {
			_, _, err := c.APIKey(ctx, c.org, k.ID)
			return err
		}},
		{"last use", "USED#", "KEY#", "", "lastUsedAt leakedAt", whole(func(p store.Page) error {
			_, _, err := c.Keys(ctx, admin(c.ada), c.org, "", p)
			return err
		})},
		{"use of a key", "USAGE#", "2027-01-15#", "", "leased served counted", whole(func(p store.Page) error {
			_, _, err := c.OrgUsage(ctx, admin(c.ada), c.org, "2027-01", p)
			return err
		})},
		{"verification key", "VKEYS", "KEY#", "x y arn state createdAt", "activatedAt retiredAt expiredAt revokedAt disabledAt", func() error {
			return errorOf(c.VerificationKeys(ctx))
		}},
		{"state of the signing keys", "VKEYS", "STATE", "", "kid made", func() error { return errorOf(c.SigningKeys(ctx)) }},
		{"link", "LINKS#", "LINK#", "hash orgId clientUserId createdAt expiresAt", "metadata device claimedAt revokedAt", func() error {
			return errorOf(c.ClaimLink(ctx, l.claim("k")))
		}},
		{"endpoint", "HOOKS#", "HOOK#", "orgId url description events enabled createdAt updatedAt version",
			"disabledReason disabledAt deletedAt failures openUntil failingSince releaseFrom createdByKey urlSetByKey urlByKey eventsByKey parksUntil",
			func() error { return errorOf(c.Endpoint(ctx, c.app, endpoint.ID)) }},
		{"event", "EVTS#", string(event), "type data createdAt", "", func() error { return errorOf(c.Event(ctx, c.app, event)) }},
		{"delivery", "DLV#", string(event), "appId eventType status attempts createdAt", "nextAttemptAt deliveredAt startedAt last earlier", func() error {
			return errorOf(c.Deliveries().Of(ctx, c.app, event))
		}},
		{"idempotency record", "IDEM#", "META", "request sealed salt", "", create},
		{"audit entry", "AUD#", "aud_", "at action actor target changes requestId", "", func() error {
			_, _, err := c.AuditLog(ctx, admin(c.ada), c.org, store.AuditFilter{}, store.Page{Limit: 100})
			return err
		}},
		{"budget", "BUDGET#", "META", "", "spent", func() error { return c.Deliveries().Spend(ctx, c.org, c.app, 1) }},
	}
}

// putRow writes a row directly into the table, in place of the row with the same key.
func (c *connected) putRow(t *testing.T, r dbRow) {
	t.Helper()
	_, err := c.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.Name, Item: r})
	noError(t, err)
}

// TestARowThatDoesNotDecodeIsAnError removes each attribute that a use case reads from a row, and then gives
// the attribute another type. The use case fails, and its error ends with the attribute's name and the row's
// key. The error does not show the row's content. Without an optional attribute, the use case succeeds.
func TestARowThatDoesNotDecodeIsAnError(t *testing.T) {
	c := connect(t)
	for _, e := range c.entities(t) {
		noError(t, e.read())
		rows := c.rowsOf(t, e.pk)
		at := slices.IndexFunc(rows, func(r dbRow) bool { return strings.HasPrefix(text(r, "SK"), e.sk) })
		if at < 0 {
			t.Fatalf("%s: no row", e.name)
		}
		intact := rows[at]
		key := text(intact, "PK") + " " + text(intact, "SK")
		readBroken := func(change func(dbRow)) error {
			t.Helper()
			r := maps.Clone(intact)
			change(r)
			c.putRow(t, r)
			defer c.putRow(t, intact)
			return e.read()
		}
		for _, name := range strings.Fields(e.required + " " + e.optional) {
			optional := !slices.Contains(strings.Fields(e.required), name)
			absent := readBroken(func(r dbRow) { delete(r, name) })
			if optional && absent != nil {
				t.Errorf("%s without %s: %v", e.name, name, absent)
			}
			mustFail := map[string]error{
				"with another type of": readBroken(func(r dbRow) { r[name] = &types.AttributeValueMemberNULL{Value: true} }),
			}
			if !optional {
				mustFail["without"] = absent
			}
			for what, err := range mustFail {
				endsWithKey := err != nil && strings.HasSuffix(err.Error(), name+" of "+key)
				if !errors.Is(err, table.ErrRow) || problem.From(err).Code != problem.Internal || !endsWithKey {
					t.Errorf("%s %s %s: %v", e.name, what, name, err)
				}
			}
		}
	}
}

// TestOneBrokenRowFailsItsList: a list never leaves out a row that does not decode.
func TestOneBrokenRowFailsItsList(t *testing.T) {
	c := connect(t)
	c.link(t, time.Hour)
	c.link(t, time.Hour)
	r := c.rowsOf(t, "LINKS#")[0]
	delete(r, "clientUserId")
	c.putRow(t, r)
	if _, _, err := c.Links(ctx, c.app, store.Page{Limit: 10}); !errors.Is(err, table.ErrRow) {
		t.Errorf("%v", err)
	}
}
