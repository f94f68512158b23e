package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/contract"
	"latchkey/infra/lab/backing"
	"latchkey/infra/local/stack"
	"latchkey/pkg/servicetest"
)

const (
	walkFile = "testdata/walk.txt" // UPDATE_WALK=1 writes it
	feedAge  = 11 * time.Second    // the list of events has all events older than 10 s
)

// walk writes down a series of requests, with their answers and their calls to AWS.
type walk struct {
	s     *stack.Stack
	tg    *target
	calls *walkCalls
	took  map[string]bool // the routes of the walk so far
	ids   map[string]int  // how many ids of each prefix have a number
	names map[string]string
	text  strings.Builder
}

// as is the sender of a request, with an access token, an API key or no credential.
type as struct{ name, bearer string }

var stranger = as{name: "stranger"}

// step sends a request and writes it down with its result. The values replace the braces of the
// route in turn. A query may follow the route.
func (w *walk) step(t *testing.T, by as, method, route, body string, values ...string) reply {
	t.Helper()
	pattern, _, _ := strings.Cut(route, "?")
	w.took[method+" "+pattern] = true
	path := route
	for _, v := range values {
		open, shut := strings.Index(path, "{"), strings.Index(path, "}")
		if open < 0 {
			break
		}
		path = path[:open] + v + path[shut+1:]
	}
	c := call{method: method, path: path, body: body, bearer: by.bearer}
	if method == http.MethodOptions {
		c.header = http.Header{"Origin": {consoleOrigin}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"content-type"}}
	}
	return w.send(t, by, c)
}

func (w *walk) send(t *testing.T, by as, c call) reply {
	t.Helper()
	r, err := w.tg.try(t.Context(), c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	fmt.Fprintf(&w.text, "%s: %s\n", by.name, w.masked(strings.TrimSpace(c.method+" "+c.path+" "+c.body)))
	fmt.Fprintf(&w.text, "  %d", r.status)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		switch name {
		case "Date", "Content-Length", "Etag", "X-Amz-Apigw-Id", "X-Amzn-Requestid":
		default:
			fmt.Fprintf(&w.text, " | %s: %s", name, w.masked(strings.Join(r.header[name], ", ")))
		}
	}
	w.text.WriteString("\n")
	if contract, err := contract.Text(); err == nil && r.text == string(contract) {
		r.text = "(infra/openapi.yaml)"
	}
	if r.text != "" {
		fmt.Fprintf(&w.text, "  %s\n", w.masked(strings.TrimSuffix(r.text, "\n")))
	}
	refused := c.method == http.MethodGet && (r.status == http.StatusForbidden || r.status == http.StatusNotFound)
	if refused { // a list's read beside the role may be answered now, in a moment, or never
		time.Sleep(200 * time.Millisecond)
	}
	for _, line := range w.calls.take() {
		if !refused || !strings.Contains(line, ": Query ") {
			fmt.Fprintf(&w.text, "  %s\n", line)
		}
	}
	return r
}

var (
	walkID    = regexp.MustCompile(`\b[a-z]{3}_[0-9a-z]{26}|"id":"[0-9A-Z]{26}"`)
	walkMasks = []struct {
		what *regexp.Regexp
		by   string
	}{
		{regexp.MustCompile(`\b1[0-9]{12}\b`), "<ms>"},
		{regexp.MustCompile(`-[0-9a-z]{8}-[0-9a-z]{6}@`), "@"},
		{regexp.MustCompile(`127\.0\.0\.1:[0-9]+`), "127.0.0.1"},
		{regexp.MustCompile(`("(?:key|prefix|keyPrefix|token|claimKey|nextCursor|cursor|kid|x|y)":)"[^"]+"`), `$1"<masked>"`},
		{regexp.MustCompile(`cursor=[^ &]+`), "cursor=<masked>"},
		{regexp.MustCompile(`("requestId":)"[^"]+"`), `$1"<masked>"`},
		{regexp.MustCompile(`("durationMs":)[0-9]+`), "$1<n>"},
		{regexp.MustCompile(`/webhook_verification_key/[\w-]{20,}`), "/webhook_verification_key/<kid>"},
		{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "<uuid>"},
	}
)

// masked replaces what differs from run to run. Ids become numbers in the order in which they appear.
func (w *walk) masked(text string) string {
	text = walkID.ReplaceAllStringFunc(text, func(id string) string {
		if w.names[id] == "" {
			prefix, _, _ := strings.Cut(strings.TrimPrefix(id, `"id":"`), "_")
			if strings.HasPrefix(id, `"`) {
				prefix = `"id":"entry`
			}
			w.ids[prefix]++
			w.names[id] = fmt.Sprint(prefix, "_", w.ids[prefix])
			if strings.HasPrefix(id, `"`) {
				w.names[id] += `"`
			}
		}
		return w.names[id]
	})
	for _, m := range walkMasks {
		text = m.what.ReplaceAllString(text, m.by)
	}
	return text
}

