package api_test

import (
	"fmt"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
)

// appWithStolenKey is a world with an app that has an honest key and a stolen key.
type appWithStolenKey struct {
	*world
	honest, stolen *principal.Principal
}

func newAppWithStolenKey(t *testing.T) *appWithStolenKey {
	t.Helper()
	w := newWorld(t, newServer(t), "")
	return &appWithStolenKey{world: w, honest: w.caller("key"), stolen: w.newKey(t)}
}

// newKey makes another key of the org's default app.
func (w *world) newKey(t *testing.T) *principal.Principal {
	t.Helper()
	made := w.want(t, w.request("POST", "/v1/orgs/{orgId}/keys", user(w.byRole[org.Admin]), `{}`), 201, "")
	return &principal.Principal{Kind: principal.Key, OrgID: w.org, AppID: id.DefaultApp(w.org), KeyID: id.Key(made.str("id"))}
}

// create makes an endpoint with a key.
func (w *appWithStolenKey) create(t *testing.T, as *principal.Principal) string {
	t.Helper()
	return w.want(t, request{as: as, method: "POST", path: "/webhook_endpoint/create", body: bodyWith("url", hookURL)}, 201, "").str("id")
}

// update changes fields of an endpoint with a key.
func (w *appWithStolenKey) update(t *testing.T, as *principal.Principal, h, fields string) reply {
	t.Helper()
	return w.do(t, request{as: as, method: "POST", path: "/webhook_endpoint/update", body: `{"endpointId":"` + h + `",` + fields + `}`})
}

// revoke revokes the stolen key, as the admin.
func (w *appWithStolenKey) revoke(t *testing.T, query string, status int, code problem.Code) reply {
	t.Helper()
	path := "/v1/orgs/" + string(w.org) + "/keys/" + string(w.stolen.KeyID) + query
	return w.want(t, request{as: user(w.byRole[org.Admin]), method: "DELETE", path: path}, status, code)
}

