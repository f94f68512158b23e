package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// TestARefusedRequestsLineNamesItsSource: the line of an accepted request does not.
func TestARefusedRequestsLineNamesItsSource(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	w := newWorld(t, newServer(t), "")
	const from = "192.0.2.1:1234" // of httptest
	for _, c := range []struct {
		as                    *principal.Principal
		method, pattern, body string
		status                int
		code                  problem.Code
		caller, source        string
	}{
		{user(w.byRole[org.Viewer]), "GET", "/v1/orgs/{orgId}/keys", "", 403, problem.InsufficientRole, string(w.byRole[org.Viewer]), from},
		{user(w.orgless), "GET", "/v1/orgs/{orgId}", "", 404, problem.OrgNotFound, string(w.orgless), from},
		{w.caller("none"), "GET", "/v1/orgs", "", 403, problem.IdentityIncomplete, "", from},
		{w.caller("key"), "POST", "/link/get", `{"linkId":"lnk_x"}`, 404, problem.LinkNotFound, string(w.key), from},
		{nil, "POST", "/link/claim", `{"token":"lkt_x","claimKey":"0123456789abcdefghijkl"}`, 404, problem.LinkNotFound, "", from},
		{user(w.byRole[org.Admin]), "GET", "/v1/orgs", "", 200, "", string(w.byRole[org.Admin]), ""},
		{nil, "GET", "/v1/orgs", "", 500, problem.Internal, "", ""},
	} {
		out.Reset()
		r := w.request(c.method, c.pattern, c.as, c.body)
		r.header = map[string]string{"X-Forwarded-For": "198.51.100.1"}
		w.want(t, r, c.status, c.code)
		line := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		source, _ := line["sourceIp"].(string)
		code, _ := line["code"].(string)
		if source != c.source || line["caller"] != c.caller || code != string(c.code) {
			t.Errorf("%s %s: %v", c.method, c.pattern, line)
		}
	}
}
