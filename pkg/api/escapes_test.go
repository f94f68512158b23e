package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestTheLargestRequestsAreAcceptedInEveryEscape: limits count the characters of a text, not its escapes. Python, Ruby and PHP
// escape all characters beyond ASCII, PHP also the slash, and Go escapes <, > and &.
func TestTheLargestRequestsAreAcceptedInEveryEscape(t *testing.T) {
	w := newPeople(t)
	for _, c := range []struct {
		text    string // the names and data repeat this text
		escaped func(string) string
	}{{"é", ascii}, {"😀", ascii}, {"/", func(s string) string { return strings.ReplaceAll(s, "/", `\/`) }}, {"<", forHTML}, {`"`, ascii}, {"\\", ascii}} {
		for pattern, bodies := range map[string]struct {
			body   any
			status int
		}{
			"/v1/orgs/{orgId}/keys/import":         {map[string]any{"keys": importsOf(c.text)}, 200},
			"/v1/orgs/{orgId}/apps/{appId}/events": {map[string]any{"events": publishedOf(c.text)}, 202},
		} {
			body := c.escaped(jsonOf(bodies.body))
			if out := w.do(t, w.request("POST", pattern, service(), body)); out.status != bodies.status {
				t.Errorf("%s of %q, %d bytes: %d %.200s", pattern, c.text, len(body), out.status, out.text)
			}
		}
	}
}

// importsOf returns 25 keys to import. Each is as large as allowed.
func importsOf(c string) (keys []any) {
	limits := []map[string]any{{"requests": 999_999_999, "per": "minute"}, {"requests": 999_999_999, "per": "hour"}, {"requests": 999_999_999, "per": "month"}}
	scopes := make([]string, 32)
	for i := range scopes {
		scopes[i] = fmt.Sprintf("%064d", i)
	}
	for i := range 25 {
		sum := sha256.Sum256([]byte(fmt.Sprint(c, i)))
		keys = append(keys, map[string]any{
			"sha256": hex.EncodeToString(sum[:]), "prefix": strings.Repeat("p", 8), "name": strings.Repeat(c, 100), "scopes": scopes,
			"metadata": metadata(c, 1000), "limits": limits, "ceilings": limits,
		})
	}
	return keys
}

// publishedOf returns 25 events to publish. Each is as large as allowed.
func publishedOf(c string) (events []any) {
	for i := range 25 {
		events = append(events, map[string]any{"id": fmt.Sprintf("%x%060d", c[0], i), "type": "a." + strings.Repeat("b", 62), "data": metadata(c, 8192)})
	}
	return events
}

// ascii returns JSON with an escape for each character beyond ASCII.
func ascii(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return out.String()
}

// forHTML returns JSON as Go writes it.
func forHTML(text string) string {
	out, _ := json.Marshal(json.RawMessage(text)) // escapes <, > and &
	return string(out)
}
