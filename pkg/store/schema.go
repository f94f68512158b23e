package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// The attributes. Times are in milliseconds since the epoch, but purgeAt and iat are in seconds.
const (
	attrPurgeAt   = table.Int("purgeAt")            // when DynamoDB may delete the row (TTL)
	attrWrittenBy = table.Text[string]("writtenBy") // random text of the transaction that wrote the row last, see marked

	// The index "due" has the rows with both attributes.
	attrDue   = table.Text[string]("due")
	attrDueAt = table.Int("dueAt")

	// Of several entities.
	attrName      = table.Text[string]("name")
	attrCreatedAt = table.Int("createdAt")
	attrCreatedBy = table.Bits[id.ShortUser]("createdBy")
	attrExpiresAt = table.Int("expiresAt")
	attrRevokedAt = table.Int("revokedAt")
	attrDeletedAt = table.Int("deletedAt") // of an org and its budgets: when the org's deletion began
	attrHash      = table.Bytes("hash")
	attrHeld      = table.Bytes("held") // of an API key, in place of hash: while its org is suspended
	attrUserID    = table.Text[id.User]("userId")
	attrOrgID     = table.Text[id.Org]("orgId")
	attrAppID     = table.Text[id.App]("appId")
	attrKeyID     = table.Text[id.Key]("keyId")
	attrEmail     = table.Text[string]("email")
	attrCount     = table.Number[int64]("count") // of an app's endpoints

	// Of identities and email rows.
	attrVerified     = table.Bool("verified")
	attrFolded       = table.Text[string]("folded")        // the address as email.Fold returns it, to compare addresses
	attrHolds        = table.Bool("holds")                 // the email row of the address is this user's
	attrIssuedAt     = table.Int("iat")                    // of the token, in seconds; 0: the token had none
	attrAskedAt      = table.Int("askedAt")                // when the issuer's userinfo endpoint was called last
	attrIdentity     = table.Text[string]("identity")      // of an email row: the partition of the identity that holds it
	attrFormerUserID = table.Text[id.User]("formerUserId") // of an email row, in place of userId: the user who gave the address up
	attrStoppedUser  = table.Text[id.User]("stoppedUser")  // of an identity, in place of userId: while the user is stopped
	attrNotBefore    = table.Int("notBefore")              // of an identity: tokens of sign-ins up to this time are refused

	// Of orgs, memberships and users.
	attrOrgsCreated = table.Number[int]("orgsCreated")
	attrAdmins      = table.Number[int]("admins")
	attrMembers     = table.Number[int]("members")
	attrApps        = table.Number[int]("apps")
	attrErasedAt    = table.Int("erasedAt")          // of a user: when the erasure began
	attrIdentities  = table.Map[int64]("identities") // of a user: partition of each identity → when it was added
	attrStoppedAt   = table.Int("stoppedAt")         // of a user
	attrEnded       = table.Map[int64]("ended")      // of a user: org id → when its deletion began; the org counts for a day more
	attrKeysEndedAt = table.Int("keysEndedAt")       // of a deleted org: from this time on, each of its keys is refused
	attrExternalID  = table.Text[string]("externalId")
	attrSuspendedAt = table.Int("suspendedAt")
	attrSpreadAfter = table.Text[id.Key]("spreadAfter") // while the state is copied to the keys: the last key that has it, "" for none yet
	attrRole        = table.Text[org.Role]("role")
	attrJoinedAt    = table.Int("joinedAt")
	attrAddedBy     = table.Text[string]("addedBy") // see Actor.id; absent: the org's creator

	// Of apps.
	attrKeysBeginWith = table.Text[string]("keysBeginWith") // the prefix of the app's new keys; absent: the deployment's

	// Of API keys, and of the map of active keys.
	attrPrefix          = table.Text[string]("prefix")
	attrScopes          = table.Text[string]("scopes") // of apikey.JoinScopes
	attrRotatedTo       = table.Bits[id.ShortKey]("rotatedTo")
	attrPredecessor     = table.Bits[id.ShortKey]("predecessor")
	attrPredecessorEnds = table.Int("predecessorEnds")
	attrLastUsed        = table.Int("lastUsedAt")
	attrLeakedAt        = table.Int("leakedAt")             // of the row of the last use: when key.leaked was written last
	attrLive            = table.Map[int64]("live")          // key id → expiry
	attrClosed          = table.Int("closed")               // when the deletion of the org began
	attrRevokedUpTo     = table.Text[id.Key]("revokedUpTo") // of a person in an org, or of a deleted org: the revocation continues after this key

	// Of the limits of API keys, see limit.Rules.Text.
	attrLimits   = table.Text[string]("limits")
	attrCeilings = table.Text[string]("ceilings")     // set by services
	attrLimitID  = table.Bits[id.ShortKey]("limitId") // the first key of the rotations; absent: the key itself

	// Of orgs and of API keys, see OrgState. The map of active keys has the version only.
	attrAllowance    = table.Text[string]("allowance")
	attrPlan         = table.Text[string]("plan")
	attrStateVersion = table.Int("allowanceNo")

	// Of days and months of a key's use. Times are in seconds.
	attrLeased       = table.Int("leased")  // in the row's day or month
	attrServed       = table.Int("served")  // let through on the row's day, as far as reported
	attrCounted      = table.Int("counted") // requests let through while the key had no limits; 0: not counted
	attrMinute       = table.Int("minute")  // when the row's present minute begins
	attrMinuteLeased = table.Int("minuteLeased")
	attrHour         = table.Int("hour")
	attrHourLeased   = table.Int("hourLeased")

	// Requests that were refused on the row's day, of the key of the row or of one of its successors. See limit.Refusal.
	attrRefusedRevoked   = table.Int("refusedRevoked")
	attrRefusedExpired   = table.Int("refusedExpired")
	attrRefusedSuspended = table.Int("refusedSuspended")
	attrRefusedLimited   = table.Int("refusedLimited")
	attrRefusedScope     = table.Int("refusedScope")

	// The largest limit of the row's day or month for which a mark was announced, see limit.Charged.
	attrNearNoted    = table.Int("nearNoted")
	attrReachedNoted = table.Int("reachedNoted")
	attrToldAt       = table.Int("toldAt") // of a notice: when its event was written

	// Of idempotency records.
	attrRequest = table.Bytes("request") // SHA-256 of the request's body
	attrSealed  = table.Bytes("sealed")  // nonce and AES-256-GCM ciphertext of the answer
	attrSalt    = table.Bytes("salt")    // 16 bytes for HKDF

	// Of audit entries.
	attrAt        = table.Int("at")
	attrAction    = table.Text[string]("action")
	attrActor     = table.Text[string]("actor")
	attrTarget    = table.Text[string]("target")
	attrChanges   = table.JSON[json.RawMessage]("changes") // Changes
	attrRequestID = table.Text[string]("requestId")
	attrOperator  = table.Text[string]("operator")
	attrSource    = table.Text[string]("source")
	attrReason    = table.Text[string]("reason")

	// Of budgets, and of events and links, for which requests pay.
	attrSpent = table.Int("spent")        // when everything will be refilled, in deliveries since the epoch (see Budget)
	attrPaid  = table.Number[int]("paid") // of events and links: the deliveries for which the request was charged

	// Of signing keys.
	attrX           = table.Text[string]("x")
	attrY           = table.Text[string]("y")
	attrARN         = table.Text[string]("arn")
	attrState       = table.Text[webhook.SigningState]("state")
	attrActivatedAt = table.Int("activatedAt")
	attrRetiredAt   = table.Int("retiredAt")
	attrExpiredAt   = table.Int("expiredAt")
	attrDisabledAt  = table.Int("disabledAt") // of endpoints too

	// Of the row STATE, with the active signing key and the lease of the process that may change the keys (Lease).
	attrKid        = table.Text[string]("kid")
	attrMade       = table.Text[string]("made") // ARN of a key that KMS has created and no row has yet
	attrMadeAt     = table.Int("madeAt")        // when made was written
	attrLeaseOwner = table.Text[string]("leaseOwner")
	attrLeaseUntil = table.Int("leaseUntil")

	// Of links, and metadata of API keys too.
	attrClientUserID = table.Text[string]("clientUserId")
	attrMetadata     = table.JSON[map[string]string]("metadata")
	attrDevice       = table.JSON[*deviceRow]("device")
	attrClaimedAt    = table.Int("claimedAt")
	attrClaimKeyHash = table.Bytes("claimKeyHash")
	attrLapsedAt     = table.Int("lapsedAt") // when the expiry was processed

	// Of barred keys.
	attrLinksBarredAt = table.Int("linksBarredAt")       // no link that the key made can be claimed from then on
	attrCleanFrom     = table.Text[id.Link]("cleanFrom") // links after this one wait to be revoked

	// Of webhook endpoints.
	attrURL            = table.Text[string]("url")
	attrDescription    = table.Text[string]("description")
	attrEvents         = table.JSON[[]string]("events")
	attrEnabled        = table.Bool("enabled")
	attrDisabledReason = table.Text[webhook.DisabledReason]("disabledReason")
	attrUpdatedAt      = table.Int("updatedAt")
	attrVersion        = table.Int("version") // one more with each change, disabling or deletion
	attrCreatedByKey   = table.Text[id.Key]("createdByKey")
	attrURLSetByKey    = table.Text[id.Key]("urlSetByKey")   // the key that changed the URL or the event types last
	attrURLByKey       = table.Text[id.Key]("urlByKey")      // the key that set the present URL
	attrEventsByKey    = table.Text[id.Key]("eventsByKey")   // the key that set the present event types
	attrFailures       = table.Int("failures")               // since the last success
	attrOpenUntil      = table.Int("openUntil")              // the breaker: nothing is sent before this time
	attrFailingSince   = table.Int("failingSince")           // the first failure after the last success or a quiet time
	attrParksUntil     = table.Int("parksUntil")             // the latest time at which a delivery may still be parked
	attrReleaseFrom    = table.Text[id.Event]("releaseFrom") // held deliveries after this event wait to be released or cancelled

	// Of the catalogue.
	attrCatalogue = table.Text[string]("catalogue") // JSON

	// Of events.
	attrType      = table.Text[webhook.Type]("type")
	attrData      = table.JSON[json.RawMessage]("data")
	attrOnly      = table.Text[id.Endpoint]("only")        // the only endpoint that gets the event
	attrExcept    = table.Text[id.Endpoint]("except")      // the only endpoint that does not get the event
	attrFannedAt  = table.Int("fannedAt")                  // when its deliveries were written
	attrEndpoints = table.JSON[[]id.Endpoint]("endpoints") // the endpoints that have a delivery
	attrIsTest    = table.Bool("isTest")                   // a test event: it has a real type, but nothing happened
	attrEventID   = table.Text[id.Event]("eventId")        // of a published id

	// Of deliveries.
	attrStatus      = table.Text[webhook.DeliveryStatus]("status")
	attrAttempts    = table.Number[int]("attempts")
	attrNextAttempt = table.Int("nextAttemptAt")
	attrStartedAt   = table.Int("startedAt") // when this round of attempts began: at fan-out, or when it was redelivered
	attrDeliveredAt = table.Int("deliveredAt")
	attrAgainAt     = table.Int("againAt") // when a request redelivered it last
	attrEventType   = table.Text[webhook.Type]("eventType")
	attrLease       = table.Text[string]("lease")             // jti of the attempt that is being made, or was made last
	attrLast        = table.JSON[*LastAttempt]("last")        // the last attempt
	attrEarlier     = table.JSON[[]EarlierAttempt]("earlier") // the attempts before the last, latest first
	attrMovedBy     = table.Text[string]("movedBy")           // random text of the call that moved its due time last, see Requeue
)

