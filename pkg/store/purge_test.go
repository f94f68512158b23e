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

// dbRow is a row of the table as the SDK returns it, by attribute.
type dbRow = map[string]types.AttributeValue

// The times for which rows are kept, in seconds.
const (
	never     = -1 // never deleted by DynamoDB: the row has no purgeAt
	keptDay   = 86_400
	keptMonth = 30 * keptDay  // links, events, deliveries and deleted endpoints
	keptKey   = 90 * keptDay  // also the other rows about keys that have ended
	keptAudit = 400 * keptDay // also deleted orgs, as long as their audit log
)

// retention is the time for which the rows of one kind in one state are kept, after a time in the row. DynamoDB deletes
// a row when the time in its attribute purgeAt is over.
type retention struct {
	pk, sk string // the keys, as patterns of store.AccessPatterns
	state  string
	is     func(dbRow) bool // the row is in this state; nil: rows of the kind have only one state
	from   string           // the attribute with the time, in milliseconds
	long   int64            // seconds from this time to purgeAt
}

// has returns the condition that a row has the named attributes. It must lack an attribute if "!" is before its name.
func has(names ...string) func(dbRow) bool {
	return func(r dbRow) bool {
		for _, name := range names {
			attribute, mustLack := strings.CutPrefix(name, "!")
			if _, found := r[attribute]; found == mustLack {
				return false
			}
		}
		return true
	}
}

// hasValue returns the condition that an attribute has a value, or is absent for "", and that a row has the attributes
// more, as in has.
func hasValue(name, value string, more ...string) func(dbRow) bool {
	return func(r dbRow) bool { return text(r, name) == value && has(more...)(r) }
}

// inPartition returns the condition that the partition key begins with a text, and that a row has the attributes
// more, as in has.
func inPartition(pk string, more ...string) func(dbRow) bool {
	return func(r dbRow) bool { return strings.HasPrefix(text(r, "PK"), pk) && has(more...)(r) }
}

