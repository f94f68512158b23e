package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

func TestTheOnlyAdminOfAnOrgIsNotErased(t *testing.T) {
	c := connect(t)
	bob, eve, own := c.person(t)
	noError(t, errorOf(c.ChangeRole(ctx, admin(bob), own, eve, org.Viewer)))
	ended := c.NewOrg(t, bob) // a deleted org does not need an admin
	noError(t, c.DeleteOrg(ctx, billing, ended))
	refused := func(err error) {
		t.Helper()
		if e := problem.From(err); e.Code != problem.LastAdmin || !slices.Equal(e.Orgs, []string{string(own)}) {
			t.Errorf("%+v", e)
		}
	}
	refused(c.EraseUser(ctx, billing, bob))
	if u, err := c.User(ctx, bob); err != nil || u.StoppedAt != 0 || u.Email != "bob@example.com" {
		t.Errorf("after the refusal: %+v, %v", u, err)
	}
	noError(t, errorOf(c.ChangeRole(ctx, admin(bob), own, eve, org.Admin)))
	c.Faults.Before("TransactWriteItems", func() { noError(t, errorOf(c.ChangeRole(ctx, billing, own, eve, org.Member))) })
	refused(c.EraseUser(ctx, billing, bob))
	if u, err := c.User(ctx, bob); err != nil || u.StoppedAt == 0 || u.Email != "" {
		t.Errorf("in the middle: %+v, %v", u, err)
	}
	if role, isMember, err := c.Role(ctx, c.org, bob); isMember || err != nil { // the other orgs are left
		t.Errorf("%s, %v", role, err)
	}
	expectCode(t, errorOf(c.ResumeUser(ctx, billing, bob)), problem.Conflict)
	noError(t, errorOf(c.StopUser(ctx, billing, bob))) // writes nothing
	noError(t, c.SignOutUser(ctx, billing, bob))       // writes nothing
	noError(t, errorOf(c.ChangeRole(ctx, billing, own, eve, org.Admin)))
	noError(t, c.EraseUser(ctx, billing, bob))
	if faults := c.erasureFaults(t, bob); faults != nil {
		t.Error(faults)
	}
}

// TestAnErasureLeavesOrgsInEachState: the person leaves a suspended org, and a membership with only one of its two rows is deleted. If an
// org cannot be left, the erasure returns an error. An org whose deletion was cut short, before or during the erasure, needs its admin.
func TestAnErasureLeavesOrgsInEachState(t *testing.T) {
	c := connect(t)
	bob, _, own := c.person(t)
	fails := func(times int) func() {
		return func() { c.Faults.Plan("TransactWriteItems", storetest.Malformed, times) }
	}
	noError(t, errorOf(c.ChangeOrg(ctx, billing, own, store.OrgChange{Suspended: new(true)})))
	closed, late := c.NewOrg(t, bob), c.NewOrg(t, bob)
	noError(t, errorOf(c.AddMember(ctx, admin(bob), late, "ada@example.com", org.Admin, store.Once[id.User]{})))
	c.letPass("TransactWriteItems")
	c.Faults.Before("TransactWriteItems", fails(-1))
	if err := c.DeleteOrg(ctx, billing, closed); err == nil {
		t.Error("the deletion was not cut short")
	}
	c.Faults.Heal()
	needed := func(o id.Org) {
		t.Helper()
		if e := problem.From(c.EraseUser(ctx, billing, bob)); e.Code != problem.LastAdmin || !slices.Equal(e.Orgs, []string{string(o)}) {
			t.Errorf("%+v", e)
		}
		noError(t, c.DeleteOrg(ctx, billing, o))
	}
	needed(closed)
	half := c.NewOrgOf(c.ada)
	for _, r := range c.rowsOf(t, "USER#"+string(bob)) {
		if text(r, "SK") == "ORG#"+string(c.org) {
			r["SK"], r["role"] = &types.AttributeValueMemberS{Value: "ORG#" + string(half)}, &types.AttributeValueMemberS{Value: "member"}
			c.putRow(t, r)
		}
	}
	row := c.rowsOf(t, "ORG#"+string(late))
	meta := row[slices.IndexFunc(row, func(r dbRow) bool { return text(r, "SK") == "META" })]
	meta["deletedAt"] = number(c.Now().UnixMilli())
	c.Faults.Before("TransactWriteItems", func() { c.putRow(t, meta) })
	c.Faults.Before("TransactWriteItems", fails(1))
	if err := c.EraseUser(ctx, billing, bob); err == nil || problem.Is(err, problem.LastAdmin) {
		t.Error("an org that was not left returns no error")
	}
	needed(late)
	noError(t, c.EraseUser(ctx, billing, bob))
	if faults := c.erasureFaults(t, bob); faults != nil {
		t.Error(faults)
	}
}