// reasons returns the disabledReason of each endpoint of the app, by the endpoint's id; nil for an enabled endpoint.
func (w *appWithStolenKey) reasons(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	r := w.want(t, w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", user(w.byRole[org.Admin]), ""), 200, "")
	for _, h := range r.list("endpoints") {
		out[h["id"].(string)] = h["disabledReason"]
	}
	return out
}

func (w *appWithStolenKey) isRevoked(t *testing.T) bool {
	t.Helper()
	k, ok, err := w.APIKey(t.Context(), w.org, w.stolen.KeyID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return k.RevokedAt != 0
}

// TestEndpointsNameTheKeysThatSetThem: createdByKey never changes. urlSetByKey is the key that last changed the URL or the
// events.
func TestEndpointsNameTheKeysThatSetThem(t *testing.T) {
	w := newAppWithStolenKey(t)
	h := w.create(t, w.stolen)
	for _, c := range []struct {
		as     *principal.Principal
		fields string
		setBy  *principal.Principal
	}{
		{w.honest, `"description":"ours"`, w.stolen}, {w.honest, `"enabled":false`, w.stolen},
		{w.honest, `"url":"` + hookURL + `","events":["*"],"description":"all"`, w.stolen}, // the present URL and events
		{w.honest, `"events":["test"]`, w.honest},
		{w.stolen, `"description":"theirs"`, w.honest}, {w.stolen, `"url":"https://theirs.example.com"`, w.stolen},
	} {
		changed := w.update(t, c.as, h, c.fields)
		if changed.str("createdByKey") != string(w.stolen.KeyID) || changed.str("urlSetByKey") != string(c.setBy.KeyID) {
			t.Errorf("%s: %s", c.fields, changed.text)
		}
		shown := w.want(t, w.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", user(w.byRole[org.Admin]), ""), 200, "")
		if one := shown.list("endpoints"); len(one) != 1 || one[0]["createdByKey"] != string(w.stolen.KeyID) || one[0]["urlSetByKey"] != string(c.setBy.KeyID) {
			t.Errorf("%s: shown to the admin %s", c.fields, shown.text)
		}
	}
}

// TestRevokingDisablesTheEndpointsThatTheKeySet: these are the endpoints that the key created, or whose URL or events it was
// the last to set. The row has one key for the URL and another for the events.
func TestRevokingDisablesTheEndpointsThatTheKeySet(t *testing.T) {
	w := newAppWithStolenKey(t)
	want := map[string]any{}
	for name, c := range map[string]struct {
		madeBy  *principal.Principal
		updates []*principal.Principal // the key of each update
		fields  []string               // the body of each update
		reason  any                    // the disabledReason after the revocation
	}{
		"created by the stolen key":                                    {w.stolen, nil, nil, "admin"},
		"created by the stolen key, then set by the honest key":        {w.stolen, []*principal.Principal{w.honest, w.honest}, []string{`"url":"https://x.example.com"`, `"events":["test"]`}, "admin"},
		"URL set by the stolen key":                                    {w.honest, []*principal.Principal{w.stolen}, []string{`"url":"https://x.example.com"`}, "admin"},
		"events set by the stolen key":                                 {w.honest, []*principal.Principal{w.stolen}, []string{`"events":["test"]`}, "admin"},
		"URL set by the stolen key, then events set by the honest key": {w.honest, []*principal.Principal{w.stolen, w.honest}, []string{`"url":"https://x.example.com"`, `"events":["test"]`}, "admin"},
		"events set by the stolen key, then URL set by the honest key": {w.honest, []*principal.Principal{w.stolen, w.honest}, []string{`"events":["test"]`, `"url":"https://x.example.com"`}, "admin"},
		"created by the stolen key, disabled by the honest key":        {w.stolen, []*principal.Principal{w.honest}, []string{`"enabled":false`}, "admin"},
		"URL set by the stolen key, then set back by the honest key":   {w.honest, []*principal.Principal{w.stolen, w.honest}, []string{`"url":"https://x.example.com"`, `"url":"` + hookURL + `"`}, nil},
		"description set by the stolen key":                            {w.honest, []*principal.Principal{w.stolen}, []string{`"description":"x"`}, nil},
		"created by the honest key":                                    {w.honest, nil, nil, nil},
		"created and disabled by the honest key":                       {w.honest, []*principal.Principal{w.honest}, []string{`"enabled":false`}, "user"},
	} {
		h := w.create(t, c.madeBy)
		for i, as := range c.updates {
			if r := w.update(t, as, h, c.fields[i]); r.status != 200 {
				t.Fatalf("%s: %s", name, r.text)
			}
		}
		want[h] = c.reason
	}
	for range 2 { // the second request changes nothing
		w.revoke(t, "?endpoints=disable", 204, "")
		got := w.reasons(t)
		for h, reason := range want {
			if got[h] != reason {
				t.Errorf("%s is disabled by %v, want %v", h, got[h], reason)
			}
		}
	}
}

// TestARevokedKeysEndpointsCanBeDisabledLater: a later request can disable the endpoints of a key that is already revoked.
func TestARevokedKeysEndpointsCanBeDisabledLater(t *testing.T) {
	w := newAppWithStolenKey(t)
	h := w.create(t, w.stolen)
	w.revoke(t, "", 204, "")
	if got := w.reasons(t)[h]; got != nil {
		t.Errorf("disabled by %v without a request for it", got)
	}
	w.revoke(t, "?endpoints=disable", 204, "")
	if got := w.reasons(t)[h]; got != "admin" {
		t.Errorf("disabled by %v", got)
	}
}

func TestOnlyAdminsEnableEndpointsThatAdminsDisabled(t *testing.T) {
	w := newAppWithStolenKey(t)
	h := w.create(t, w.stolen)
	w.endpoint = h
	set := func(enabled bool) reply {
		t.Helper()
		r := w.request("PATCH", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", user(w.byRole[org.Admin]), fmt.Sprintf(`{"enabled":%t}`, enabled))
		return w.want(t, r, 200, "")
	}
	if r := set(false); r.body["enabled"] != false || r.str("disabledReason") != "admin" || r.body["disabledAt"] == nil {
		t.Errorf("%s", r.text)
	}
	for _, key := range []*principal.Principal{w.stolen, w.honest} {
		for _, fields := range []string{`"enabled":true`, `"enabled":true,"description":"x"`} {
			if r := w.update(t, key, h, fields); r.status != 409 || r.code() != string(problem.DisabledByAdmin) {
				t.Errorf("%s: %s", fields, r.text)
			}
		}
	}
	if r := w.update(t, w.honest, h, `"enabled":false,"description":"ours"`); r.str("disabledReason") != "admin" || r.str("description") != "ours" {
		t.Errorf("%s", r.text)
	}
	if r := set(true); r.body["enabled"] != true || r.body["disabledReason"] != nil || r.body["disabledAt"] != nil {
		t.Errorf("%s", r.text)
	}
}

func TestRevocationRefusesUnknownQueries(t *testing.T) {
	w := newAppWithStolenKey(t)
	w.create(t, w.stolen)
	for _, query := range []string{
		"?endpoints=enable", "?endpoints=", "?endpoints", "?endpoints=Disable", "?endpoints=disable&endpoints=disable", "?endpoints=disable,disable",
		"?endpoints=disable;x", "?Endpoints=disable", "?endpoints=disable&x=1", "?limit=1",
		"?links=disable", "?links=", "?links=revoke&links=revoke", "?endpoints=disable&links=x", "?endpoints=x&links=revoke", "?links=revoke&endpoints=disable;x",
	} {
		w.revoke(t, query, 400, problem.UnknownParameter)
	}
	if w.isRevoked(t) {
		t.Error("a refused request has revoked the key")
	}
	w.revoke(t, "?", 204, "")
}

// TestAKeyStaysRevokedWhenDisablingEndpointsFails breaks each transaction after step 0, which revokes the key. Step 1 writes
// the key's bar row, so that earlier requests of the key change no endpoint. Steps 2 to 4 disable one endpoint each. A repeated
// request does the rest.
func TestAKeyStaysRevokedWhenDisablingEndpointsFails(t *testing.T) {
	for step := 1; step <= 4; step++ {
		w := newAppWithStolenKey(t)
		for range 3 {
			w.create(t, w.stolen)
		}
		w.beforeTransaction(step, func() { w.Faults.Plan("TransactWriteItems", storetest.ServerError, -1) })
		w.revoke(t, "?endpoints=disable", 503, problem.Unavailable)
		w.Faults.Heal()
		disabled := 0
		for _, why := range w.reasons(t) {
			if why == "admin" {
				disabled++
			}
		}
		if !w.isRevoked(t) || disabled != max(step-2, 0) { // the earlier steps disabled these
			t.Errorf("step %d: revoked: %v, %d disabled", step, w.isRevoked(t), disabled)
		}
		w.revoke(t, "?endpoints=disable", 204, "")
		for h, why := range w.reasons(t) {
			if why != "admin" {
				t.Errorf("step %d: %s is disabled by %v after the repeat", step, h, why)
			}
		}
	}
}

// TestRevocationEndsKeyThenLinksThenEndpoints breaks each transaction of a revocation in turn. They revoke the key, mark its
// links, write its bar row and disable its endpoint, in this order. A repeated request does the rest.
func TestRevocationEndsKeyThenLinksThenEndpoints(t *testing.T) {
	const query = "?endpoints=disable&links=revoke"
	for step := range 4 {
		w := newAppWithStolenKey(t)
		h := w.create(t, w.stolen)
		link := w.want(t, w.request("POST", "/link/create", w.stolen, `{"clientUserId":"u"}`), 201, "").str("id")
		state := func() string {
			if _, err := w.CleanLinks(t.Context(), w.stolen.AppID, w.stolen.KeyID); err != nil { // as the sweep does for marked links
				t.Error(err)
			}
			l := w.want(t, w.request("POST", "/link/get", w.honest, `{"linkId":"`+link+`"}`), 200, "").str("status")
			return fmt.Sprint(w.isRevoked(t), " ", l, " ", w.reasons(t)[h])
		}
		w.beforeTransaction(step, func() { w.Faults.Plan("TransactWriteItems", storetest.ServerError, -1) })
		w.revoke(t, query, 503, problem.Unavailable)
		w.Faults.Heal()
		if want := []string{"false pending <nil>", "true pending <nil>", "true revoked <nil>", "true revoked <nil>"}[step]; state() != want {
			t.Errorf("step %d: %s, want %s", step, state(), want)
		}
		if w.revoke(t, query, 204, ""); state() != "true revoked admin" {
			t.Errorf("step %d, repeated: %s", step, state())
		}
	}
}

// TestAFaultInAnyStepOfARevocationIsReported: one step fails in all its tries, and the answer is a 503 although later steps
// would succeed.
func TestAFaultInAnyStepOfARevocationIsReported(t *testing.T) {
	for step := range 4 {
		w := newAppWithStolenKey(t)
		w.create(t, w.stolen)
		w.want(t, w.request("POST", "/link/create", w.stolen, `{"clientUserId":"u"}`), 201, "")
		w.beforeTransaction(step, func() { w.Faults.Plan("TransactWriteItems", storetest.ServerError, 3) })
		w.revoke(t, "?endpoints=disable&links=revoke", 503, problem.Unavailable)
		if w.Faults.Pending() {
			t.Errorf("step %d: fewer than three tries", step)
		}
	}
}

// TestACallerDemotedDuringARevocationDisablesNothing, because each transaction checks the role.
func TestACallerDemotedDuringARevocationDisablesNothing(t *testing.T) {
	for step := 1; step <= 2; step++ { // before the key is barred, and before the endpoint is disabled
		w := newAppWithStolenKey(t)
		h := w.create(t, w.stolen)
		w.beforeTransaction(step, func() { w.setRole(t, w.byRole[org.Admin], org.Member) })
		w.revoke(t, "?endpoints=disable", 403, problem.InsufficientRole)
		w.setRole(t, w.byRole[org.Admin], org.Admin)
		if !w.isRevoked(t) || w.reasons(t)[h] != nil || w.Faults.Pending() {
			t.Errorf("step %d: revoked: %v, disabled by %v", step, w.isRevoked(t), w.reasons(t)[h])
		}
	}
}

// TestARequestDuringTheRevocationChangesNoEndpoint revokes a key between the authorization of its request and the transaction
// of the request.
func TestARequestDuringTheRevocationChangesNoEndpoint(t *testing.T) {
	for path, bodyFor := range map[string]func(endpoint string) string{
		"create": func(string) string { return bodyWith("url", hookURL) },
		"update": func(endpoint string) string {
			return `{"endpointId":"` + endpoint + `","url":"https://x.example.com"}`
		},
		"delete": func(endpoint string) string { return bodyWith("endpointId", endpoint) },
	} {
		w := newAppWithStolenKey(t)
		ours := w.create(t, w.honest)
		body := bodyFor(ours)
		w.Faults.Before("TransactWriteItems", func() { w.revoke(t, "?endpoints=disable", 204, "") })
		w.want(t, request{as: w.stolen, method: "POST", path: "/webhook_endpoint/" + path, body: body}, 409, problem.KeyNotActive)
		if got := w.reasons(t); len(got) != 1 || got[ours] != nil || w.Faults.Pending() {
			t.Errorf("%s: %v", path, got)
		}
		if r := w.update(t, w.honest, ours, `"description":"still ours"`); r.status != 200 {
			t.Errorf("%s: another key is barred too: %s", path, r.text)
		}
	}
}

// TestAnEndpointCreatedDuringARevocationIsDisabledOrRefused creates an endpoint with the stolen key at three times: before the key
// is revoked, before its bar row is written, and before its first endpoint is disabled. The authorizer has let each request in
// before the revocation.
func TestAnEndpointCreatedDuringARevocationIsDisabledOrRefused(t *testing.T) {
	for step, want := range []int{201, 201, 409} {
		w := newAppWithStolenKey(t)
		w.create(t, w.stolen)
		w.beforeTransaction(step, func() {
			r := w.do(t, request{as: w.stolen, method: "POST", path: "/webhook_endpoint/create", body: bodyWith("url", hookURL)})
			if r.status != want {
				t.Errorf("step %d: %s", step, r.text)
			}
		})
		w.revoke(t, "?endpoints=disable", 204, "")
		for h, why := range w.reasons(t) {
			if why != "admin" {
				t.Errorf("step %d: %s is disabled by %v", step, h, why)
			}
		}
	}
}
