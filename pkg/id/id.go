// Package id has the identifiers of the product. An id is opaque to callers: a prefix that
// names its kind, "_", and 128 bits as 26 characters of lower-case Crockford base32 (the
// alphabet of ULIDs).
//
// Ids of keys, apps, links, endpoints, events and audit entries are ULIDs, so they sort by
// the time when they were made. Ids of orgs, users and default apps are 128 random bits and
// reveal no time.
package id

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"
)

// ErrMalformed is the error of every Parse function for a text that is not an id of its kind.
// Callers answer it like an id that does not exist.
var ErrMalformed = errors.New("id: malformed")

// Org is an org's id: org_… and random bits.
type Org string

// User is a user's id: usr_… and random bits.
type User string

// App is an app's id: app_… and a ULID. The id of an org's default app has the org's bits.
type App string

// Key is an API key's id: key_… and a ULID.
type Key string

// Audit is the id of an audit entry: aud_… and a ULID.
type Audit string

const (
	orgPrefix   = "org_"
	userPrefix  = "usr_"
	appPrefix   = "app_"
	keyPrefix   = "key_"
	auditPrefix = "aud_"
	linkPrefix  = "lnk_"
	hookPrefix  = "whe_"
	eventPrefix = "evt_"
)

// Link is a link's id: lnk_… and a ULID.
type Link string

// Endpoint is the id of a webhook endpoint: whe_… and a ULID.
type Endpoint string

// Event is an event's id: evt_… and a ULID, minted just before the first try of
// the transaction that writes it.
type Event string

// Source makes ids. The zero value uses crypto/rand.
type Source struct {
	Rand io.Reader // nil: crypto/rand
}

func (s Source) reader() io.Reader {
	if s.Rand != nil {
		return s.Rand
	}
	return rand.Reader
}

// random returns 128 random bits, in the same 26 characters as a ULID.
func (s Source) random() string {
	var b [16]byte
	s.fill(b[:])
	return text(b)
}

// timed returns a ULID of this time: 48 bits of milliseconds, then 80 random bits.
func (s Source) timed(now time.Time) string {
	b := timeBits(now)
	s.fill(b[6:])
	return text(b)
}

func (s Source) fill(b []byte) {
	if _, err := io.ReadFull(s.reader(), b); err != nil {
		panic("id: no randomness: " + err.Error()) // crypto/rand never fails; a test's reader may
	}
}

// timeBits returns the bits of the first ULID of a time. It accepts times before the year 10889.
func timeBits(at time.Time) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	return b
}

// crockford is the alphabet of ULIDs, in lower case.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

const (
	length = 26 // characters of 128 bits
	lead   = 6  // zeros before them: base32 encodes 5 bits in a character, so 128 bits are encoded as 160
)

// text writes 128 bits as a number in base 32.
func text(b [16]byte) string {
	var wide [20]byte
	copy(wide[4:], b[:])
	var out [lead + length]byte
	crockford.Encode(out[:], wide[:])
	return string(out[lead:])
}

// NewOrg makes an org's id.
func (s Source) NewOrg() Org { return Org(orgPrefix + s.random()) }

// NewUser makes a user's id.
func (s Source) NewUser() User { return User(userPrefix + s.random()) }

// NewApp makes an app's id.
func (s Source) NewApp(now time.Time) App { return App(appPrefix + s.timed(now)) }

// NewKey makes an API key's id.
func (s Source) NewKey(now time.Time) Key { return Key(keyPrefix + s.timed(now)) }

// NewAudit makes the id of an audit entry.
func (s Source) NewAudit(now time.Time) Audit { return Audit(auditPrefix + s.timed(now)) }

// NewLink makes a link's id.
func (s Source) NewLink(now time.Time) Link { return Link(linkPrefix + s.timed(now)) }

// NewEndpoint makes the id of a webhook endpoint.
func (s Source) NewEndpoint(now time.Time) Endpoint { return Endpoint(hookPrefix + s.timed(now)) }

// NewEvent makes an event's id.
func (s Source) NewEvent(now time.Time) Event { return Event(eventPrefix + s.timed(now)) }

// FirstEvent returns the least id that an event of this time or later can have.
func FirstEvent(at time.Time) Event { return Event(eventPrefix + first(at)) }

// FirstAudit is FirstEvent for audit entries.
func FirstAudit(at time.Time) Audit { return Audit(auditPrefix + first(at)) }

func first(at time.Time) string {
	if at.UnixMilli() >= 1<<48 {
		return "7" + strings.Repeat("z", length-1) // no id is greater: a ULID has no such time
	}
	return text(timeBits(at))
}

