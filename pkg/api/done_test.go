package api_test

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// size counts the table's rows by kind. It also counts events, deliveries and audit entries by type. It adds up every
// counter, and the active keys ("live") of all orgs.
func (s *server) size(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, row := range s.Rows(t) {
		pk, _, _ := strings.Cut(text(row, "PK"), "#")
		sk, _, _ := strings.Cut(text(row, "SK"), "#")
		if pk == "DIR" {
			sk = ""
		}
		if pk == "EVTS" || pk == "AUD" || pk == "DLV" {
			sk = text(row, "type") + text(row, "action")
		}
		out[pk+" "+sk]++
		for _, counter := range []string{"admins", "members", "apps", "orgsCreated", "count"} {
			if n, ok := row[counter].(*types.AttributeValueMemberN); ok {
				i, _ := strconv.Atoi(n.Value)
				out[counter] += i
			}
		}
		if live, ok := row["live"].(*types.AttributeValueMemberM); ok {
			out["live"] += len(live.Value)
		}
	}
	return out
}

// growth returns the difference of two sizes.
func growth(before, after map[string]int) map[string]int {
	out := map[string]int{}
	for kind, n := range after {
		if n != before[kind] {
			out[kind] = n - before[kind]
		}
	}
	return out
}

// creation is a world in which exactly one more of everything may be created, and a route that creates something.
type creation struct {
	*world
	route route.Route
	body  string
	as    *principal.Principal
}

func newCreation(t *testing.T, route route.Route, body string) *creation {
	t.Helper()
	s := newServer(t)
	s.NewUser(t, "spare@example.com")
	ada := s.NewUser(t, "ada@example.com")
	w := &world{server: s, org: s.NewOrg(t, ada), byRole: map[org.Role]id.User{org.Admin: ada}}
	w.key = id.Key(s.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", user(ada), `{}`), 201, "").str("id"))
	c := &creation{world: w, route: route, body: body, as: user(ada)}
	if route.Takes == principal.APIKey {
		c.connect(t)
		c.as = c.caller("key")
	}
	s.Limits = store.Limits{ActiveKeys: 2, Apps: 2, Members: 2, OrgsCreated: 2, Endpoints: 2, Budget: store.DefaultLimits().Budget, OrgBudget: store.DefaultLimits().OrgBudget}
	return c
}

// create sends the creation with an Idempotency-Key or, when it is "", without.
func (c *creation) create(t *testing.T, idempotencyKey string, status int, code problem.Code) reply {
	t.Helper()
	r := c.request(c.route.Method, c.route.Pattern, c.as, c.body)
	if idempotencyKey != "" {
		r.header = map[string]string{"Idempotency-Key": idempotencyKey}
	}
	return c.want(t, r, status, code)
}

// holds fails unless the table has what the answer of a creation shows.
func (c *creation) holds(t *testing.T, r reply) {
	t.Helper()
	made, secret := r.str("id"), r.str("key")+r.str("token")
	if made == "" {
		return // the answer of a new member holds only "ok"
	}
	hash := sha256.Sum256([]byte(secret))
	for _, row := range c.Rows(t) {
		kept, _ := row["hash"].(*types.AttributeValueMemberB)
		named := strings.HasSuffix(text(row, "SK"), "#"+made) || text(row, "PK") == "ORG#"+made
		if named && (secret == "" || kept != nil && string(kept.Value) == string(hash[:])) {
			return
		}
	}
	t.Errorf("no row holds what was answered: %s", r.text)
}

// TestACreateThatWasDoneAnswersSo creates one of everything, on the last free place of its
// limit. The answer of the write is lost, and the database does not recognise a
// transaction again: the caller still gets the answer, and only one was created.
func TestACreateThatWasDoneAnswersSo(t *testing.T) {
	creates := 0
	for _, route := range route.All() {
		r := good()[route.Name()]
		if r.status != http.StatusCreated {
			continue
		}
		creates++
		t.Run(route.Name(), func(t *testing.T) {
			t.Parallel()
			c := newCreation(t, route, r.body)
			before := c.size(t)
			c.create(t, "", r.status, "")
			want := growth(before, c.size(t)) // without a fault
			for _, fault := range []storetest.Fault{storetest.Forgotten, storetest.Late} {
				newCreation(t, route, r.body).done(t, fault, "", r.status, want)
			}
			want["IDEM META"]++ // the record of the Idempotency-Key
			for _, fault := range []storetest.Fault{storetest.Forgotten, storetest.Late} {
				newCreation(t, route, r.body).done(t, fault, "6f2d9b0c-1111-4222-8333-444455556666", r.status, want)
			}
		})
	}
	if creates != 8 {
		t.Errorf("%d routes create, want 8", creates)
	}
}

// hits makes a fault hit a write of the creation: its transaction or, for a link without an
// Idempotency-Key, which needs no transaction, the update that writes it.
func (c *creation) hits(fault storetest.Fault, key string) {
	inOneWrite := c.route.Name() == "POST /link/create" && key == ""
	if !inOneWrite {
		c.Faults.Plan("TransactWriteItems", fault, 1)
		return
	}
	for range 2 { // the app and its org are charged
		c.Faults.Before("UpdateItem", func() {})
	}
	c.Faults.Before("UpdateItem", func() { c.Faults.Plan("UpdateItem", fault, 1) })
}

// done makes a creation while a fault hits its write, and repeats it when it has an Idempotency-Key. grown is the
// expected growth of the table.
func (c *creation) done(t *testing.T, fault storetest.Fault, key string, status int, grown map[string]int) {
	t.Helper()
	before := c.size(t)
	c.hits(fault, key)
	made := c.create(t, key, status, "")
	if c.Faults.Pending() {
		t.Fatalf("%s did not occur", fault)
	}
	if got := growth(before, c.size(t)); !maps.Equal(got, grown) {
		t.Errorf("%s, key %q: the table grew by %v, want %v", fault, key, got, grown)
	}
	c.holds(t, made)
	if made.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%s: the first answer is said to be a replay", fault)
	}
	if key == "" {
		return
	}
	again := c.create(t, key, status, "")
	if again.text != made.text || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s: the replay is %s, want %s", fault, again.text, made.text)
	}
}

// TestTheLastFreePlaceIsTheLast shows that the creations above take the last free place of their
// limits.
func TestTheLastFreePlaceIsTheLast(t *testing.T) {
	for _, route := range route.All() {
		switch route.Name() {
		case "POST /v1/orgs", "POST /v1/orgs/{orgId}/members", "POST /v1/orgs/{orgId}/keys", "POST /v1/orgs/{orgId}/apps", "POST /webhook_endpoint/create":
			c := newCreation(t, route, good()[route.Name()].body)
			c.Limits = store.Limits{ActiveKeys: 1, Apps: 1, Members: 1, OrgsCreated: 1, Endpoints: 1, Budget: store.DefaultLimits().Budget, OrgBudget: store.DefaultLimits().OrgBudget}
			c.create(t, "", http.StatusConflict, problem.LimitReached)
		}
	}
}
