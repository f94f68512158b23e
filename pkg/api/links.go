package api

import (
	"context"
	"net/http"

	"latchkey/pkg/link"
	"latchkey/pkg/problem"
)

// Links gives the handler of functions/links. There are no links yet: a claim
// that is well formed finds none.
func Links() http.Handler {
	g := newGroup("links", map[string]handler{
		"POST /link/claim":    claimLink,
		"OPTIONS /link/claim": preflightClaim,
	})
	// A page of any origin may read the answer, an error too: no cookie and no
	// credential of the browser plays a part in a claim.
	g.header = map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
	return g
}

// preflightClaim tells a browser that it may claim (the Fetch standard,
// "CORS-preflight fetch").
func preflightClaim(context.Context, *call) (answer, error) {
	a := noContent()
	a.header = map[string]string{
		"Access-Control-Allow-Methods": http.MethodPost, "Access-Control-Allow-Headers": "Content-Type",
		"Access-Control-Max-Age": "86400", // seconds
	}
	return a, nil
}

// claimLink claims a link for a device. A token that is malformed and one that
// is unknown are the same 404.
func claimLink(_ context.Context, c *call) (answer, error) {
	var in struct {
		Token    *string `json:"token"`
		ClaimKey *string `json:"claimKey"`
		Device   struct {
			Name     string `json:"name"`
			Platform string `json:"platform"`
		} `json:"device"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	switch {
	case in.Token == nil:
		return answer{}, problem.Invalid("/token", "required", "The value is required.")
	case in.ClaimKey == nil:
		return answer{}, problem.Invalid("/claimKey", "required", "The value is required.")
	case !link.ValidClaimKey(*in.ClaimKey):
		return answer{}, problem.Invalid("/claimKey", "format", "The value must be 22 to 64 base64url characters, at least 128 of their bits random.")
	case !link.ValidDeviceText(in.Device.Name):
		return answer{}, badDeviceText("/device/name")
	case !link.ValidDeviceText(in.Device.Platform):
		return answer{}, badDeviceText("/device/platform")
	}
	return answer{}, problem.New(problem.LinkNotFound, "There is no such link.")
}

func badDeviceText(pointer string) error {
	return problem.Invalid(pointer, "length", "The value must have at most 100 characters, none of them a control character.")
}
