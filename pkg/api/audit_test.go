package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// entry is an audit entry as an answer shows it, without its id.
type entry struct {
	At        int64           `json:"at"`
	Action    string          `json:"action"`
	Actor     subject         `json:"actor"`
	Target    subject         `json:"target"`
	Changes   json.RawMessage `json:"changes"`
	RequestID string          `json:"requestId"`
	Source    string          `json:"source"`
}

type subject struct{ Type, ID, Name string }

func (e entry) String() string {
	return fmt.Sprintf("at %d %s by %v on %v: %s (%s) %s", e.At, e.Action, e.Actor, e.Target, e.Changes, e.RequestID, e.Source)
}

// auditedOrg is a test's org with the entries that its audit log must have. Each request moves the clock forward by a minute.
type auditedOrg struct {
	*server
	at    time.Time // the clock
	admin id.User
	org   id.Org
	want  []entry // oldest first
}

// send makes a request that must succeed. The caller is the admin unless r.as names another. send expects no audit entry: the
// test adds one by expect when the request makes one.
func (a *auditedOrg) send(t *testing.T, r request) reply {
	t.Helper()
	a.at = a.at.Add(time.Minute)
	if !strings.HasPrefix(r.path, "/v1/") {
		r.path = "/v1/orgs" + r.path
	}
	if r.as == nil {
		r.as = user(a.admin)
	}
	out := a.do(t, r)
	if out.status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %s", r.method, r.path, out.text)
	}
	return out
}

// sendAndExpect sends a request, and expects its audit entry.
func (a *auditedOrg) sendAndExpect(t *testing.T, r request, action, target, changes string) {
	t.Helper()
	a.send(t, r)
	a.expect(action, target, changes)
}

// expect adds an entry to the expected log: by the admin, at the present time. In changes, which is JSON, %d becomes this time.
func (a *auditedOrg) expect(action, target, changes string) {
	kinds := map[string]string{"usr": "user", "org": "org", "key": "key", "app": "app", "lnk": "link", "whe": "endpoint"}
	kind, _, _ := strings.Cut(target, "_")
	a.want = append(a.want, entry{
		At: a.at.UnixMilli(), Action: action, Actor: subject{Type: "user", ID: string(a.admin)}, Target: subject{Type: kinds[kind], ID: target},
		Changes: json.RawMessage(strings.ReplaceAll(changes, "%d", fmt.Sprint(a.at.UnixMilli()))), RequestID: "request-1",
	})
}

// log returns the org's entries, oldest first. Entries of the same time have no defined order, so log sorts them by action.
func (a *auditedOrg) log(t *testing.T) []entry {
	t.Helper()
	out := a.do(t, request{as: user(a.admin), method: "GET", path: "/v1/orgs/" + string(a.org) + "/audit?limit=100"})
	var body struct{ Entries []entry }
	if err := json.Unmarshal([]byte(out.text), &body); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(body.Entries, func(x, y entry) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Action, y.Action)) })
	return body.Entries
}

func newAuditedOrg(t *testing.T) *auditedOrg {
	t.Helper()
	a := &auditedOrg{server: newServerFor(t, settings{leaks: "tell"}), at: time.UnixMilli(1_800_000_000_000)}
	a.Now = func() time.Time { return a.at }
	a.admin = a.NewUser(t, "ada@example.com")
	made := a.send(t, request{method: "POST", body: `{"name":"Acme"}`})
	a.org = id.Org(made.str("id"))
	a.expect("org.created", string(a.org), `{"name":{"from":null,"to":"Acme"}}`)
	return a
}

