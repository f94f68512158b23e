package api_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// logged writes audit entries of the org, one for each text "action actor target changes". The first has the time 1e12
// (milliseconds since the epoch), and each next one is a second later.
func (w *world) logged(t *testing.T, entries ...string) {
	t.Helper()
	rows := make([]item, len(entries))
	for i, e := range entries {
		parts := strings.Split(e, " ")
		at := time.Unix(1_000_000_000+int64(i), 0)
		rows[i] = item{
			"PK": value("AUD#" + string(w.org)), "SK": value(string(id.Source{}.NewAudit(at))), "at": &types.AttributeValueMemberN{Value: fmt.Sprint(at.UnixMilli())},
			"action": value(parts[0]), "actor": value(parts[1]), "target": value(parts[2]), "changes": value(cmp.Or(strings.Join(parts[3:], ""), "{}")), "requestId": value("=1+1"),
		}
	}
	w.putRows(t, rows)
}

const (
	auditPath = "/v1/orgs/{orgId}/audit"
	aUser     = "usr_2c7ws0m6yr9qk4v1e8dhx35nbt"
	aKey      = "key_01kb5x8w3v0f7k1w2q3r4s5t6v"
	otherKey  = "key_01kb5x8w3v0f7k1w2q3r4s5t6w"
)

// TestTheAuditLogIsFiltered by one parameter, by several, and in pages. Each page except the last has a cursor. The expected
// entries are named by the last four digits of their times.
func TestTheAuditLogIsFiltered(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	w.logged(t, "key.created "+aUser+" "+aKey, "key.created service:billing "+otherKey, "key.revoked holder "+aKey, "endpoint.created "+aKey+" "+otherKey,
		"key.revoked "+aUser+" "+otherKey, "key.revoked service:bill "+otherKey)
	for query, want := range map[string]string{
		"actor=" + aUser: "[4000 0000]", "actor=" + aKey: "[3000]", "actor=service:billing": "[1000]", "actor=service:bill": "[5000]", "actor=holder": "[2000]",
		"action=key.revoked": "[5000 4000 2000]", "action=key.nothing": "[]", "target=" + aKey: "[2000 0000]", "target=" + string(w.org): "[]",
		"target=app_01kb5x8w3v0f7k1w2q3r4s5t6v": "[]", "target=lnk_01kb5x8w3v0f7k1w2q3r4s5t6v": "[]", "target=whe_01kb5x8w3v0f7k1w2q3r4s5t6v": "[]",
		"action=key.revoked&target=" + otherKey + "&actor=" + aUser: "[4000]",
		"from=0": "[5000 4000 3000 2000 1000 0000]", "from=1000000001000&to=1000000003000": "[2000 1000]", "from=1000000001001&to=1000000003001": "[3000 2000]", "from=1000000002000&to=1000000002000": "[]", "from=1000000003000&to=1000000001000": "[]",
		"to=0": "[]", "from=1000000005001": "[]", "from=140737488355328": "[]", "to=140737488355328&target=" + aKey: "[2000 0000]", "from=1000000004000&action=key.revoked": "[5000 4000]",
	} {
		for _, limit := range []int{1, 2, 100} {
			var times []string
			for cursor, left := "", 9; ; left-- {
				until := "&to=1000100000000" // before the entries that newWorld has made
				if strings.Contains("&"+query, "&to=") {
					until = ""
				}
				page := w.want(t, w.request("GET", fmt.Sprintf("%s?%s%s&limit=%d%s", auditPath, query, until, limit, cursor), ada, ""), 200, "")
				found := page.list("entries")
				for _, e := range found {
					times = append(times, fmt.Sprint(e["at"])[9:])
				}
				if len(found) > limit || left == 0 {
					t.Fatalf("%s: %d entries on a page of %d, %d pages left", query, len(found), limit, left)
				}
				if page.str("nextCursor") == "" {
					break
				}
				cursor = "&cursor=" + page.str("nextCursor")
			}
			if got := fmt.Sprint(times); got != want {
				t.Errorf("%s, pages of %d: %v, want %v", query, limit, got, want)
			}
		}
	}
	newest := w.want(t, w.request("GET", auditPath+"?limit=1", ada, ""), 200, "").str("nextCursor")
	oldest := w.want(t, w.request("GET", auditPath+"?to=1000000001001&limit=1", ada, ""), 200, "").str("nextCursor")
	for query, want := range map[string]int{"to=1000000002000&cursor=" + newest: 2, "from=1000000002000&cursor=" + oldest: 0, "cursor=" + oldest: 1} {
		if got := w.want(t, w.request("GET", auditPath+"?"+query, ada, ""), 200, ""); len(got.list("entries")) != want {
			t.Errorf("%s: %s, want %d entries", query, got.text, want)
		}
	}
	for _, query := range []string{
		"actor=ada", "actor=", "actor=service:", "actor=service:A", "actor=" + string(w.org), "actor=holder&actor=holder", "action=key", "action=", "action=key.", "action=Key.made",
		"action=key.re.voked", "action=" + strings.Repeat("a", 60) + ".aaaa", "target=aud_01kb5x8w3v0f7k1w2q3r4s5t6v", "target=", "from=-1", "from=x", "from=", "from=1.5",
		"to=140737488355329", "from=2026-11-01", "limit=0",
	} {
		got := w.want(t, w.request("GET", auditPath+"?"+query, ada, ""), 422, problem.ValidationFailed)
		if name, _, _ := strings.Cut(query, "="); !strings.Contains(got.text, `"pointer":"?`+name+`"`) {
			t.Errorf("%s: %s", query, got.text)
		}
	}
	w.want(t, w.request("GET", auditPath+"?cursor=dXNyX3g", ada, ""), 400, problem.InvalidCursor)
	w.want(t, w.request("GET", auditPath+"?to=0", user(w.byRole[org.Member]), ""), 403, problem.InsufficientRole)
	w.want(t, w.request("GET", auditPath+"?to=0", user(w.outside), ""), 404, problem.OrgNotFound)
	if last := w.want(t, w.request("GET", auditPath+"?from=1000000001000&to=1000000003000&limit=2", ada, ""), 200, ""); len(last.list("entries")) != 2 || last.str("nextCursor") != "" {
		t.Errorf("the last page, which is full: %s", last.text)
	}
}

