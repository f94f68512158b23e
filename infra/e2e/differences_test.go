package e2e_test

import (
	"net/http"
	"testing"
)

// difference is an answer of a target that differs because of the target's own limits.
type difference struct {
	status int    // the target's answer
	why    string // the limit
}

// samDifferences is the closed list of answers of `sam local start-api` that differ: by the
// request's method and path, or by the problem code of the right answer. A run fails when one of
// them does not occur.
var samDifferences = map[string]difference{
	"missing_credentials": {http.StatusForbidden, "SAM local knows no gateway responses: a Deny is a 403 with a fixed sentence"},
	"invalid_credentials": {http.StatusForbidden, "as above"},
	"key_revoked":         {http.StatusForbidden, "as above"},
	"key_expired":         {http.StatusForbidden, "as above"},
	"token_invalid":       {http.StatusForbidden, "as above"},
	"user_token_required": {http.StatusForbidden, "as above"},
	"api_key_required":    {http.StatusForbidden, "as above"},
	"GET /v1/orgs/a%2Fb":  {http.StatusForbidden, "SAM local decodes %2F before it routes: the path is an unknown one"},
	"route_not_found":     {http.StatusForbidden, "SAM local answers an unknown path with 403 Missing Authentication Token"},
}

// differs reports whether the answer differs from the wanted one by a known difference of the target.
func (tg *target) differs(c call, status int, code string, r reply) bool {
	if tg.name != "sam" || r.status == status {
		return false
	}
	for _, which := range []string{c.method + " " + c.path, code} {
		if d, known := samDifferences[which]; known && r.status == d.status {
			tg.mu.Lock()
			defer tg.mu.Unlock()
			tg.met[which] = true
			return true
		}
	}
	return false
}

func (tg *target) everyDifferenceOccurred(t *testing.T) {
	t.Helper()
	if tg.name != "sam" {
		return
	}
	for code, d := range samDifferences {
		if !tg.met[code] {
			t.Errorf("%s: SAM local no longer answers %d (%s): take the line out of samDifferences", code, d.status, d.why)
		}
	}
}
