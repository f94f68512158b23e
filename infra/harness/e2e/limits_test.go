package e2e_test

import (
	"net/http"
	"strings"
	"testing"
)

// keyOverItsLimits spends the limits of a key. Each route for API keys then answers 429, except routes that revoke, disable or delete:
// with them the key ends the link and the endpoint that it made.
func keyOverItsLimits(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	id, key := ada.key(t, org, `{"limits":[{"requests":5,"per":"month"},{"requests":9,"per":"minute"},{"requests":9,"per":"hour"}]}`)
	send := func(path, body string) reply {
		t.Helper()
		return tg.do(t, call{method: "POST", path: path, body: body, bearer: key})
	}
	made := map[string]string{"/link/create": `{"clientUserId":"u"}`, "/webhook_endpoint/create": `{"url":"` + tg.deadURL() + `"}`}
	for path, body := range made {
		r := send(path, body)
		if r.status != 201 || !strings.HasPrefix(r.header.Get("RateLimit-Policy"), `"minute";q=9;w=60, "hour";q=9;w=3600, "month";q=5;w=`) {
			t.Fatalf("within the limit: %d %s %v", r.status, r.text, r.header)
		}
		made[path] = r.str("id")
	}
	for range 3 {
		tg.want(t, call{method: "POST", path: "/app/get", body: `{}`, bearer: key}, 200, "")
	}
	isFree := map[string]bool{"/link/revoke": true, "/webhook_endpoint/delete": true}
	for _, path := range strings.Fields(`/app/get /link/create /link/get /link/list /link/revoke /webhook_endpoint/create /webhook_endpoint/get
		/webhook_endpoint/list /webhook_endpoint/update /webhook_endpoint/delete /webhook_endpoint/test /webhook_event/list /webhook_event/get
		/webhook_delivery/list /webhook_delivery/redeliver`) {
		body := `{}`
		if path == "/webhook_endpoint/update" { // its handler allows only an update that just disables the endpoint
			body = `{"endpointId":"` + made["/webhook_endpoint/create"] + `","enabled":false,"description":"x"}`
		}
		got := send(path, body)
		isLimited := got.status == 429 && got.str("code") == "rate_limited" && got.header.Get("Retry-After") != "" &&
			strings.Contains(got.text, `"violated-policies":["month"]`) && strings.Contains(got.header.Get("RateLimit"), `"month";r=0;t=`)
		if isLimited == isFree[path] || got.status == 200 {
			t.Errorf("%s: %d %s %v", path, got.status, got.text, got.header)
		}
	}
	for _, end := range [][2]string{
		{"/link/revoke", `{"linkId":"` + made["/link/create"] + `"}`},
		{"/webhook_endpoint/update", `{"endpointId":"` + made["/webhook_endpoint/create"] + `","enabled":false}`},
		{"/webhook_endpoint/delete", `{"endpointId":"` + made["/webhook_endpoint/create"] + `"}`},
	} {
		tg.want(t, call{method: "POST", path: end[0], body: end[1], bearer: key}, 200, "")
	}
	events := "/v1/orgs/" + org + "/apps/app_" + strings.TrimPrefix(org, "org_") + "/webhook_events?since=0"
	within(t, "an event near the month's limit, and one at the limit", func() bool {
		list := ada.want(t, "GET", events, "", 200, "").text
		areOfMonth := strings.Count(list, `"limit":{"requests":5,"per":"month"},"leased":`) == 2
		return areOfMonth && strings.Count(list, `"type":"key.limit_near"`) == 1 && strings.Count(list, `"type":"key.limit_reached"`) == 1
	})
	if days := ada.want(t, "GET", "/v1/orgs/"+org+"/keys/"+id+"/usage", "", 200, ""); !strings.Contains(days.text, `"refused":{"rate_limited":`) {
		t.Errorf("the days of use: %s", days.text)
	}
	csv := tg.want(t, call{method: "GET", path: "/v1/orgs/" + org + "/usage", bearer: ada.token, header: http.Header{"Accept": {"text/csv"}}}, 200, "")
	if rows := strings.Split(csv.text, "\r\n"); rows[0] != "date,keyId,requests,atMost" || len(rows) < 3 || !strings.Contains(rows[1], ","+id+",") {
		t.Errorf("as CSV: %q", csv.text)
	}
	ada.want(t, "PATCH", "/v1/orgs/"+org+"/keys/"+id, `{"limits":[]}`, 200, "")
	if r := send("/app/get", `{}`); r.status != 200 || r.header.Get("RateLimit") != "" {
		t.Errorf("without a limit: %d %v", r.status, r.header)
	}
}