// TestAFilteredCallReadsAtMost1000Entries: it answers with the matching entries that it has read, and a cursor.
func TestAFilteredCallReadsAtMost1000Entries(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	all := []string{"key.leaked holder " + aKey}
	for range 1000 {
		all = append(all, "key.created "+aUser+" "+aKey)
	}
	w.logged(t, append(all, "key.leaked holder "+otherKey)...)
	query := auditPath + "?action=key.leaked&to=1000100000000"
	first := w.want(t, w.request("GET", query, ada, ""), 200, "")
	rest := w.want(t, w.request("GET", query+"&cursor="+first.str("nextCursor"), ada, ""), 200, "")
	if n, m := len(first.list("entries")), len(rest.list("entries")); n != 1 || m != 1 || rest.str("nextCursor") != "" {
		t.Errorf("%d and %d entries, want 1 and 1: %s", n, m, rest.text)
	}
	none := w.want(t, w.request("GET", auditPath+"?action=key.lost&to=1000100000000", ada, ""), 200, "")
	if len(none.list("entries")) != 0 || none.str("nextCursor") == "" {
		t.Errorf("%s, want no entry and a cursor", none.text)
	}
}

// TestTheAuditLogIsServedAsCSV: the CSV has all entries that the filter selects, also when they need several reads. No cell is
// a formula. Only a service sees the operator.
func TestTheAuditLogIsServedAsCSV(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	csv := map[string]string{"Accept": "text/csv"}
	var all []string
	for range 1001 {
		all = append(all, "key.created "+aUser+" "+aKey)
	}
	w.logged(t, append(all, "key.leaked holder "+otherKey)...)
	r := w.request("GET", auditPath+"?to=1000100000000&limit=1", user(w.byRole[org.Admin]), "")
	r.header = csv
	got := w.want(t, r, 200, "")
	lines := strings.Split(got.text, "\r\n")
	if len(lines) != 1004 || got.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Fatalf("%d lines of %v", len(lines), got.header)
	}
	if lines[0] != "id,at,action,actor,target,changes,source,reason,operator,requestId" {
		t.Error(lines[0])
	}
	if _, cells, _ := strings.Cut(lines[1], ","); cells != "2001-09-09T02:03:21.000Z,key.leaked,holder,"+otherKey+",{},,,,'=1+1" {
		t.Error(lines[1])
	}
	made := request{as: service(), method: "PATCH", path: "/v1/orgs/" + string(w.org), body: `{"name":"Acme 2"}`,
		header: map[string]string{"Latchkey-Operator": "-ada", "Latchkey-Reason": "Ticket, 4711"}}
	w.want(t, made, 200, "")
	const change = `,org.updated,service:billing,%s,"{""name"":{""from"":""Acme"",""to"":""Acme 2""}}",,"Ticket, 4711",%s,request-1` + "\r\n"
	for as, operator := range map[string]string{"service": "'-ada", "user": ""} {
		r := w.request("GET", auditPath+"?action=org.updated", service(), "")
		if as == "user" {
			r.as = user(w.byRole[org.Admin])
		}
		r.header = csv
		if got := w.want(t, r, 200, ""); !strings.HasSuffix(got.text, fmt.Sprintf(change, w.org, operator)) {
			t.Errorf("%s: %s", as, got.text)
		}
	}
	large := "key.updated holder " + otherKey + ` {"name":{"from":null,"to":"` + strings.Repeat("x", 390_000) + `"}}`
	w.logged(t, large, large, large, large, large, large, large, large, large, large, large)
	r = w.request("GET", auditPath+"?to=1000000012000", service(), "")
	r.header = csv
	w.want(t, r, 422, problem.ValidationFailed)
	r = w.request("GET", auditPath+"?from=x", service(), "")
	r.header = csv
	w.want(t, r, 422, problem.ValidationFailed)
}