// settled waits until every event of an app is fanned out and none of its deliveries is pending.
func (w *walk) settled(t *testing.T, app string, endpoints ...string) {
	t.Helper()
	none := func(partition, filter string, values map[string]types.AttributeValue) bool {
		values[":pk"] = text(partition)
		in := &dynamodb.QueryInput{
			TableName: &w.s.TableName, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("PK = :pk"),
			FilterExpression: &filter, ExpressionAttributeValues: values,
		}
		if strings.Contains(filter, "#status") {
			in.ExpressionAttributeNames = map[string]string{"#status": "status"}
		}
		out, err := backing.NewDynamoDBClient(w.s.DataPlane.DynamoDB).Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out.Count == 0
	}
	within(t, "all delivered", func() bool {
		ok := none("EVTS#"+app, "attribute_not_exists(fannedAt)", map[string]types.AttributeValue{})
		for _, e := range endpoints {
			ok = ok && none("DLV#"+e, "#status = :pending", map[string]types.AttributeValue{":pending": text("pending")})
		}
		return ok
	})
}

// aWalk goes through every route, and compares the answers and the calls to AWS with walkFile.
func aWalk(t *testing.T, s *stack.Stack, tg *target) {
	w := &walk{s: s, tg: tg, calls: newWalkCalls(), took: map[string]bool{}, ids: map[string]int{}, names: map[string]string{}}
	s.Watch(w.calls.count)
	defer s.Watch(nil)
	ada, bob, eve := tg.person(t, "ada"), tg.person(t, "bob"), tg.person(t, "eve")
	server := w.servers(t, as{"eve", eve.token})
	done := time.Now()
	w.consoles(t, as{"ada", ada.token}, as{"bob", bob.token}, bob.email)
	w.strangers(t)
	time.Sleep(time.Until(done.Add(feedAge)))
	w.step(t, server, "POST", "/webhook_event/list", `{"limit":2}`)
	within(t, "quiet", w.calls.quiet)
	s.Watch(nil)
	w.text.WriteString("by events:\n")
	for _, line := range w.calls.rest() {
		fmt.Fprintf(&w.text, "  %s\n", line)
	}
	for _, err := range w.calls.failed {
		t.Error(err)
	}
	w.everyRoute(t)
	servicetest.Golden(t, walkFile, w.text.String(), os.Getenv("UPDATE_WALK") != "")
}