// changeMembers sends every request that changes members, and some requests that change nothing.
func (a *auditedOrg) changeMembers(t *testing.T) {
	t.Helper()
	base := "/" + string(a.org) + "/members"
	bob, eve := string(a.NewUser(t, "bob@example.com")), string(a.NewUser(t, "eve@example.com"))
	once := map[string]string{"Idempotency-Key": "6f2d9b0c-1111-4222-8333-444455556666"}
	add := request{method: "POST", path: base, body: `{"email":"bob@example.com"}`, header: once}
	a.sendAndExpect(t, add, "member.added", bob, `{"role":{"from":null,"to":"member"}}`)
	a.send(t, add) // a replay
	a.sendAndExpect(t, request{method: "POST", path: base, body: `{"email":"eve@example.com","role":"viewer"}`},
		"member.added", eve, `{"role":{"from":null,"to":"viewer"}}`)
	promote := request{method: "PATCH", path: base + "/" + bob, body: `{"role":"admin"}`}
	a.sendAndExpect(t, promote, "member.role_changed", bob, `{"role":{"from":"member","to":"admin"}}`)
	a.send(t, promote) // the same role
	a.sendAndExpect(t, request{method: "DELETE", path: base + "/" + eve}, "member.removed", eve, `{"role":{"from":"viewer","to":null}}`)
	a.sendAndExpect(t, request{method: "DELETE", path: base + "/" + bob}, "member.removed", bob, `{"role":{"from":"admin","to":null}}`)
	a.sendAndExpect(t, request{method: "POST", path: base, body: `{"email":"eve@example.com"}`}, "member.added", eve, `{"role":{"from":null,"to":"member"}}`)
	a.sendAndExpect(t, request{as: user(id.User(eve)), method: "POST", path: "/" + string(a.org) + "/leave"}, "member.left", eve, `{"role":{"from":"member","to":null}}`)
	a.want[len(a.want)-1].Actor.ID = eve // sendAndExpect has named the admin
}

// changeNames renames the org, creates an app and renames it.
func (a *auditedOrg) changeNames(t *testing.T) (app string) {
	t.Helper()
	base := "/" + string(a.org)
	a.sendAndExpect(t, request{method: "PATCH", path: base, body: `{"name":"Acme 2"}`}, "org.updated", string(a.org), `{"name":{"from":"Acme","to":"Acme 2"}}`)
	a.send(t, request{method: "PATCH", path: base, body: `{"name":"Acme 2"}`}) // the same name
	a.send(t, request{method: "PATCH", path: base, body: `{}`})                // no name
	app = a.send(t, request{method: "POST", path: base + "/apps", body: `{"name":"Second"}`}).str("id")
	a.expect("app.created", app, `{"name":{"from":null,"to":"Second"}}`)
	rename := request{method: "PATCH", path: base + "/apps/" + app, body: `{"name":"2nd"}`}
	a.sendAndExpect(t, rename, "app.updated", app, `{"name":{"from":"Second","to":"2nd"}}`)
	a.send(t, rename) // the same name
	rename.body = `{"keysBeginWith":"lktest"}`
	a.sendAndExpect(t, rename, "app.updated", app, `{"keysBeginWith":{"from":null,"to":"lktest"}}`)
	a.send(t, rename) // the same
	rename.body = `{"keysBeginWith":null}`
	a.sendAndExpect(t, rename, "app.updated", app, `{"keysBeginWith":{"from":"lktest","to":null}}`)
	return app
}

