package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

const hookURL = "https://hooks.example.com/latchkey"

// newEndpoint registers an endpoint that gets events of every type, and returns its id.
func (d *appServer) newEndpoint(t *testing.T) string {
	t.Helper()
	return d.post(t, "/webhook_endpoint/create", bodyWith("url", hookURL), 201, "").str("id")
}

func TestAnEndpointIsCreatedReadAndChanged(t *testing.T) {
	d := newAppServer(t)
	made := d.post(t, "/webhook_endpoint/create", bodyWith("url", hookURL), 201, "")
	at := d.at.UnixMilli()
	want := fmt.Sprintf(`{"id":%q,"url":%q,"description":"","events":["*"],"enabled":true,"disabledReason":null,"disabledAt":null,"failingSince":null,"pausedUntil":null,`+
		`"createdAt":%d,"updatedAt":%d,"createdByKey":%q,"urlSetByKey":%q`, made.str("id"), hookURL, at, at, d.key.KeyID, d.key.KeyID)
	if strings.TrimSpace(made.text) != want+`}` {
		t.Errorf("%s, want\n%s", made.text, want)
	}
	body := bodyWith("endpointId", made.str("id"))
	if got := d.post(t, "/webhook_endpoint/get", body, 200, ""); strings.TrimSpace(got.text) != want+`,"heldCount":0}` {
		t.Errorf("%s, want\n%s", got.text, want)
	}
	d.pass(time.Second)
	changed := d.post(t, "/webhook_endpoint/update", fmt.Sprintf(
		`{"endpointId":%q,"url":"https://new.example.com/","events":["link.claimed","test"],"description":"New"}`, made.str("id")), 200, "")
	if changed.str("url") != "https://new.example.com/" || fmt.Sprint(changed.body["events"]) != "[link.claimed test]" ||
		changed.str("description") != "New" || changed.num("createdAt") != at || changed.num("updatedAt") != at+1000 || changed.body["enabled"] != true {
		t.Errorf("%s", changed.text)
	}
	if got := d.post(t, "/webhook_endpoint/get", body, 200, ""); got.text != changed.text {
		t.Errorf("%s, want %s", got.text, changed.text)
	}
	// These bodies change nothing, not even updatedAt: a body without a change, one with nulls, and one with the present values.
	d.pass(time.Second)
	for _, nothing := range []string{body, `{"endpointId":"` + made.str("id") + `","url":null,"events":null,"description":null,"enabled":null}`,
		`{"endpointId":"` + made.str("id") + `","url":"https://new.example.com/","events":["link.claimed","test"],"description":"New","enabled":true}`} {
		if got := d.post(t, "/webhook_endpoint/update", nothing, 200, ""); got.text != changed.text {
			t.Errorf("%s: %s, want %s", nothing, got.text, changed.text)
		}
	}
	cleared := d.post(t, "/webhook_endpoint/update", fmt.Sprintf(`{"endpointId":%q,"description":""}`, made.str("id")), 200, "")
	if cleared.str("description") != "" || cleared.str("url") != "https://new.example.com/" {
		t.Errorf("%s", cleared.text)
	}
}

func TestAnEndpointIsDisabledAndEnabledByItsUser(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	set := func(enabled bool) reply {
		return d.post(t, "/webhook_endpoint/update", fmt.Sprintf(`{"endpointId":%q,"enabled":%t}`, h, enabled), 200, "")
	}
	at := d.at.UnixMilli()
	for range 2 { // the second request does not move disabledAt
		if r := set(false); r.body["enabled"] != false || r.str("disabledReason") != "user" || r.num("disabledAt") != at {
			t.Errorf("%s", r.text)
		}
		d.pass(time.Second)
	}
	e := d.testEvent(t, h)
	if r := d.post(t, "/webhook_endpoint/get", bodyWith("endpointId", h), 200, ""); r.num("heldCount") != 1 {
		t.Errorf("%s", r.text)
	}
	if got := d.status(t, e, h); got != "held" {
		t.Errorf("status %s", got)
	}
	if r := set(true); r.body["enabled"] != true || r.body["disabledReason"] != nil || r.body["disabledAt"] != nil {
		t.Errorf("%s", r.text)
	}
	got := d.post(t, "/webhook_endpoint/get", bodyWith("endpointId", h), 200, "")
	if got.body["enabled"] != true || got.body["disabledReason"] != nil || got.body["disabledAt"] != nil {
		t.Errorf("%s", got.text)
	}
}

