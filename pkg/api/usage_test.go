package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/authn"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

const (
	usagePath    = "/v1/orgs/{orgId}/usage"
	keyUsagePath = "/v1/orgs/{orgId}/keys/{keyId}/usage"
)

// used writes the usage of a key on a day.
func (w *world) used(t *testing.T, k id.Key, day string, requests, leased int64) {
	t.Helper()
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	l := limit.Lease{Owner: limit.Owner{Org: w.org, Key: k}, Row: limit.Day, Start: at.Unix(), Requests: requests}
	l.Wants[limit.Day] = limit.Want{Start: at.Unix(), Requests: leased}
	if _, done, err := w.Lease(context.Background(), l); err != nil || !done {
		t.Fatal(done, err)
	}
}

func TestTheUsageOfAKeyIsShownForEachDay(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	member := user(w.byRole[org.Member])
	w.used(t, w.key, "2026-11-01", 5, 7)
	w.used(t, w.key, "2026-11-03", 2, 2)
	w.used(t, "key_other", "2026-11-02", 9, 9)
	for query, want := range map[string]string{
		"?from=2026-11-01&to=2026-11-03": `{"days":[{"date":"2026-11-01","requests":5,"atMost":7},{"date":"2026-11-03","requests":2,"atMost":2}]}`,
		"?to=2026-11-02":                 `{"days":[{"date":"2026-11-01","requests":5,"atMost":7}]}`,
		"?from=2026-11-02&to=2026-11-02": `{"days":[]}`, "?from=0001-01-01&to=0001-01-02": `{"days":[]}`, "?to=0000-01-01": `{"days":[]}`,
		"?from=2025-09-28&to=2026-11-01": `{"days":[{"date":"2026-11-01","requests":5,"atMost":7}]}`, // 400 days
	} {
		if got := w.want(t, w.request("GET", keyUsagePath+query, member, ""), 200, "").text; strings.TrimSpace(got) != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	for _, query := range []string{
		"?from=2026-11-1", "?from=", "?from=2026-11-01T00:00:00Z", "?to=x", "?from=2026-11-02&to=2026-11-01", "?from=2025-09-27&to=2026-11-01",
		"?from=2026-11-01&from=2026-11-01", "?from=9999-12-31",
	} {
		w.want(t, w.request("GET", keyUsagePath+query, member, ""), 422, problem.ValidationFailed)
	}
}

// TestUsageShowsTheLast30DaysByDefault: with only from, the days end today; with only to, they begin 29 days before it.
func TestUsageShowsTheLast30DaysByDefault(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	today := time.Now().UTC().Truncate(24 * time.Hour)
	day := func(ago int) string { return today.AddDate(0, 0, -ago).Format(time.DateOnly) }
	for ago := range 40 {
		w.used(t, w.key, day(ago), int64(ago+1), int64(ago+1))
	}
	for query, want := range map[string][2]string{
		"": {day(29), day(0)}, "?to=" + day(3): {day(32), day(3)}, "?from=" + day(35): {day(35), day(0)}, "?from=" + day(0): {day(0), day(0)},
	} {
		got := w.want(t, w.request("GET", keyUsagePath+query, user(w.byRole[org.Member]), ""), 200, "").each("days", "date")
		slices.Sort(got)
		if len(got) == 0 || got[0] != want[0] || got[len(got)-1] != want[1] {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}

// TestTheRefusalsOfAKeyAreShownForEachDay. The org's usage, which is for invoices, has no refusals.
func TestTheRefusalsOfAKeyAreShownForEachDay(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.used(t, w.key, "2026-11-01", 5, 7)
	for _, day := range []int64{1_793_491_200, 1_793_577_600} { // 2026-11-01, 2026-11-02
		n := limit.Refusals{limit.Revoked: 3, limit.Expired: 4, limit.Suspended: 5, limit.Limited: 1, limit.Scope: 2}
		if err := w.NoteRefusals(t.Context(), limit.Refused{Org: w.org, Key: w.key, LimitID: w.key, Limited: true}, day, n); err != nil {
			t.Fatal(err)
		}
	}
	const refused = `"refused":{"insufficient_scope":2,"key_expired":4,"key_revoked":3,"key_suspended":5,"rate_limited":1}`
	const want = `{"days":[{"date":"2026-11-01","requests":5,"atMost":7,` + refused + `},{"date":"2026-11-02","requests":0,"atMost":0,` + refused + `}]}`
	days := w.want(t, w.request("GET", keyUsagePath+"?from=2026-11-01&to=2026-11-03", user(w.byRole[org.Member]), ""), 200, "").text
	if strings.TrimSpace(days) != want {
		t.Error(days)
	}
	month := w.want(t, w.request("GET", usagePath+"?month=2026-11", service(), ""), 200, "").text
	if strings.TrimSpace(month) != `{"usage":[{"date":"2026-11-01","keyId":"`+string(w.key)+`","requests":5,"atMost":7}]}` {
		t.Error(month)
	}
}

func TestTheUsageOfAMonthIsJSONOrCSV(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	w.used(t, "key_a", "2026-11-01", 5, 7)
	w.used(t, "", "2026-11-01", 5, 8)
	w.used(t, "key_b", "2026-11-30", 2, 2)
	w.used(t, "key_b", "2026-12-01", 1, 1)
	_, _, err := w.Lease(context.Background(), limit.Lease{Owner: limit.Owner{Org: w.org, Key: "key_c"}, Row: limit.Day, Start: 1_795_996_800, Counted: 3})
	if err != nil {
		t.Fatal(err)
	}
	const rows = `{"date":"2026-11-01","requests":5,"atMost":8},{"date":"2026-11-01","keyId":"key_a","requests":5,"atMost":7},` +
		`{"date":"2026-11-30","keyId":"key_b","requests":2,"atMost":2},{"date":"2026-11-30","keyId":"key_c","requests":3,"atMost":null}`
	if got := w.want(t, w.request("GET", usagePath+"?month=2026-11", ada, ""), 200, "").text; strings.TrimSpace(got) != `{"usage":[`+rows+`]}` {
		t.Error(got)
	}
	page := w.want(t, w.request("GET", usagePath+"?month=2026-11&limit=3", ada, ""), 200, "")
	rest := w.want(t, w.request("GET", usagePath+"?month=2026-11&cursor="+page.str("nextCursor"), ada, ""), 200, "")
	if n, m := len(page.list("usage")), len(rest.list("usage")); n != 3 || m != 1 {
		t.Errorf("%d and %d rows", n, m)
	}
	r := w.request("GET", usagePath+"?month=2026-11", service(), "")
	r.header = map[string]string{"Accept": "text/csv, */*"}
	csv := w.want(t, r, 200, "")
	const want = "date,keyId,requests,atMost\r\n2026-11-01,,5,8\r\n2026-11-01,key_a,5,7\r\n2026-11-30,key_b,2,2\r\n2026-11-30,key_c,3,\r\n"
	if csv.text != want || csv.header.Get("Content-Type") != "text/csv; charset=utf-8" || csv.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%q %v", csv.text, csv.header)
	}
	for _, month := range []string{"2026", "2026-13", "2026-11-01", "", "x", "2026-11&month=2026-12"} {
		w.want(t, w.request("GET", usagePath+"?month="+month, ada, ""), 422, problem.ValidationFailed)
	}
	for _, cursor := range []string{"x", "bWVtX3g"} {
		w.want(t, w.request("GET", usagePath+"?cursor="+cursor, ada, ""), 400, problem.InvalidCursor)
	}
}

// TestTheUsageOfAllOrgsIsJSONOrCSV: names are chosen by customers, and must never be formulas in the CSV.
func TestTheUsageOfAllOrgsIsJSONOrCSV(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", user(w.byRole[org.Admin]), `{"name":"=HYPERLINK(\"//evil\")"}`), 200, "")
	w.used(t, "", "2026-11-01", 5, 8)
	w.used(t, w.key, "2026-11-01", 4, 4)
	w.used(t, "", "2026-11-30", 1, 1)
	w.used(t, "", "2026-12-01", 9, 9)
	w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", service(), `{"externalId":"-cus_1","plan":"pro"}`), 200, "")
	other := w.want(t, request{as: service(), method: "POST", path: "/v1/orgs", body: `{"name":"Other"}`}, 201, "").str("id")
	w.want(t, request{as: service(), method: "POST", path: "/v1/orgs/" + other + "/suspension"}, 200, "")
	read := func(query, accept string) reply {
		return w.want(t, request{as: service(), method: "GET", path: "/v1/usage?month=2026-11" + query, header: map[string]string{"Accept": accept}}, 200, "")
	}
	want := map[string]string{
		string(w.org): `{"orgId":"` + string(w.org) + `","name":"=HYPERLINK(\"//evil\")","externalId":"-cus_1","plan":"pro","state":"active","requests":6,"atMost":9,"more":false}`,
		other:         `{"orgId":"` + other + `","name":"Other","state":"suspended","requests":0,"atMost":null,"more":false}`,
	}
	third := w.want(t, request{as: user(w.outside), method: "GET", path: "/v1/orgs"}, 200, "").each("orgs", "id")[0]
	want[third] = `{"orgId":"` + third + `","name":"Acme","state":"active","requests":0,"atMost":null,"more":false}`
	var ids, items []string
	for cursor := ""; ; {
		page := read("&limit=1"+cursor, "application/json")
		ids = append(ids, page.each("usage", "orgId")...)
		items = append(items, want[ids[len(ids)-1]])
		if cursor = "&cursor=" + page.str("nextCursor"); cursor == "&cursor=" {
			break
		}
	}
	if got := strings.TrimSpace(read("", "").text); len(ids) != 3 || got != `{"usage":[`+strings.Join(items, ",")+`]}` {
		t.Errorf("%v %s", ids, got)
	}
	rows := map[string]string{
		string(w.org): `,"'=HYPERLINK(""//evil"")",'-cus_1,pro,active,6,9,false`, other: ",Other,,,suspended,0,,false", third: ",Acme,,,active,0,,false",
	}
	table := "orgId,name,externalId,plan,state,requests,atMost,more\r\n"
	for _, o := range ids {
		table += o + rows[o] + "\r\n"
	}
	if csv := read("", "text/csv"); csv.text != table || csv.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%q", csv.text)
	}
	first := w.want(t, request{as: service(), method: "GET", path: "/v1/orgs?limit=1"}, 200, "")
	rest := w.want(t, request{as: service(), method: "GET", path: "/v1/orgs?cursor=" + first.str("nextCursor")}, 200, "")
	if got := append(first.each("orgs", "id"), rest.each("orgs", "id")...); !slices.Equal(got, ids) || rest.str("nextCursor") != "" {
		t.Errorf("%s%s", first.text, rest.text)
	}
	if !strings.Contains(first.text+rest.text, `"externalId":"-cus_1","plan":"pro","state":"active"}`) || !strings.Contains(first.text+rest.text, `"state":"suspended","suspendedAt":`) {
		t.Errorf("%s%s", first.text, rest.text)
	}
	for _, path := range []string{"/v1/usage?cursor=bWVtX3g", "/v1/orgs?cursor=bWVtX3g"} {
		w.want(t, request{as: service(), method: "GET", path: path}, 400, problem.InvalidCursor)
	}
	for _, query := range []string{"month=2026-13", "limit=101"} {
		w.want(t, request{as: service(), method: "GET", path: "/v1/usage?" + query}, 422, problem.ValidationFailed)
	}
}