// retentions lists the retention of each kind of row (infra/docs/api.md, "Limits").
func retentions() []retention {
	key, link, endpoint := "KEYS#<orgId>", "LINKS#<appId>", "HOOKS#<appId>"
	vkeys, used, delivery := "VKEYS", "USED#<orgId>", "DLV#<endpointId>"
	return []retention{
		{"IDN#<sha-256>", "META", "", has("iat"), "", never},
		{"IDN#<sha-256>", "META", "of an erased person", has("!iat"), "notBefore", 35 * keptDay},
		{"EMAIL#<folded>", "META", "", nil, "", never},
		{"USER#<userId>", "META", "", nil, "", never},
		{"USER#<userId>", "ORG#<orgId>", "", nil, "", never},
		{"ORG#<orgId>", "META", "", has("!deletedAt"), "", never},
		{"ORG#<orgId>", "META", "being deleted", has("deletedAt", "due"), "", never},
		{"ORG#<orgId>", "META", "deleted", has("deletedAt", "!due"), "deletedAt", keptAudit},
		{"EXT#<externalId>", "META", "", nil, "", never},
		{"DIR#<0–15>", "<orgId>", "", hasValue("expected", ""), "", never},
		{"DIR#<0–15>", "<orgId>", "of a deleted org", has("expected"), "expected", keptKey},
		{"IMP#<sha-256>", "META", "", nil, "", never},
		{"CATALOGUE", "META", "", nil, "", never},
		{"ORG#<orgId>", "MEM#<userId>", "", nil, "", never},
		{"ORG#<orgId>", "APP#<appId>", "", nil, "", never},

		{key, "KEY#<keyId>", "without an end", has("!expiresAt", "!revokedAt", "!rotatedTo"), "", never},
		{key, "KEY#<keyId>", "with an end", has("expiresAt", "!revokedAt", "!rotatedTo"), "expiresAt", keptKey},
		{key, "KEY#<keyId>", "rotated", has("expiresAt", "!revokedAt", "rotatedTo"), "expiresAt", keptKey},
		{key, "KEY#<keyId>", "revoked, without an end", has("!expiresAt", "revokedAt"), "revokedAt", keptKey},
		{key, "KEY#<keyId>", "revoked before its end", has("expiresAt", "revokedAt", "!rotatedTo"), "revokedAt", keptKey},
		{key, "KEY#<keyId>", "revoked in its grace", has("expiresAt", "revokedAt", "rotatedTo"), "revokedAt", keptKey},
		{key, "META", "", has("!closed"), "", never},
		{key, "POS#<userId>", "", nil, "expected", keptDay},
		{key, "META", "of a deleted org", has("closed"), "closed", keptKey},
		{used, "KEY#<keyId>", "of a key without an end", hasValue("expected", ""), "", never},
		{used, "KEY#<keyId>", "of a key that ends", has("expected"), "expected", 0},
		{"USAGE#<orgId>", "<date>#<keyId>", "of a day", has("hour"), "expected", 400 * 24 * 3600},
		{"USAGE#<orgId>", "<date>#<keyId>", "of a month", has("!hour"), "expected", 400 * 24 * 3600},
		{"NOTE#<orgId>", "<date>#<keyId>#<mark>#<limit>", "", nil, "expected", 62 * 24 * 3600},

		{vkeys, "KEY#<kid>", "next", hasValue("state", "next"), "", never},
		{vkeys, "KEY#<kid>", "active", hasValue("state", "active"), "", never},
		{vkeys, "KEY#<kid>", "retired", hasValue("state", "retired"), "", never},
		{vkeys, "KEY#<kid>", "revoked", hasValue("state", "revoked", "disabledAt"), "", never},
		{vkeys, "STATE", "", nil, "", never},

		{link, "LINK#<linkId>", "pending", has("!claimedAt", "!revokedAt", "!lapsedAt"), "expiresAt", keptMonth},
		{link, "LINK#<linkId>", "claimed", has("claimedAt"), "claimedAt", keptMonth},
		{link, "LINK#<linkId>", "revoked", has("revokedAt"), "revokedAt", keptMonth},
		{link, "LINK#<linkId>", "expired", has("lapsedAt"), "expiresAt", keptMonth},

		{endpoint, "HOOK#<endpointId>", "enabled", has("!disabledReason", "!deletedAt"), "", never},
		{endpoint, "HOOK#<endpointId>", "disabled by its app", hasValue("disabledReason", "user", "!deletedAt"), "", never},
		{endpoint, "HOOK#<endpointId>", "disabled by 410", hasValue("disabledReason", "gone", "!deletedAt"), "", never},
		{endpoint, "HOOK#<endpointId>", "deleted", has("deletedAt"), "deletedAt", keptMonth},
		{endpoint, "HOOK#<endpointId>", "disabled by an admin", hasValue("disabledReason", "admin", "!deletedAt"), "", never},
		{"BUDGET#<appId>", "META", "", inPartition("BUDGET#app_", "!deletedAt"), "", never},
		{"BUDGET#<appId>", "META", "of a deleted org", inPartition("BUDGET#app_", "deletedAt"), "deletedAt", keptMonth},
		{"BUDGET#<orgId>", "META", "", inPartition("BUDGET#org_", "!deletedAt"), "", never},
		{"BUDGET#<orgId>", "META", "of a deleted org", inPartition("BUDGET#org_", "deletedAt"), "deletedAt", keptMonth},
		{endpoint, "BARRED#<keyId>", "", nil, "createdAt", keptKey},

		{"EVTS#<appId>", "<eventId>", "waiting", has("!fannedAt"), "createdAt", keptMonth},
		{"EVTS#<appId>", "<eventId>", "fanned out", has("fannedAt"), "createdAt", keptMonth},
		{delivery, "<eventId>", "pending", hasValue("status", "pending"), "createdAt", keptMonth},
		{delivery, "<eventId>", "delivered", hasValue("status", "delivered"), "createdAt", keptMonth},
		{delivery, "<eventId>", "failed", hasValue("status", "failed"), "createdAt", keptMonth},
		{delivery, "<eventId>", "held", hasValue("status", "held"), "createdAt", keptMonth},
		{delivery, "<eventId>", "cancelled", hasValue("status", "cancelled"), "createdAt", keptMonth},

		{"PUB#<appId>", "<the owner's id>", "", nil, "expiresAt", 0},
		{"IDEM#<sha-256>", "META", "", nil, "expected", keptDay},
		{"AUD#<orgId>", "<ULID>", "", nil, "at", keptAudit},
	}
}

// matches reports whether a key fits a pattern of store.AccessPatterns: "KEY#<keyId>" fits any key that begins with
// "KEY#" and has more, and "META" only itself.
func matches(pattern, key string) bool {
	prefix, _, hasID := strings.Cut(pattern, "<")
	return key == pattern || hasID && strings.HasPrefix(key, prefix) && len(key) > len(prefix)
}

