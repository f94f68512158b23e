package store_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

type dbRow = map[string]types.AttributeValue

// How long rows are kept, in seconds.
const (
	never    = -1 // the row has no purgeAt
	keptDay  = 86_400
	linkKept = 30 * keptDay // events, deliveries and deleted endpoints too
	keyKept  = 90 * keptDay
)

// kept is how long the rows of one kind in one state are kept, from a time of their own.
// DynamoDB deletes a row when purgeAt is over.
type kept struct {
	pk, sk string // of store.AccessPatterns
	state  string
	is     func(dbRow) bool // the row is in this state; nil: there is one state
	from   string           // the attribute with the time, in milliseconds
	long   int64            // seconds
}

// has returns the condition that a row has attributes, and lacks those with "!".
func has(names ...string) func(dbRow) bool {
	return func(r dbRow) bool {
		for _, name := range names {
			absent, wanted := strings.CutPrefix(name, "!")
			if _, ok := r[absent]; ok == wanted {
				return false
			}
		}
		return true
	}
}

// is returns the condition that an attribute has a value, and other conditions.
func is(name, value string, more ...string) func(dbRow) bool {
	return func(r dbRow) bool { return text(r, name) == value && has(more...)(r) }
}

// begins returns the condition that the partition key begins with a text, and other conditions.
func begins(pk string, more ...string) func(dbRow) bool {
	return func(r dbRow) bool { return strings.HasPrefix(text(r, "PK"), pk) && has(more...)(r) }
}

