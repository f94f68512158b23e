package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// appServer is a server of the API, with the key of an app and the key of another app of the same org.
type appServer struct {
	*server
	key, other *principal.Principal
	at         time.Time // the clock, which moves only by pass
}

func newAppServer(t *testing.T) *appServer {
	t.Helper()
	d := &appServer{server: newServer(t), at: time.Now().Truncate(time.Second)}
	ada := d.NewUser(t, "ada@example.com")
	o := d.NewOrg(t, ada)
	second := d.want(t, request{as: user(ada), method: "POST", path: "/v1/orgs/" + string(o) + "/apps", body: `{"name":"Second"}`}, 201, "")
	keyOf := func(a id.App) *principal.Principal {
		return &principal.Principal{Kind: principal.Key, OrgID: o, AppID: a, KeyID: id.Source{}.NewKey(d.at)}
	}
	d.key, d.other = keyOf(id.DefaultApp(o)), keyOf(id.App(second.str("id")))
	d.Now = func() time.Time { return d.at }
	return d
}

// pass moves the clock.
func (d *appServer) pass(by time.Duration) { d.at = d.at.Add(by) }

// post calls a route with the app's key, and requires a status and a code.
func (d *appServer) post(t *testing.T, path, body string, status int, code problem.Code) reply {
	t.Helper()
	return d.want(t, request{as: d.key, method: "POST", path: path, body: body}, status, code)
}

// foreign calls a route with the key of another app.
func (d *appServer) foreign(t *testing.T, path, body string, status int, code problem.Code) reply {
	t.Helper()
	return d.want(t, request{as: d.other, method: "POST", path: path, body: body}, status, code)
}

// bodyWith returns a body that has one member.
func bodyWith(name, value string) string { return fmt.Sprintf(`{%q:%q}`, name, value) }

// num returns a whole number of the body, -1 when the member is missing or no whole number.
func (r reply) num(name string) int64 {
	n, _ := r.body[name].(json.Number)
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}

// list returns the objects of a list of the body.
func (r reply) list(name string) []map[string]any {
	rows, _ := r.body[name].([]any)
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		out[i], _ = row.(map[string]any)
	}
	return out
}

// each returns one member of every object of a list, as text.
func (r reply) each(list, member string) []string {
	var out []string
	for _, row := range r.list(list) {
		out = append(out, fmt.Sprint(row[member]))
	}
	return out
}

// pages follows nextCursor to the end of a list, and returns one member of every object. fields are further members of each
// request's body.
func (d *appServer) pages(t *testing.T, path, fields, list, member string, limit int) []string {
	t.Helper()
	var out []string
	next := ""
	for range 50 {
		body := fmt.Sprintf(`{"limit":%d`, limit)
		if fields != "" {
			body += "," + fields
		}
		if next != "" {
			body += fmt.Sprintf(`,"cursor":%q`, next)
		}
		r := d.post(t, path, body+"}", 200, "")
		got := r.each(list, member)
		if len(got) > limit {
			t.Fatalf("%s: a page of %d, limit %d", path, len(got), limit)
		}
		out = append(out, got...)
		if next = r.str("nextCursor"); next == "" {
			return out
		}
	}
	t.Fatalf("%s: more than 50 pages", path)
	return nil
}

// same checks that two lists are equal. what describes the lists in the failure.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%v, want\n%v", what, got, want)
	}
}

// connectRoutes are the routes of an API key, with the members that each accepts.
func connectRoutes() map[string][]string {
	page := []string{"limit", "cursor"}
	return map[string][]string{
		"/link/create": {"clientUserId", "metadata", "expiresIn"}, "/link/get": {"linkId"}, "/link/list": page, "/link/revoke": {"linkId"},
		"/webhook_endpoint/create": {"url", "events", "description"}, "/webhook_endpoint/get": {"endpointId"}, "/webhook_endpoint/list": page,
		"/webhook_endpoint/update": {"endpointId", "url", "events", "description", "enabled"},
		"/webhook_endpoint/delete": {"endpointId"}, "/webhook_endpoint/test": {"endpointId"},
		"/webhook_event/list": {"since", "limit", "cursor"}, "/webhook_event/get": {"eventId"},
		"/webhook_delivery/list":      {"eventId", "endpointId", "since", "status", "limit", "cursor"},
		"/webhook_delivery/redeliver": {"eventId", "endpointId", "since", "status", "cursor"},
	}
}

