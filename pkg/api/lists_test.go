package api_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/parallel"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// mostInLambda is the largest answer, in bytes, as Lambda counts it. AWS refuses 6 MB.
const mostInLambda = 4 << 20

// item is a row of the table in the form of the SDK.
type item = map[string]types.AttributeValue

func value(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// putRows writes rows.
func (w *world) putRows(t *testing.T, rows []item) {
	t.Helper()
	batches := slices.Collect(slices.Chunk(rows, 25)) // DynamoDB accepts 25 rows in a batch
	errs := parallel.Each(8, batches, func(_ int, batch []item) error {
		var puts []types.WriteRequest
		for _, row := range batch {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})
		}
		_, err := w.DB.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{w.Name: puts}})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// copyRow writes n copies of a row, each with the key of keyOf, and with the changed attributes.
func (w *world) copyRow(t *testing.T, pk, sk string, n int, changed item, keyOf func(i int) (pk, sk string)) {
	t.Helper()
	found, err := w.DB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &w.Name, ConsistentRead: aws.Bool(true), Key: item{"PK": value(pk), "SK": value(sk)}})
	if err != nil || found.Item == nil {
		t.Fatal(pk, sk, err)
	}
	delete(found.Item, "due")
	delete(found.Item, "dueAt")
	maps.Copy(found.Item, changed)
	rows := make([]item, n)
	for i := range rows {
		rows[i] = maps.Clone(found.Item)
		pk, sk := keyOf(i)
		rows[i]["PK"], rows[i]["SK"] = value(pk), value(sk)
	}
	w.putRows(t, rows)
}

// copyInPartition writes n copies of a row into its partition.
func (w *world) copyInPartition(t *testing.T, pk, prefix, sk string, n int, newID func() string) {
	t.Helper()
	w.copyRow(t, pk, prefix+sk, n, nil, func(int) (string, string) { return pk, prefix + newID() })
}