// howLong lists how long each row is kept (infra/docs/api.md, "Limits"). A row that is not in it
// is kept until it is deleted.
func howLong() []kept {
	key, link, hook := "KEYS#<orgId>", "LINKS#<appId>", "HOOKS#<appId>"
	vkeys, used, delivery := "VKEYS", "USED#<orgId>", "DLV#<endpointId>"
	return []kept{
		{"IDN#<sha-256>", "META", "", nil, "", never},
		{"EMAIL#<folded>", "META", "", nil, "", never},
		{"USER#<userId>", "META", "", nil, "", never},
		{"USER#<userId>", "ORG#<orgId>", "", nil, "", never},
		{"ORG#<orgId>", "META", "", has("!deletedAt"), "", never},
		{"ORG#<orgId>", "META", "being deleted", has("deletedAt", "due"), "", never},
		{"ORG#<orgId>", "META", "deleted", has("deletedAt", "!due"), "deletedAt", 400 * keptDay},
		{"ORG#<orgId>", "MEM#<userId>", "", nil, "", never},
		{"ORG#<orgId>", "APP#<appId>", "", nil, "", never},

		{key, "KEY#<keyId>", "without an end", has("!expiresAt", "!revokedAt", "!rotatedTo"), "", never},
		{key, "KEY#<keyId>", "with an end", has("expiresAt", "!revokedAt", "!rotatedTo"), "expiresAt", keyKept},
		{key, "KEY#<keyId>", "rotated", has("expiresAt", "!revokedAt", "rotatedTo"), "expiresAt", keyKept},
		{key, "KEY#<keyId>", "revoked, without an end", has("!expiresAt", "revokedAt"), "revokedAt", keyKept},
		{key, "KEY#<keyId>", "revoked before its end", has("expiresAt", "revokedAt", "!rotatedTo"), "revokedAt", keyKept},
		{key, "KEY#<keyId>", "revoked in its grace", has("expiresAt", "revokedAt", "rotatedTo"), "revokedAt", keyKept},
		{key, "META", "", has("!closed"), "", never},
		{key, "META", "of a deleted org", has("closed"), "closed", keyKept},
		{used, "KEY#<keyId>", "of a key without an end", is("expected", ""), "", never},
		{used, "KEY#<keyId>", "of a key that ends", has("expected"), "expected", 0},

		{vkeys, "KEY#<kid>", "next", is("state", "next"), "", never},
		{vkeys, "KEY#<kid>", "active", is("state", "active"), "", never},
		{vkeys, "KEY#<kid>", "retired", is("state", "retired"), "", never},
		{vkeys, "KEY#<kid>", "revoked", is("state", "revoked", "disabledAt"), "", never},
		{vkeys, "STATE", "", nil, "", never},

		{link, "LINK#<linkId>", "pending", has("!claimedAt", "!revokedAt", "!lapsedAt"), "expiresAt", linkKept},
		{link, "LINK#<linkId>", "claimed", has("claimedAt"), "claimedAt", linkKept},
		{link, "LINK#<linkId>", "revoked", has("revokedAt"), "revokedAt", linkKept},
		{link, "LINK#<linkId>", "expired", has("lapsedAt"), "expiresAt", linkKept},

		{hook, "HOOK#<endpointId>", "enabled", has("!disabledReason", "!deletedAt"), "", never},
		{hook, "HOOK#<endpointId>", "disabled by its app", is("disabledReason", "user", "!deletedAt"), "", never},
		{hook, "HOOK#<endpointId>", "disabled by 410", is("disabledReason", "gone", "!deletedAt"), "", never},
		{hook, "HOOK#<endpointId>", "deleted", has("deletedAt"), "deletedAt", linkKept},
		{hook, "HOOK#<endpointId>", "disabled by an admin", is("disabledReason", "admin", "!deletedAt"), "", never},
		{"BUDGET#<appId>", "META", "", begins("BUDGET#app_", "!deletedAt"), "", never},
		{"BUDGET#<appId>", "META", "of a deleted org", begins("BUDGET#app_", "deletedAt"), "deletedAt", linkKept},
		{"BUDGET#<orgId>", "META", "", begins("BUDGET#org_", "!deletedAt"), "", never},
		{"BUDGET#<orgId>", "META", "of a deleted org", begins("BUDGET#org_", "deletedAt"), "deletedAt", linkKept},
		{hook, "BARRED#<keyId>", "", nil, "createdAt", keyKept},

		{"EVTS#<appId>", "<eventId>", "waiting", has("!fannedAt"), "createdAt", linkKept},
		{"EVTS#<appId>", "<eventId>", "fanned out", has("fannedAt"), "createdAt", linkKept},
		{delivery, "<eventId>", "pending", is("status", "pending"), "createdAt", linkKept},
		{delivery, "<eventId>", "delivered", is("status", "delivered"), "createdAt", linkKept},
		{delivery, "<eventId>", "failed", is("status", "failed"), "createdAt", linkKept},
		{delivery, "<eventId>", "held", is("status", "held"), "createdAt", linkKept},
		{delivery, "<eventId>", "cancelled", is("status", "cancelled"), "createdAt", linkKept},

		{"IDEM#<sha-256>", "META", "", nil, "expected", keptDay},
		{"AUD#<orgId>", "<ULID>", "", nil, "at", 400 * keptDay},
	}
}

// matches reports whether a key has a pattern of store.AccessPatterns.
func matches(pattern, key string) bool {
	prefix, _, open := strings.Cut(pattern, "<")
	return key == pattern || open && strings.HasPrefix(key, prefix) && len(key) > len(prefix)
}

// purgeOf returns the purgeAt that a row must have by a line of the table, "" for none.
func (k kept) purgeOf(t *testing.T, r dbRow) string {
	t.Helper()
	if k.long == never {
		return ""
	}
	from, err := strconv.ParseInt(text(r, k.from), 10, 64)
	if err != nil {
		t.Fatalf("%s %s has no %s", k.pk, k.sk, k.from)
	}
	return strconv.FormatInt(from/1000+k.long, 10)
}

