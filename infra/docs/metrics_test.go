package docs_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"latchkey/pkg/metric"
	"latchkey/pkg/problem"
)

// TestTheNumberOfMetricsIsDocumented: CloudWatch charges for each series. CredentialsRefused has one for each code of a refusal: the codes of
// status 401, except the one that only handlers answer, and at the doors of an owner's own endpoints three of status 403.
func TestTheNumberOfMetricsIsDocumented(t *testing.T) {
	ownDoors := []problem.Code{problem.InsufficientRole, problem.OrgSuspended, problem.InsufficientScope}
	own, more := 0, len(ownDoors)
	for _, m := range metric.All() {
		switch {
		case m == metric.SharedUnknownKeys, m == metric.ChecksFailed:
			more++
		case m.Dimension == "":
			own++
		}
	}
	for _, code := range problem.Codes() {
		if code.Status() == http.StatusUnauthorized && code != problem.InsufficientUserAuthentication {
			own++
		}
	}
	want := fmt.Sprintf("A stack in use writes up to %d metrics ($0.30 each), and %d more with [your own endpoints]", own, more)
	if text := documents(t)["infra/docs/costs.md"]; !strings.Contains(text, want) {
		t.Errorf("costs.md lacks %q", want)
	}
}