// jsonOf returns compact JSON.
func jsonOf(v any) string {
	out, err := plainjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// metadata returns the largest metadata that has at most most bytes as JSON. It repeats one character.
func metadata(c string, most int) map[string]string {
	return map[string]string{"m": strings.Repeat(c, (most-len(`{"m":""}`))/(len(jsonOf(c))-2))} // without the quotes
}

// sizeInLambda returns the number of bytes that a function passes to the gateway for an answer.
func sizeInLambda(r reply) int {
	return len(jsonOf(map[string]any{"statusCode": r.status, "multiValueHeaders": r.header, "body": r.text, "isBase64Encoded": false}))
}

// largestRows is a world whose lists have the largest rows possible. Their texts repeat one character.
type largestRows struct {
	*world
	c         string    // the character that the texts repeat
	rotated   id.Key    // the key that replaced the world's key
	delivered [2]string // the endpoint and the event of a delivery
}

// name returns the longest name.
func (l largestRows) name() string { return strings.Repeat(l.c, 100) }

// newLargestRows creates one row of each kind, as large as the routes accept.
func newLargestRows(t *testing.T, c string) *largestRows {
	t.Helper()
	l := &largestRows{world: newPeople(t), c: c}
	l.delivered = [2]string{l.endpoint, l.event}
	ada, key := user(l.byRole[org.Admin]), l.caller("key")
	var scopes []string
	for i := range 32 {
		scopes = append(scopes, fmt.Sprintf("%064d", i))
	}
	limits := []map[string]any{{"requests": 999_999_999, "per": "minute"}, {"requests": 999_999_999, "per": "hour"}, {"requests": 999_999_999, "per": "month"}}
	carried := func(last string) map[string]any { // last makes the metadata of two requests differ
		m := metadata(l.c, 1000)
		m["n"] = last
		return map[string]any{"name": l.name(), "scopes": scopes, "metadata": m, "limits": limits, "ceilings": limits}
	}
	l.key = id.Key(l.want(t, l.request("POST", "/v1/orgs/{orgId}/keys", service(), jsonOf(carried("a"))), 201, "").str("id"))
	scopes[0] = strings.Repeat("a", 64)
	limits[0]["requests"] = 999_999_998
	l.want(t, l.request("PATCH", "/v1/orgs/{orgId}/keys/{keyId}", service(), jsonOf(carried("b"))), 200, "")
	l.rotated = id.Key(l.want(t, l.request("POST", "/v1/orgs/{orgId}/keys/{keyId}/rotate", ada, `{"graceSeconds":604800}`), 201, "").str("id"))
	l.want(t, l.request("PATCH", "/v1/orgs/{orgId}", ada, jsonOf(map[string]any{"name": l.name()})), 200, "")
	l.want(t, l.request("POST", "/v1/orgs/{orgId}/apps", ada, jsonOf(map[string]any{"name": l.name()})), 201, "")

	made := l.want(t, l.request("POST", "/link/create", key, jsonOf(map[string]any{
		"clientUserId": strings.Repeat(l.c, 128), "metadata": metadata(l.c, 2048),
	})), 201, "")
	l.link = made.str("id")
	l.want(t, request{method: "POST", path: "/link/claim", body: jsonOf(map[string]any{
		"token": made.str("token"), "claimKey": strings.Repeat("k", 64), "device": map[string]any{"name": l.name(), "platform": l.name()},
	})}, 200, "")

	var filters []string
	for i := range 50 {
		filters = append(filters, fmt.Sprintf("a.%062d", i))
	}
	l.endpoint = l.want(t, l.request("POST", "/webhook_endpoint/create", key, jsonOf(map[string]any{
		"url": "https://hooks.example.com/" + strings.Repeat("a", 2048-26), "events": filters, "description": strings.Repeat(l.c, 200),
	})), 201, "").str("id")
	l.event = l.want(t, l.request("POST", "/v1/orgs/{orgId}/apps/{appId}/events", service(), jsonOf(map[string]any{
		"events": []any{map[string]any{"type": fmt.Sprintf("a.%062d", 0), "data": metadata(l.c, 8192)}},
	})), 202, "").each("events", "id")[0]
	return l
}

// fill writes the most rows that an org may have. Of kinds without a bound it writes more rows than one answer can have. It
// returns the number of items of each list.
func (l *largestRows) fill(t *testing.T, orgs, keys int) map[string]int {
	t.Helper()
	const members, many = 500, 120
	ids, o, a, now := id.Source{}, string(l.org), string(id.DefaultApp(l.org)), l.Now()
	at := func(i int) time.Time { return now.Add(-time.Duration(i) * time.Hour) }
	widest := l.widest(t)
	ada, member := string(l.byRole[org.Admin]), string(l.byRole[org.Member])

	profile := item{"name": value(l.name()), "email": value(strings.Repeat("e", 242) + "@example.com")}
	l.copyRow(t, "USER#"+ada, "META", 1, profile, func(int) (string, string) { return "USER#" + ada, "META" })
	l.copyRow(t, "USER#"+member, "META", 1, profile, func(int) (string, string) { return "USER#" + member, "META" })
	var made []string
	for range orgs {
		made = append(made, string(ids.NewOrg()))
	}
	l.copyRow(t, "ORG#"+o, "META", orgs, nil, func(i int) (string, string) { return "ORG#" + made[i], "META" })
	l.putRows(t, directory(made))
	l.copyRow(t, "USER#"+member, "ORG#"+o, orgs, nil, func(i int) (string, string) { return "USER#" + member, "ORG#" + made[i] })
	var users []string
	for range members - 4 { // newWorld makes four: one of each role, and the target
		users = append(users, string(ids.NewUser()))
	}
	l.copyRow(t, "USER#"+ada, "META", len(users), nil, func(i int) (string, string) { return "USER#" + users[i], "META" })
	l.copyRow(t, "ORG#"+o, "MEM#"+member, len(users), nil, func(i int) (string, string) { return "ORG#" + o, "MEM#" + users[i] })
	l.copyInPartition(t, "ORG#"+o, "APP#", a, 18, func() string { return string(ids.NewApp(now)) })
	l.copyInPartition(t, "KEYS#"+o, "KEY#", string(l.key), keys, func() string { return string(ids.NewKey(now)) })
	l.copyInPartition(t, "KEYS#"+o, "KEY#", string(l.rotated), keys, func() string { return string(ids.NewKey(now)) })
	l.copyInPartition(t, "LINKS#"+a, "LINK#", l.link, many, func() string { return string(ids.NewLink(now)) })
	l.copyInPartition(t, "HOOKS#"+a, "HOOK#", l.endpoint, 18, func() string { return string(ids.NewEndpoint(now)) })
	l.copyRow(t, "EVTS#"+a, l.event, many, nil, func(i int) (string, string) { return "EVTS#" + a, string(ids.NewEvent(at(i + 1))) })
	l.copyInPartition(t, "AUD#"+o, "", widest, many, func() string { return string(ids.NewAudit(now)) })
	body := strings.Repeat(l.c, 1024/len(l.c))
	attempt := map[string]any{"id": strings.Repeat("i", 30), "at": now.UnixMilli(), "status": 500, "durationMs": 10000, "error": "address_blocked", "body": body}
	earlier := map[string]any{"at": now.UnixMilli(), "status": 500, "durationMs": 10000, "error": "address_blocked", "body": body[:128/len(l.c)*len(l.c)]}
	l.copyRow(t, "DLV#"+l.delivered[0], l.delivered[1], many, item{
		"last": value(jsonOf(attempt)), "earlier": value(jsonOf([]any{earlier, earlier, earlier, earlier})),
	}, func(i int) (string, string) { return "DLV#" + l.delivered[0], string(ids.NewEvent(at(i))) })
	var usage, days []item
	for i := range 420 {
		usage = append(usage, item{"PK": value("USAGE#" + o), "SK": value(fmt.Sprintf("2020-10-%02d#key_%026d", 1+i/14, i)), "leased": &types.AttributeValueMemberN{Value: "999999999999"}})
	}
	for i := range 400 {
		days = append(days, item{"PK": value("USAGE#" + o), "SK": value(time.Now().AddDate(0, 0, -i).UTC().Format(time.DateOnly) + "#" + string(l.key)), "leased": &types.AttributeValueMemberN{Value: "999999999999"}})
	}
	l.putRows(t, append(usage, days...))
	return map[string]int{
		"listOrgs": orgs + 1, "listUsage": orgs + 2, "listMembers": members, "listApps": 20, "listKeys": 2*keys + 3, "listAppLinks": many + 2, "listLinks": many + 2,
		"listAppWebhookEndpoints": 20, "listWebhookEndpoints": 20, "getUsage": len(usage), "getKeyUsage": len(days),
		"listAppWebhookDeliveries": many + 1, "listWebhookDeliveries": many + 1,
	}
}

// widest returns the audit entry with the most bytes.
func (l *largestRows) widest(t *testing.T) (entry string) {
	t.Helper()
	size := 0
	for _, r := range l.Rows(t) {
		if n := len(text(r, "changes")); text(r, "PK") == "AUD#"+string(l.org) && n > size {
			entry, size = text(r, "SK"), n
		}
	}
	return entry
}

// isList reports whether a route answers with a list that can grow.
func isList(r route.Route) bool {
	return strings.HasPrefix(r.Operation, "list") || slices.Contains(r.Query, "limit") || strings.HasSuffix(r.Operation, "Usage")
}

// TestListsOfTheLargestRowsFitIntoAnswers reads every list to its end, as a whole and in the largest pages.
func TestListsOfTheLargestRowsFitIntoAnswers(t *testing.T) {
	l := newLargestRows(t, `"`) // JSON escapes the quote, and the answer to the gateway escapes it again
	l.readEach(t, l.fill(t, 3400, 640))
}

// TestAnswersHaveNoHTMLEscapes: the bounds of rows count one byte for a <.
func TestAnswersHaveNoHTMLEscapes(t *testing.T) {
	l := newLargestRows(t, "<")
	l.readEach(t, l.fill(t, 120, 120))
}

// readEach reads every list, and checks its number of items.
func (l *largestRows) readEach(t *testing.T, items map[string]int) {
	t.Helper()
	for _, r := range route.All() {
		if !isList(r) {
			continue
		}
		for _, limit := range []int{0, 100} {
			got := l.readAll(t, r, limit, "")
			if want, ok := items[r.Operation]; ok && got != want || got < 20 {
				t.Errorf("%s by %d: %d items, want %d", r.Name(), limit, got, want)
			}
		}
	}
	listKeys := route.Route{Operation: "listKeys", Method: "GET", Pattern: "/v1/orgs/{orgId}/keys", Takes: principal.UserToken}
	if got := l.readAll(t, listKeys, 0, "&createdBy="+string(l.byRole[org.Admin])); got != items["listKeys"]/2+1 { // a service created the others
		t.Errorf("%d keys that the admin created", got)
	}
}

// TestTheListOfOrgsIsComplete, also when the user has more rows of orgs than the 1,000 that one query reads. The newest org
// comes first.
func TestTheListOfOrgsIsComplete(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := w.byRole[org.Admin]
	var rows []item
	for i := range 1100 { // of orgs that no longer exist; their ids sort before the ids of real orgs
		rows = append(rows, item{"PK": value("USER#" + string(ada)), "SK": value(fmt.Sprintf("ORG#org_%026d", i)), "role": value("viewer")})
	}
	w.putRows(t, rows)
	want := []string{string(w.org)}
	for range 9 {
		made := w.want(t, request{as: user(ada), method: "POST", path: "/v1/orgs", body: `{"name":"x"}`}, 201, "")
		want = append([]string{made.str("id")}, want...)
		time.Sleep(2 * time.Millisecond) // so that the times differ
	}
	out := w.want(t, request{as: user(ada), method: "GET", path: "/v1/orgs"}, 200, "")
	same(t, "orgs", out.each("orgs", "id"), want)
	if out.str("nextCursor") != "" {
		t.Errorf("the list has a cursor: %s", out.text)
	}
}

// slowQueries is a transport that delays each query.
type slowQueries struct {
	next http.RoundTripper
	by   time.Duration
}

func (q slowQueries) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
		time.Sleep(q.by)
	}
	return q.next.RoundTrip(r)
}