// expect adds the attribute "expected" to rows that have no time of their own: the time of an
// Idempotency-Key, and the end of the key of a last use.
func expect(rows []dbRow, asked int64) {
	purge := map[string]int64{}
	for _, r := range rows {
		if strings.HasPrefix(text(r, "PK"), "KEYS#") {
			purge[text(r, "SK")], _ = strconv.ParseInt(text(r, "purgeAt"), 10, 64)
		}
	}
	for _, r := range rows {
		switch at := purge[text(r, "SK")]; {
		case strings.HasPrefix(text(r, "PK"), "IDEM#"):
			r["expected"] = number(asked)
		case strings.HasPrefix(text(r, "PK"), "USED#") && at != 0:
			r["expected"] = number(at * 1000)
		}
	}
}

// TestEveryRowIsKeptAsLongAsItsKindIs makes rows of every kind in every state, and
// compares their purgeAt with the table.
func TestEveryRowIsKeptAsLongAsItsKindIs(t *testing.T) {
	c := connect(t)
	asked := c.everything(t)
	rows := c.Rows(t)
	expect(rows, asked)
	seen := map[string]int{}
	for _, r := range rows {
		pk, sk := text(r, "PK"), text(r, "SK")
		var of []kept
		for _, k := range howLong() {
			if matches(k.pk, pk) && matches(k.sk, sk) && (k.is == nil || k.is(r)) {
				of = append(of, k)
			}
		}
		if len(of) != 1 {
			t.Errorf("%s %s: %d lines of the table are about it: %v", pk, sk, len(of), r)
			continue
		}
		seen[of[0].pk+of[0].sk+of[0].state]++
		if got, want := text(r, "purgeAt"), of[0].purgeOf(t, r); got != want {
			t.Errorf("%s %s, %s: purgeAt %q, want %q", pk, sk, of[0].state, got, want)
		}
	}
	for _, k := range howLong() {
		if seen[k.pk+k.sk+k.state] == 0 {
			t.Errorf("no row is %s %s, %s: this test sees nothing of it", k.pk, k.sk, k.state)
		}
	}
	for _, p := range store.AccessPatterns() {
		known := slices.ContainsFunc(howLong(), func(k kept) bool { return k.pk == p.PK && k.sk == p.SK })
		if !known && !strings.HasPrefix(p.PK, "DUE#") { // an index
			t.Errorf("nothing says how long %s is kept", p.Item)
		}
	}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// everything makes rows of every kind in every state, each at another time, and returns the time
// of the Idempotency-Key in milliseconds.
func (c *connected) everything(t *testing.T) (asked int64) {
	t.Helper()
	addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Member)
	c.everyKey(t)
	c.everySigningKey(t)
	c.everyLink(t)
	c.everyDelivery(t)
	c.everyEnd(t)
	wants(t, c.Deliveries().Spend(ctx, c.org, c.app, 1), "")
	c.pass(time.Hour + 1234*time.Millisecond)
	wants(t, second(c.CreateApp(ctx, admin(c.ada), c.org, "Second", once[store.App](c, "6f2d9b0c-1111-4222-8333-444455556666", "{}", "{}"))), "")
	return c.Now().UnixMilli()
}

// everyKey makes keys that live, that will end, and that have ended in every way. Each was used
// before its end, and its use is written after it.
func (c *connected) everyKey(t *testing.T) {
	t.Helper()
	use := func(k id.Key, end func()) {
		t.Helper()
		before := row(t, c.Table, c.org, k)
		c.pass(time.Hour + 1234*time.Millisecond)
		end()
		c.NoteUse(ctx, before, c.Now().UnixMilli())
	}
	revoke := func(k id.Key) func() {
		return func() { wants(t, c.RevokeKey(ctx, admin(c.ada), c.org, k), "") }
	}
	nothing := func() {}
	for _, life := range []time.Duration{0, 10 * dayLong, 100 * dayLong} {
		alive := makeKey(t, c.Table, c.org, c.ada, life).ID
		use(alive, nothing)
		dead := makeKey(t, c.Table, c.org, c.ada, life).ID
		use(dead, revoke(dead))
		unused := makeKey(t, c.Table, c.org, c.ada, life).ID
		wants(t, c.RevokeKey(ctx, admin(c.ada), c.org, unused), "")

		// Three keys, one after the other: the first ends when the third is created.
		chain := makeKey(t, c.Table, c.org, c.ada, life).ID
		for range 2 {
			old := chain
			use(old, func() { chain = rotate(t, c.Table, c.org, c.ada, old, 7*dayLong, "").ID })
		}
		// The same, but the first is revoked in its grace.
		chain = makeKey(t, c.Table, c.org, c.ada, life).ID
		old := chain
		use(old, func() { chain = rotate(t, c.Table, c.org, c.ada, old, 7*dayLong, "").ID })
		use(old, revoke(old))
		use(chain, func() { rotate(t, c.Table, c.org, c.ada, chain, 7*dayLong, "") })
	}
}

