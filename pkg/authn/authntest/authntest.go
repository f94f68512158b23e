// Package authntest has a table and an issuer in memory, for tests of package authn and of the packages that use it.
package authntest

import (
	"context"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/store"
)

// JWT is a text in the form of an access token. Tokens accepts any text.
const JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"

// NewUser is the user that SignIn makes.
var NewUser = id.Source{}.NewUser()

// Table is a table with one key and one identity. It is for one goroutine, except that Suspended may run at the same time as Role.
type Table struct {
	Key         store.APIKey
	Known       *store.Identity // nil: the user is unknown; without UserID: the person was erased
	Org         id.Org          // the only org in which users have a role
	InRole      org.Role        // the role of every user in Org; "": none
	IsSuspended bool            // whether Org is suspended
	Down        error           // returned by every read; nil: reads succeed

	Leases func(context.Context, limit.Lease) (limit.Charges, bool, error) // replaces Lease; nil: every lease is granted

	Imports map[apikey.Hash]store.Imported
	Looked  int // calls of Imported
	OrgRead int // calls of Suspended

	Reads   int            // all other reads
	Noted   int            // calls of NoteUse
	Leased  int            // calls of Lease
	Refused limit.Refusals // the sum of all calls of NoteRefusals
	Signed  *store.Seen    // the argument of the last SignIn; nil: it was not called
}

// APIKey returns the key. ok is false for any other id.
func (t *Table) APIKey(_ context.Context, o id.Org, k id.Key) (store.APIKey, bool, error) {
	t.Reads++
	return t.Key, o == t.Key.OrgID && k == t.Key.ID, t.Down
}

// Imported returns an entry of Imports.
func (t *Table) Imported(_ context.Context, h apikey.Hash) (store.Imported, bool, error) {
	t.Looked++
	at, ok := t.Imports[h]
	return at, ok, t.Down
}

// NoteUse counts its calls.
func (t *Table) NoteUse(context.Context, store.APIKey, int64) { t.Noted++ }

// Lease charges the whole lease, unless Leases is set.
func (t *Table) Lease(ctx context.Context, l limit.Lease) (found limit.Charges, done bool, err error) {
	t.Leased++
	if t.Leases != nil {
		return t.Leases(ctx, l)
	}
	for p, want := range l.Wants {
		found[p] = limit.Charged{Start: want.Start, Requests: want.Requests}
	}
	return found, true, nil
}

// Announce does nothing.
func (*Table) Announce(context.Context, limit.Notice) error { return nil }

// NoteRefusals adds to Refused.
func (t *Table) NoteRefusals(_ context.Context, _ limit.Refused, _ int64, n limit.Refusals) error {
	for why, times := range n {
		t.Refused[why] += times
	}
	return nil
}

// Identity returns Known for any subject.
func (t *Table) Identity(context.Context, string, string) (store.Identity, bool, error) {
	t.Reads++
	if t.Known == nil {
		return store.Identity{}, false, t.Down
	}
	return *t.Known, t.Known.UserID != "", t.Down
}

// Role returns InRole for any user in Org.
func (t *Table) Role(_ context.Context, o id.Org, _ id.User) (org.Role, bool, error) {
	t.Reads++
	return t.InRole, o == t.Org && t.InRole != "", t.Down
}

// Suspended reports whether Org is suspended. It has a counter of its own, because it may run at the same time as Role.
func (t *Table) Suspended(_ context.Context, o id.Org) (bool, error) {
	t.OrgRead++
	return o == t.Org && t.IsSuspended, t.Down
}

// SignIn keeps its argument in Signed. An unknown user becomes NewUser.
func (t *Table) SignIn(_ context.Context, known store.Identity, isKnown bool, seen store.Seen) (id.User, error) {
	t.Signed = &seen
	if isKnown {
		return known.UserID, nil
	}
	return NewUser, nil
}

// Tokens is an issuer. All its tokens have the same claims.
type Tokens struct {
	Claims  accesstoken.Claims
	Err     error // returned by Verify
	Profile accesstoken.Profile
	AskErr  error // returned by Userinfo
	Asked   int   // how often Userinfo was called
}

// Verify returns the claims.
func (t *Tokens) Verify(context.Context, string) (accesstoken.Claims, error) { return t.Claims, t.Err }

// Userinfo returns the profile.
func (t *Tokens) Userinfo(context.Context, string, string) (accesstoken.Profile, error) {
	t.Asked++
	return t.Profile, t.AskErr
}

// Minted returns the text of an API key, and a table that has it.
func Minted(t *testing.T) (string, *Table) {
	t.Helper()
	o, k := id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now())
	m, err := apikey.Mint("lk", o, k, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Key.Reveal(), &Table{Key: store.APIKey{ID: k, OrgID: o, AppID: id.DefaultApp(o), Hash: m.Hash, Prefix: m.Prefix}}
}