// valid returns a well-formed value for each member. The ids name nothing that exists.
func valid() map[string]string {
	return map[string]string{
		"clientUserId": `"u"`, "metadata": `{}`, "expiresIn": `60`, "linkId": `"lnk_x"`, "url": `"https://hooks.example.com"`,
		"events": `["*"]`, "description": `""`, "endpointId": `"whe_x"`, "enabled": `true`, "eventId": `"evt_x"`,
		"since": `0`, "status": `"failed"`, "limit": `1`, "cursor": `"x"`,
	}
}

// required returns the members that a body must have, on routes with at most three members. Routes with more members have other
// rules: deliveries need one of two (TestARequestSelectsDeliveriesInOneWay), and an update may leave out url.
func required() []string {
	return []string{"clientUserId", "linkId", "url", "endpointId", "eventId"}
}

// TestABadBodyIsA4xxOnEveryRouteOfAKey sends each member with each type, and leaves each one out.
func TestABadBodyIsA4xxOnEveryRouteOfAKey(t *testing.T) {
	d := newAppServer(t)
	routes := connectRoutes()
	for _, r := range route.All() {
		if r.Takes == principal.APIKey && r.Pattern != "/app/get" && routes[r.Pattern] == nil {
			t.Errorf("%s has no row", r.Name())
		}
	}
	before := len(d.Rows(t))
	for path, members := range routes {
		for _, body := range []string{`{"x":1}`, `{"X":null}`, `[]`, `null`, `"x"`, `{`, `{}x`, `{} {}`, "{\"\xff\":1}"} {
			d.post(t, path, body, 400, problem.InvalidJSON)
		}
		for _, m := range members {
			d.post(t, path, fmt.Sprintf(`{%q:null,%q:null}`, m, m), 400, problem.InvalidJSON)
			d.post(t, path, fmt.Sprintf(`{%q:null}`, strings.ToUpper(m)), 400, problem.InvalidJSON)
			if slices.Contains(required(), m) && len(members) <= 3 {
				for _, body := range []string{``, `{}`, fmt.Sprintf(`{%q:null}`, m)} {
					d.invalid(t, path, body, "/"+m)
				}
			}
			d.badTypes(t, path, m)
		}
	}
	if after := len(d.Rows(t)); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
}

// badTypes sends one member with values of every type that the member must not have.
func (d *appServer) badTypes(t *testing.T, path, member string) {
	t.Helper()
	for _, bad := range []string{`1.5`, `1e400`, `"x"`, `true`, `[]`, `[[]]`, `[7]`, `{"a":{"b":1}}`} {
		value := valid()[member]
		badInside := bad == `[[]]` || bad == `[7]` || bad[0] == '{' // a list or an object with bad values
		rightType := value[0] == bad[0] && bad[0] != '1'            // no member allows 1.5 or 1e400
		if rightType && !badInside {
			continue // other tests check the bounds of good types
		}
		body := fmt.Sprintf(`{%q:%s}`, member, bad)
		r := d.do(t, request{as: d.key, method: "POST", path: path, body: body})
		if r.status != http.StatusUnprocessableEntity || !strings.Contains(r.text, `"pointer":"/`+member) {
			t.Errorf("%s %s: %d %s", path, body, r.status, r.text)
		}
	}
}

// invalid checks that the answer is a 422 that points at a member.
func (d *appServer) invalid(t *testing.T, path, body, pointer string) reply {
	t.Helper()
	r := d.post(t, path, body, 422, problem.ValidationFailed)
	if !strings.Contains(r.text, fmt.Sprintf(`"pointer":%q`, pointer)) {
		t.Errorf("%s %.80s: %s, want pointer %s", path, body, r.text, pointer)
	}
	return r
}

func TestListsCheckLimitCursorAndSince(t *testing.T) {
	d := newAppServer(t)
	notAnID := "bG5r" // base64url of lnk
	for path, more := range map[string]string{
		"/link/list": "", "/webhook_endpoint/list": "", "/webhook_event/list": "", "/webhook_delivery/list": `,"endpointId":"whe_x"`,
	} {
		for _, limit := range []string{"0", "101", "-1"} {
			d.invalid(t, path, `{"limit":`+limit+more+`}`, "/limit")
		}
		for _, cursor := range []string{"", "!", notAnID, strings.Repeat("A", 4000)} {
			d.post(t, path, fmt.Sprintf(`{"cursor":%q%s}`, cursor, more), 400, problem.InvalidCursor)
		}
	}
	for _, path := range []string{"/webhook_event/list", "/webhook_delivery/list", "/webhook_delivery/redeliver"} {
		for _, since := range []string{"-1", "140737488355329"} { // 2⁴⁷ + 1
			body := `{"since":` + since + `}`
			if path != "/webhook_event/list" {
				body = `{"endpointId":"whe_x","since":` + since + `}`
			}
			d.invalid(t, path, body, "/since")
		}
	}
}