// TestAListFromASlowTableEndsInTime: the list needs three queries, but after two of them four seconds are over.
func TestAListFromASlowTableEndsInTime(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada, o, now := string(w.byRole[org.Admin]), string(w.org), time.Now()
	var rows []item
	for i := range 2100 {
		rows = append(rows, item{"PK": value("USER#" + ada), "SK": value(fmt.Sprintf("ORG#org_%026d", i)), "role": value("viewer")})
	}
	w.putRows(t, rows)
	w.copyRow(t, "KEYS#"+o, "KEY#"+string(w.key), 2100, nil, func(int) (string, string) {
		return "KEYS#" + o, "KEY#" + string(id.Source{}.NewKey(now))
	})
	w.Faults.Next = slowQueries{w.Faults.Next, 2100 * time.Millisecond}
	for _, path := range []string{"/v1/orgs", "/v1/orgs/" + o + "/keys?createdBy=" + string(w.target)} {
		if first := w.want(t, request{as: user(id.User(ada)), method: "GET", path: path}, 200, ""); first.str("nextCursor") == "" {
			t.Errorf("%s was read to its end: %s", path, first.text)
		}
	}
}

// TestTheUsageOfAllOrgsEndsInTime: on a slow table, a page takes three seconds for the list of orgs, and would take two more for the
// usage of 100 orgs. As CSV the request is refused, because the table would not have all orgs.
func TestTheUsageOfAllOrgsEndsInTime(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	var made []string
	for range 110 {
		made = append(made, string(id.Source{}.NewOrg()))
	}
	w.copyRow(t, "ORG#"+string(w.org), "META", len(made), nil, func(i int) (string, string) { return "ORG#" + made[i], "META" })
	w.putRows(t, directory(made))
	if all := w.want(t, request{as: service(), method: "GET", path: "/v1/orgs"}, 200, ""); len(all.list("orgs")) != 112 || all.str("nextCursor") != "" {
		t.Errorf("%d orgs, %q", len(all.list("orgs")), all.str("nextCursor"))
	}
	w.Faults.Next = slowQueries{w.Faults.Next, 160 * time.Millisecond}
	first := w.want(t, request{as: service(), method: "GET", path: "/v1/usage"}, 200, "")
	if n := len(first.list("usage")); n < 1 || n > 60 || first.str("nextCursor") == "" { // 8 at once for a second
		t.Errorf("%d orgs, %q", n, first.str("nextCursor"))
	}
	refused := w.want(t, request{as: service(), method: "GET", path: "/v1/usage", header: map[string]string{"Accept": "text/csv"}}, 422, problem.ValidationFailed)
	if !strings.Contains(refused.text, "The use of all orgs is too much for one table. Read the orgs as JSON in pages, which have no limit.") {
		t.Errorf("%s", refused.text) // the number of orgs that were read depends on the time
	}
}