// consoles sends the requests of people.
func (w *walk) consoles(t *testing.T, ada, bob as, bobsEmail string) {
	t.Helper()
	w.step(t, ada, "GET", "/v1/orgs", "")
	first := call{method: "POST", path: "/v1/orgs", body: `{"name":"Acme"}`, bearer: ada.bearer, header: http.Header{"Idempotency-Key": {w.tg.run + strings.Repeat("k", 24)}}}
	w.took["POST /v1/orgs"] = true
	org := w.send(t, ada, first).str("id")
	w.send(t, ada, first)
	w.step(t, ada, "POST", "/v1/orgs", `{"name":""}`)
	w.step(t, ada, "POST", "/v1/orgs", `{"title":"Acme"}`)
	w.step(t, ada, "GET", "/v1/orgs", "")
	w.step(t, ada, "GET", "/v1/orgs?limit=1", "")
	w.step(t, ada, "GET", "/v1/orgs?limit=0", "")
	w.step(t, ada, "GET", "/v1/orgs/{orgId}", "", org)
	w.step(t, ada, "GET", "/v1/orgs/{orgId}?view=all", "", org)
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}", `{"name":"Acme Inc."}`, org)
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}", `{}`, org)

	w.step(t, ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"`+bobsEmail+`"}`, org)
	w.step(t, bob, "GET", "/v1/orgs", "")
	w.step(t, bob, "GET", "/v1/orgs/{orgId}", "", org)
	w.step(t, ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"`+bobsEmail+`","role":"viewer"}`, org)
	w.step(t, ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"`+bobsEmail+`","role":"viewer"}`, org)
	w.step(t, bob, "GET", "/v1/orgs", "")
	w.step(t, bob, "GET", "/v1/orgs/{orgId}/members", "", org)
	found := w.step(t, ada, "GET", "/v1/orgs/{orgId}/members", "", org).list("members")
	user := map[string]string{}
	for _, m := range found {
		user[fmt.Sprint(m["role"])] = fmt.Sprint(m["userId"])
	}
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/members/{userId}", `{"role":"member"}`, org, user["viewer"])
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/members/{userId}", `{"role":"member"}`, org, user["admin"])
	w.step(t, bob, "GET", "/v1/orgs/{orgId}/members", "", org)
	w.step(t, bob, "POST", "/v1/orgs/{orgId}/keys", `{}`, org)
	w.step(t, bob, "POST", "/v1/orgs/{orgId}/leave", `{}`, org)
	w.step(t, ada, "POST", "/v1/orgs/{orgId}/leave", `{}`, org)
	w.step(t, ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"`+bobsEmail+`"}`, org)
	w.step(t, ada, "DELETE", "/v1/orgs/{orgId}/members/{userId}", "", org, user["viewer"])
	w.step(t, ada, "DELETE", "/v1/orgs/{orgId}/members/{userId}", "", org, user["viewer"])

	app := w.step(t, ada, "POST", "/v1/orgs/{orgId}/apps", `{"name":"Second"}`, org).str("id")
	w.step(t, ada, "GET", "/v1/orgs/{orgId}/apps", "", org)
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/apps/{appId}", `{"name":"Other"}`, org, app)
	w.step(t, ada, "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "", org, app)
	key := w.step(t, ada, "POST", "/v1/orgs/{orgId}/keys", `{"name":"server","appId":"`+app+`","expiresIn":86400}`, org)
	old := as{"server", key.str("key")}
	w.step(t, old, "POST", "/app/get", `{}`)
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/keys/{keyId}", `{"scopes":["invoices:read","a"],"metadata":{"plan":"pro"}}`, org, key.str("id"))
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/keys/{keyId}", `{"scopes":["a","invoices:read"]}`, org, key.str("id"))
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/keys/{keyId}", `{"scopes":["a b"]}`, org, key.str("id"))
	rotated := w.step(t, ada, "POST", "/v1/orgs/{orgId}/keys/{keyId}/rotate", `{"graceSeconds":0}`, org, key.str("id"))
	w.step(t, old, "POST", "/app/get", `{}`)
	w.step(t, as{"server", rotated.str("key")}, "POST", "/app/get", `{}`)
	w.step(t, ada, "GET", "/v1/orgs/{orgId}/keys", "", org)
	w.step(t, ada, "DELETE", "/v1/orgs/{orgId}/keys/{keyId}", "", org, rotated.str("id"))
	w.step(t, ada, "DELETE", "/v1/orgs/{orgId}/keys/{keyId}", "", org, rotated.str("id"))
	w.step(t, ada, "POST", "/v1/orgs/{orgId}/keys/{keyId}/rotate", `{"graceSeconds":0}`, org, rotated.str("id"))
	w.step(t, ada, "PATCH", "/v1/orgs/{orgId}/keys/{keyId}", `{"scopes":[]}`, org, rotated.str("id"))

	page := w.step(t, ada, "GET", "/v1/orgs/{orgId}/audit?limit=3", "", org)
	w.step(t, ada, "GET", "/v1/orgs/{orgId}/audit?cursor="+page.str("nextCursor"), "", org)
	w.step(t, ada, "GET", "/v1/orgs/{orgId}/audit?cursor=x", "", org)
	w.step(t, ada, "DELETE", "/v1/orgs/{orgId}", "", org)
	w.step(t, ada, "GET", "/v1/orgs/{orgId}", "", org)
	w.step(t, as{"server", rotated.str("key")}, "POST", "/app/get", `{}`)
}

