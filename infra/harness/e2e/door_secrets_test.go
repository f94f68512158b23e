package e2e_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// noCredentialIsKept sends good, ended and unknown credentials to each door's route for keys, to its route for members, and to
// introspection. It does so again while the database is stopped. No log, row or answer may have the credentials.
func (f *frontDoor) noCredentialIsKept(t *testing.T) {
	ended, revoked := f.key(t)
	_, key := f.key(t)
	credentials := map[string]string{
		"key": key, "revoked key": revoked, "imported key": foreignKey(), "unknown key": foreignKey(), "access token": f.ada.token,
		"service's token": f.billing.token, "token of no one": f.ada.token + "tampered",
	}
	f.billing.imports(t, f.org, "", credentials["imported key"])
	f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+ended, "", 204, "")
	answers := ""
	send := func(to *target, c call) {
		t.Helper()
		r, err := to.try(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		answers += r.text + fmt.Sprint(r.header)
	}
	program := newTarget("url", f.FunctionURLs["ForwardAuthFunction"], nil)
	askAll := func() {
		for _, credential := range credentials {
			send(program, introspection(key, url.Values{"token": {credential}}))
			for _, d := range f.doors {
				send(d.targets[0], call{method: "GET", path: d.keyPath, bearer: credential})
				send(d.targets[0], call{method: "GET", path: d.member(f.org), bearer: credential})
			}
		}
	}
	askAll()
	if err := f.DB.Stop(); err != nil {
		t.Fatal(err)
	}
	askAll()
	if err := f.DB.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	places := map[string][]byte{"answers": []byte(answers), "table": dump(t, f.Stack), "logs": logs(t, f.Stack)}
	inNoPlace(t, credentials, places)
	if !strings.Contains(string(places["logs"]), `"code":"key_revoked"`) {
		t.Error("the logs do not have the refusals")
	}
}