// purgeOf returns the purgeAt that a row must have by a line of retentions, "" for none.
func (k retention) purgeOf(t *testing.T, r dbRow) string {
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

// addExpected adds the attribute "expected" (milliseconds) to rows that do not have the time from which retentions counts:
//   - an idempotency record and a position: the time of the request,
//   - a last use: the purgeAt of its key, if the key has one, because both are deleted together,
//   - an org in the directory: the end of its keys,
//   - a use and a notice: the begin of the day or month.
func addExpected(rows []dbRow, requested int64) {
	keyPurge := map[string]int64{}             // seconds, by the sort key of a key and of its last use
	ended := map[string]types.AttributeValue{} // when the keys of a deleted org ended, by the org
	for _, r := range rows {
		if at, ok := r["keysEndedAt"]; ok {
			ended[strings.TrimPrefix(text(r, "PK"), "ORG#")] = at
		}
		if strings.HasPrefix(text(r, "PK"), "KEYS#") {
			keyPurge[text(r, "SK")], _ = strconv.ParseInt(text(r, "purgeAt"), 10, 64) // 0: the key has none
		}
	}
	for _, r := range rows {
		switch purgeAt := keyPurge[text(r, "SK")]; {
		case strings.HasPrefix(text(r, "PK"), "IDEM#"), strings.HasPrefix(text(r, "SK"), "POS#"):
			r["expected"] = number(requested)
		case strings.HasPrefix(text(r, "PK"), "DIR#") && ended[text(r, "SK")] != nil:
			r["expected"] = ended[text(r, "SK")]
		case strings.HasPrefix(text(r, "PK"), "USED#") && purgeAt != 0:
			r["expected"] = number(purgeAt * 1000)
		case strings.HasPrefix(text(r, "PK"), "USAGE#"), strings.HasPrefix(text(r, "PK"), "NOTE#"):
			date, _, _ := strings.Cut(text(r, "SK"), "#")
			if len(date) == len("2006-01") {
				date += "-01"
			}
			if began, err := time.Parse(time.DateOnly, date); err == nil {
				r["expected"] = number(began.UnixMilli())
			}
		}
	}
}

// TestEveryRowIsKeptForTheTimeOfItsKind makes rows of every kind in every state, and compares their purgeAt with
// retentions. Each row must be in exactly one line of retentions, and each line must have a row.
func TestEveryRowIsKeptForTheTimeOfItsKind(t *testing.T) {
	c := connect(t)
	requested := c.everything(t)
	c.everyLeaver(t)
	rows := c.Rows(t)
	addExpected(rows, requested)
	seen := map[string]bool{}
	for _, r := range rows {
		pk, sk := text(r, "PK"), text(r, "SK")
		var lines []retention
		for _, k := range retentions() {
			if matches(k.pk, pk) && matches(k.sk, sk) && (k.is == nil || k.is(r)) {
				lines = append(lines, k)
			}
		}
		if len(lines) != 1 {
			t.Errorf("%s %s: %d lines of retentions are about it: %v", pk, sk, len(lines), r)
			continue
		}
		line := lines[0]
		seen[line.pk+line.sk+line.state] = true
		if got, want := text(r, "purgeAt"), line.purgeOf(t, r); got != want {
			t.Errorf("%s %s, %s: purgeAt %q, want %q", pk, sk, line.state, got, want)
		}
	}
	for _, k := range retentions() {
		if !seen[k.pk+k.sk+k.state] {
			t.Errorf("no row is %s %s, %s: the test proves nothing about it", k.pk, k.sk, k.state)
		}
	}
	for _, p := range store.AccessPatterns() {
		known := slices.ContainsFunc(retentions(), func(k retention) bool { return k.pk == p.PK && k.sk == p.SK })
		inIndex := strings.HasPrefix(p.PK, "DUE#") // these patterns are of an index, not of rows
		if !known && !inIndex {
			t.Errorf("retentions has no line for %s", p.Item)
		}
	}
}

// number returns the value of an attribute that is a number.
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// everything makes rows of every kind in every state, each at another time. The times are not whole seconds, because
// purgeAt is rounded down to seconds. It returns the time of the only request with an Idempotency-Key, in
// milliseconds.
func (c *connected) everything(t *testing.T) (requested int64) {
	t.Helper()
	addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Member)
	noError(t, c.EraseUser(ctx, billing, c.NewUser(t, "erased@example.com")))
	noError(t, c.PutCatalogue(ctx, `{"scopes":[],"events":[]}`))
	c.everyKey(t)
	c.everySigningKey(t)
	c.everyLink(t)
	c.everyDelivery(t)
	c.everyEnd(t)
	c.importKeys(t, c.orgOfService(t, store.NewOrg{ExternalID: "cus_1"}), foreign("sk_a"), store.Once[store.MintedKey]{})
	c.publish(t, publications("", "a")...)
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 1))
	c.advanceClock(time.Hour + 1234*time.Millisecond)
	noError(t, errorOf(c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "Second"}, once[store.App](c, idempotencyKey, "{}", "{}"))))
	return c.Now().UnixMilli()
}