// changeKeys sends every request that changes keys. Some of the keys expire, others do not.
func (a *auditedOrg) changeKeys(t *testing.T, app string) {
	t.Helper()
	base := "/" + string(a.org) + "/keys"
	ends := func(after time.Duration) string { return fmt.Sprint(a.at.Add(after).UnixMilli()) }
	create := func(body string) string {
		return a.send(t, request{method: "POST", path: base, body: body}).str("id")
	}
	rotate := func(k, body string) string {
		return a.send(t, request{method: "POST", path: base + "/" + k + "/rotate", body: body}).str("id")
	}
	k := create(`{}`)
	a.expect("key.created", k, `{"appId":{"from":null,"to":"`+string(id.DefaultApp(a.org))+`"},"expiresAt":{"from":null,"to":null},"name":{"from":null,"to":""}}`)
	short := create(`{"name":"server","expiresIn":3600,"appId":"` + app + `"}`)
	end := ends(time.Hour)
	a.expect("key.created", short, `{"appId":{"from":null,"to":"`+app+`"},"expiresAt":{"from":null,"to":`+end+`},"name":{"from":null,"to":"server"}}`)
	imports := request{as: service(), method: "POST", path: base + "/import", body: `{"keys":[{"sha256":"` + strings.Repeat("0a", 32) + `","prefix":"sk"}]}`}
	a.expect("key.imported", a.send(t, imports).each("keys", "id")[0], `{"appId":{"from":null,"to":"`+string(id.DefaultApp(a.org))+`"},"expiresAt":{"from":null,"to":null},"name":{"from":null,"to":""}}`)
	a.want[len(a.want)-1].Actor = subject{Type: "service", Name: "billing"}
	a.send(t, imports) // the hash was imported before
	to := rotate(k, `{"graceSeconds":60}`)
	a.expect("key.rotated", k, `{"expiresAt":{"from":null,"to":`+ends(time.Minute)+`},"rotatedTo":{"from":null,"to":"`+to+`"}}`)
	last := rotate(short, `{"graceSeconds":604800}`) // short expires before the grace would end, and keeps its expiry
	a.expect("key.rotated", short, `{"expiresAt":{"from":`+end+`,"to":`+end+`},"rotatedTo":{"from":null,"to":"`+last+`"}}`)
	a.changeScopesAndMetadata(t, base, rotate)
	revoke := request{method: "DELETE", path: base + "/" + last}
	a.sendAndExpect(t, revoke, "key.revoked", last, `{"revokedAt":{"from":null,"to":%d}}`)
	a.send(t, revoke) // the key is revoked already
	revoke.path += "?links=revoke"
	a.sendAndExpect(t, revoke, "key.links_revoked", last, `{}`)
	a.send(t, revoke) // its links are revoked already
	found := a.send(t, request{method: "POST", path: base, body: `{}`})
	k = found.str("id")
	a.expect("key.created", k, `{"appId":{"from":null,"to":"`+string(id.DefaultApp(a.org))+`"},"expiresAt":{"from":null,"to":null},"name":{"from":null,"to":""}}`)
	a.at = a.at.Add(time.Minute)
	for range 2 { // the second time, the key is already revoked
		a.server.want(t, request{method: "POST", path: "/key/revoke", body: `{"key":"` + found.str("key") + `","source":"https://example.com/a"}`}, 202, "")
	}
	a.expect("key.revoked", k, `{"revokedAt":{"from":null,"to":%d}}`)
	a.want[len(a.want)-1].Actor, a.want[len(a.want)-1].Source = subject{Type: "holder"}, "https://example.com/a"
	a.at = a.at.Add(time.Minute)
	for range 2 { // the second report of a day adds no entry
		a.server.want(t, request{method: "POST", path: leaksPath, body: `[{"token":"` + found.str("key") + `","url":"https://example.com/b"}]`, header: map[string]string{"Github-Public-Key-Signature": "good"}}, 200, "")
	}
	a.expect("key.leaked", k, `{}`)
	a.want[len(a.want)-1].Actor, a.want[len(a.want)-1].Source = subject{Type: "holder"}, "https://example.com/b"
}