// The beginnings of keys.
const (
	skMeta = "META"

	pkIdentity  = "IDN#"
	pkEmail     = "EMAIL#"
	pkUser      = "USER#"
	pkOrg       = "ORG#"
	pkExternal  = "EXT#"
	pkDirectory = "DIR#"
	pkKeys      = "KEYS#"
	pkUsed      = "USED#"
	pkImport    = "IMP#"
	pkUsage     = "USAGE#"
	pkNotice    = "NOTE#"
	pkIdem      = "IDEM#"
	pkAudit     = "AUD#"
	pkVerify    = "VKEYS"
	pkCatalogue = "CATALOGUE"
	pkLinks     = "LINKS#"
	pkEndpoints = "HOOKS#"
	pkBudget    = "BUDGET#"
	pkEvents    = "EVTS#"
	pkPublished = "PUB#"
	pkDelivery  = "DLV#"
	pkDue       = "DUE#"

	skOrg      = "ORG#"
	skMember   = "MEM#"
	skApp      = "APP#"
	skKey      = "KEY#"
	skPosition = "POS#"
	skState    = "STATE"
	skLink     = "LINK#"
	skEndpoint = "HOOK#"
	skBarred   = "BARRED#"
)

// identityRow returns the key of (issuer, subject). The hashed text begins with the issuer's length, so
// that no two pairs have the same text.
func identityRow(issuer, subject string) table.Key {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(issuer)) + ":" + issuer + subject))
	return table.Key{PK: pkIdentity + hex.EncodeToString(sum[:]), SK: skMeta}
}

