package store

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"unicode"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
)

// Seen is a user as an access token, or the issuer's userinfo endpoint, shows them.
type Seen struct {
	Issuer, Subject string
	Email           string // in the issuer's spelling; shown to people when it is verified (shownEmail)
	Folded          string // the form in which addresses are compared: lower case, in ASCII
	Verified        bool   // the issuer has verified the address
	Name            string
	IssuedAt        int64 // seconds; 0: the token has no iat
	SignedInAt      int64 // seconds; the token's auth_time, else its iat; 0: the token has neither
	AskedAt         int64 // milliseconds; when the userinfo endpoint returned this; 0: a token shows it
}

// VerifiedEmail returns the address when the issuer has verified it, else "".
func (s Seen) VerifiedEmail() string {
	if s.Verified {
		return s.Email
	}
	return ""
}

// Identity is the row of (issuer, subject). This pair identifies a user, never the email.
type Identity struct {
	UserID   id.User // "": the person was erased, and no one has signed in since
	Email    string
	Name     string
	Verified bool
	AskedAt  int64 // milliseconds; when the userinfo endpoint was called last, 0: never

	Holds bool // the email row of the address is this user's: no other user has proved the address since

	Stopped   bool  // no token of the user is good
	NotBefore int64 // milliseconds; the last sign-out, or the erasure: no token of a sign-in until then is good; 0: there was none

	folded string
	iat    int64 // seconds; of the token that showed this email and name
}

// ProvedEmail returns the address when this user is the last who proved it, else "".
func (i Identity) ProvedEmail() string {
	if i.Verified && i.Holds {
		return shownEmail(i.Email, i.folded)
	}
	return ""
}

// shownEmail returns the address that people and programs see, which is in ASCII: the issuer's spelling, or the form in which
// addresses are compared.
func shownEmail(email, folded string) string {
	if strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII }) {
		return folded
	}
	return email
}

// Refusal returns why no token of a sign-in at a time (Seen.SignedInAt) is good: user_stopped or token_ended; nil when it is. A sign-in
// in the second of a sign-out was before it.
func (i Identity) Refusal(signedInAt int64) error {
	switch {
	case i.Stopped:
		return errUserStopped
	case i.NotBefore != 0 && signedInAt*1000 <= i.NotBefore:
		return errTokenEnded
	}
	return nil
}

// asRead is the condition that the identity is still as it was read, as far as it decides about tokens.
func (i Identity) asRead() table.Condition {
	user := attrUserID
	if i.Stopped {
		user = attrStoppedUser
	}
	return table.All(user.Is(i.UserID), attrNotBefore.IsOrAbsent(i.NotBefore))
}

// shows reports whether a token shows something that this identity does not have: a changed
// email or name, or an address that the user could now prove.
func (i Identity) shows(seen Seen) bool {
	return i.Email != seen.Email || i.Name != seen.Name || i.Verified != seen.Verified || (seen.Verified && !i.Holds)
}

// Identity reads the identity of (issuer, subject), in one strong read. ok is false for a pair
// that was never seen before, and for one whose person was erased: then found has NotBefore alone.
func (s *Store) Identity(ctx context.Context, issuer, subject string) (found Identity, ok bool, err error) {
	found, ok, err = lookup(ctx, s, identityRow(issuer, subject), identityFrom)
	return found, ok && found.UserID != "", err
}

// identityFrom reads an identity. An identity that an operator has written for a new issuer (the runbook,
// "Changing the issuer") has only a user, holds and iat, until the user's first token fills the rest.
//
// While the user is stopped, attrStoppedUser is in place of attrUserID: a program that does not know it cannot decode the row, and
// lets no one in (ADR 49). After an erasure there is no user, and attrNotBefore alone.
func identityFrom(r *table.Reading) Identity {
	stopped, user := attrStoppedUser.IsIn(r.Row), attrUserID
	switch {
	case stopped:
		user = attrStoppedUser
	case !attrUserID.IsIn(r.Row) && !attrIssuedAt.IsIn(r.Row):
		return Identity{NotBefore: attrNotBefore.From(r)}
	}
	return Identity{
		UserID: user.From(r), Stopped: stopped, NotBefore: attrNotBefore.OrZero(r), Email: attrEmail.OrZero(r), Name: attrName.OrZero(r),
		Verified: attrVerified.OrZero(r), AskedAt: attrAskedAt.OrZero(r),
		folded: attrFolded.OrZero(r), Holds: attrHolds.From(r), iat: attrIssuedAt.From(r),
	}
}

