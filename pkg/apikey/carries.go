package apikey

import (
	"slices"
	"strings"

	"latchkey/pkg/plainjson"
)

// The bounds of what a key carries for the owner's endpoints (infra/docs/api.md, "Limits").
const (
	MaxScopes   = 32
	MaxScope    = 64      // characters of one scope
	MaxMetadata = 1 << 10 // bytes of the metadata as JSON
)

// reserved is the beginning of scopes that no one may give a key.
const reserved = "latchkey."

// ValidScope reports whether s may be a scope: 1 to 64 of a to z, 0 to 9 and _.:- that do not
// begin with "latchkey.".
func ValidScope(s string) bool {
	return s != "" && len(s) <= MaxScope && !strings.HasPrefix(s, reserved) && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:-", r)
	})
}

// JoinScopes returns valid scopes as the row of a key has them: sorted, without duplicates, with
// one space between two, "" for none.
func JoinScopes(scopes []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(scopes))), " ")
}

// SplitScopes returns the scopes that JoinScopes joined. The slice is never nil.
func SplitScopes(joined string) []string { return strings.Fields(joined) }

// ValidMetadata reports whether m may be a key's metadata: at most 1,024 bytes as the text of
// plainjson.Marshal.
func ValidMetadata(m map[string]string) bool {
	text, err := plainjson.Marshal(m)
	return err == nil && len(text) <= MaxMetadata
}
