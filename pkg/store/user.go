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
	Folded          string // the address in lower case and in ASCII, to compare addresses (email.Fold)
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
	UserID   id.User // "": the person was erased, and has not signed in since
	Email    string
	Name     string
	Verified bool
	AskedAt  int64 // milliseconds; when the userinfo endpoint was called last, 0: never

	Holds bool // the email row of the address is this user's: no other user has proved the address since

	Stopped   bool  // all tokens of the user are refused
	NotBefore int64 // milliseconds; the last sign-out, or the erasure: tokens of sign-ins up to this time are refused; 0: there was none

	folded string
	iat    int64 // seconds; of the token that showed this email and name
}

// ProvedEmail returns the address if this user proved it last, or else "".
func (i Identity) ProvedEmail() string {
	if i.Verified && i.Holds {
		return shownEmail(i.Email, i.folded)
	}
	return ""
}

// shownEmail returns the address that people and programs see. It is in ASCII: the issuer's spelling, or else the folded address.
func shownEmail(email, folded string) string {
	if strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII }) {
		return folded
	}
	return email
}

// Refusal returns the error for a token of a sign-in at a time (Seen.SignedInAt): user_stopped or token_ended; nil: the token is good. A
// sign-in in the same second as a sign-out counts as earlier.
func (i Identity) Refusal(signedInAt int64) error {
	switch {
	case i.Stopped:
		return errUserStopped
	case i.NotBefore != 0 && signedInAt*1000 <= i.NotBefore:
		return errTokenEnded
	}
	return nil
}

// asRead is the condition that the values of the identity that decide about tokens are still as they were read.
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
// that was never seen before. It is also false for an erased person: then found only has NotBefore.
func (s *Store) Identity(ctx context.Context, issuer, subject string) (found Identity, ok bool, err error) {
	found, ok, err = lookup(ctx, s, identityRow(issuer, subject), identityFrom)
	return found, ok && found.UserID != "", err
}

// identityFrom reads an identity. An identity that an operator has written for a new issuer (the runbook,
// "Changing the issuer") has only a user, name, holds and iat, until the user's first token fills the rest.
//
// While the user is stopped, attrStoppedUser is in place of attrUserID: an older program that does not know it cannot decode the row:
// it answers 503, and lets no one in (ADR 49). After an erasure, the row has no user, and only attrNotBefore.
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

// SignIn writes the values that a token shows, and returns the user. known and isKnown are the result
// of Identity, which the caller has called before. For a pair (issuer, subject) that was never seen, and
// after an erasure, SignIn creates the user. When nothing is new, it neither reads nor writes.
//
// A verified address belongs to the identity that proved it last. The address moves only for a
// token with a greater iat, so that an old token does not get the address back. A token without iat
// changes nothing of a known user.
//
// A sign-in does not undo a stop or a sign-out at the same time. Errors: user_stopped, token_ended.
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
// transaction. was is the identity that an erasure left, or zero. It returns table.ErrRaced when another request has written
// the identity or the email row.
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

// createUser adds the rows of a new user to a transaction. was is as for firstSight: its NotBefore stays, so that earlier tokens are
// still refused. The transaction returns table.ErrRaced when the identity has changed since it was read.
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

// set writes the values that a token shows into an identity.
func (seen Seen) set(holds bool) table.Change {
	return table.Changes(
		attrEmail.Set(seen.Email), attrFolded.Set(seen.Folded), attrName.Set(seen.Name),
		attrVerified.Set(seen.Verified), attrHolds.Set(holds), attrIssuedAt.Set(seen.IssuedAt), attrAskedAt.Set(seen.AskedAt),
	)
}

// address is the row of an address.
type address struct {
	holder   id.User // the user who proved the address last; "": no user proves it any more
	iat      int64   // seconds; of the holder's token
	identity string  // the partition of the holder's identity
	former   id.User // without a holder: the user who gave the address up, and may still be shown with it
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
// whether it did. It does not if another user has proved the address by a token of the same time or a
// newer one. The identity of the former holder loses attrHolds, so that the former holder's next newer
// token claims the address again. The former holder is no longer shown with the address.
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
	// The identity that proved the address before loses it, even if it is another identity of the same user. But if it is this same
	// identity, another request has just made it: then the put of the identity fails, and a transaction may name a row only once.
	if was.holder != "" && was.identity != own.PK {
		t.Update(table.Key{PK: was.identity, SK: skMeta}, table.Exists, table.Raced, attrHolds.Set(false))
	}
	if former := cmp.Or(was.holder, was.former); former != user {
		return true, t.hideEmail(ctx, former, seen.Folded)
	}
	return true, nil
}

// hideEmail removes an address from a user's row. If the user has another address by now, that address stays.
func (t *txn) hideEmail(ctx context.Context, user id.User, folded string) error {
	shown, _, err := lookup(ctx, t.s, userRow(user), profileFrom)
	if strings.ToLower(shown.email) == folded {
		t.Update(userRow(user), attrEmail.Is(shown.email), table.Raced, attrEmail.Set(""))
	}
	return err
}

// move writes the values that a newer token of a known user shows, in one transaction: into the user's row, the
// identity and the email rows. It returns table.ErrRaced when one of them has changed since it was read.
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
	case holds || wasShown != known.folded: // the user is shown with another address
		t.Delete(emailRow(known.folded), isStill, table.Raced)
	default: // the user is shown with the address until another user proves it
		t.Put(emailRow(known.folded), isStill, table.Raced, attrFormerUserID.Set(known.UserID))
	}
	if holds && wasShown != "" && wasShown != seen.Folded && (!known.Holds || wasShown != known.folded) {
		if err := t.forget(ctx, known.UserID, wasShown); err != nil {
			return err
		}
	}
	t.Update(identityRow(seen.Issuer, seen.Subject), table.All(attrIssuedAt.Is(known.iat), attrHolds.Is(known.Holds), known.asRead()), table.Raced,
		seen.set(holds))
	// Other users see the user's row. So it only ever shows an address that the user has proved.
	email := shown.email
	if holds {
		email = shownEmail(seen.Email, seen.Folded)
	}
	t.Update(userRow(known.UserID), attrEmail.Is(shown.email), table.Raced, attrEmail.Set(email), table.If(seen.Name != "", attrName.Set(seen.Name)))
	return t.Commit(ctx)
}

// forget deletes the row of an address that a user gave up, unless another user has proved it. It is called when the user's row no
// longer shows the address. So the row of each such address can be found by its user's row.
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