func TestABadEndpointValueIsA422WithItsPointer(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	before := len(d.Rows(t))
	for _, url := range []string{
		"", "x", "hooks.example.com", "//hooks.example.com", "ftp://hooks.example.com", "http://hooks.example.com", "https://hooks.example.com:8443",
		"https://user:secret@hooks.example.com", "https://hooks.example.com/#x", "https://10.0.0.1/", "https://192.168.1.1", "https://127.0.0.1",
		"https://[::1]/", "https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]", "https://localhost", "https://db.internal", "https://2130706433/",
		"https://hooks.example.com/" + strings.Repeat("x", 2048), "https://höoks.example.com", "https://hooks.example.com/a b",
	} {
		for path, otherMembers := range map[string]string{"/webhook_endpoint/create": "", "/webhook_endpoint/update": fmt.Sprintf(`,"endpointId":%q`, h)} {
			r := d.invalid(t, path, fmt.Sprintf(`{"url":%q%s}`, url, otherMembers), "/url")
			if !strings.Contains(r.text, `"code":"url_not_allowed"`) || strings.Contains(r.text, "secret") {
				t.Errorf("%.80s: %s", url, r.text)
			}
		}
	}
	for member, values := range map[string][]string{
		"events":      {`[]`, manyFilters(51)},
		"events/0":    {`["link.lost"]`, `["Link.claimed"]`, `[null]`, `[""]`, `["link.*.*"]`, `["app.*"]`},
		"events/1":    {`["test","test"]`, `["*","*"]`, `["link.*","link.*"]`},
		"description": {`"` + strings.Repeat("x", 201) + `"`, `"a\nb"`, `"\u0000"`},
	} {
		name, _, _ := strings.Cut(member, "/")
		for _, value := range values {
			d.invalid(t, "/webhook_endpoint/create", fmt.Sprintf(`{"url":%q,%q:%s}`, hookURL, name, value), "/"+member)
			d.invalid(t, "/webhook_endpoint/update", fmt.Sprintf(`{"endpointId":%q,%q:%s}`, h, name, value), "/"+member)
		}
	}
	if after := len(d.Rows(t)); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
	for _, good := range []string{
		`"description":"` + strings.Repeat("é", 200) + `"`, `"description":null`, `"events":null`, `"events":["*","test"]`,
		`"events":["link.claimed","link.expired","link.revoked","key.created","key.revoked","key.expiring","key.leaked",` +
			`"endpoint.created","endpoint.updated","endpoint.deleted","endpoint.disabled","test"]`,
		`"events":["link.*","invoice.paid","invoice.*"]`, `"events":` + manyFilters(50),
	} {
		d.post(t, "/webhook_endpoint/create", fmt.Sprintf(`{"url":%q,%s}`, hookURL, good), 201, "")
	}
	d.post(t, "/webhook_endpoint/create", bodyWith("url", "https://8.8.8.8:443/x?y=1"), 201, "")
}

// manyFilters returns a list of n different types of event, as JSON.
func manyFilters(n int) string {
	var types []string
	for i := range n {
		types = append(types, fmt.Sprintf(`"invoice.n%d"`, i))
	}
	return "[" + strings.Join(types, ",") + "]"
}

