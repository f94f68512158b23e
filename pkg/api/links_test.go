package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
)

func TestAClaimIsCheckedBeforeTheLinkIsRead(t *testing.T) {
	s := newServer(t)
	const key = `"claimKey":"0123456789abcdefghijkl"`
	for body, want := range map[string]struct {
		status  int
		code    problem.Code
		pointer string
	}{
		`{"token":"lkt_x",` + key + `}`:                                            {404, problem.LinkNotFound, ""},
		`{"token":"",` + key + `}`:                                                 {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{}}`:                                {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{"name":"Ada's","platform":"ios"}}`: {404, problem.LinkNotFound, ""},
		`{` + key + `}`:                                     {422, problem.ValidationFailed, "/token"},
		`{"token":null,` + key + `}`:                        {422, problem.ValidationFailed, "/token"},
		`{"token":1,` + key + `}`:                           {422, problem.ValidationFailed, "/token"},
		`{"token":"lkt_x"}`:                                 {422, problem.ValidationFailed, "/claimKey"},
		`{"token":"lkt_x","claimKey":"short"}`:              {422, problem.ValidationFailed, "/claimKey"},
		`{"token":"lkt_x","claimKey":7}`:                    {422, problem.ValidationFailed, "/claimKey"},
		`{"token":"lkt_x",` + key + `,"device":"phone"}`:    {422, problem.ValidationFailed, "/device"},
		`{"token":"lkt_x",` + key + `,"device":{"name":1}}`: {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{"name":"` + strings.Repeat("x", 101) + `"}}`: {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{"platform":"a\u0000"}}`:                      {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{"model":"x"}}`:                               {400, problem.InvalidJSON, ""},
		`{"token":"lkt_x",` + key + `,"x":1}`:                                                {400, problem.InvalidJSON, ""},
		`{"token":"lkt_x","TOKEN":"y",` + key + `}`:                                          {400, problem.InvalidJSON, ""},
	} {
		r := s.want(t, request{method: "POST", path: "/link/claim", body: body}, want.status, want.code)
		if want.pointer != "" && !strings.Contains(r.text, `"pointer":"`+want.pointer+`"`) {
			t.Errorf("%.80s: %s, want pointer %s", body, r.text, want.pointer)
		}
	}
}

// TestAPageOfAnyOriginCanReadTheAnswerOfAClaim: a browser hides an answer without the header from its page. So errors before
// the handler also have the header.
func TestAPageOfAnyOriginCanReadTheAnswerOfAClaim(t *testing.T) {
	s := newServer(t)
	for name, r := range map[string]request{
		"unknown":    {method: "POST", path: "/link/claim", body: `{"token":"lkt_x","claimKey":"0123456789abcdefghijkl"}`},
		"invalid":    {method: "POST", path: "/link/claim", body: `{}`},
		"media type": {method: "POST", path: "/link/claim", body: `{}`, contentType: "text/plain"},
		"too large":  {method: "POST", path: "/link/claim", body: strings.Repeat(" ", 17<<10) + `{}`},
		"preflight":  {method: "OPTIONS", path: "/link/claim"},
	} {
		if got := s.do(t, r).header.Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s: %q", name, got)
		}
	}
	pre := s.want(t, request{method: "OPTIONS", path: "/link/claim"}, 204, "")
	if pre.header.Get("Access-Control-Allow-Methods") != "POST" || pre.header.Get("Access-Control-Allow-Headers") != "Content-Type" {
		t.Errorf("%v", pre.header)
	}
}

// newLink creates a link that lives for a minute.
func (d *appServer) newLink(t *testing.T) (link, token string) {
	t.Helper()
	r := d.post(t, "/link/create", `{"clientUserId":"u","expiresIn":60}`, 201, "")
	return r.str("id"), r.str("token")
}

func TestALinkIsCreatedReadAndRevoked(t *testing.T) {
	d := newAppServer(t)
	made := d.post(t, "/link/create", `{"clientUserId":"ada","metadata":{"plan":"pro","":""}}`, 201, "")
	if made.str("status") != "pending" || made.num("expiresAt") != d.at.Add(1800*time.Second).UnixMilli() {
		t.Errorf("%s", made.text)
	}
	body := bodyWith("linkId", made.str("id"))
	got := d.post(t, "/link/get", body, 200, "")
	want := fmt.Sprintf(`{"id":%q,"status":"pending","clientUserId":"ada","metadata":{"":"","plan":"pro"},"device":null,`+
		`"createdAt":%d,"expiresAt":%d,"claimedAt":null,"revokedAt":null,"createdByKey":%q}`, made.str("id"), d.at.UnixMilli(), made.num("expiresAt"), d.key.KeyID)
	if strings.TrimSpace(got.text) != want {
		t.Errorf("%s, want\n%s", got.text, want)
	}
	d.pass(time.Second)
	revoked := d.post(t, "/link/revoke", body, 200, "")
	if revoked.str("status") != "revoked" || revoked.num("revokedAt") != d.at.UnixMilli() {
		t.Errorf("%s", revoked.text)
	}
	d.pass(time.Hour) // past the link's expiry: a revoked link stays revoked
	for _, path := range []string{"/link/revoke", "/link/get"} {
		if again := d.post(t, path, body, 200, ""); again.text != revoked.text {
			t.Errorf("%s: %s, want %s", path, again.text, revoked.text)
		}
	}
	same(t, "events", d.eventTypes(t), []string{"link.revoked"})
}

func TestAClaimedOrExpiredLinkCannotBeRevoked(t *testing.T) {
	d := newAppServer(t)
	claimed, token := d.newLink(t)
	d.claim(t, token, firstDevice, 200, "")
	d.post(t, "/link/revoke", bodyWith("linkId", claimed), 409, problem.LinkAlreadyClaimed)
	expired, _ := d.newLink(t)
	d.pass(time.Minute)
	d.post(t, "/link/revoke", bodyWith("linkId", expired), 410, problem.LinkExpired)
	if got := d.post(t, "/link/get", bodyWith("linkId", expired), 200, "").str("status"); got != "expired" {
		t.Errorf("status %s", got)
	}
	if got := d.post(t, "/link/get", bodyWith("linkId", claimed), 200, "").str("status"); got != "claimed" {
		t.Errorf("status %s", got)
	}
}

func TestLinksAreListedNewestFirst(t *testing.T) {
	d := newAppServer(t)
	var want []string
	for range 5 {
		d.pass(time.Millisecond)
		made, _ := d.newLink(t)
		want = append([]string{made}, want...)
	}
	for limit := 1; limit <= 6; limit++ {
		same(t, fmt.Sprintf("pages of %d", limit), d.pages(t, "/link/list", "", "links", "id", limit), want)
	}
	same(t, "without a limit", d.post(t, "/link/list", ``, 200, "").each("links", "id"), want)
}

func TestALinkBelongsToItsApp(t *testing.T) {
	d := newAppServer(t)
	made, _ := d.newLink(t)
	for _, path := range []string{"/link/get", "/link/revoke"} {
		theirs := d.foreign(t, path, bodyWith("linkId", made), 404, problem.LinkNotFound)
		for _, other := range []string{string(id.Source{}.NewLink(d.at)), "x", "", strings.ToUpper(made), made + "0", strings.Repeat("l", 5000)} {
			if r := d.post(t, path, bodyWith("linkId", other), 404, problem.LinkNotFound); r.text != theirs.text {
				t.Errorf("the 404s differ: %s %s", r.text, theirs.text)
			}
		}
	}
	if r := d.foreign(t, "/link/list", `{}`, 200, ""); len(r.list("links")) != 0 {
		t.Errorf("%s", r.text)
	}
	if got := d.post(t, "/link/get", bodyWith("linkId", made), 200, "").str("status"); got != "pending" {
		t.Errorf("another app changed it: %s", got)
	}
}

func TestARetriedLinkIsTheSameLink(t *testing.T) {
	d := newAppServer(t)
	r := request{
		as: d.key, method: "POST", path: "/link/create", body: `{"clientUserId":"u"}`,
		header: map[string]string{"Idempotency-Key": "01234567-89ab-cdef-0123-456789abcdef"},
	}
	first := d.want(t, r, 201, "")
	d.pass(time.Minute)
	again := d.want(t, r, 201, "")
	if first.text != again.text || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%s\n%s", first.text, again.text)
	}
	if n := len(d.post(t, "/link/list", ``, 200, "").list("links")); n != 1 {
		t.Errorf("%d links", n)
	}
	d.claim(t, again.str("token"), firstDevice, 200, "")
	r.body = `{"clientUserId":"v"}`
	d.want(t, r, 422, problem.IdempotencyKeyReused)
	r.as, r.body = d.other, `{"clientUserId":"u"}` // another caller may use the same Idempotency-Key
	if theirs := d.want(t, r, http.StatusCreated, ""); theirs.str("id") == first.str("id") {
		t.Error("another app got the same link")
	}
}

func TestTheMembersOfALinkAreBounded(t *testing.T) {
	d := newAppServer(t)
	// members returns metadata of n members.
	members := func(n int) string {
		var m []string
		for i := range n {
			m = append(m, fmt.Sprintf(`"m%d":""`, i))
		}
		return `{` + strings.Join(m, ",") + `}`
	}
	// long returns metadata of n bytes.
	long := func(n int) string { return `{"m":"` + strings.Repeat("x", n-len(`{"m":""}`)) + `"}` }
	for member, values := range map[string]struct{ good, bad []string }{
		"metadata": {
			[]string{`null`, `{}`, members(20), long(2048), `{"a.b":"é"}`, `{"m":"` + strings.Repeat("&", 2000) + `"}`},
			[]string{members(21), long(2049), `{"a":1}`, `{"a":null}`, `{"a":{"b":"c"}}`, `{"a":["b"]}`, `[]`, `"x"`},
		},
		"clientUserId": {
			[]string{`"u"`, `"` + strings.Repeat("x", 128) + `"`, `"` + strings.Repeat("é", 128) + `"`, `" "`, `"💩"`},
			[]string{`null`, `""`, `"` + strings.Repeat("x", 129) + `"`, `"a\nb"`, `"\u0000"`, `"\u0085"`},
		},
		"expiresIn": {
			[]string{`null`, `60`, `604800`},
			[]string{`0`, `59`, `604801`, `-60`, `9223372036854775808`, `60.5`},
		},
	} {
		body := func(value string) string {
			if member == "clientUserId" {
				return `{"clientUserId":` + value + `}`
			}
			return `{"clientUserId":"u","` + member + `":` + value + `}`
		}
		for _, value := range values.good {
			d.post(t, "/link/create", body(value), 201, "")
		}
		before := len(d.Rows(t))
		for _, value := range values.bad {
			if r := d.post(t, "/link/create", body(value), 422, problem.ValidationFailed); !strings.Contains(r.text, `"pointer":"/`+member) {
				t.Errorf("%.80s: %s", value, r.text)
			}
		}
		if after := len(d.Rows(t)); after != before {
			t.Errorf("%s: %d rows became %d", member, before, after)
		}
	}
	d.post(t, "/link/create", `{"clientUserId":"u","metadata":{"a":"b","a":"c"}}`, 400, problem.InvalidJSON)
	if !slices.Contains(d.post(t, "/link/list", `{"limit":100}`, 200, "").each("links", "metadata"), "map[a.b:é]") {
		t.Error("the metadata has changed")
	}
}