// everySigningKey makes a key of each state.
func (c *connected) everySigningKey(t *testing.T) {
	t.Helper()
	l := lease(t, c.Table)
	for _, name := range []string{"a", "b", "c"} {
		wants(t, c.ActivateSigningKey(ctx, l, signingKeys(t, c.Table), jwk(name), "arn:"+name), "")
	}
	wants(t, c.PublishSigningKey(ctx, l, jwk("d"), "arn:d"), "")
	wants(t, c.RevokeVerificationKey(ctx, jwk("a").Kid), "")
	wants(t, c.NoteDisabledKey(ctx, l, jwk("a").Kid), "")
	if n, ok := signingKeys(t, c.Table).Next(); !ok || n.State != webhook.SigningNext {
		t.Fatal("no next key")
	}
}

func (c *connected) everyLink(t *testing.T) {
	t.Helper()
	claimed, revoked, expired := c.link(t, time.Hour), c.link(t, time.Hour), c.link(t, time.Minute)
	c.pass(2*time.Minute + 1234*time.Millisecond)
	wants(t, second(c.ClaimLink(ctx, claimed.claim("k"))), "")
	c.pass(time.Second)
	wants(t, second(c.RevokeLink(ctx, c.app, revoked.ID)), "")
	wants(t, c.ExpireLink(ctx, c.app, expired.ID), "")
	c.link(t, time.Hour)
}

func (c *connected) everyDelivery(t *testing.T) {
	t.Helper()
	h, off, gone, deleted := c.endpoint(t, webhook.Every), c.endpoint(t), c.endpoint(t), c.endpoint(t)
	c.fanned(t, h.ID)
	made := map[string]id.Event{}
	for _, name := range []string{"delivered", "failed", "cancelled", "again"} {
		c.pass(1234 * time.Millisecond)
		made[name] = c.fanned(t, h.ID)
	}
	c.pass(time.Hour)
	for _, name := range []string{"delivered", "again"} {
		w := c.work(t, h.ID, made[name])
		wants(t, second(c.Deliveries().LeaseAttempt(ctx, w, name)), "")
		wants(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: name}, Status: webhook.DeliveryDelivered}), "")
	}
	wants(t, c.Deliveries().GiveUp(ctx, c.work(t, h.ID, made["failed"]).DeliveryID), "")
	wants(t, c.Deliveries().Cancel(ctx, c.work(t, h.ID, made["cancelled"]).DeliveryID), "")
	c.pass(dayLong)
	wants(t, second(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: h.ID, Event: made["again"]})), "")
	c.enable(t, off.ID, false)
	c.fanned(t, off.ID)
	wants(t, c.Deliveries().DisableEndpoint(ctx, gone, webhook.DisabledByGone), "")
	c.pass(time.Hour)
	wants(t, c.DeleteEndpoint(ctx, c.app, deleted.ID, id.NoKey), "")
	wants(t, second(c.EnableEndpoint(ctx, admin(c.ada), c.org, c.app, c.endpoint(t).ID, false)), "")
	wants(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, makeKey(t, c.Table, c.org, c.ada, 0).ID), "")
	c.test(t, h.ID) // waits to be fanned out
}