// TestAnAuditTableIsMeasuredAsItIsSent: CSV doubles each quote of the changes, and the function's JSON escapes both. As a list the same
// entries have room.
func TestAnAuditTableIsMeasuredAsItIsSent(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	quotes := `{"metadata":{"from":{},"to":{` + strings.TrimSuffix(strings.Repeat(`"a":"",`, 58_000), ",") + `}}}`
	w.logged(t, slices.Repeat([]string{"key.updated holder " + otherKey + " " + quotes}, 6)...)
	r := w.request("GET", auditPath+"?to=1000000006000", service(), "")
	if list := w.want(t, r, 200, ""); len(list.list("entries")) != 6 || list.str("nextCursor") != "" {
		t.Errorf("as JSON: %d entries", len(list.list("entries")))
	}
	r.header = map[string]string{"Accept": "text/csv"}
	if got := w.do(t, r); got.status != 422 {
		t.Errorf("%d with %d bytes, want 422", got.status, sizeInLambda(got))
	}
	r.path += "&from=1000000003000"
	if got := w.want(t, r, 200, ""); strings.Count(got.text, "\n") != 4 || sizeInLambda(got) > mostInLambda {
		t.Errorf("three entries: %d bytes", sizeInLambda(got))
	}
}

// TestAddedByNamesAUserOrAService: addedBy of the org's creator is null.
func TestAddedByNamesAUserOrAService(t *testing.T) {
	s := newServer(t)
	ada, bob := s.NewUser(t, "ada@example.com"), s.NewUser(t, "bob@example.com")
	path := "/v1/orgs/" + s.want(t, request{as: user(ada), method: "POST", path: "/v1/orgs", body: `{"name":"Acme"}`}, 201, "").str("id") + "/members"
	s.want(t, request{as: user(ada), method: "POST", path: path, body: `{"email":"bob@example.com"}`}, 201, "")
	cy := s.NewUser(t, "cy@example.com")
	s.want(t, request{as: service(), method: "POST", path: path, body: `{"subject":"sub-cy@example.com","role":"viewer"}`}, 201, "")
	got := map[string]any{}
	for _, m := range s.want(t, request{as: user(ada), method: "GET", path: path}, 200, "").list("members") {
		got[m["role"].(string)] = m["addedBy"]
	}
	if want := map[string]any{"admin": nil, "member": string(ada), "viewer": "service:billing"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	changed := s.want(t, request{as: user(ada), method: "PATCH", path: path + "/" + string(bob), body: `{"role":"viewer"}`}, 200, "")
	if changed.str("addedBy") != string(ada) {
		t.Error(changed.text)
	}
	made := s.want(t, request{as: service(), method: "POST", path: "/v1/orgs", body: `{"name":"Other","admin":{"subject":"dy"}}`}, 201, "").str("id")
	members := s.want(t, request{as: service(), method: "GET", path: "/v1/orgs/" + made + "/members"}, 200, "")
	if got := members.each("members", "addedBy"); fmt.Sprint(got) != "[service:billing]" {
		t.Error(members.text)
	}
	if orgs := s.want(t, request{as: user(bob), method: "GET", path: "/v1/orgs"}, 200, ""); !strings.Contains(orgs.text, `"addedBy":{"userId":"`+string(ada)+`"`) {
		t.Error(orgs.text)
	}
	if orgs := s.want(t, request{as: user(cy), method: "GET", path: "/v1/orgs"}, 200, ""); strings.Contains(orgs.text, "billing") || !strings.Contains(orgs.text, `"addedBy":null`) {
		t.Error(orgs.text) // a person does not see the name of a service
	}
}