// TestTheUsageOfADeletedOrgCanBeRead, because the owner may delete an org before the invoice.
func TestTheUsageOfADeletedOrgCanBeRead(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.used(t, w.key, "2026-11-01", 5, 7)
	w.want(t, w.request("DELETE", "/v1/orgs/{orgId}", service(), ""), 204, "")
	for _, path := range []string{"/v1/usage", usagePath} {
		if got := w.want(t, w.request("GET", path+"?month=2026-11", service(), ""), 200, "").text; !strings.Contains(got, `"requests":5`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := w.want(t, request{as: service(), method: "GET", path: "/v1/orgs"}, 200, "").text; !strings.Contains(got, `"state":"deleted"`) {
		t.Error(got)
	}
	w.want(t, w.request("GET", usagePath+"?month=2026-11", user(w.byRole[org.Admin]), ""), 404, problem.OrgNotFound)
	w.want(t, w.request("GET", "/v1/orgs/{orgId}", service(), ""), 404, problem.OrgNotFound)
}

func TestAMonthThatIsTooLongForCSVIsReadInPages(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	var puts []types.WriteRequest
	for n := range 10_001 {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "USAGE#" + string(w.org)}, "SK": &types.AttributeValueMemberS{Value: fmt.Sprintf("2026-11-01#key_%05d", n)},
		}}})
	}
	for some := range slices.Chunk(puts, 25) { // DynamoDB accepts 25 rows in a batch
		if _, err := w.DB.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{w.Name: some}}); err != nil {
			t.Fatal(err)
		}
	}
	r := w.request("GET", usagePath+"?month=2026-11", service(), "")
	if whole := w.want(t, r, 200, ""); len(whole.list("usage")) != 10_000 || whole.str("nextCursor") == "" || sizeInLambda(whole) > mostInLambda {
		t.Errorf("%d rows, and the cursor %q", len(whole.list("usage")), whole.str("nextCursor"))
	}
	r.header = map[string]string{"Accept": "text/csv"}
	w.want(t, r, 422, problem.ValidationFailed)
	r = w.request("GET", "/v1/usage?month=2026-11", service(), "")
	if got := w.want(t, r, 200, "").text; strings.Count(got, `"atMost":null,"more":true}`) != 1 {
		t.Errorf("in the list of all orgs: %s", got)
	}
	r.header = map[string]string{"Accept": "text/csv"}
	if got := w.want(t, r, 200, "").text; strings.Count(got, ",true\r\n") != 1 {
		t.Errorf("in the table of all orgs: %s", got)
	}
}