// directory returns the rows of the directory for these orgs.
func directory(orgs []string) (rows []item) {
	for _, o := range orgs {
		h := fnv.New32a()
		_, _ = h.Write([]byte(o))
		rows = append(rows, item{"PK": value(fmt.Sprint("DIR#", h.Sum32()%16)), "SK": value(o)})
	}
	return rows
}

// readAll follows nextCursor to the end of a list, and returns its number of items. It checks that no item comes twice, and
// that no answer is larger than Lambda accepts.
func (l *largestRows) readAll(t *testing.T, r route.Route, limit int, more string) int {
	t.Helper()
	seen, cursor := map[string]bool{}, ""
	for range 200 {
		out := l.want(t, l.page(r, limit, cursor, more), 200, "")
		if size := sizeInLambda(out); size > mostInLambda {
			t.Errorf("%s by %d: %d bytes", r.Name(), limit, size)
		}
		if strings.Contains(out.text, `\u003c`) {
			t.Fatalf("%s has escapes of HTML: %.400s", r.Name(), out.text)
		}
		name := ""
		for member := range out.body {
			if member != "nextCursor" {
				name = member
			}
		}
		for _, row := range out.list(name) {
			key := fmt.Sprint(row["id"], row["orgId"], row["userId"], row["eventId"], row["date"], row["keyId"])
			if seen[key] {
				t.Fatalf("%s: %s came twice", r.Name(), key)
			}
			seen[key] = true
		}
		isEndOfFeed := name == "events" && len(out.list(name)) == 0
		if cursor = out.str("nextCursor"); cursor == "" || isEndOfFeed || out.status != 200 {
			return len(seen)
		}
	}
	t.Fatalf("%s: more than 200 pages", r.Name())
	return 0
}

