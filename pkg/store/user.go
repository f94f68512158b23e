package store

import (
	"cmp"
	"context"
	"errors"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
)

// Seen is a user as an access token, or the issuer's userinfo endpoint, shows them.
type Seen struct {
	Issuer, Subject string
	Email           string // in the issuer's spelling; shown to people when it is verified
	Folded          string // the form in which addresses are compared
	Verified        bool   // the issuer has verified the address
	Name            string
	IssuedAt        int64 // seconds; 0: the token has no iat
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
	UserID   id.User
	Email    string
	Name     string
	Verified bool
	AskedAt  int64 // milliseconds; when the userinfo endpoint was called last, 0: never

	Holds bool // the email row of the address is this user's: no other user has proved the address since

	folded string
	iat    int64 // seconds; of the token that showed this email and name
}

// ProvedEmail returns the address when this user is the last who proved it, else "".
func (i Identity) ProvedEmail() string {
	if i.Verified && i.Holds {
		return i.Email
	}
	return ""
}

// shows reports whether a token shows something that this identity does not have: a changed
// email or name, or an address that the user could now prove.
func (i Identity) shows(seen Seen) bool {
	return i.Email != seen.Email || i.Name != seen.Name || i.Verified != seen.Verified || (seen.Verified && !i.Holds)
}

// Identity reads the identity of (issuer, subject), in one strong read. ok is false for a pair
// that was never seen before.
func (s *Store) Identity(ctx context.Context, issuer, subject string) (found Identity, ok bool, err error) {
	return lookup(ctx, s, identityRow(issuer, subject), identityFrom)
}

// identityFrom reads an identity. An identity that an operator has written for a new issuer (the runbook,
// "Changing the issuer") has only a user, holds and iat, until the user's first token fills the rest.
func identityFrom(r *table.Reading) Identity {
	return Identity{
		UserID: attrUserID.From(r), Email: attrEmail.OrZero(r), Name: attrName.OrZero(r),
		Verified: attrVerified.OrZero(r), AskedAt: attrAskedAt.OrZero(r),
		folded: attrFolded.OrZero(r), Holds: attrHolds.From(r), iat: attrIssuedAt.From(r),
	}
}

// SignIn updates the table to what a token shows, and returns the user. known and isKnown are the result
// of Identity, which the caller has called before. For a pair (issuer, subject) that was never seen,
// SignIn creates the user. When nothing is new, it neither reads nor writes.
//
// A verified address belongs to the identity that proved it last. The address moves only for a
// token with a greater iat, so that an old token takes no address back. A token without iat
// changes nothing of a known user.
func (s *Store) SignIn(ctx context.Context, known Identity, isKnown bool, seen Seen) (id.User, error) {
	user := known.UserID
	err := s.db.Retry(ctx, func() (err error) {
		switch {
		case !isKnown:
			user, err = s.firstSight(ctx, seen)
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
// transaction. It returns table.ErrRaced when another request has written the identity or the email
// row.
func (s *Store) firstSight(ctx context.Context, seen Seen) (id.User, error) {
	user := s.ids().NewUser()
	t := s.begin()
	holds, err := t.claimEmail(ctx, user, seen)
	if err != nil {
		return "", err
	}
	t.Put(identityRow(seen.Issuer, seen.Subject), table.Absent, table.Raced, identityOf(user, seen, holds))
	t.Create(userRow(user),
		attrEmail.Set(seen.VerifiedEmail()), attrName.Set(seen.Name), attrCreatedAt.Set(s.now()), attrOrgsCreated.Set(0))
	return user, t.Commit(ctx)
}

// identityOf returns the attributes of a user's identity.
func identityOf(user id.User, seen Seen, holds bool) table.Change {
	return table.Changes(
		attrUserID.Set(user), attrEmail.Set(seen.Email), attrFolded.Set(seen.Folded), attrName.Set(seen.Name),
		attrVerified.Set(seen.Verified), attrHolds.Set(holds), attrIssuedAt.Set(seen.IssuedAt), attrAskedAt.Set(seen.AskedAt),
	)
}

// claimEmail adds to a transaction the writes that give a verified address to a user, and reports
// whether it did: not when another user has proved the address by a token that is no older. The
// identity of the former holder loses attrHolds, so that the holder's next newer token claims the
// address again.
func (t *txn) claimEmail(ctx context.Context, user id.User, seen Seen) (bool, error) {
	if !seen.Verified {
		return false, nil
	}
	email := emailRow(seen.Folded)
	row, err := t.s.db.Get(ctx, email)
	if err != nil {
		return false, err
	}
	own := identityRow(seen.Issuer, seen.Subject)
	claim := table.Changes(attrUserID.Set(user), attrIssuedAt.Set(seen.IssuedAt), attrIdentity.Set(own.PK))
	if row == nil {
		t.Put(email, table.Absent, table.Raced, claim)
		return true, nil
	}
	r := table.Read(row)
	holder, iat, identity := attrUserID.From(&r), attrIssuedAt.From(&r), attrIdentity.From(&r)
	anotherHolds := holder != user
	if r.Err() != nil {
		return false, r.Err()
	}
	if anotherHolds && seen.IssuedAt <= iat {
		return false, nil
	}
	t.Put(email, table.All(attrUserID.Is(holder), attrIssuedAt.Is(iat)), table.Raced, claim)
	// The holder loses the address, unless it has this very identity: another request made it just now. Then the put of
	// the identity fails, and a transaction may name a row only once.
	if anotherHolds && identity != own.PK {
		t.Update(table.Key{PK: identity, SK: skMeta}, table.Exists, table.Raced, attrHolds.Set(false))
	}
	return true, nil
}

// move writes what a newer token shows of a known user, in one transaction: the user's row, the identity
// and the email rows. It returns table.ErrRaced when one of them has changed since it was read.
func (s *Store) move(ctx context.Context, known Identity, seen Seen) error {
	t := s.begin()
	holds, err := t.claimEmail(ctx, known.UserID, seen)
	if err != nil {
		return err
	}
	losesAddress := !seen.Verified || known.folded != seen.Folded
	if known.Holds && losesAddress {
		t.Delete(emailRow(known.folded), attrUserID.Is(known.UserID), table.Raced)
	}
	t.Put(identityRow(seen.Issuer, seen.Subject), table.All(attrIssuedAt.Is(known.iat), attrHolds.Is(known.Holds)), table.Raced,
		identityOf(known.UserID, seen, holds))
	// Other users see the user's row. So only a verified address is written there, and an unverified
	// address does not replace it.
	if seen.Verified || seen.Name != "" {
		t.Update(userRow(known.UserID), table.Exists, nil,
			table.If(seen.Verified, attrEmail.Set(seen.Email)), table.If(seen.Name != "", attrName.Set(seen.Name)))
	}
	return t.Commit(ctx)
}

// noteAsked writes that the userinfo endpoint was called and showed nothing new.
func (s *Store) noteAsked(ctx context.Context, known Identity, seen Seen) error {
	t := s.begin()
	t.Update(identityRow(seen.Issuer, seen.Subject), attrUserID.Is(known.UserID), nil, attrAskedAt.Set(seen.AskedAt))
	return t.Commit(ctx)
}