// TestAllKeysOfAnOrgShareItsAllowance. A service sets it, and it applies from the next request on.
func TestAllKeysOfAnOrgShareItsAllowance(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	changed := w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", service(), `{"allowance":[{"requests":2,"per":"month"}]}`), 200, "")
	if !strings.Contains(changed.text, `"allowance":[{"requests":2,"per":"month"}]`) {
		t.Error(changed.text)
	}
	a := authn.New(w.Store, nil)
	for i, want := range []problem.Code{"", "", problem.RateLimited} {
		k := w.key
		if i == 1 {
			k = w.newKey(t).KeyID
		}
		row, _, err := w.APIKey(context.Background(), w.org, k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Spend(context.Background(), row); want == "" && err != nil || want != "" && !problem.Is(err, want) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	for _, role := range allRoles {
		got := w.want(t, w.request("GET", "/v1/orgs/{orgId}", user(w.byRole[role]), ""), 200, "").text
		if sees := strings.Contains(got, "allowance"); sees != (role == org.Admin) {
			t.Errorf("%s sees %s", role, got)
		}
	}
	made := w.want(t, request{as: service(), method: "POST", path: "/v1/orgs", body: `{"name":"x","allowance":[{"requests":9,"per":"day"}]}`}, 201, "")
	if !strings.Contains(made.text, `"allowance":[{"requests":9,"per":"day"}]`) {
		t.Error(made.text)
	}
}
