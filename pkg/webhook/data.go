package webhook

import (
	"net/netip"
	"net/url"
	"strings"

	"latchkey/pkg/id"
)

// The data of events, by type, as receivers get it (infra/openapi.yaml). Times are in
// milliseconds.

// DisabledReason is why an endpoint is disabled.
type DisabledReason string

// The reasons.
const (
	DisabledByUser    DisabledReason = "user"    // its app disabled it, with an API key
	DisabledByGone    DisabledReason = "gone"    // it answered 410
	DisabledByFailing DisabledReason = "failing" // every attempt failed for five days
	DisabledByAdmin   DisabledReason = "admin"   // only an admin can enable it
)

// KeyData is the data of events of a key: key.created, key.updated and others.
type KeyData struct {
	KeyID     id.Key `json:"keyId"`
	KeyPrefix string `json:"keyPrefix"`
	Name      string `json:"name"`
	AppID     id.App `json:"appId"`
	ExpiresAt *int64 `json:"expiresAt"`
	RevokedAt *int64 `json:"revokedAt"`

	Changed []string `json:"changed,omitempty"` // only in key.updated
}

// LinkData is the data of events of a link: the link at the event's time.
type LinkData struct {
	ID           id.Link           `json:"id"`
	Status       string            `json:"status"`
	ClientUserID string            `json:"clientUserId"`
	Metadata     map[string]string `json:"metadata"`
	Device       *DeviceData       `json:"device"`
	CreatedAt    int64             `json:"createdAt"`
	ExpiresAt    int64             `json:"expiresAt"`
	ClaimedAt    *int64            `json:"claimedAt"`
	RevokedAt    *int64            `json:"revokedAt"`
}

// DeviceData is the device that claimed a link.
type DeviceData struct {
	Name     *string `json:"name"`
	Platform *string `json:"platform"`
}

// LeakData is the data of key.leaked: the key at the event's time, before or after its revocation.
type LeakData struct {
	KeyData
	URL         *string       `json:"url"`         // the place where the key was found, as a stranger wrote it; null: not known
	EndpointIDs []id.Endpoint `json:"endpointIds"` // the newest 20 endpoints that the key created, or whose URL or event types it set last
}

// Limit is a limit of a key, or a part of an org's allowance.
type Limit struct {
	Requests int64  `json:"requests"`
	Per      string `json:"per"` // "day" or "month"
}

// LimitData is the common data of events of limits and allowances.
type LimitData struct {
	Limit  Limit `json:"limit"`
	Leased int64 `json:"leased"` // leased requests of the window when the event was written
	EndsAt int64 `json:"endsAt"` // end of the window
}

// KeyLimitData is the data of key.limit_near and key.limit_reached: the key that was used, and the limit.
type KeyLimitData struct {
	KeyData
	LimitData
}

// AllowanceData is the data of org.allowance_near and org.allowance_reached.
type AllowanceData struct {
	OrgID id.Org `json:"orgId"`
	LimitData
}

// EndpointData is the data of endpoint.created, endpoint.updated and endpoint.deleted. It leaves out the path and
// the query of the URL, which may hold a secret.
type EndpointData struct {
	EndpointID     id.Endpoint     `json:"endpointId"`
	Origin         string          `json:"origin"`
	Events         []string        `json:"events"`
	Enabled        bool            `json:"enabled"`
	DisabledReason *DisabledReason `json:"disabledReason"`
	KeyID          *id.Key         `json:"keyId"`             // null: an admin made the change
	Changed        []string        `json:"changed,omitempty"` // only in endpoint.updated
}

// DisabledData is the data of endpoint.disabled.
type DisabledData struct {
	EndpointID id.Endpoint    `json:"endpointId"`
	URL        string         `json:"url"` // only its origin
	Reason     DisabledReason `json:"reason"`
	DisabledAt int64          `json:"disabledAt"`
}

// TestData is the data of a test event.
type TestData struct {
	Message string `json:"message"`
}

// OrNull returns a pointer to v. For a zero v it returns nil, which marshals as null.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Origin returns the scheme, host and port of a URL, each in one spelling:
// https://hooks.example.com (RFC 6454, section 6.2). The default port of the scheme is left out, and so are the
// path and the query, which may hold a secret. A text that is not a URL has the origin "".
func Origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String() // an IPv6 address has many spellings
		if addr.Is6() {
			host = "[" + host + "]"
		}
	}
	isDefault := scheme == "https" && port == "443" || scheme == "http" && port == "80"
	if port == "" || isDefault {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}
