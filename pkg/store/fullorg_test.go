package store_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/authn"
	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// crashDeletion deletes the org as Ada, in a request that ends before its transaction n, counted from 0. It returns no error
// if the whole deletion needs at most n transactions.
func (c *connected) crashDeletion(n int) error { return c.crashDeletionAs(admin(c.ada), n) }

// crashDeletionAs is crashDeletion for another actor.
func (c *connected) crashDeletionAs(a store.Actor, n int) error {
	request, end := context.WithCancel(ctx)
	defer end()
	for range n {
		c.letPass("TransactWriteItems")
	}
	c.Faults.Before("TransactWriteItems", end)
	defer c.Faults.Heal() // forgets the planned end if it was not reached
	return c.DeleteOrg(request, a, c.org)
}

// addMembers adds n members directly in the table, because the store is slow for many: both rows of each
// membership, and the org's counter.
func (c *connected) addMembers(t *testing.T, n int) {
	t.Helper()
	value := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	var puts []types.WriteRequest
	for range n {
		u := string(id.Source{}.NewUser())
		for _, k := range [][2]string{{"ORG#" + string(c.org), "MEM#" + u}, {"USER#" + u, "ORG#" + string(c.org)}} {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: dbRow{
				"PK": value(k[0]), "SK": value(k[1]), "role": value("member"), "joinedAt": number(c.Now().UnixMilli()),
			}}})
		}
	}
	for len(puts) > 0 {
		some := puts[:min(len(puts), 25)] // DynamoDB accepts 25 in a batch
		_, err := c.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{c.Name: some}})
		noError(t, err)
		puts = puts[len(some):]
	}
	_, err := c.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.Name, Key: dbRow{"PK": value("ORG#" + string(c.org)), "SK": value("META")}, UpdateExpression: ptr("ADD members :n"),
		ExpressionAttributeValues: dbRow{":n": number(int64(n))},
	})
	noError(t, err)
}

// ptr returns a pointer to a value.
func ptr[T any](v T) *T { return &v }

// fullOrg creates an org with the most members and active keys allowed, and with 50 keys in their grace. Its clock is the
// real one. fullOrg returns the texts of all keys.
func fullOrg(t *testing.T) (c *connected, keys []secret.String) {
	t.Helper()
	const active, rotated, members = 200, 50, 500
	c = &connected{Table: storetest.New(t)}
	c.ada = c.NewUser(t, "ada@example.com")
	c.org = c.NewOrg(t, c.ada)
	c.app = id.DefaultApp(c.org)
	for n := range active {
		k := makeKey(t, c.Table, c.org, c.ada, 0)
		keys = append(keys, k.Minted.Key)
		if n < rotated {
			keys = append(keys, rotate(t, c.Table, c.org, c.ada, k.ID, time.Hour, "").Minted.Key)
		}
	}
	c.addMembers(t, members-1) // Ada is a member too
	return c, keys
}

// warmAuthorizers returns n authorizers, as of n processes, that have accepted every key once. If an authorizer cached
// the keys, it would still accept them after their revocation.
func (c *connected) warmAuthorizers(t *testing.T, n int, keys []secret.String) (all []*authn.Authorizer) {
	t.Helper()
	for range n {
		a := authn.New(c.Store, nil)
		a.Now = c.Now
		for _, k := range keys {
			noError(t, errorOf(a.Authorize(ctx, route.Route{Takes: principal.APIKey}, []string{"Bearer " + k.Reveal()})))
		}
		all = append(all, a)
	}
	return all
}

// countNotRevoked checks keys with authorizers, from many clients at once. It uses the keys in turn and the authorizers in
// turn. It returns the number of checks that did not answer key_revoked.
func countNotRevoked(all []*authn.Authorizer, keys []secret.String, clients, requests int) int64 {
	var notRevoked, next atomic.Int64 // next is the number of the next request
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(requests); n = next.Add(1) {
				k := keys[int(n)%len(keys)]
				_, err := all[int(n)%len(all)].Authorize(ctx, route.Route{Takes: principal.APIKey}, []string{"Bearer " + k.Reveal()})
				if !problem.Is(err, problem.KeyRevoked) {
					notRevoked.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return notRevoked.Load()
}

// rowsWithOrg counts the rows whose partition key begins with a text, and that have the org's id in one of
// their two keys.
func (c *connected) rowsWithOrg(t *testing.T, begins string) (n int) {
	t.Helper()
	for _, r := range c.rowsOf(t, begins) {
		if k := text(r, "PK") + " " + text(r, "SK"); strings.Contains(k, string(c.org)) {
			n++
		}
	}
	return n
}

// memberRows counts the rows of the org's memberships: two for each member.
func (c *connected) memberRows(t *testing.T) int {
	t.Helper()
	const meta = 1 // the org's own row
	return c.rowsWithOrg(t, "USER#") + c.rowsWithOrg(t, "ORG#") - meta - len(c.apps(t))
}

// apps returns the sort keys of the org's apps.
func (c *connected) apps(t *testing.T) (apps []string) {
	t.Helper()
	for _, r := range c.rowsOf(t, "ORG#"+string(c.org)) {
		if strings.HasPrefix(text(r, "SK"), "APP#") {
			apps = append(apps, text(r, "SK"))
		}
	}
	return apps
}

// everyEnd makes rows of deleted orgs in every state. It deletes an org with a key, links and an endpoint, and the
// sweep deletes the rest of it. Then it deletes another org, without a sweep.
func (c *connected) everyEnd(t *testing.T) {
	t.Helper()
	ended := &connected{Table: c.Table, ada: c.ada, org: c.NewOrg(t, c.ada)}
	ended.app = id.DefaultApp(ended.org)
	makeKey(t, c.Table, ended.org, c.ada, 0)
	c.advanceClock(1234 * time.Millisecond) // so that seconds and milliseconds are different times
	ended.link(t, time.Hour)
	ended.link(t, time.Minute)
	ended.endpoint(t)
	c.advanceClock(time.Hour - time.Minute) // one link has expired, and the other expires before the first sweep
	noError(t, c.DeleteOrg(ctx, admin(c.ada), ended.org))
	for range 2 { // the second sweep begins when all requests in flight have ended, and deletes the app
		c.advanceClock(2 * time.Minute)
		ended.sweepOrg(t)
	}
	c.advanceClock(90 * dayLong)
	ended.sweepOrg(t) // deletes the rows of its use
	c.advanceClock(-90 * dayLong)
	noError(t, c.DeleteOrg(ctx, admin(c.ada), c.NewOrg(t, c.ada)))
}