func TestAnAppCanHave20Endpoints(t *testing.T) {
	d := newAppServer(t)
	var made []string
	for range 20 {
		d.pass(time.Millisecond)
		made = append([]string{d.newEndpoint(t)}, made...)
	}
	d.post(t, "/webhook_endpoint/create", bodyWith("url", hookURL), 409, problem.LimitReached)
	d.foreign(t, "/webhook_endpoint/create", bodyWith("url", hookURL), 201, "")
	gone := made[7]
	d.post(t, "/webhook_endpoint/delete", bodyWith("endpointId", gone), 200, "")
	d.post(t, "/webhook_endpoint/delete", bodyWith("endpointId", gone), 404, problem.EndpointNotFound) // frees no place
	made = slices.Delete(made, 7, 8)
	same(t, "after a delete", d.post(t, "/webhook_endpoint/list", ``, 200, "").each("endpoints", "id"), made)
	d.pass(time.Millisecond)
	// A deleted endpoint counts until the sweep has cancelled the deliveries that wait for it.
	d.post(t, "/webhook_endpoint/create", bodyWith("url", hookURL), 409, problem.LimitReached)
	deleted, isDue, err := d.Deliveries().Waiting(t.Context(), d.key.AppID, id.Endpoint(gone))
	if err != nil || !isDue {
		t.Fatal(isDue, err)
	}
	// As in the sweep, LookedAt deletes the row of a deleted endpoint for which no delivery waits.
	if err := d.Deliveries().LookedAt(t.Context(), deleted, store.Looked{Began: d.at}); err != nil {
		t.Fatal(err)
	}
	made = append([]string{d.newEndpoint(t)}, made...)
	d.post(t, "/webhook_endpoint/create", bodyWith("url", hookURL), 409, problem.LimitReached)
	for _, limit := range []int{1, 7, 10, 20, 21} {
		same(t, fmt.Sprintf("pages of %d", limit), d.pages(t, "/webhook_endpoint/list", "", "endpoints", "id", limit), made)
	}
}

func TestARetriedEndpointIsTheSameEndpoint(t *testing.T) {
	d := newAppServer(t)
	r := request{
		as: d.key, method: "POST", path: "/webhook_endpoint/create", body: bodyWith("url", hookURL),
		header: map[string]string{"Idempotency-Key": "01234567-89ab-cdef-0123-456789abcdef"},
	}
	first, again := d.want(t, r, 201, ""), d.want(t, r, 201, "")
	if first.text != again.text || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s\n%s", first.text, again.text)
	}
	if n := len(d.post(t, "/webhook_endpoint/list", ``, 200, "").list("endpoints")); n != 1 {
		t.Errorf("%d endpoints", n)
	}
	r.body = bodyWith("url", hookURL+"2")
	d.want(t, r, 422, problem.IdempotencyKeyReused)
}

// aboutEndpoint returns a body that names the endpoint, for each route that accepts one.
func aboutEndpoint(h string) map[string]string {
	body := bodyWith("endpointId", h)
	return map[string]string{
		"/webhook_endpoint/get": body, "/webhook_endpoint/update": body, "/webhook_endpoint/test": body, "/webhook_endpoint/delete": body,
		"/webhook_delivery/list":      body,
		"/webhook_delivery/redeliver": fmt.Sprintf(`{"endpointId":%q,"since":0}`, h),
	}
}

func TestForeignAndDeletedEndpointsAre404(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	e := d.testEvent(t, h)
	for path, body := range aboutEndpoint(h) {
		theirs := d.foreign(t, path, body, 404, problem.EndpointNotFound)
		for _, other := range []string{string(id.Source{}.NewEndpoint(d.at)), "x", "", strings.ToUpper(h), strings.Repeat("h", 5000)} {
			if r := d.post(t, path, aboutEndpoint(other)[path], 404, problem.EndpointNotFound); r.text != theirs.text {
				t.Errorf("the 404s differ: %s %s", r.text, theirs.text)
			}
		}
	}
	one := fmt.Sprintf(`{"endpointId":%q,"eventId":%q}`, h, e)
	d.foreign(t, "/webhook_delivery/redeliver", one, 404, problem.EndpointNotFound)
	if r := d.foreign(t, "/webhook_endpoint/list", `{}`, 200, ""); len(r.list("endpoints")) != 0 {
		t.Errorf("%s", r.text)
	}
	if r := d.post(t, "/webhook_endpoint/delete", bodyWith("endpointId", h), 200, ""); strings.TrimSpace(r.text) != `{"ok":true}` {
		t.Errorf("%s", r.text)
	}
	for path, body := range aboutEndpoint(h) {
		d.post(t, path, body, 404, problem.EndpointNotFound)
	}
	d.post(t, "/webhook_delivery/redeliver", one, 404, problem.EndpointNotFound)
	if r := d.post(t, "/webhook_endpoint/list", `{}`, 200, ""); len(r.list("endpoints")) != 0 {
		t.Errorf("%s", r.text)
	}
}
