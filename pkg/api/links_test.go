package api_test

import (
	"strings"
	"testing"

	"latchkey/pkg/problem"
)

func TestAClaimIsCheckedBeforeAnyLinkIsLookedFor(t *testing.T) {
	s := newServer(t)
	const key = `"claimKey":"0123456789abcdefghijkl"`
	for body, want := range map[string]struct {
		status  int
		code    problem.Code
		pointer string
	}{
		`{"token":"lkt_x",` + key + `}`:                                            {404, problem.LinkNotFound, ""},
		`{"token":"",` + key + `}`:                                                 {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{}}`:                                {404, problem.LinkNotFound, ""},
		`{"token":"lkt_x",` + key + `,"device":{"name":"Ada's","platform":"ios"}}`: {404, problem.LinkNotFound, ""},
		`{` + key + `}`:                                     {422, problem.ValidationFailed, "/token"},
		`{"token":null,` + key + `}`:                        {422, problem.ValidationFailed, "/token"},
		`{"token":1,` + key + `}`:                           {422, problem.ValidationFailed, "/token"},
		`{"token":"lkt_x"}`:                                 {422, problem.ValidationFailed, "/claimKey"},
		`{"token":"lkt_x","claimKey":"short"}`:              {422, problem.ValidationFailed, "/claimKey"},
		`{"token":"lkt_x","claimKey":7}`:                    {422, problem.ValidationFailed, "/claimKey"},
		`{"token":"lkt_x",` + key + `,"device":"phone"}`:    {422, problem.ValidationFailed, "/device"},
		`{"token":"lkt_x",` + key + `,"device":{"name":1}}`: {422, problem.ValidationFailed, "/device/name"},
		`{"token":"lkt_x",` + key + `,"device":{"name":"` + strings.Repeat("x", 101) + `"}}`: {422, problem.ValidationFailed, "/device/name"},
		`{"token":"lkt_x",` + key + `,"device":{"platform":"a\u0000"}}`:                      {422, problem.ValidationFailed, "/device/platform"},
		`{"token":"lkt_x",` + key + `,"device":{"model":"x"}}`:                               {400, problem.InvalidJSON, ""},
		`{"token":"lkt_x",` + key + `,"x":1}`:                                                {400, problem.InvalidJSON, ""},
		`{"token":"lkt_x","TOKEN":"y",` + key + `}`:                                          {400, problem.InvalidJSON, ""},
	} {
		r := s.want(t, request{method: "POST", path: "/link/claim", body: body}, want.status, want.code)
		if want.pointer != "" && !strings.Contains(r.text, `"pointer":"`+want.pointer+`"`) {
			t.Errorf("%.80s: %s, want pointer %s", body, r.text, want.pointer)
		}
	}
}

// TestAPageOfAnyOriginCanReadTheAnswerOfAClaim holds for errors too that no
// handler sees: a browser hides an answer without the header from its page.
func TestAPageOfAnyOriginCanReadTheAnswerOfAClaim(t *testing.T) {
	s := newServer(t)
	for name, r := range map[string]request{
		"unknown":    {method: "POST", path: "/link/claim", body: `{"token":"lkt_x","claimKey":"0123456789abcdefghijkl"}`},
		"invalid":    {method: "POST", path: "/link/claim", body: `{}`},
		"media type": {method: "POST", path: "/link/claim", body: `{}`, contentType: "text/plain"},
		"too large":  {method: "POST", path: "/link/claim", body: strings.Repeat(" ", 17<<10) + `{}`},
		"preflight":  {method: "OPTIONS", path: "/link/claim"},
	} {
		if got := s.do(t, r).header.Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s: %q", name, got)
		}
	}
	pre := s.want(t, request{method: "OPTIONS", path: "/link/claim"}, 204, "")
	if pre.header.Get("Access-Control-Allow-Methods") != "POST" || pre.header.Get("Access-Control-Allow-Headers") != "Content-Type" {
		t.Errorf("%v", pre.header)
	}
}
