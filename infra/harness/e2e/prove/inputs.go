package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"latchkey/infra/harness/local/stack"
)

const inputs = 105 // the number of bad requests in one history

// Texts and names of members, of which bad requests are made.
var (
	badTexts = []string{
		"", " ", "\x00", "\xff\xfe", "null", "{}", "[]", "true", "-1", "1e999", "9007199254740993", strings.Repeat("a", 300), strings.Repeat("[", 200),
		"é", "\u202e", "💥", "../..", "%00", "%2e%2e", "'; --", `"`, `\ud800`, "<script>", "org_", "org_00000000000000000000000000", "key_zzzzzzzzzzzzzzzzzzzzzzzzzz",
		"a@b", "a@b.c@d", strings.Repeat("x", 64) + "@example.com", "http://127.0.0.1:9/", "https://[::1", "javascript:1", "http://user:pass@example.com/", "ftp://example.com",
	}
	members = []string{
		"name", "role", "email", "subject", "externalId", "admin", "scopes", "metadata", "expiresIn", "graceSeconds", "appId", "token", "claimKey", "device", "clientUserId",
		"url", "events", "enabled", "linkId", "endpointId", "eventId", "kid", "since", "limit", "cursor", "keys", "sha256", "prefix", "type", "data", "id", "description",
	}
)

// badInputs sends requests with bad ids, members, headers and credentials to every route. Each answer must be documented, and none
// may be a 500.
func badInputs(h *history) {
	org := h.org("")
	h.orgs = nil // one of the requests may delete the org, so its audit log is not compared
	_, key := h.key(org, "{}")
	// A new person, because one of the requests may sign this person out.
	person, err := h.Token(h.ctx, stack.User, "", h.text(10)+"@example.com", "")
	if err != nil {
		h.violate("no token for a new person: %v", err)
	}
	var paths [][2]string
	for path, item := range h.api.contract.Document().Paths.Map() {
		for method := range item.Operations() {
			paths = append(paths, [2]string{method, path})
		}
	}
	slices.SortFunc(paths, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	h.together(func(client int) {
		for n := client; n < inputs; n += clients {
			h.api.send(h.ctx, h.badInput(paths, org, key, person))
		}
	})
}

// badInput returns a random bad request.
func (h *history) badInput(paths [][2]string, org, key, person string) request {
	randomText := func() string { return badTexts[h.chance(len(badTexts))] }
	route := paths[h.chance(len(paths))]
	q := request{method: route[0], header: http.Header{}}
	for _, part := range strings.Split(route[1], "/")[1:] {
		switch {
		case part == "{orgId}" && h.chance(3) > 0:
			part = org
		case strings.HasPrefix(part, "{") || h.chance(40) == 0:
			part = url.PathEscape(randomText())
		}
		q.path += "/" + part
	}
	if h.chance(4) == 0 {
		q.path += "?" + []string{"limit", "cursor", "since", "externalId", "x"}[h.chance(5)] + "=" + url.QueryEscape(randomText())
	}
	q.bearer = []string{h.billing, h.billing, key, key, person, "", key[:len(key)-1] + "A", h.billing + "x", h.forged()}[h.chance(9)]
	if q.method != http.MethodGet && q.method != http.MethodHead {
		q.body = h.badBody(randomText, 2)
	}
	switch h.chance(8) {
	case 0:
		q.header.Set("Content-Type", []string{"text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded"}[h.chance(3)])
	case 1:
		q.header.Set("Idempotency-Key", strings.Repeat("k", h.chance(300)))
	}
	return q
}

// badBody returns a text that may be JSON, with members of any route. deep is how deep objects may be nested.
func (h *history) badBody(randomText func() string, deep int) string {
	var all []string
	for range h.chance(4) {
		value := fmt.Sprintf("%q", randomText())
		switch n := h.chance(6); {
		case n == 0:
			value = randomText()
		case n == 1 && deep > 0:
			value = h.badBody(randomText, deep-1)
		case n == 2 && deep > 0:
			value = "[" + h.badBody(randomText, deep-1) + "]"
		case n == 3:
			value = fmt.Sprint(h.chance(1 << 40))
		}
		all = append(all, `"`+members[h.chance(len(members))]+`":`+value)
	}
	body := "{" + strings.Join(all, ",") + "}"
	if h.chance(12) == 0 {
		body = body[:h.chance(len(body)+1)]
	}
	return body
}

// forged returns a token whose header names a key that the issuer does not have.
func (h *history) forged() string {
	_, rest, _ := strings.Cut(h.billing, ".")
	return "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6Im5vbmUifQ." + rest
}
