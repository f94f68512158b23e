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

// size counts the rows of the table by kind; events, deliveries and audit entries also by type. It adds up each counter, and
// the active keys ("live"), of all rows.
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

// growth returns the differences between two sizes.
func growth(before, after map[string]int) map[string]int {
	out := map[string]int{}
	for kind, n := range after {
		if n != before[kind] {
			out[kind] = n - before[kind]
		}
	}
	return out
}

// creation is a route that creates something, and a world in which each limit allows one more item.
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

// create sends the request with an Idempotency-Key; "": without one.
func (c *creation) create(t *testing.T, idempotencyKey string, status int, code problem.Code) reply {
	t.Helper()
	r := c.request(c.route.Method, c.route.Pattern, c.as, c.body)
	if idempotencyKey != "" {
		r.header = map[string]string{"Idempotency-Key": idempotencyKey}
	}
	return c.want(t, r, status, code)
}

// checkStored checks that the table has the item, and the hash of the secret, that an answer shows.
func (c *creation) checkStored(t *testing.T, r reply) {
	t.Helper()
	made, secret := r.str("id"), r.str("key")+r.str("token")
	if made == "" {
		return // the answer for a new member has only "ok"
	}
	hash := sha256.Sum256([]byte(secret))
	for _, row := range c.Rows(t) {
		hashed, _ := row["hash"].(*types.AttributeValueMemberB)
		named := strings.HasSuffix(text(row, "SK"), "#"+made) || text(row, "PK") == "ORG#"+made
		if named && (secret == "" || hashed != nil && string(hashed.Value) == string(hash[:])) {
			return
		}
	}
	t.Errorf("no row has the item of the answer: %s", r.text)
}

// TestACreateWithALostAnswerSucceeds creates one item on every route, the last that its limit allows. The answer of the write
// is lost, and DynamoDB does not recognise the repeated transaction. The caller still gets the answer, and only one item was
// created.
func TestACreateWithALostAnswerSucceeds(t *testing.T) {
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
				newCreation(t, route, r.body).createWithFault(t, fault, "", r.status, want)
			}
			want["IDEM META"]++ // the record of the Idempotency-Key
			for _, fault := range []storetest.Fault{storetest.Forgotten, storetest.Late} {
				newCreation(t, route, r.body).createWithFault(t, fault, "6f2d9b0c-1111-4222-8333-444455556666", r.status, want)
			}
		})
	}
	if creates != 8 {
		t.Errorf("%d routes create, want 8", creates)
	}
}

// planFault makes the write of a creation fail. The write is a transaction. Only a link without an Idempotency-Key is written
// by an update.
func (c *creation) planFault(fault storetest.Fault, key string) {
	inOneWrite := c.route.Name() == "POST /link/create" && key == ""
	if !inOneWrite {
		c.Faults.Plan("TransactWriteItems", fault, 1)
		return
	}
	for range 2 { // the first two updates charge the app and its org
		c.Faults.Before("UpdateItem", func() {})
	}
	c.Faults.Before("UpdateItem", func() { c.Faults.Plan("UpdateItem", fault, 1) })
}

// createWithFault creates an item while its write fails, and repeats a request with an Idempotency-Key. grown is the expected
// growth of the table.
func (c *creation) createWithFault(t *testing.T, fault storetest.Fault, key string, status int, grown map[string]int) {
	t.Helper()
	before := c.size(t)
	c.planFault(fault, key)
	made := c.create(t, key, status, "")
	if c.Faults.Pending() {
		t.Fatalf("%s did not occur", fault)
	}
	if got := growth(before, c.size(t)); !maps.Equal(got, grown) {
		t.Errorf("%s, key %q: the table grew by %v, want %v", fault, key, got, grown)
	}
	c.checkStored(t, made)
	if made.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%s: the first answer is marked as a replay", fault)
	}
	if key == "" {
		return
	}
	again := c.create(t, key, status, "")
	if again.text != made.text || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s: the replay is %s, want %s", fault, again.text, made.text)
	}
}

// TestACreateAtTheLimitIsRefused: with limits that are lower by one, the creations of the test above are refused. So that test
// uses the last place of each limit.
func TestACreateAtTheLimitIsRefused(t *testing.T) {
	for _, route := range route.All() {
		switch route.Name() {
		case "POST /v1/orgs", "POST /v1/orgs/{orgId}/members", "POST /v1/orgs/{orgId}/keys", "POST /v1/orgs/{orgId}/apps", "POST /webhook_endpoint/create":
			c := newCreation(t, route, good()[route.Name()].body)
			c.Limits = store.Limits{ActiveKeys: 1, Apps: 1, Members: 1, OrgsCreated: 1, Endpoints: 1, Budget: store.DefaultLimits().Budget, OrgBudget: store.DefaultLimits().OrgBudget}
			c.create(t, "", http.StatusConflict, problem.LimitReached)
		}
	}
}
