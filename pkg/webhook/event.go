// Package webhook has the rules of webhooks that need neither network nor database: the types of
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

// The types of events. A new one is also added to AllTypes, and its data to infra/openapi.yaml.
const (
	LinkClaimed      Type = "link.claimed"
	LinkExpired      Type = "link.expired"
	LinkRevoked      Type = "link.revoked"
	KeyCreated       Type = "key.created"
	KeyUpdated       Type = "key.updated"
	KeyRevoked       Type = "key.revoked"
	KeyExpiring      Type = "key.expiring"
	EndpointCreated  Type = "endpoint.created"
	EndpointUpdated  Type = "endpoint.updated"
	EndpointDeleted  Type = "endpoint.deleted"
	EndpointDisabled Type = "endpoint.disabled"
	Test             Type = "test"
)

// AllTypes returns every type of event.
func AllTypes() []Type {
	return []Type{
		LinkClaimed, LinkExpired, LinkRevoked, KeyCreated, KeyUpdated, KeyRevoked, KeyExpiring,
		EndpointCreated, EndpointUpdated, EndpointDeleted, EndpointDisabled, Test,
	}
}

// Every is the filter of an endpoint that gets every type of event, also types that do not exist
// yet.
const Every = "*"

// ValidFilter reports whether a text may be in an endpoint's list of events.
func ValidFilter(s string) bool { return s == Every || slices.Contains(AllTypes(), Type(s)) }

// Wants reports whether an endpoint with this list of events gets events of a type.
func Wants(filters []string, t Type) bool {
	return slices.Contains(filters, Every) || slices.Contains(filters, string(t))
}

// Prompt reports whether the first attempt of an event of this type is made at once, even if the budget of its org
// is spent: events of keys and endpoints can show an attack.
func (t Type) Prompt() bool {
	return strings.HasPrefix(string(t), "key.") || strings.HasPrefix(string(t), "endpoint.")
}

// Event is an event of an app.
type Event struct {
	ID        id.Event        `json:"id"`
	Type      Type            `json:"type"`
	CreatedAt int64           `json:"createdAt"` // milliseconds
	Data      json.RawMessage `json:"data"`      // by type: infra/openapi.yaml
}
