// Package org has the rules of orgs that need no database: roles, names and email addresses.
// Which user has which role in an org is in package store.
package org

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"latchkey/pkg/text"
)

// Role is what a member may do in an org (infra/docs/contract.md, "Roles").
type Role string

// The roles. A viewer may only read the org itself, and leave it (infra/docs/contract.md,
// "Roles").
const (
	Admin  Role = "admin"
	Member Role = "member"
	Viewer Role = "viewer"
)

// ParseRole converts s to a Role, and reports whether it is one.
func ParseRole(s string) (Role, bool) {
	r := Role(s)
	return r, slices.Contains(AllRoles(), r)
}

// AllRoles returns the roles, the strongest first.
func AllRoles() []Role { return []Role{Admin, Member, Viewer} }

// AtLeast reports whether r may do all that other may do.
func (r Role) AtLeast(other Role) bool {
	rank := slices.Index(AllRoles(), r) // -1 for a text that is not a role
	return rank >= 0 && rank <= slices.Index(AllRoles(), other)
}

// The limits of the contract (infra/docs/api.md, "Limits").
const (
	MaxNameLen  = 100 // characters, after trimming
	MaxEmailLen = 254 // bytes (RFC 5321)
)

// CleanName trims a display name that a person types, and reports whether it is valid: at most 100 characters, at
// least one of them visible and none hidden (package text).
func CleanName(s string) (string, bool) {
	s = strings.TrimSpace(s)
	return s, text.Visible(s) && utf8.RuneCountInString(s) <= MaxNameLen && text.Plain(s)
}

// FoldEmail checks that s is one ASCII addr-spec (RFC 5322, without comments, display names or
// quoted local parts) of at most 254 bytes. It returns the form in which addresses are
// compared: lower case.
func FoldEmail(s string) (string, bool) {
	beyondASCII := func(r rune) bool { return r > unicode.MaxASCII }
	hasOtherForm := strings.ContainsAny(s, "\"()<>[]") // quotes, comments, display names and IP addresses
	if len(s) > MaxEmailLen || hasOtherForm || strings.ContainsFunc(s, beyondASCII) {
		return "", false
	}
	a, err := mail.ParseAddress(s)
	isWholeText := err == nil && a.Address == s && a.Name == ""
	if !isWholeText {
		return "", false
	}
	return strings.ToLower(s), true
}

// NameFor returns the display name of a user: the name that the issuer gives, as text.Cleaned leaves it, or else the part
// of email before the @. email is "" when it is not verified.
func NameFor(name, email string) string {
	if name = CleanedName(name); name != "" {
		return name
	}
	local, _, _ := strings.Cut(email, "@")
	return local
}

// CleanedName returns a display name that a machine reports, without what CleanName refuses. It returns "" when nothing is
// left.
func CleanedName(s string) string { return text.Cleaned(s, MaxNameLen) }
