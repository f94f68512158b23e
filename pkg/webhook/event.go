// Package webhook has the rules of webhooks that use neither network nor database: the types of
// events, the token that proves an event, the waits between attempts, and the origin of a URL.
package webhook

import (
	"encoding/json"
	"slices"
	"strings"

	"latchkey/pkg/id"
)

// Type is the type of an event.
type Type string

// The types of events that this service writes. Add a new type to AllTypes too, and its data to infra/openapi.yaml.
const (
	LinkClaimed         Type = "link.claimed"
	LinkExpired         Type = "link.expired"
	LinkRevoked         Type = "link.revoked"
	KeyCreated          Type = "key.created"
	KeyUpdated          Type = "key.updated"
	KeyRevoked          Type = "key.revoked"
	KeyExpiring         Type = "key.expiring"
	KeyLeaked           Type = "key.leaked"
	KeyLimitNear        Type = "key.limit_near"
	KeyLimitReached     Type = "key.limit_reached"
	OrgAllowanceNear    Type = "org.allowance_near"
	OrgAllowanceReached Type = "org.allowance_reached"
	EndpointCreated     Type = "endpoint.created"
	EndpointUpdated     Type = "endpoint.updated"
	EndpointDeleted     Type = "endpoint.deleted"
	EndpointDisabled    Type = "endpoint.disabled"
	Test                Type = "test"
)

// AllTypes returns every type of event that this service writes. An owner publishes events of other types.
func AllTypes() []Type {
	return []Type{
		LinkClaimed, LinkExpired, LinkRevoked, KeyCreated, KeyUpdated, KeyRevoked, KeyExpiring, KeyLeaked,
		KeyLimitNear, KeyLimitReached, OrgAllowanceNear, OrgAllowanceReached,
		EndpointCreated, EndpointUpdated, EndpointDeleted, EndpointDisabled, Test,
	}
}

const (
	maxType            = 64   // characters in a type that an owner publishes
	minWords, maxWords = 2, 5 // words in such a type, joined by dots
)

// reserved are the first words of types that only this service writes. Some are reserved for later.
var reserved = [...]string{"key.", "link.", "endpoint.", "org.", "member.", "app.", "audit.", "latchkey."}

// Publishable reports whether an owner may publish events of the type. It must have 2 to 5 words, joined by dots, of the
// characters a to z, 0 to 9 and "_", and must not begin with a word of reserved.
func (t Type) Publishable() bool {
	s := string(t)
	if len(s) > maxType || slices.ContainsFunc(reserved[:], func(begin string) bool { return strings.HasPrefix(s, begin) }) {
		return false
	}
	words := strings.Split(s, ".")
	return len(words) >= minWords && len(words) <= maxWords && !slices.ContainsFunc(words, func(word string) bool {
		return word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != ""
	})
}

// Every is the filter of an endpoint that gets every type of event, also types of later
// versions.
const Every = "*"

// ValidFilter reports whether a text may be in an endpoint's list of events: a type of this service, a type that an
// owner may publish, the first words of such types with a star ("invoice.*"), or Every.
func ValidFilter(s string) bool {
	if begin, ok := strings.CutSuffix(s, ".*"); ok {
		begin += "."
		isOurs := slices.ContainsFunc(AllTypes(), func(t Type) bool { return strings.HasPrefix(string(t), begin) })
		return isOurs || Type(begin+"x").Publishable()
	}
	return s == Every || slices.Contains(AllTypes(), Type(s)) || Type(s).Publishable()
}

// Wants reports whether an endpoint with this list of events gets events of a type.
func Wants(filters []string, t Type) bool {
	return slices.ContainsFunc(filters, func(filter string) bool {
		begin, many := strings.CutSuffix(filter, "*")
		return filter == string(t) || many && strings.HasPrefix(string(t), begin)
	})
}

// promptWords are the first words of types whose first attempt no budget delays.
var promptWords = [...]string{"key.", "endpoint.", "org."}

// Prompt reports whether the first attempt of an event of this type is made at once, even if the budget of its org
// is spent: events of keys, endpoints and orgs can show an attack.
func (t Type) Prompt() bool {
	return slices.ContainsFunc(promptWords[:], func(begin string) bool { return strings.HasPrefix(string(t), begin) })
}

// Event is an event of an app. Its fields are in a separate struct to keep the binaries small: Go puts the text of a type's struct into
// the name of each generic function for this type.
type Event struct{ EventFields }

// EventFields are the fields of an Event.
type EventFields struct {
	ID        id.Event        `json:"id"`
	Type      Type            `json:"type"`
	Test      bool            `json:"test,omitempty"` // the type and the data are an example
	CreatedAt int64           `json:"createdAt"`      // milliseconds
	Data      json.RawMessage `json:"data"`           // for types of this service: infra/openapi.yaml; for an owner's type: any object
}