// numberOf returns a number of a row.
func numberOf(t *testing.T, row map[string]types.AttributeValue, name string) int64 {
	t.Helper()
	v, _ := row[name].(*types.AttributeValueMemberN)
	if v == nil {
		t.Fatalf("no %s in %v", name, row)
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// deleteOrg deletes the org, and returns the entries that the deletion adds to the log. No route shows the
// log of a deleted org, so deleteOrg reads its rows, as an operator can.
func (a *auditedOrg) deleteOrg(t *testing.T) (added []entry) {
	t.Helper()
	before := map[string]bool{}
	for k := range a.dump(t) {
		before[k] = true
	}
	a.sendAndExpect(t, request{method: "DELETE", path: "/" + string(a.org)}, "org.deleted", string(a.org), `{"name":{"from":"Acme 2","to":null}}`)
	for _, r := range a.Rows(t) {
		if pk, sk := text(r, "PK"), text(r, "SK"); pk == "AUD#"+string(a.org) && !before[pk+" "+sk] {
			added = append(added, entry{
				At: numberOf(t, r, "at"), Action: text(r, "action"), Actor: subject{Type: "user", ID: text(r, "actor")},
				Target: subject{Type: "org", ID: text(r, "target")}, Changes: json.RawMessage(text(r, "changes")), RequestID: text(r, "requestId"),
			})
		}
	}
	return added
}

// stopAndErase stops, resumes and signs out the admin as a service. Then the admin signs out everywhere, and the service erases
// another person.
func (a *auditedOrg) stopAndErase(t *testing.T) {
	t.Helper()
	path, me := "/v1/users/"+string(a.admin), string(a.admin)
	for _, c := range [][3]string{{"POST", "/stop", "user.stopped"}, {"DELETE", "/stop", "user.resumed"}, {"POST", "/signout", "user.signed_out"}} {
		r := request{as: service(), method: c[0], path: path + c[1]}
		a.sendAndExpect(t, r, c[2], me, `{}`)
		a.want[len(a.want)-1].Actor = subject{Type: "service", Name: "billing"}
		if c[1] == "/stop" {
			a.send(t, r) // changes nothing
		}
	}
	a.sendAndExpect(t, request{method: "POST", path: "/v1/me/signout"}, "user.signed_out", me, `{}`)
	gil := string(a.NewUser(t, "gil@example.com"))
	a.sendAndExpect(t, request{method: "POST", path: "/" + string(a.org) + "/members", body: `{"email":"gil@example.com"}`}, "member.added", gil, `{"role":{"from":null,"to":"member"}}`)
	erase := request{as: service(), method: "DELETE", path: "/v1/users/" + gil}
	a.sendAndExpect(t, erase, "user.erased", gil, `{"role":{"from":"member","to":null}}`)
	a.want[len(a.want)-1].Actor = subject{Type: "service", Name: "billing"}
	a.send(t, erase) // changes nothing
}

// TestEveryActionIsAuditedAsDocumented makes each action through its route. A request that changes nothing adds no entry.
func TestEveryActionIsAuditedAsDocumented(t *testing.T) {
	a := newAuditedOrg(t)
	a.changeMembers(t)
	a.changeKeys(t, a.changeNames(t))
	a.changeEndpoints(t)
	a.changeByAdmin(t)
	a.send(t, request{as: service(), method: "PATCH", path: "/" + string(a.org), body: `{"externalId":"cus_1"}`})
	a.expect("org.updated", string(a.org), `{"externalId":{"from":null,"to":"cus_1"}}`)
	a.want[len(a.want)-1].Actor = subject{Type: "service", Name: "billing"}
	suspension := request{as: service(), method: "POST", path: "/" + string(a.org) + "/suspension"}
	a.sendAndExpect(t, suspension, "org.suspended", string(a.org), `{"suspendedAt":{"from":null,"to":%d}}`)
	since := fmt.Sprint(a.at.UnixMilli())
	a.send(t, suspension) // it is suspended already
	suspension.method = "DELETE"
	a.sendAndExpect(t, suspension, "org.resumed", string(a.org), `{"suspendedAt":{"from":`+since+`,"to":null}}`)
	a.send(t, suspension) // it is resumed already
	for _, e := range []int{1, 2} {
		a.want[len(a.want)-e].Actor = subject{Type: "service", Name: "billing"}
	}
	a.stopAndErase(t)
	got := append(a.log(t), a.deleteOrg(t)...)
	for i := range max(len(got), len(a.want)) {
		if i >= len(got) || i >= len(a.want) || got[i].String() != a.want[i].String() {
			t.Fatalf("entry %d:\ngot  %v\nwant %v", i, got[min(i, len(got)):], a.want[min(i, len(a.want)):])
		}
	}
	actions, kinds := map[string]bool{}, map[string]bool{}
	for _, e := range got {
		actions[e.Action], kinds[e.Actor.Type], kinds[e.Target.Type] = true, true, true
	}
	for name, seen := range map[string]map[string]bool{"AuditEntry.action": actions, "Subject.type": kinds} {
		if got, want := slices.Sorted(maps.Keys(seen)), documented(t, name); !slices.Equal(got, want) {
			t.Errorf("%s: seen %v, documented %v", name, got, want)
		}
	}
}

// TestTheConsoleOffersEveryAction checks that the filter of the console's audit page lists every action of the contract.
func TestTheConsoleOffersEveryAction(t *testing.T) {
	texts, err := os.ReadFile("../../infra/console/src/texts.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, offered, _ := strings.Cut(string(texts), "actions: {")
	offered, _, _ = strings.Cut(offered, "\n    }")
	var got []string
	for _, m := range regexp.MustCompile(`'([a-z_]+\.[a-z_]+)': '`).FindAllStringSubmatch(offered, -1) {
		got = append(got, m[1])
	}
	if want := documented(t, "AuditEntry.action"); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("the console offers %v, documented %v", got, want)
	}
}

// documented returns the values that infra/openapi.yaml has for a member of a schema.
func documented(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../../infra/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Values []string `yaml:"x-extensible-enum"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	schema, member, _ := strings.Cut(name, ".")
	return slices.Sorted(slices.Values(doc.Components.Schemas[schema].Properties[member].Values))
}

// TestARefusedActionIsNotAudited sends writes that are refused because of their caller, their target or its state.
func TestARefusedActionIsNotAudited(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	a := auditedOrg{server: w.server, admin: w.byRole[org.Admin], org: w.org}
	before := a.log(t)
	send := func(as *principal.Principal, method, pattern, body string, status int, code problem.Code) {
		t.Helper()
		w.want(t, w.request(method, pattern, as, body), status, code)
	}
	for pattern, body := range map[string]string{
		"PATCH /v1/orgs/{orgId}": `{"name":"x"}`, "POST /v1/orgs/{orgId}/members": `{"email":"outside@example.com"}`,
		"PATCH /v1/orgs/{orgId}/members/{userId}": `{"role":"admin"}`, "DELETE /v1/orgs/{orgId}/members/{userId}": "",
		"DELETE /v1/orgs/{orgId}": "", "POST /v1/orgs/{orgId}/keys": `{}`, "DELETE /v1/orgs/{orgId}/keys/{keyId}": "",
		"PATCH /v1/orgs/{orgId}/keys/{keyId}":       `{"scopes":["a"]}`,
		"POST /v1/orgs/{orgId}/keys/{keyId}/rotate": `{"graceSeconds":0}`, "POST /v1/orgs/{orgId}/apps": `{"name":"x"}`,
		"PATCH /v1/orgs/{orgId}/apps/{appId}":                                    `{"name":"x"}`,
		"PATCH /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":     `{"enabled":false}`,
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints":                   `{"url":"https://hooks.example.com"}`,
		"DELETE /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}":    "",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test": "",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver":        `{"endpointId":"{endpointId}","since":0}`,
		"DELETE /v1/orgs/{orgId}/apps/{appId}/links/{linkId}":                    "",
		"DELETE /v1/orgs/{orgId}/keys/{keyId}?endpoints=disable":                 "",
		"DELETE /v1/orgs/{orgId}/keys/{keyId}?links=revoke":                      "",
		"DELETE /v1/orgs/{orgId}/keys?createdBy={userId}":                        "",
	} {
		method, path, _ := strings.Cut(pattern, " ")
		send(user(w.byRole[org.Member]), method, path, body, 403, problem.InsufficientRole)
		send(user(w.outside), method, path, body, 404, problem.OrgNotFound)
	}
	ada := user(a.admin)
	send(ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"target@example.com"}`, 409, problem.MemberExists)
	send(ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"x@example.com"}`, 422, problem.UserNotFound)
	w.target = a.admin
	send(ada, "PATCH", "/v1/orgs/{orgId}/members/{userId}", `{"role":"viewer"}`, 409, problem.LastAdmin)
	send(ada, "DELETE", "/v1/orgs/{orgId}/members/{userId}", "", 409, problem.LastAdmin)
	w.Limits.Apps, w.Limits.ActiveKeys, w.Limits.Members, w.Limits.Endpoints = 1, 1, 4, 1 // the world has already reached these limits
	send(w.caller("key"), "POST", "/webhook_endpoint/create", `{"url":"https://hooks.example.com"}`, 409, problem.LimitReached)
	for _, path := range []string{"update", "delete"} {
		send(w.caller("key"), "POST", "/webhook_endpoint/"+path, `{"endpointId":"whe_x"}`, 404, problem.EndpointNotFound)
	}
	send(ada, "POST", "/v1/orgs/{orgId}/apps", `{"name":"x"}`, 409, problem.LimitReached)
	send(ada, "POST", "/v1/orgs/{orgId}/keys", `{}`, 409, problem.LimitReached)
	send(ada, "POST", "/v1/orgs/{orgId}/members", `{"email":"outside@example.com"}`, 409, problem.LimitReached)
	if after := a.log(t); len(after) != len(before) {
		t.Errorf("%d entries became %d: %v", len(before), len(after), after)
	}
}