// TestARefusedErasureReadsAllOrgs: the last 101 of 1,101 orgs have no other admin.
func TestARefusedErasureReadsAllOrgs(t *testing.T) {
	c := connect(t)
	bob, _, _ := c.person(t)
	meta := c.rowsOf(t, "ORG#"+string(c.org))[0]
	var puts []types.WriteRequest
	for n := range 1101 {
		o := &types.AttributeValueMemberS{Value: fmt.Sprintf("ORG#org_%04d", n)}
		org := maps.Clone(meta)
		org["PK"], org["SK"], org["admins"] = o, &types.AttributeValueMemberS{Value: "META"}, number(2)
		if n >= 1000 {
			org["admins"] = number(1)
		}
		user := &types.AttributeValueMemberS{Value: "USER#" + string(bob)}
		of := dbRow{"PK": user, "SK": o, "role": &types.AttributeValueMemberS{Value: "admin"}, "joinedAt": number(1)}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: org}}, types.WriteRequest{PutRequest: &types.PutRequest{Item: of}})
	}
	for some := range slices.Chunk(puts, 25) { // DynamoDB accepts 25 in a batch
		_, err := c.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{c.Name: some}})
		noError(t, err)
	}
	err := c.EraseUser(ctx, billing, bob)
	if e := problem.From(err); e.Code != problem.LastAdmin || len(e.Orgs) != 100 || e.Orgs[0] != "org_1000" {
		t.Errorf("%v, %d orgs", err, len(e.Orgs))
	}
	if u, err := c.User(ctx, bob); err != nil || u.StoppedAt != 0 {
		t.Errorf("after the refusal: %+v, %v", u, err)
	}
}

// TestAnErasureBeginsThoughStrangersAddThePersonToManyOrgs: anyone can add a person to orgs. The check for the only admin must not read
// each of these orgs, or else the time of the request is over before the erasure begins.
func TestAnErasureBeginsThoughStrangersAddThePersonToManyOrgs(t *testing.T) {
	c := connect(t)
	bob := addMember(t, c.Table, c.org, c.ada, "bob@example.com", org.Admin)
	beginning := func() (batches int) {
		c.Faults.Plan("TransactWriteItems", storetest.Malformed, 1) // the erasure is cut short when it begins
		c.forgetCalls()
		if err := c.EraseUser(ctx, billing, bob); err == nil || c.Faults.Pending() {
			t.Fatal("the erasure was not cut short")
		}
		for _, call := range c.Faults.Calls() {
			if call == "BatchGetItem" {
				batches++
			}
		}
		return batches
	}
	before := beginning()
	for n := range 150 { // more than one batch of 100 rows reads
		c.putRow(t, dbRow{
			"PK": &types.AttributeValueMemberS{Value: "USER#" + string(bob)}, "SK": &types.AttributeValueMemberS{Value: fmt.Sprintf("ORG#org_%03d", n)},
			"role": &types.AttributeValueMemberS{Value: "viewer"}, "joinedAt": &types.AttributeValueMemberN{Value: "1"},
		})
	}
	if after := beginning(); after != before {
		t.Errorf("the beginning of the erasure reads %d batches, and %d without the orgs", after, before)
	}
	noError(t, c.EraseUser(ctx, billing, bob))
}

// TestAnErasureThatACutShortDeletionRefusesStopsNoOne: the org has another admin.
func TestAnErasureThatACutShortDeletionRefusesStopsNoOne(t *testing.T) {
	c := connect(t)
	bob, _, own := c.person(t) // Eve is an admin of own too
	c.letPass("TransactWriteItems")
	c.Faults.Before("TransactWriteItems", func() { c.Faults.Plan("TransactWriteItems", storetest.Malformed, -1) })
	if err := c.DeleteOrg(ctx, billing, own); err == nil {
		t.Error("the deletion was not cut short")
	}
	c.Faults.Heal()
	if e := problem.From(c.EraseUser(ctx, billing, bob)); e.Code != problem.LastAdmin || !slices.Equal(e.Orgs, []string{string(own)}) {
		t.Errorf("%+v", e)
	}
	if u, err := c.User(ctx, bob); err != nil || u.StoppedAt != 0 || u.Email != "bob@example.com" {
		t.Errorf("after the refusal: %+v, %v", u, err)
	}
}