// page returns a request for a page of a list; limit 0: without a limit.
func (l *largestRows) page(r route.Route, limit int, cursor, more string) request {
	members := map[string]any{}
	switch {
	case strings.HasSuffix(r.Operation, "WebhookDeliveries"):
		members["endpointId"] = l.delivered[0]
	case r.Operation == "getUsage":
		members["month"] = "2020-10"
	case r.Operation == "getKeyUsage":
		members["from"], limit = time.Now().AddDate(0, 0, -399).UTC().Format(time.DateOnly), 0
	}
	if limit > 0 {
		members["limit"] = limit
	}
	if cursor != "" {
		members["cursor"] = cursor
	}
	if r.Takes == principal.APIKey {
		return l.request(r.Method, r.Pattern, l.caller("key"), jsonOf(members))
	}
	as := l.byRole[org.Admin]
	if r.Operation == "listOrgs" {
		as = l.byRole[org.Member]
	}
	caller := user(as)
	if r.Operation == "listUsage" {
		caller = service()
	}
	query := "?" + strings.TrimPrefix(more, "&")
	for name, v := range members {
		query += fmt.Sprintf("&%s=%v", name, v)
	}
	return l.request(r.Method, r.Pattern, caller, strings.Replace(query, "?&", "?", 1))
}
