package api_test

import (
	"slices"
	"testing"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// TestAKeyOverItsLimitsOnlyDisables a webhook endpoint: any other change of it is refused, as the authorizer would have refused it.
func TestAKeyOverItsLimitsOnlyDisables(t *testing.T) {
	d := newDesk(t)
	h := d.newEndpoint(t)
	within, over, unknown := *d.key, *d.key, *d.key
	over.Deferred, over.Limit = true, principal.Limit{Policy: `"day";q=1;w=86400`, Violated: "day org-month", RetryAfter: 7}
	unknown.Deferred = true
	for _, c := range []struct {
		fields string
		ends   bool
	}{
		{`"url":"https://other.example.com"`, false}, {`"description":"x"`, false}, {`"events":["test"]`, false}, {`"enabled":true`, false},
		{`"enabled":false,"description":"y"`, false}, {`"enabled":false,"url":"https://other.example.com/2"`, false}, {`"enabled":false,"events":["*"]`, false},
		{`"description":null`, false}, {`"enabled":false`, true}, {`"enabled":false,"description":null,"url":null`, true},
	} {
		r := request{as: &over, method: "POST", path: "/webhook_endpoint/update", body: `{"endpointId":"` + h + `",` + c.fields + `}`}
		if c.ends {
			d.want(t, r, 200, "")
			r.as = &unknown
			d.want(t, r, 200, "")
			continue
		}
		out := d.want(t, r, 429, problem.RateLimited)
		if got := out.body["violated-policies"]; !slices.Equal(got.([]any), []any{"day", "org-month"}) || out.header.Get("Retry-After") != "7" {
			t.Errorf("%s: %v, %s", c.fields, out.text, out.header.Get("Retry-After"))
		}
		r.as = &unknown
		d.want(t, r, 503, problem.Unavailable)
		r.as = &within
		d.want(t, r, 200, "")
	}
}
