package api_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// TestWhatCannotBeUndoneNeedsARecentSignIn calls every route of a user, as an admin whose sign-in was too long ago, is
// recent, or is not known. Nothing that ends a right may ask for one.
func TestWhatCannotBeUndoneNeedsARecentSignIn(t *testing.T) {
	const maxAge = time.Hour
	s := newServerFor(t, maxAge)
	s.Limits.OrgsCreated = 1000
	s.NewUser(t, "spare@example.com")
	asks := map[string]bool{"deleteOrg": true, "createKey": true, "rotateKey": true}
	now := time.Now()
	for _, r := range route.All() {
		if r.Takes != principal.UserToken {
			continue
		}
		bodies := map[string]bool{good()[r.Name()].body: asks[r.Operation]}
		switch r.Operation {
		case "addMember":
			bodies[`{"email":"spare@example.com","role":"admin"}`] = true
		case "updateMember":
			bodies[`{"role":"admin"}`] = true
		}
		for body, wanted := range bodies {
			w := newWorld(t, s, strings.ToLower(rand.Text()))
			w.add(t, "deputy"+strings.ToLower(rand.Text())+"@example.com", org.Admin)
			if strings.Contains(r.Pattern, "{endpointId}") {
				w.connect(t)
			}
			for what, at := range map[string]int64{"not known": 0, "long ago": now.Add(-maxAge - time.Minute).Unix(), "to come": now.Add(time.Minute).Unix()} {
				if !wanted {
					continue
				}
				admin := w.caller("admin")
				admin.SignedInAt = at
				out := s.want(t, w.request(r.Method, r.Pattern, admin, body), 401, problem.InsufficientUserAuthentication)
				if got := out.header.Get("WWW-Authenticate"); got != `Bearer error="insufficient_user_authentication", max_age="3600"` || !strings.Contains(out.text, `"maxAge":3600`) {
					t.Errorf("%s, %s: %s, %s", r.Name(), what, got, out.text)
				}
			}
			admin := w.caller("admin")
			if admin.SignedInAt = 0; wanted {
				admin.SignedInAt = now.Add(-maxAge + time.Minute).Unix()
			}
			if out := s.do(t, w.request(r.Method, r.Pattern, admin, body)); out.status >= 300 {
				t.Errorf("%s %s: %d %s", r.Name(), body, out.status, out.text)
			}
		}
	}
}