// SignIn updates the table to what a token shows, and returns the user. known and isKnown are the result
// of Identity, which the caller has called before. For a pair (issuer, subject) that was never seen,
// SignIn creates the user, and so it does after an erasure. When nothing is new, it neither reads nor writes.
//
// A verified address belongs to the identity that proved it last. The address moves only for a
// token with a greater iat, so that an old token does not get the address back. A token without iat
// changes nothing of a known user.
//
// A sign-in keeps a stop and a sign-out that come beside it. Errors: user_stopped, token_ended.
func (s *Store) SignIn(ctx context.Context, known Identity, isKnown bool, seen Seen) (id.User, error) {
	user := known.UserID
	err := s.db.Retry(ctx, func() (err error) {
		switch refused := known.Refusal(seen.SignedInAt); {
		case refused != nil:
			return refused
		case !isKnown:
			user, err = s.firstSight(ctx, known, seen)
		case known.shows(seen) && seen.IssuedAt > known.iat:
			err = s.move(ctx, known, seen)
		case seen.AskedAt > known.AskedAt:
			err = s.noteAsked(ctx, known, seen)
		}
		if !errors.Is(err, table.ErrRaced) {
			return err
		}
		// Another request was faster: the next try begins with the identity that it wrote.
		var failed error
		known, isKnown, failed = s.Identity(ctx, seen.Issuer, seen.Subject)
		user = known.UserID
		return cmp.Or(failed, err)
	})
	return user, err
}

// firstSight creates the identity, the user and, for a verified address, the email row in one
// transaction. was is zero, or what an erasure left of the identity. It returns table.ErrRaced when another request has written the
// identity or the email row.
func (s *Store) firstSight(ctx context.Context, was Identity, seen Seen) (id.User, error) {
	user := s.ids().NewUser()
	t := s.begin()
	holds, err := t.claimEmail(ctx, user, seen)
	if err != nil {
		return "", err
	}
	shown := ""
	if holds {
		shown = shownEmail(seen.Email, seen.Folded)
	}
	t.createUser(user, was, seen, holds, shown)
	return user, t.Commit(ctx)
}

// createUser adds the rows of a new user to a transaction. was is as for firstSight: its mark stays, so that no earlier token becomes
// good. The write of the identity returns table.ErrRaced when it is not as it was.
func (t *txn) createUser(user id.User, was Identity, seen Seen, holds bool, shown string) {
	identity, shows := identityRow(seen.Issuer, seen.Subject), table.Changes(attrUserID.Set(user), seen.set(holds))
	if was.NotBefore == 0 {
		t.Put(identity, table.Absent, table.Raced, shows)
	} else {
		isErased := table.All(attrNotBefore.Is(was.NotBefore), attrUserID.Absent(), attrStoppedUser.Absent())
		t.Update(identity, isErased, table.Raced, shows, attrPurgeAt.Remove())
	}
	t.Create(userRow(user), attrEmail.Set(shown), attrName.Set(seen.Name), attrCreatedAt.Set(t.s.now()), attrOrgsCreated.Set(0),
		attrIdentities.Set(map[string]int64{identity.PK: t.s.now()}))
}

// set writes into an identity what a token shows.
func (seen Seen) set(holds bool) table.Change {
	return table.Changes(
		attrEmail.Set(seen.Email), attrFolded.Set(seen.Folded), attrName.Set(seen.Name),
		attrVerified.Set(seen.Verified), attrHolds.Set(holds), attrIssuedAt.Set(seen.IssuedAt), attrAskedAt.Set(seen.AskedAt),
	)
}

// address is the row of an address.
type address struct {
	holder   id.User // who proved the address last; "": no one proves it any more
	iat      int64   // seconds; of the holder's token
	identity string  // the partition of the holder's identity
	former   id.User // without a holder: who gave the address up, and may still be shown with it
}

// addressFrom reads the row of an address. An address without a holder has no userId, so that nothing reads it as a proved address.
func addressFrom(r *table.Reading) address {
	if attrFormerUserID.IsIn(r.Row) {
		return address{former: attrFormerUserID.From(r)}
	}
	return address{holder: attrUserID.From(r), iat: attrIssuedAt.From(r), identity: attrIdentity.From(r)}
}

// asRead is the condition that the row of the address is still as it was read.
func (a address) asRead() table.Condition {
	if a.former != "" {
		return attrFormerUserID.Is(a.former)
	}
	return table.All(attrUserID.Is(a.holder), attrIssuedAt.Is(a.iat))
}

