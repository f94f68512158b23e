package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// TestAKeyOverItsLimitsCanOnlyDisable: it can disable a webhook endpoint. Every other change gets the refusal that the
// authorizer gives on other routes.
func TestAKeyOverItsLimitsCanOnlyDisable(t *testing.T) {
	d := newAppServer(t)
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

// TestHandlerAndAuthorizerExplainASpentAllowanceAlike: the detail names the allowance and the time of the next one.
func TestHandlerAndAuthorizerExplainASpentAllowanceAlike(t *testing.T) {
	d := newAppServer(t)
	over := *d.key
	now := time.Now().UTC()
	end := now.Truncate(time.Hour).Add(time.Hour)
	over.Limit = principal.Limit{
		Policy: `"org-hour";q=3;w=3600`, State: fmt.Sprintf(`"org-hour";r=0;t=%d`, end.Unix()-now.Unix()), Violated: "org-hour", RetryAfter: 7,
	}
	out := d.want(t, request{as: &over, method: "POST", path: "/webhook_endpoint/list", body: `{}`}, 429, problem.RateLimited)
	if want := "The org has used its allowance of 3 an hour. The next one begins at " + end.Format(time.RFC3339) + "."; out.body["detail"] != want {
		t.Errorf("%s, want %s", out.text, want)
	}
}

// TestAKeyOverItsLimitsReachesNoHandler: a key over its limits is refused on a route that ends nothing. Each answer to a key with
// limits has the RateLimit headers.
func TestAKeyOverItsLimitsReachesNoHandler(t *testing.T) {
	d := newAppServer(t)
	within := *d.key
	within.Limit = principal.Limit{Policy: `"minute";q=1;w=60`, State: `"minute";r=0;t=17`}
	over := within
	over.Limit.Violated, over.Limit.RetryAfter = "minute org-day", 17
	for _, c := range []struct {
		as     principal.Principal
		status int
		code   problem.Code
	}{{over, 429, problem.RateLimited}, {within, 200, ""}} {
		out := d.want(t, request{as: &c.as, method: "POST", path: "/webhook_endpoint/list", body: `{}`}, c.status, c.code)
		if out.header.Get("RateLimit") != c.as.Limit.State || out.header.Get("RateLimit-Policy") != c.as.Limit.Policy || out.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d: %v", c.status, out.header)
		}
		if c.code != "" && (!slices.Equal(out.body["violated-policies"].([]any), []any{"minute", "org-day"}) || out.header.Get("Retry-After") != "17") {
			t.Errorf("%s, %v", out.text, out.header)
		}
	}
}