// servers sends the requests of an app's server.
func (w *walk) servers(t *testing.T, eve as) as {
	t.Helper()
	org := w.step(t, eve, "POST", "/v1/orgs", `{"name":"Beta"}`).str("id")
	key := w.step(t, eve, "POST", "/v1/orgs/{orgId}/keys", `{"name":"server"}`, org)
	server := as{"server", key.str("key")}
	second := w.step(t, eve, "POST", "/v1/orgs/{orgId}/keys", `{}`, org)
	post := func(route, body string) reply { t.Helper(); return w.step(t, server, "POST", route, body) }
	app, _ := post("/app/get", `{}`).body["app"].(members)
	appID := fmt.Sprint(app["id"])
	to := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) }))
	defer to.Close()
	w.settled(t, appID) // no endpoint gets the events of the keys
	all := post("/webhook_endpoint/create", `{"url":"`+to.URL+`/in","description":"all"}`).str("id")
	settled := func() { t.Helper(); w.settled(t, appID, all) }
	post("/webhook_endpoint/create", `{"url":"ftp://example.com"}`)
	spare := post("/webhook_endpoint/create", `{"url":"`+to.URL+`/in","events":["link.claimed"]}`).str("id")
	settled()
	post("/webhook_endpoint/update", `{"endpointId":"`+spare+`","enabled":false}`)
	settled()
	post("/webhook_endpoint/update", `{"endpointId":"`+spare+`","enabled":true,"description":"claims"}`)
	settled()
	w.step(t, eve, "PATCH", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", `{"enabled":false}`, org, appID, spare)
	settled()
	post("/webhook_endpoint/update", `{"endpointId":"`+spare+`","enabled":true}`)
	post("/webhook_endpoint/get", `{"endpointId":"`+spare+`"}`)
	post("/webhook_endpoint/list", `{"limit":1}`)
	w.step(t, eve, "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", "", org, appID)
	w.step(t, eve, "GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints?limit=1", "", org, appID)
	event := post("/webhook_endpoint/test", `{"endpointId":"`+all+`"}`).str("eventId")
	settled()

	link := post("/link/create", `{"clientUserId":"u-1","metadata":{"plan":"pro"}}`)
	w.step(t, stranger, "OPTIONS", "/link/claim", "")
	w.step(t, stranger, "POST", "/link/claim", newDevice().claims(link.str("token")).body)
	settled()
	w.step(t, stranger, "POST", "/link/claim", newDevice().claims(link.str("token")).body)
	post("/link/get", `{"linkId":"`+link.str("id")+`"}`)
	post("/link/revoke", `{"linkId":"`+link.str("id")+`"}`)
	other := post("/link/create", `{"clientUserId":"u-2","expiresIn":60}`)
	post("/link/revoke", `{"linkId":"`+other.str("id")+`"}`)
	settled()
	post("/link/list", `{}`)
	post("/link/list", `{"limit":1,"clientUserId":"u-2"}`)
	post("/link/get", `{"linkId":"lnk_x"}`)

	post("/webhook_event/get", `{"eventId":"`+event+`"}`)
	post("/webhook_delivery/list", `{"eventId":"`+event+`"}`)
	post("/webhook_delivery/list", `{"endpointId":"`+all+`","status":"delivered","limit":2}`)
	post("/webhook_delivery/list", `{}`)
	post("/webhook_delivery/redeliver", `{"endpointId":"`+all+`","eventId":"`+event+`"}`)
	settled()
	post("/webhook_delivery/redeliver", `{"endpointId":"`+all+`","since":1}`)
	post("/webhook_endpoint/delete", `{"endpointId":"`+spare+`"}`)
	settled()
	stolen := as{"second server", second.str("key")}
	w.step(t, stolen, "POST", "/webhook_endpoint/create", `{"url":"`+to.URL+`/thief","events":["link.claimed"]}`)
	settled()
	for range 2 {
		w.step(t, eve, "DELETE", "/v1/orgs/{orgId}/keys/{keyId}?endpoints=disable&links=revoke", "", org, second.str("id"))
		settled()
	}
	w.step(t, stolen, "POST", "/app/get", `{}`)
	w.step(t, eve, "POST", "/app/get", `{}`)
	w.step(t, server, "GET", "/v1/orgs", "")

	kid, _ := w.step(t, stranger, "GET", "/.well-known/jwks.json", "").list("keys")[0]["kid"].(string)
	w.step(t, stranger, "POST", "/webhook_verification_key/get", `{"kid":"`+kid+`"}`)
	w.step(t, stranger, "POST", "/webhook_verification_key/get", `{"kid":"x"}`)
	for _, method := range []string{"GET", "HEAD"} {
		w.step(t, stranger, method, "/webhook_verification_key/{kid}", "", kid)
	}
	return server
}

// strangers sends requests that have no credential.
func (w *walk) strangers(t *testing.T) {
	t.Helper()
	w.step(t, stranger, "HEAD", "/.well-known/jwks.json", "")
	for _, method := range []string{"GET", "HEAD"} {
		w.step(t, stranger, method, "/openapi.yaml", "")
	}
	w.step(t, stranger, "OPTIONS", "/webhook_verification_key/get", "")
	w.step(t, stranger, "GET", "/v1/orgs", "")
	w.step(t, stranger, "POST", "/app/get", `{}`)
	w.step(t, stranger, "GET", "/no/such/route", "")
	documented, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(documented.Document().Paths.Map())) {
		if strings.HasPrefix(path, "/v1/") {
			w.step(t, stranger, "OPTIONS", path, "", "o", "a", "e")
		}
	}
}

// everyRoute fails the test unless the walk has taken every documented route.
func (w *walk) everyRoute(t *testing.T) {
	t.Helper()
	documented, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range documented.Document().Paths.Map() {
		for method := range item.Operations() {
			if !w.took[method+" "+path] {
				t.Errorf("the walk does not take %s %s", method, path)
			}
		}
	}
}
