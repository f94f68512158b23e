package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"latchkey/pkg/id"
)

// The attributes that several entities have. PK and SK are the table's key. The attributes of
// one entity are in the file of that entity.
const (
	attrPK      = "PK"
	attrSK      = "SK"
	attrPurgeAt = "purgeAt" // seconds since the epoch (DynamoDB TTL); every other time is in milliseconds

	// The index "due" has the rows with both attributes.
	attrDue   = "due"
	attrDueAt = "dueAt"

	skMeta = "META"
)

// The beginnings of keys.
const (
	pkIdentity = "IDN#"
	pkEmail    = "EMAIL#"
	pkUser     = "USER#"
	pkOrg      = "ORG#"
	pkKeys     = "KEYS#"
	pkUsed     = "USED#"
	pkIdem     = "IDEM#"
	pkAudit    = "AUD#"
	pkVerify   = "VKEYS"
	pkLinks    = "LINKS#"
	pkHooks    = "HOOKS#"
	pkBudget   = "BUDGET#"
	pkEvents   = "EVTS#"
	pkDelivery = "DLV#"
	pkDue      = "DUE#"

	skOrg    = "ORG#"
	skMember = "MEM#"
	skApp    = "APP#"
	skKey    = "KEY#"
	skState  = "STATE"
	skLink   = "LINK#"
	skHook   = "HOOK#"
	skBarred = "BARRED#"
)

// key is the key of one row.
type key struct{ pk, sk string }

// identityKey returns the key of (issuer, subject). The hash has the issuer's length before the
// two, so that no two pairs have the same text.
func identityKey(issuer, subject string) key {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(issuer)) + ":" + issuer + subject))
	return key{pkIdentity + hex.EncodeToString(sum[:]), skMeta}
}

func emailKey(folded string) key         { return key{pkEmail + folded, skMeta} }
func userKey(u id.User) key              { return key{pkUser + string(u), skMeta} }
func userOrgKey(u id.User, o id.Org) key { return key{pkUser + string(u), skOrg + string(o)} }
func orgKey(o id.Org) key                { return key{pkOrg + string(o), skMeta} }
func memberKey(o id.Org, u id.User) key  { return key{pkOrg + string(o), skMember + string(u)} }
func appKey(o id.Org, a id.App) key      { return key{pkOrg + string(o), skApp + string(a)} }
func apiKeyKey(o id.Org, k id.Key) key   { return key{pkKeys + string(o), skKey + string(k)} }
func liveKeysKey(o id.Org) key           { return key{pkKeys + string(o), skMeta} }
func usedKey(o id.Org, k id.Key) key     { return key{pkUsed + string(o), skKey + string(k)} }
func auditKey(o id.Org, a id.Audit) key  { return key{pkAudit + string(o), string(a)} }
func verificationKeyKey(kid string) key  { return key{pkVerify, skKey + kid} }
func signingStateKey() key               { return key{pkVerify, skState} }
func linkKey(a id.App, l id.Link) key    { return key{pkLinks + string(a), skLink + string(l)} }
func hookKey(a id.App, h id.Endpoint) key {
	return key{pkHooks + string(a), skHook + string(h)}
}
func budgetKey(a id.App) key            { return key{pkBudget + string(a), skMeta} }
func barredKey(a id.App, k id.Key) key  { return key{pkHooks + string(a), skBarred + string(k)} }
func eventKey(a id.App, e id.Event) key { return key{pkEvents + string(a), string(e)} }
func deliveryKey(h id.Endpoint, e id.Event) key {
	return key{pkDelivery + string(h), string(e)}
}
func idempotencyKey(scope idemScope) key { return key{pkIdem + scope.hash(), skMeta} }
func trimmed(sk, prefix string) string   { return strings.TrimPrefix(sk, prefix) }

// AccessPattern is one line of the table's design: an item, its key, and the reads that it serves.
type AccessPattern struct{ Item, PK, SK, Serves string }

// AccessPatterns returns every item of the table. infra/docs/design.md prints them.
func AccessPatterns() []AccessPattern {
	return []AccessPattern{
		{"Identity (issuer, subject → user)", "IDN#<sha-256>", "META", "who a token is: one strong read"},
		{"Verified email → user", "EMAIL#<folded>", "META", "invite by email"},
		{"User (email, name, orgs created)", "USER#<userId>", "META", "profile of a member"},
		{"Org of a user (role)", "USER#<userId>", "ORG#<orgId>", "GET /v1/orgs"},
		{"Org (name; counters of admins, members, apps; deletion)", "ORG#<orgId>", "META", "the org; last admin; limits"},
		{"Membership (role, joinedAt)", "ORG#<orgId>", "MEM#<userId>", "every check of a role; GET …/members"},
		{"App", "ORG#<orgId>", "APP#<appId>", "GET …/apps; /app/get"},
		{"API key (hash, expiry, revocation)", "KEYS#<orgId>", "KEY#<keyId>", "authentication: one strong read; GET …/keys"},
		{"Active keys (map of key id → expiry; closed)", "KEYS#<orgId>", "META", "the limit on active keys"},
		{"Last use of a key", "USED#<orgId>", "KEY#<keyId>", "lastUsedAt in GET …/keys"},
		{"Verification key (JWK)", "VKEYS", "KEY#<kid>", "key lookup; JWKS"},
		{"Which signing key is active", "VKEYS", "STATE", "signing; rotation"},
		{"Link (token's hash, who it is for, the claim)", "LINKS#<appId>", "LINK#<linkId>", "/link/claim; /link/list"},
		{"Webhook endpoint (URL, events, breaker, who set it)", "HOOKS#<appId>", "HOOK#<endpointId>", "fan-out; /webhook_endpoint/list"},
		{"What an app's API keys may start; how many endpoints it has", "BUDGET#<appId>", "META", "the budget; the limit on endpoints"},
		{"Barred key (its endpoints were disabled with it)", "HOOKS#<appId>", "BARRED#<keyId>", "a revoked key changes no endpoint late"},
		{"Event (outbox; where it went)", "EVTS#<appId>", "<eventId>", "the stream; /webhook_event/list"},
		{"Delivery (status, attempts, last answer)", "DLV#<endpointId>", "<eventId>", "deliver; /webhook_delivery/list"},
		{"Idempotency record (sealed answer)", "IDEM#<sha-256>", "META", "a replay answers the same"},
		{"Audit entry", "AUD#<orgId>", "<ULID>", "GET …/audit"},
		{"Index due: events, deliveries, links, keys, endpoints and deleted orgs that wait", "DUE#<kind>#<0–7>", "dueAt", "the sweep, each minute"},
		{"Index due: deliveries that wait for their endpoint's breaker", "DUE#parked#<endpointId>", "dueAt", "the sweep, once the breaker's time is over"},
	}
}