// everyKey makes keys of every life, that are alive or have ended in every way. Most were used: a check read the key
// before its end and writes the last use after it.
func (c *connected) everyKey(t *testing.T) {
	t.Helper()
	c.leases(t)
	use := func(k id.Key, end func()) {
		t.Helper()
		before := row(t, c.Table, c.org, k)
		c.advanceClock(time.Hour + 1234*time.Millisecond) // a last use is written once an hour
		end()
		c.NoteUse(ctx, before, c.Now().UnixMilli())
	}
	revoke := func(k id.Key) func() {
		return func() { noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, k)) }
	}
	nothing := func() {}
	for _, life := range []time.Duration{0, 10 * dayLong, 100 * dayLong} {
		alive := makeKey(t, c.Table, c.org, c.ada, life).ID
		use(alive, nothing)
		dead := makeKey(t, c.Table, c.org, c.ada, life).ID
		use(dead, revoke(dead))
		unused := makeKey(t, c.Table, c.org, c.ada, life).ID
		noError(t, c.RevokeKey(ctx, admin(c.ada), c.org, unused))

		// Three keys, one after the other: the first ends when the third is created.
		newest := makeKey(t, c.Table, c.org, c.ada, life).ID
		for range 2 {
			old := newest
			use(old, func() { newest = rotate(t, c.Table, c.org, c.ada, old, 7*dayLong, "").ID })
		}
		// The same, but the first is revoked in its grace.
		first := makeKey(t, c.Table, c.org, c.ada, life).ID
		use(first, func() { newest = rotate(t, c.Table, c.org, c.ada, first, 7*dayLong, "").ID })
		use(first, revoke(first))
		use(newest, func() { rotate(t, c.Table, c.org, c.ada, newest, 7*dayLong, "") })
	}
}

// everySigningKey makes signing keys of each state: a is revoked, b retired, c active and d next.
func (c *connected) everySigningKey(t *testing.T) {
	t.Helper()
	l := lease(t, c.Table)
	for _, name := range []string{"a", "b", "c"} {
		noError(t, c.ActivateSigningKey(ctx, l, signingKeys(t, c.Table), jwk(name), "arn:"+name))
	}
	noError(t, c.PublishSigningKey(ctx, l, jwk("d"), "arn:d"))
	noError(t, c.RevokeVerificationKey(ctx, jwk("a").Kid))
	noError(t, c.NoteDisabledKey(ctx, l, jwk("a").Kid))
	if n, ok := signingKeys(t, c.Table).Next(); !ok || n.State != webhook.SigningNext {
		t.Fatal("no next key")
	}
}

// everyLink makes links that are claimed, revoked, expired and pending.
func (c *connected) everyLink(t *testing.T) {
	t.Helper()
	claimed, revoked, expired := c.link(t, time.Hour), c.link(t, time.Hour), c.link(t, time.Minute)
	c.advanceClock(2*time.Minute + 1234*time.Millisecond)
	noError(t, errorOf(c.ClaimLink(ctx, claimed.claim("k"))))
	c.advanceClock(time.Second)
	noError(t, errorOf(c.RevokeLink(ctx, c.app, revoked.ID, store.Changer{})))
	noError(t, c.ExpireLink(ctx, c.app, expired.ID))
	c.link(t, time.Hour)
}

// everyDelivery makes deliveries and endpoints in every state, and an event that is not fanned out.
func (c *connected) everyDelivery(t *testing.T) {
	t.Helper()
	endpoint, disabled, gone, deleted := c.endpoint(t), c.endpoint(t), c.endpoint(t), c.endpoint(t)
	c.fanOutTest(t, endpoint.ID) // stays pending
	made := map[string]id.Event{}
	for _, name := range []string{"delivered", "failed", "cancelled", "again"} {
		c.advanceClock(1234 * time.Millisecond)
		made[name] = c.fanOutTest(t, endpoint.ID)
	}
	c.advanceClock(time.Hour)
	for _, name := range []string{"delivered", "again"} {
		w := c.readWork(t, endpoint.ID, made[name])
		noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, name)))
		noError(t, c.Deliveries().RecordAttempt(ctx, w, store.Attempted{Last: store.LastAttempt{ID: name}, Status: webhook.DeliveryDelivered}))
	}
	noError(t, c.Deliveries().GiveUp(ctx, c.readWork(t, endpoint.ID, made["failed"]).DeliveryID))
	noError(t, c.Deliveries().Cancel(ctx, c.readWork(t, endpoint.ID, made["cancelled"]).DeliveryID))
	c.advanceClock(dayLong)
	noError(t, errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: made["again"]}, store.Changer{}, false)))
	c.enable(t, disabled.ID, false)
	c.fanOutTest(t, disabled.ID) // is held
	noError(t, c.Deliveries().DisableEndpoint(ctx, gone, webhook.DisabledByGone))
	c.advanceClock(time.Hour)
	noError(t, c.DeleteEndpoint(ctx, c.app, deleted.ID, store.ByKey(id.NoKey)))
	noError(t, errorOf(c.EnableEndpoint(ctx, admin(c.ada), c.app, c.endpoint(t).ID, false)))
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, makeKey(t, c.Table, c.org, c.ada, 0).ID))
	c.testEvent(t, endpoint.ID) // waits to be fanned out
}
