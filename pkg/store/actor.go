package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// Actor is a user, and the roles of which the user needs one. The roles come from the table of
// routes. The membership's row decides whether the user has one of them.
type Actor struct {
	User id.User
	May  []org.Role
}

// admit checks that a membership's row, which was read before, has one of the roles. Errors:
// org_not_found when there is no row, insufficient_role.
func (a Actor) admit(membership item) error {
	if membership == nil {
		return errOrgNotFound()
	}
	if !slices.Contains(a.May, org.Role(membership.str(attrRole))) {
		return problem.New(problem.InsufficientRole, "Your role in this org does not allow this.")
	}
	return nil
}

// admitTo is admit for a change of something in an org, whose row was read too. An org that is
// deleted, or being deleted, takes no change: org_not_found.
func (a Actor) admitTo(membership, meta item) error {
	if err := a.admit(membership); err != nil {
		return err
	}
	if orgGone(meta) {
		return errOrgNotFound()
	}
	return nil
}

// admit adds the check of Actor.admit to a transaction, so that the moment of the write decides.
func (t *txn) admit(table *string, a Actor, o id.Org) {
	when, values := a.condition()
	t.check(table, memberKey(o, a.User), expr{
		when: when, names: map[string]string{"#role": attrRole}, values: values,
	}, a.admit)
}

// condition returns "#role IN (…)" with the roles, and the values of the condition.
func (a Actor) condition() (string, item) {
	values := item{}
	names := make([]string, len(a.May))
	for i, r := range a.May {
		names[i] = ":may" + strconv.Itoa(i)
		values[names[i]] = str(string(r))
	}
	return "#role IN (" + strings.Join(names, ", ") + ")", values
}

func errOrgNotFound() error {
	return problem.New(problem.OrgNotFound, "There is no such org, or you are not a member of it.")
}

// newestFirst compares by time, the later one first. Equal times are ordered by id, so that a list
// is the same each time.
func newestFirst(at, bt int64, a, b string) int {
	return cmp.Or(cmp.Compare(bt, at), cmp.Compare(b, a))
}

func emptyMap() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
}