// keyOf returns the key of a row: pk and owner are the partition key, sk and item are the sort key.
func keyOf[P, S ~string](pk string, owner P, sk string, item S) table.Key {
	return table.Key{PK: pk + string(owner), SK: sk + string(item)}
}

func emailRow(folded string) table.Key         { return keyOf(pkEmail, folded, skMeta, "") }
func userRow(u id.User) table.Key              { return keyOf(pkUser, u, skMeta, "") }
func userOrgRow(u id.User, o id.Org) table.Key { return keyOf(pkUser, u, skOrg, o) }
func orgRow(o id.Org) table.Key                { return keyOf(pkOrg, o, skMeta, "") }
func externalRow(x string) table.Key           { return keyOf(pkExternal, x, skMeta, "") }
func directoryRow(o id.Org) table.Key {
	return table.Key{PK: directoryPartition(directoryShard(o)), SK: string(o)}
}
func memberRow(o id.Org, u id.User) table.Key              { return keyOf(pkOrg, o, skMember, u) }
func appRow(o id.Org, a id.App) table.Key                  { return keyOf(pkOrg, o, skApp, a) }
func apiKeyRow(o id.Org, k id.Key) table.Key               { return keyOf(pkKeys, o, skKey, k) }
func activeKeysRow(o id.Org) table.Key                     { return keyOf(pkKeys, o, skMeta, "") }
func positionRow(o id.Org, u id.User) table.Key            { return keyOf(pkKeys, o, skPosition, u) }
func usedRow(o id.Org, k id.Key) table.Key                 { return keyOf(pkUsed, o, skKey, k) }
func usageRow(o id.Org, period string, k id.Key) table.Key { return keyOf(pkUsage, o, period+"#", k) }
func importRow(h apikey.Hash) table.Key                    { return keyOf(pkImport, hex.EncodeToString(h[:]), skMeta, "") }
func auditRow(o id.Org, a id.Audit) table.Key              { return keyOf(pkAudit, o, "", a) }
func signingKeyRow(kid string) table.Key                   { return keyOf(pkVerify, "", skKey, kid) }
func signingStateRow() table.Key                           { return keyOf(pkVerify, "", skState, "") }
func catalogueRow() table.Key                              { return keyOf(pkCatalogue, "", skMeta, "") }
func linkRow(a id.App, l id.Link) table.Key                { return keyOf(pkLinks, a, skLink, l) }
func endpointRow(a id.App, endpoint id.Endpoint) table.Key {
	return keyOf(pkEndpoints, a, skEndpoint, endpoint)
}
func barredRow(a id.App, k id.Key) table.Key      { return keyOf(pkEndpoints, a, skBarred, k) }
func budgetRow(a id.App) table.Key                { return keyOf(pkBudget, a, skMeta, "") }
func orgBudgetRow(o id.Org) table.Key             { return keyOf(pkBudget, o, skMeta, "") }
func eventRow(a id.App, e id.Event) table.Key     { return keyOf(pkEvents, a, "", e) }
func publishedRow(a id.App, own string) table.Key { return keyOf(pkPublished, a, "", own) }
func deliveryRow(d webhook.DeliveryID) table.Key  { return keyOf(pkDelivery, d.Endpoint, "", d.Event) }
func idempotencyRow(hash string) table.Key        { return keyOf(pkIdem, hash, skMeta, "") }