// claimEmail adds to a transaction the writes that give a verified address to a user, and reports
// whether it did: not when another user has proved the address by a token that is no older. The
// identity of the former holder loses attrHolds, so that the holder's next newer token claims the
// address again. The former holder is not shown with the address any more.
func (t *txn) claimEmail(ctx context.Context, user id.User, seen Seen) (bool, error) {
	if !seen.Verified {
		return false, nil
	}
	row := emailRow(seen.Folded)
	was, ok, err := lookup(ctx, t.s, row, addressFrom)
	if err != nil {
		return false, err
	}
	own := identityRow(seen.Issuer, seen.Subject)
	claim := table.Changes(attrUserID.Set(user), attrIssuedAt.Set(seen.IssuedAt), attrIdentity.Set(own.PK))
	if !ok {
		t.Put(row, table.Absent, table.Raced, claim)
		return true, nil
	}
	anotherHolds := was.holder != "" && was.holder != user
	if anotherHolds && seen.IssuedAt <= was.iat {
		return false, nil
	}
	t.Put(row, was.asRead(), table.Raced, claim)
	// The identity that proved it before loses the address, also one of the same user, unless it is this very identity: another request
	// made it just now. Then the put of the identity fails, and a transaction may name a row only once.
	if was.holder != "" && was.identity != own.PK {
		t.Update(table.Key{PK: was.identity, SK: skMeta}, table.Exists, table.Raced, attrHolds.Set(false))
	}
	if former := cmp.Or(was.holder, was.former); former != user {
		return true, t.hideEmail(ctx, former, seen.Folded)
	}
	return true, nil
}

// hideEmail has the row of a user show an address no more. The user may have another one by now: that one stays.
func (t *txn) hideEmail(ctx context.Context, user id.User, folded string) error {
	shown, _, err := lookup(ctx, t.s, userRow(user), profileFrom)
	if strings.ToLower(shown.email) == folded {
		t.Update(userRow(user), attrEmail.Is(shown.email), table.Raced, attrEmail.Set(""))
	}
	return err
}

// move writes what a newer token shows of a known user, in one transaction: the user's row, the identity
// and the email rows. It returns table.ErrRaced when one of them has changed since it was read.
func (s *Store) move(ctx context.Context, known Identity, seen Seen) error {
	t := s.begin()
	holds, err := t.claimEmail(ctx, known.UserID, seen)
	if err != nil {
		return err
	}
	shown, _, err := lookup(ctx, s, userRow(known.UserID), profileFrom)
	if err != nil {
		return err
	}
	losesAddress := !seen.Verified || known.folded != seen.Folded
	isStill, wasShown := attrUserID.Is(known.UserID), strings.ToLower(shown.email)
	switch {
	case !known.Holds || !losesAddress:
	case holds || wasShown != known.folded: // another one
		t.Delete(emailRow(known.folded), isStill, table.Raced)
	default: // the user is shown with the address until another one proves it
		t.Put(emailRow(known.folded), isStill, table.Raced, attrFormerUserID.Set(known.UserID))
	}
	if holds && wasShown != "" && wasShown != seen.Folded && (!known.Holds || wasShown != known.folded) {
		if err := t.forget(ctx, known.UserID, wasShown); err != nil {
			return err
		}
	}
	t.Update(identityRow(seen.Issuer, seen.Subject), table.All(attrIssuedAt.Is(known.iat), attrHolds.Is(known.Holds), known.asRead()), table.Raced,
		seen.set(holds))
	// Other users see the user's row. So only an address that is the user's is written there, and no other replaces it.
	email := shown.email
	if holds {
		email = shownEmail(seen.Email, seen.Folded)
	}
	t.Update(userRow(known.UserID), attrEmail.Is(shown.email), table.Raced, attrEmail.Set(email), table.If(seen.Name != "", attrName.Set(seen.Name)))
	return t.Commit(ctx)
}

// forget deletes the row of an address with which a user is shown no more, if the user gave it up and no one else has proved it. So
// each such row is found by its user's row.
func (t *txn) forget(ctx context.Context, user id.User, folded string) error {
	was, _, err := lookup(ctx, t.s, emailRow(folded), addressFrom)
	if was.former == user {
		t.Delete(emailRow(folded), was.asRead(), table.Raced)
	}
	return err
}

// noteAsked writes that the userinfo endpoint was called and showed nothing new.
func (s *Store) noteAsked(ctx context.Context, known Identity, seen Seen) error {
	t := s.begin()
	t.Update(identityRow(seen.Issuer, seen.Subject), known.asRead(), table.Raced, attrAskedAt.Set(seen.AskedAt))
	return t.Commit(ctx)
}
