// Package link has the rules of links that need no database: what one is, its
// token, and what a client SDK may send to claim it.
package link

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"latchkey/pkg/id"
	"latchkey/pkg/opaque"
	"latchkey/pkg/text"
)

// Bounds of the contract.
const (
	MinClaimKey   = 22 // base64url characters: 128 random bits
	MaxClaimKey   = 64
	MaxDeviceText = 100 // characters of a device's name, and of its platform

	MaxClientUserID = 128     // characters
	MaxMembers      = 20      // of the metadata
	MaxMetadata     = 2 << 10 // bytes of the metadata as JSON

	DefaultLife = 1800 // seconds
	MinLife     = 60
	MaxLife     = 604_800
)

// Status is where a link is in its life.
type Status string

// The statuses of a link. Only a pending one can become another.
const (
	Pending Status = "pending"
	Claimed Status = "claimed"
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// Device is what a client SDK says of the device that claims.
type Device struct {
	Name     *string `json:"name"`
	Platform *string `json:"platform"`
}

// Link is an invitation of one user of an app's client, to be claimed by one
// device. Times are in milliseconds; 0: not yet.
type Link struct {
	ID           id.Link
	OrgID        id.Org
	AppID        id.App
	ClientUserID string            // the app's own name for the user
	Metadata     map[string]string // nil: none
	Device       *Device           // that claimed it
	CreatedAt    int64
	ExpiresAt    int64
	ClaimedAt    int64
	RevokedAt    int64
}

// Status is the link's status at a time. What was claimed stays claimed.
func (l Link) Status(now int64) Status {
	switch {
	case l.ClaimedAt != 0:
		return Claimed
	case l.RevokedAt != 0:
		return Revoked
	case now >= l.ExpiresAt:
		return Expired
	default:
		return Pending
	}
}

// View is a link as answers and events show it, at a time.
type View struct {
	ID           id.Link           `json:"id"`
	Status       Status            `json:"status"`
	ClientUserID string            `json:"clientUserId"`
	Metadata     map[string]string `json:"metadata"`
	Device       *Device           `json:"device"`
	CreatedAt    int64             `json:"createdAt"`
	ExpiresAt    int64             `json:"expiresAt"`
	ClaimedAt    *int64            `json:"claimedAt"`
	RevokedAt    *int64            `json:"revokedAt"`
}

// View is the link as it is at a time.
func (l Link) View(now int64) View {
	v := View{
		ID: l.ID, Status: l.Status(now), ClientUserID: l.ClientUserID, Metadata: l.Metadata, Device: l.Device,
		CreatedAt: l.CreatedAt, ExpiresAt: l.ExpiresAt,
	}
	if l.ClaimedAt != 0 {
		v.ClaimedAt = &l.ClaimedAt
	}
	if l.RevokedAt != 0 {
		v.RevokedAt = &l.RevokedAt
	}
	return v
}

// Mint makes a link's token: package opaque's grammar, with the link's id and its
// app's. random nil is crypto/rand.
func Mint(app id.App, l id.Link, random io.Reader) (opaque.Minted, error) {
	item, err := l.Bits()
	if err != nil {
		return opaque.Minted{}, err
	}
	owner, err := app.Bits()
	if err != nil {
		return opaque.Minted{}, err
	}
	return opaque.Mint(opaque.LinkPrefix, item, owner, random)
}

// Token is what a token tells without a read: where its link is, and the hash to
// hold against the link's.
type Token struct {
	App  id.App
	Link id.Link
	Hash opaque.Hash
}

// ParseToken takes a token apart. The only error is opaque.ErrMalformed.
func ParseToken(raw string) (Token, error) {
	p, err := opaque.Parse(raw)
	if err != nil || p.Prefix != opaque.LinkPrefix {
		return Token{}, opaque.ErrMalformed
	}
	return Token{App: id.AppFromBits(p.Owner), Link: id.LinkFromBits(p.Item), Hash: p.Hash}, nil
}

// ValidClaimKey reports whether s may be the key that a device claims with and
// shows again when it asks again: 22 to 64 base64url characters.
func ValidClaimKey(s string) bool {
	return len(s) >= MinClaimKey && len(s) <= MaxClaimKey && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// ValidDeviceText reports whether s may describe a device: at most 100 characters,
// none of them hidden and, unless it is empty, one of them visible (package text).
func ValidDeviceText(s string) bool {
	return utf8.RuneCountInString(s) <= MaxDeviceText && text.Plain(s) && (s == "" || text.Visible(s))
}

// ValidClientUserID reports whether s may be the app's own id of a user: 1 to 128
// characters, none of them a control character. No person reads it.
func ValidClientUserID(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= MaxClientUserID && !strings.ContainsFunc(s, unicode.IsControl)
}

// ValidMetadata reports whether m may stand on a link: at most 20 members and 2 KB
// as JSON.
func ValidMetadata(m map[string]string) bool {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // "&" is one byte to whoever counts
	err := e.Encode(m)
	return err == nil && len(m) <= MaxMembers && out.Len()-len("\n") <= MaxMetadata
}