// AccessPattern is one line of the table's design: an item, its key, and the reads that it serves.
type AccessPattern struct{ Item, PK, SK, Serves string }

// AccessPatterns returns every item of the table. infra/docs/design.md prints them.
func AccessPatterns() []AccessPattern {
	return []AccessPattern{
		{"Identity (issuer, subject → user, or stopped user; last sign-out or erasure)", "IDN#<sha-256>", "META", "the user of a token: one strong read; GET /v1/users?subject="},
		{"Verified email → user", "EMAIL#<folded>", "META", "invite by email; GET /v1/users?email="},
		{"User (email, name, orgs created, identities, stop, erasure)", "USER#<userId>", "META", "profile of a member; GET /v1/users/{userId}"},
		{"Org of a user (role)", "USER#<userId>", "ORG#<orgId>", "GET /v1/orgs"},
		{"Org (name; allowance, plan, suspension; counters of admins, members, apps; deletion)", "ORG#<orgId>", "META", "the org; last admin; limits"},
		{"External id of an org → org", "EXT#<externalId>", "META", "GET /v1/orgs?externalId="},
		{"Org in the list of all orgs (its key only), until 90 days after its deletion", "DIR#<0–15>", "<orgId>", "GET /v1/orgs, GET /v1/usage of a service"},
		{"Membership (role, joinedAt)", "ORG#<orgId>", "MEM#<userId>", "every check of a role; GET …/members"},
		{"App", "ORG#<orgId>", "APP#<appId>", "GET …/apps; /app/get"},
		{"API key (hash or held hash, expiry, revocation, scopes, metadata, limits, the org's allowance and plan)", "KEYS#<orgId>", "KEY#<keyId>", "authentication: one strong read; GET …/keys"},
		{"Active keys (map of key id → expiry; closed; the version of the org's state)", "KEYS#<orgId>", "META", "the limit on active keys; the state of a new key"},
		{"Position in the revocation of a person's keys", "KEYS#<orgId>", "POS#<userId>", "DELETE …/keys?createdBy="},
		{"Imported key (hash of its text → key; never deleted)", "IMP#<sha-256>", "META", "authentication with an imported key: one strong read more"},
		{"Last use of a key", "USED#<orgId>", "KEY#<keyId>", "lastUsedAt and leakedAt in GET …/keys"},
		{"Use of a key, or of all keys of an org (ORG), in a day or a month (leased, served, counted; the running minute and hour; refusals)", "USAGE#<orgId>", "<date>#<keyId>", "limits: one conditional write; GET …/usage"},
		{"Notice that a day or a month of a key, or of all keys of an org (ORG), has passed a mark of a limit", "NOTE#<orgId>", "<date>#<keyId>#<mark>#<limit>", "the stream: key.limit_…, org.allowance_…"},
		{"Verification key (JWK)", "VKEYS", "KEY#<kid>", "key lookup; JWKS"},
		{"Which signing key is active", "VKEYS", "STATE", "signing; rotation"},
		{"Catalogue (the owner's scopes and event types)", "CATALOGUE", "META", "GET /catalogue.json"},
		{"Link (token's hash, client, claim)", "LINKS#<appId>", "LINK#<linkId>", "/link/claim; /link/list"},
		{"Webhook endpoint (URL, events, breaker, keys that set it)", "HOOKS#<appId>", "HOOK#<endpointId>", "fan-out; /webhook_endpoint/list"},
		{"Budget of an app's API keys; number of its endpoints", "BUDGET#<appId>", "META", "the budget; the limit on endpoints"},
		{"Budget of an org's API keys and people", "BUDGET#<orgId>", "META", "the budget; how late a first attempt is"},
		{"Barred key (what ended with a revoked key)", "HOOKS#<appId>", "BARRED#<keyId>", "a revoked key changes no endpoint late; its links cannot be claimed"},
		{"Event (outbox; its endpoints)", "EVTS#<appId>", "<eventId>", "the stream; /webhook_event/list"},
		{"Published id (the owner's id of an event → event)", "PUB#<appId>", "<the owner's id>", "an event that is published again, for 24 hours"},
		{"Delivery (status, last five attempts)", "DLV#<endpointId>", "<eventId>", "deliver; /webhook_delivery/list"},
		{"Idempotency record (sealed answer)", "IDEM#<sha-256>", "META", "a replay answers the same"},
		{"Audit entry", "AUD#<orgId>", "<ULID>", "GET …/audit"},
		{"Index due: events, deliveries, links, keys, endpoints, barred keys and deleted orgs that wait", "DUE#<kind>#<0–7>", "dueAt", "the sweep, each minute"},
		{"Index due: deliveries that wait for their endpoint's breaker", "DUE#parked#<endpointId>", "dueAt", "the sweep, once the breaker's time is over"},
	}
}