// DefaultApp returns the id of an org's default app. It has the bits of the org's id, so that no
// read is needed to find it.
func DefaultApp(o Org) App { return App(appPrefix + strings.TrimPrefix(string(o), orgPrefix)) }

// ParseOrg checks the form of an org's id.
func ParseOrg(s string) (Org, error) { return Org(s), check(s, orgPrefix) }

// ParseUser checks the form of a user's id.
func ParseUser(s string) (User, error) { return User(s), check(s, userPrefix) }

// ParseApp checks the form of an app's id.
func ParseApp(s string) (App, error) { return App(s), check(s, appPrefix) }

// ParseKey checks the form of an API key's id.
func ParseKey(s string) (Key, error) { return Key(s), check(s, keyPrefix) }

// ParseAudit checks the form of an audit entry's id.
func ParseAudit(s string) (Audit, error) { return Audit(s), check(s, auditPrefix) }

// ParseLink checks the form of a link's id.
func ParseLink(s string) (Link, error) { return Link(s), check(s, linkPrefix) }

// ParseEndpoint checks the form of the id of a webhook endpoint.
func ParseEndpoint(s string) (Endpoint, error) { return Endpoint(s), check(s, hookPrefix) }

// ParseEvent checks the form of an event's id.
func ParseEvent(s string) (Event, error) { return Event(s), check(s, eventPrefix) }

// The ids that no row has: they are well formed and never minted. A text that does not parse
// is looked up as one of them, so that it gets the same answer as an id that does not exist.
const (
	NoUser User = userPrefix + zero
	NoApp  App  = appPrefix + zero
	NoKey  Key  = keyPrefix + zero

	NoLink     Link     = linkPrefix + zero
	NoEndpoint Endpoint = hookPrefix + zero
	NoEvent    Event    = eventPrefix + zero

	zero = "00000000000000000000000000"
)

// Bits returns the 128 bits of an org's id.
func (o Org) Bits() ([16]byte, error) { return bits(string(o), orgPrefix) }

// Bits returns the 128 bits of a key's id: 48 of time, 80 random.
func (k Key) Bits() ([16]byte, error) { return bits(string(k), keyPrefix) }

// Bits returns the 128 bits of a link's id: 48 of time, 80 random.
func (l Link) Bits() ([16]byte, error) { return bits(string(l), linkPrefix) }

// Bits returns the 128 bits of an app's id.
func (a App) Bits() ([16]byte, error) { return bits(string(a), appPrefix) }

// LinkFromBits is the inverse of Link.Bits.
func LinkFromBits(b [16]byte) Link { return Link(linkPrefix + text(b)) }

// AppFromBits is the inverse of App.Bits.
func AppFromBits(b [16]byte) App { return App(appPrefix + text(b)) }

// OrgFromBits is the inverse of Org.Bits.
func OrgFromBits(b [16]byte) Org { return Org(orgPrefix + text(b)) }

// KeyFromBits is the inverse of Key.Bits.
func KeyFromBits(b [16]byte) Key { return Key(keyPrefix + text(b)) }

// ShortUser is a user's id as 128 bits. It keeps rows small. No user's id has the zero value.
type ShortUser [16]byte

// ShortKey is an API key's id as 128 bits.
type ShortKey [16]byte

// Short returns the bits of a user's id. For any other text it returns the zero value.
func (u User) Short() ShortUser {
	b, _ := bits(string(u), userPrefix)
	return b
}

// Short returns the bits of a key's id. For any other text it returns the zero value.
func (k Key) Short() ShortKey {
	b, _ := bits(string(k), keyPrefix)
	return b
}

// Long is the inverse of User.Short. It returns "" for the zero value.
func (s ShortUser) Long() User {
	if s == (ShortUser{}) {
		return ""
	}
	return User(userPrefix + text(s))
}

// Long is the inverse of Key.Short. It returns "" for the zero value.
func (s ShortKey) Long() Key {
	if s == (ShortKey{}) {
		return ""
	}
	return KeyFromBits(s)
}

func check(s, prefix string) error {
	_, err := bits(s, prefix)
	return err
}

// bits parses strictly: each id has only one spelling, so that two texts never name the same row.
func bits(s, prefix string) ([16]byte, error) {
	var b [16]byte
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) != length || strings.ContainsAny(rest, "\r\n") { // the decoder skips line breaks
		return b, ErrMalformed
	}
	var wide [20]byte
	if _, err := crockford.Decode(wide[:], []byte("000000"+rest)); err != nil || [4]byte(wide[:4]) != [4]byte{} { // more than 128 bits
		return b, ErrMalformed
	}
	copy(b[:], wide[4:])
	return b, nil
}
