// Package authntest has a table and an issuer in memory, for tests of what asks package authn.
package authntest

import (
	"context"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/store"
)

// JWT has the form of an access token.
const JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"

// NewUser is the user that SignIn makes.
var NewUser = id.Source{}.NewUser()

// Table is a table of one key and one identity. It is for one goroutine.
type Table struct {
	Key    store.APIKey
	Known  *store.Identity // nil: no token was seen before
	Org    id.Org          // in which every known user has the role
	InRole org.Role        // "": none
	Down   error           // the error of every read

	Reads, Noted int         // how many calls there were
	Signed       *store.Seen // of the last SignIn
}

// APIKey returns the key.
func (f *Table) APIKey(_ context.Context, o id.Org, k id.Key) (store.APIKey, bool, error) {
	f.Reads++
	return f.Key, o == f.Key.OrgID && k == f.Key.ID, f.Down
}

// NoteUse counts.
func (f *Table) NoteUse(context.Context, store.APIKey, int64) { f.Noted++ }

// Identity returns the identity, whatever the subject.
func (f *Table) Identity(context.Context, string, string) (store.Identity, bool, error) {
	f.Reads++
	if f.Known == nil {
		return store.Identity{}, false, f.Down
	}
	return *f.Known, true, f.Down
}

// Role returns the role of any user.
func (f *Table) Role(_ context.Context, o id.Org, _ id.User) (org.Role, bool, error) {
	f.Reads++
	return f.InRole, o == f.Org && f.InRole != "", f.Down
}

// SignIn keeps what was seen.
func (f *Table) SignIn(_ context.Context, known store.Identity, isKnown bool, seen store.Seen) (id.User, error) {
	f.Signed = &seen
	if isKnown {
		return known.UserID, nil
	}
	return NewUser, nil
}

// Tokens is an issuer whose every token has the same claims.
type Tokens struct {
	Claims  accesstoken.Claims
	Err     error // of Verify
	Profile accesstoken.Profile
	AskErr  error // of Userinfo
	Asked   int   // how often Userinfo was called
}

// Verify returns the claims.
func (f *Tokens) Verify(context.Context, string) (accesstoken.Claims, error) { return f.Claims, f.Err }

// Userinfo returns the profile.
func (f *Tokens) Userinfo(context.Context, string, string) (accesstoken.Profile, error) {
	f.Asked++
	return f.Profile, f.AskErr
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
