// Package org has the rules of orgs that need no database: roles and names.
// Which user has which role in an org is in package store.
package org

import (
	"slices"
	"strings"
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

// MaxNameLen is the limit of the contract (infra/docs/api.md, "Limits"): characters, after trimming.
const MaxNameLen = 100

// CleanName trims a display name that a person types, and reports whether it is valid: at most 100 characters, at
// least one of them visible and none hidden (package text).
func CleanName(s string) (string, bool) {
	s = strings.TrimSpace(s)
	return s, text.Visible(s) && utf8.RuneCountInString(s) <= MaxNameLen && text.Plain(s)
}

// NameFor returns the display name of a user: the name that the issuer gives, cleaned by CleanedName, or else the part of
// email before the @. email is "" when it is not verified.
func NameFor(name, email string) string {
	if name = CleanedName(name); name != "" {
		return name
	}
	local, _, _ := strings.Cut(email, "@")
	return local
}

// CleanedName returns a display name that a machine reports, without the characters that CleanName refuses. It returns ""
// when no characters are left.
func CleanedName(s string) string { return text.Cleaned(s, MaxNameLen) }

// maxPlan is the largest number of characters in the name of a plan.
const maxPlan = 16

// ValidPlan reports whether a text can be the name of an org's plan: 1 to 16 of a to z, 0 to 9 and -. The row of each API key has it.
func ValidPlan(s string) bool {
	isForbidden := func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	return s != "" && len(s) <= maxPlan && !strings.ContainsFunc(s, isForbidden)
}
