package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// setRole changes a member's role directly in the table. The role "" removes the member.
func (w *world) setRole(t *testing.T, u id.User, to org.Role) {
	t.Helper()
	for _, k := range [][2]string{{"ORG#" + string(w.org), "MEM#" + string(u)}, {"USER#" + string(u), "ORG#" + string(w.org)}} {
		key := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: k[0]}, "SK": &types.AttributeValueMemberS{Value: k[1]}}
		var err error
		if to == "" {
			_, err = w.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.Name, Key: key})
		} else {
			update := "SET #role = :to, joinedAt = if_not_exists(joinedAt, :joined)"
			_, err = w.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &w.Name, Key: key, UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#role": "role"},
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":to": &types.AttributeValueMemberS{Value: string(to)}, ":joined": &types.AttributeValueMemberN{Value: "1"},
				},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// dump returns every row of the table as JSON, by key.
func (s *server) dump(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range s.Rows(t) {
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		out[text(row, "PK")+" "+text(row, "SK")] = string(b)
	}
	return out
}

// text returns a text of a row, "" when the row has no such text.
func text(row map[string]types.AttributeValue, name string) string {
	v, _ := row[name].(*types.AttributeValueMemberS)
	if v == nil {
		return ""
	}
	return v.Value
}

// changed lists the keys of the rows that are new, gone or different.
func changed(before, after map[string]string) (keys []string) {
	for k, row := range after {
		if before[k] != row {
			keys = append(keys, k)
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// demotions returns the roles with which a caller may not use a route. "" means no membership.
func demotions(r route.Route) (roles []org.Role) {
	for _, role := range append(org.AllRoles(), "") {
		if !slices.Contains(r.May.List(), role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// TestCallerDemotedBeforeTheTransactionWritesNothing calls every write that needs a role. The caller loses the role between the
// reads and the transaction.
func TestCallerDemotedBeforeTheTransactionWritesNothing(t *testing.T) {
	s := newServer(t)
	s.NewUser(t, "spare@example.com")
	w := newWorld(t, s, "")
	w.connect(t)
	target, cases := w.target, 0
	for _, r := range route.All() {
		if r.May == route.NoOrg || r.May == route.ServicesOnly || r.Method == http.MethodGet {
			continue
		}
		targets := []id.User{target}
		if strings.Contains(r.Pattern, "{userId}") {
			targets = append(targets, w.byRole[org.Admin]) // the caller themselves
		}
		for _, to := range demotions(r) {
			for _, u := range targets {
				w.target = u
				w.callWhileDemoted(t, r, to)
				cases++
			}
		}
	}
	if cases < 10 { // otherwise the loop has skipped nearly all routes
		t.Errorf("%d cases", cases)
	}
}

// callWhileDemoted calls a route as an admin whose role changes right before the transaction. At the end the
// caller is an admin again.
func (w *world) callWhileDemoted(t *testing.T, r route.Route, to org.Role) {
	t.Helper()
	caller := w.byRole[org.Admin]
	what := fmt.Sprintf("%s of %s by %s, now %q", r.Name(), w.target, caller, to)
	tested, ok := good()[r.Name()]
	if !ok {
		t.Fatalf("%s: the route has no row in the matrix", what)
	}
	want := outcome{http.StatusForbidden, problem.InsufficientRole}
	if to == "" {
		want = outcome{http.StatusNotFound, problem.OrgNotFound}
	}
	var before map[string]string
	w.Faults.Before("TransactWriteItems", func() {
		w.setRole(t, caller, to)
		before = w.dump(t)
	})
	out := w.do(t, w.request(r.Method, r.Pattern, user(caller), tested.body))
	if w.Faults.Pending() {
		t.Fatalf("%s: no transaction", what)
	}
	if out.status != want.status || out.code() != string(want.code) {
		t.Errorf("%s: %d %s, want %d %s", what, out.status, out.code(), want.status, want.code)
	}
	if rows := changed(before, w.dump(t)); len(rows) > 0 {
		t.Fatalf("%s: changed %v", what, rows)
	}
	w.setRole(t, caller, org.Admin)
}
