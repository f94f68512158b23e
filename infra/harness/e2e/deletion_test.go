package e2e_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
)

// aDeletedOrg deletes an org: its keys are refused, and its members no longer see it.
func aDeletedOrg(t *testing.T, tg *target) {
	c := tg.server(t)
	ada, bob := c.owner, tg.person(t, "bob")
	ada.invite(t, c.org, bob, "member")
	base := "/v1/orgs/" + c.org
	rotated := ada.want(t, "POST", base+"/keys/"+c.keyID+"/rotate", `{"graceSeconds":3600}`, 201, "").str("key")
	_, pending := c.link(t, "u-1")
	bob.want(t, "DELETE", base, "", 403, "insufficient_role")
	tg.person(t, "eve").want(t, "DELETE", base, "", 404, "org_not_found")
	ada.want(t, "DELETE", base, "", 204, "")
	for _, key := range []string{c.key, rotated} {
		tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 401, "key_revoked")
	}
	for _, p := range []*person{ada, bob} {
		if l := p.want(t, "GET", "/v1/orgs", "", 200, "").list("orgs"); len(l) != 0 {
			t.Errorf("orgs: %v", l)
		}
		for _, r := range []call{
			{method: "GET", path: base}, {method: "DELETE", path: base}, {method: "POST", path: base + "/keys", body: `{}`},
			{method: "POST", path: base + "/members", body: `{"email":"` + bob.email + `"}`},
		} {
			p.want(t, r.method, r.path, r.body, 404, "org_not_found")
		}
	}
	tg.want(t, newDevice().claims(pending), 404, "link_not_found")
}

// fullOrg fills the server's org up to the limits of 200 active keys and 500 members, and adds 50 keys in their
// grace after a rotation. It returns the texts of all keys. It writes members as rows, because only a user who
// has signed in can be invited.
func fullOrg(t *testing.T, s *stack.Stack, c *server) (keys []string) {
	t.Helper()
	const active, rotated, otherMembers = 200, 50, 499 // the owner is the 500th member
	for n := range active - 1 {                        // the server already has a key
		id, key := c.owner.key(t, c.org, `{}`)
		keys = append(keys, key)
		if n < rotated {
			r := c.owner.want(t, "POST", "/v1/orgs/"+c.org+"/keys/"+id+"/rotate", `{"graceSeconds":3600}`, 201, "")
			keys = append(keys, r.str("key"))
		}
	}
	var puts []types.WriteRequest
	for range otherMembers {
		u := "usr_" + strings.ToLower(rand.Text())
		for _, k := range []rowKey{{"ORG#" + c.org, "MEM#" + u}, {"USER#" + u, "ORG#" + c.org}} {
			row := k.attributes()
			row["role"], row["joinedAt"] = text("member"), millis(time.Now())
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})
		}
	}
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	for batch := range slices.Chunk(puts, 25) {
		if _, err := db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.TableName: batch}}); err != nil {
			t.Fatal(err)
		}
	}
	return append(keys, c.key)
}

// copiesRefuseAnOrg fills an org up to its limits. At least four copies of the authorizer accept the org's keys. It deletes
// the org: all copies must refuse the keys. Then the sweep removes the rows that are left.
func copiesRefuseAnOrg(t *testing.T, s *stack.Stack, tg *target) {
	const requests = 1000
	c := tg.server(t)
	hook := c.endpoint(t, tg.deadURL()+"/ended") // no receiver listens at this URL
	c.link(t, "u-1")
	keys := fullOrg(t, s, c)
	answering(t, copiesOf(s, "AuthorizerFunction"), 4, func() {
		if got := tg.storm(t, requests, keys...)["200"]; got != requests {
			t.Fatalf("before: %d of %d answered 200", got, requests)
		}
	})
	begun := time.Now()
	c.owner.want(t, "DELETE", "/v1/orgs/"+c.org, "", 204, "")
	t.Logf("deleting %d keys and 500 members took %s", len(keys), time.Since(begun))
	if refused := tg.storm(t, requests, keys...)["401 key_revoked"]; refused != requests {
		t.Errorf("%d of %d requests after the deletion were not refused with key_revoked", requests-refused, requests)
	}
	c.sweepDeletedOrg(t, s, hook)
}

// sweepDeletedOrg runs the sweep until the rows of the server's deleted org are gone. It sets times in rows back, because the
// sweep waits for minutes or days between its steps.
func (c *server) sweepDeletedOrg(t *testing.T, s *stack.Stack, endpoint string) {
	t.Helper()
	meta, past := rowKey{"ORG#" + c.org, "META"}, millis(time.Now().Add(-time.Hour))
	hook := rowKey{"HOOKS#" + c.appID, "HOOK#" + endpoint}
	// The endpoint's row must stay until parksUntil: a delivery may still be parked until then.
	setRow(t, s, hook, "SET parksUntil = :later", map[string]types.AttributeValue{":later": millis(time.Now().Add(time.Hour))})
	// The first run deletes the endpoints. The second, minutes after the end of the keys, deletes the apps. The third, 90 days later, deletes
	// the counts of requests.
	for _, ended := range []time.Duration{0, time.Hour, 91 * 24 * time.Hour} {
		setRow(t, s, meta, "SET dueAt = :past, keysEndedAt = :ended", map[string]types.AttributeValue{":past": past, ":ended": millis(time.Now().Add(-ended))})
		runScheduled(t, s, "SweepFunction")
	}
	// Once no delivery can be parked any more, the endpoint's row goes.
	setRow(t, s, hook, "SET parksUntil = :past, dueAt = :past", map[string]types.AttributeValue{":past": past})
	runScheduled(t, s, "SweepFunction")
	within(t, "the end of the endpoint", func() bool { return getRow(t, s, hook) == nil })
	for pk, want := range map[string]int{"ORG#" + c.org: 1, "HOOKS#" + c.appID: 0, "USAGE#" + c.org: 0} {
		if n := len(rowsOf(t, s, pk)); n != want {
			t.Errorf("%s has %d rows, want %d", pk, n, want)
		}
	}
	if row := getRow(t, s, meta); row["due"] != nil || row["purgeAt"] == nil {
		t.Errorf("the org's row: %v", row)
	}
	// The link that was pending at the deletion expires, without an event.
	link, events := rowKey{"LINKS#" + c.appID, newestIn(t, s, "LINKS#"+c.appID)}, len(rowsOf(t, s, "EVTS#"+c.appID))
	setRow(t, s, link, "SET expiresAt = :past, dueAt = :past", map[string]types.AttributeValue{":past": past})
	runScheduled(t, s, "SweepFunction")
	if row := getRow(t, s, link); row["due"] != nil || row["lapsedAt"] == nil || len(rowsOf(t, s, "EVTS#"+c.appID)) != events {
		t.Errorf("the link has not expired, or its end caused an event: %v", row)
	}
	entry := getRow(t, s, rowKey{"AUD#" + c.org, newestIn(t, s, "AUD#"+c.org)})
	if action, _ := entry["action"].(*types.AttributeValueMemberS); action == nil || action.Value != "org.deleted" {
		t.Errorf("the newest audit entry: %v", entry)
	}
}
