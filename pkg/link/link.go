// Package link has the rules of links that need no database: what a client SDK
// may send to claim one.
package link

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a claim (design, "Links").
const (
	MinClaimKey   = 22 // base64url characters: 128 random bits
	MaxClaimKey   = 64
	MaxDeviceText = 100 // characters of a device's name, and of its platform
)

// ValidClaimKey reports whether s may be the key that a device claims with and
// shows again when it asks again: 22 to 64 base64url characters.
func ValidClaimKey(s string) bool {
	return len(s) >= MinClaimKey && len(s) <= MaxClaimKey && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// ValidDeviceText reports whether s may describe a device: at most 100
// characters, none of them a control character.
func ValidDeviceText(s string) bool {
	return utf8.RuneCountInString(s) <= MaxDeviceText && !strings.ContainsFunc(s, unicode.IsControl)
}
