// Package link has the rules of links that need no database: a link and its statuses, its
// token, and what an app and a client SDK may send.
package link

import (
	"crypto/subtle"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"latchkey/pkg/id"
	"latchkey/pkg/plainjson"
	"latchkey/pkg/secret"
	"latchkey/pkg/text"
)

// The bounds of the contract.
const (
	MinClaimKey   = 22 // base64url characters: 128 random bits
	MaxClaimKey   = 64
	MaxDeviceText = 100 // characters of a device's name, and of its platform

	MaxClientUserID = 128     // characters
	MaxMembers      = 20      // of the metadata
	MaxMetadata     = 2 << 10 // bytes of the metadata as JSON

	DefaultLife = 1800 // seconds, like the two below
	MinLife     = 60
	MaxLife     = 604_800 // 7 days
)

// replayFor is the time for which a device may repeat its claim with the same claimKey, if the answer was lost.
const replayFor = 24 * time.Hour

// Status is a link's status.
type Status string

// The statuses of a link. Only a pending link can get another status.
const (
	Pending Status = "pending"
	Claimed Status = "claimed"
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// Device describes the device that claims a link, as the client SDK sent it.
type Device struct {
	Name     *string
	Platform *string
}

// Link is an invitation for one user of an app, to be claimed by one device. Times are in
// milliseconds; 0: not yet.
type Link struct {
	ID           id.Link
	OrgID        id.Org
	AppID        id.App
	ClientUserID string            // the app's id of the user
	Metadata     map[string]string // nil: none
	Device       *Device           // the device that claimed the link
	CreatedAt    int64
	ExpiresAt    int64
	ClaimedAt    int64
	RevokedAt    int64
	LapsedAt     int64  // when the sweep processed the expiry
	ClaimKeyHash []byte // SHA-256 of the claimKey of the device

	CreatedByKey id.Key // the API key that made it
	Paid         int    // deliveries that were charged when the link was made, for the event of its end
}

// Status returns the link's status at a time. A claimed link stays claimed. A link whose expiry was processed is expired at
// every time, because the caller's clock may be slower than the sweep's.
func (l Link) Status(now int64) Status {
	switch {
	case l.ClaimedAt != 0:
		return Claimed
	case l.RevokedAt != 0:
		return Revoked
	case l.LapsedAt != 0 || now >= l.ExpiresAt:
		return Expired
	default:
		return Pending
	}
}

// ClaimedBefore reports whether a claim of a claimed link is the repeated claim of the same device: it has the
// same claimKey and is made within 24 hours. claimKeyHash is the SHA-256 of the claimKey that the device
// sent.
func (l Link) ClaimedBefore(claimKeyHash [32]byte, now int64) bool {
	same := subtle.ConstantTimeCompare(l.ClaimKeyHash, claimKeyHash[:]) == 1
	return same && now < l.ClaimedAt+replayFor.Milliseconds()
}

// Mint makes a link's token. The token follows the grammar of package secret and holds the ids of the link and of
// its app. random nil means crypto/rand.
func Mint(app id.App, l id.Link, random io.Reader) (secret.Minted, error) {
	item, err := l.Bits()
	if err != nil {
		return secret.Minted{}, err
	}
	owner, err := app.Bits()
	if err != nil {
		return secret.Minted{}, err
	}
	return secret.Mint(secret.LinkPrefix, item, owner, random)
}

// Token is the content of a link's token: the ids that lead to the link's row, and the hash to compare with the
// hash in that row.
type Token struct {
	App  id.App
	Link id.Link
	Hash secret.Hash
}

// ParseToken reads a link's token. The only error is secret.ErrMalformed.
func ParseToken(raw string) (Token, error) {
	p, err := secret.Parse(raw)
	if err != nil || p.Prefix != secret.LinkPrefix {
		return Token{}, secret.ErrMalformed
	}
	return Token{App: id.AppFromBits(p.Owner), Link: id.LinkFromBits(p.Item), Hash: p.Hash}, nil
}

// ValidClaimKey reports whether s may be the key with which a device claims a link: 22 to 64 base64url
// characters. The device sends the key again when it repeats the claim.
func ValidClaimKey(s string) bool {
	notBase64URL := func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return len(s) >= MinClaimKey && len(s) <= MaxClaimKey && !strings.ContainsFunc(s, notBase64URL)
}

// DeviceText returns a text that a device reports about itself, cleaned by text.Cleaned, with at most 100 characters. It
// returns nil for nil, and when no characters are left. No person chooses the text, so a claim is never refused for it.
func DeviceText(s *string) *string {
	if s == nil {
		return nil
	}
	cleaned := text.Cleaned(*s, MaxDeviceText)
	if cleaned == "" {
		return nil
	}
	return &cleaned
}

// ValidClientUserID reports whether s may be the app's id of a user: 1 to 128 characters, and no
// control characters. Only programs read it.
func ValidClientUserID(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= MaxClientUserID && !strings.ContainsFunc(s, unicode.IsControl)
}

// ValidMetadata reports whether m may be a link's metadata: at most 20 members and 2 KB as
// JSON.
func ValidMetadata(m map[string]string) bool {
	out, err := plainjson.Marshal(m)
	return err == nil && len(m) <= MaxMembers && len(out) <= MaxMetadata
}
