package store

import (
	"context"
	"errors"

	"latchkey/pkg/id"
)

// The attributes of identities, users and emails.
const (
	attrUserID   = "userId"
	attrEmail    = "email"
	attrVerified = "verified"
	attrHolds    = "holds"
	attrIssuedAt = "iat" // of the token, in seconds; 0: the token had none
	attrAskedAt  = "askedAt"
	attrIdentity = "identity" // of an email row: the partition of the identity that holds it
)

// Seen is a user as an access token, or the issuer's userinfo endpoint, shows them.
type Seen struct {
	Issuer, Subject string
	Email           string // in the issuer's spelling; shown to people when it is verified
	Folded          string // the form in which addresses are compared
	Verified        bool   // the issuer has verified the address
	Name            string
	IssuedAt        int64 // seconds; 0: the token has no iat
	AskedAt         int64 // milliseconds; when the userinfo endpoint returned this, else 0
}

// VerifiedEmail returns the address, when the issuer has verified it, else "".
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

	folded string
	holds  bool  // the email row of the address is this user's
	iat    int64 // of the token whose email and name these are
}

// shows reports whether a token shows something that this identity does not have: a changed
// email or name, or an address that the user could now prove.
func (i Identity) shows(seen Seen) bool {
	return i.Email != seen.Email || i.Name != seen.Name || i.Verified != seen.Verified || (seen.Verified && !i.holds)
}

// Identity reads the identity of (issuer, subject), in one strong read. ok is false for a pair
// that was never seen before.
func (s *Store) Identity(ctx context.Context, issuer, subject string) (found Identity, ok bool, err error) {
	row, err := s.get(ctx, identityKey(issuer, subject))
	if err != nil || row == nil {
		return Identity{}, false, err
	}
	return identityFrom(row), true, nil
}

func identityFrom(row item) Identity {
	return Identity{
		UserID: id.User(row.str(attrUserID)), Email: row.str(attrEmail), Name: row.str(attrName),
		Verified: row.bool(attrVerified), AskedAt: row.num(attrAskedAt),
		folded: row.str(attrFolded), holds: row.bool(attrHolds), iat: row.num(attrIssuedAt),
	}
}

// attrFolded is, on an identity's row, the address in the form in which addresses are compared.
const attrFolded = "folded"

// SignIn updates the table to what a token shows, and returns the user. known is the result of
// Identity. For a pair that was never seen, SignIn creates the user. When nothing is new, it
// neither reads nor writes.
//
// A verified address belongs to the identity that proved it last. The address moves only for a
// token with a greater iat, so that an old token takes no address back. A token without iat
// changes nothing of a known user.
func (s *Store) SignIn(ctx context.Context, known Identity, isKnown bool, seen Seen) (id.User, error) {
	user := known.UserID
	err := retryRaced(ctx, func() error {
		switch {
		case !isKnown:
			made, err := s.firstSight(ctx, seen)
			user = made
			if err == nil {
				return nil
			}
			if !errors.Is(err, errRaced) {
				return err
			}
		case known.shows(seen) && seen.IssuedAt > known.iat:
			if err := s.move(ctx, known, seen); !errors.Is(err, errRaced) {
				return err
			}
		case seen.AskedAt > known.AskedAt:
			return s.noteAsked(ctx, known, seen)
		default:
			return nil
		}
		// Another request was faster: continue from the rows that it wrote.
		var err error
		known, isKnown, err = s.Identity(ctx, seen.Issuer, seen.Subject)
		user = known.UserID
		if err != nil {
			return err
		}
		return errRaced
	})
	return user, err
}

// firstSight creates the identity, the user and, for a verified address, the email row in one
// transaction. It returns errRaced when another request has written the identity or the email
// row.
func (s *Store) firstSight(ctx context.Context, seen Seen) (id.User, error) {
	user := s.ids().NewUser()
	t := &txn{}
	holds, err := s.claimEmail(ctx, t, user, seen)
	if err != nil {
		return "", err
	}
	t.put(s.table, identityKey(seen.Issuer, seen.Subject), identityAttrs(user, seen, holds),
		expr{when: ifAbsent}, func(item) error { return errRaced })
	t.create(s.table, userKey(user), item{
		attrEmail: str(seen.VerifiedEmail()), attrName: str(seen.Name), attrCreatedAt: num(s.now()), attrOrgsCreated: num(0),
	})
	return user, s.commit(ctx, t)
}

func identityAttrs(user id.User, seen Seen, holds bool) item {
	return item{
		attrUserID: str(string(user)), attrEmail: str(seen.Email), attrFolded: str(seen.Folded), attrName: str(seen.Name),
		attrVerified: boolean(seen.Verified), attrHolds: boolean(holds),
		attrIssuedAt: num(seen.IssuedAt), attrAskedAt: num(seen.AskedAt),
	}
}

// claimEmail adds to a transaction the writes that give a verified address to a user, and
// reports whether there are any. There are none when the holder of the address has proved it by
// a later token. The former holder's identity loses the mark holds, so that its next newer token
// claims the address again.
func (s *Store) claimEmail(ctx context.Context, t *txn, user id.User, seen Seen) (bool, error) {
	if !seen.Verified {
		return false, nil
	}
	row, err := s.get(ctx, emailKey(seen.Folded))
	if err != nil {
		return false, err
	}
	raced := func(item) error { return errRaced }
	attrs := item{
		attrUserID: str(string(user)), attrIssuedAt: num(seen.IssuedAt),
		attrIdentity: str(identityKey(seen.Issuer, seen.Subject).pk),
	}
	if row == nil {
		t.put(s.table, emailKey(seen.Folded), attrs, expr{when: ifAbsent}, raced)
		return true, nil
	}
	mine := row.str(attrUserID) == string(user)
	if !mine && seen.IssuedAt <= row.num(attrIssuedAt) {
		return false, nil
	}
	t.put(s.table, emailKey(seen.Folded), attrs, expr{
		when: "userId = :holder AND iat = :iat", values: item{":holder": row[attrUserID], ":iat": row[attrIssuedAt]},
	}, raced)
	if !mine {
		t.update(s.table, key{row.str(attrIdentity), skMeta}, expr{
			update: "SET holds = :no", when: "attribute_exists(PK)", values: item{":no": boolean(false)},
		}, raced)
	}
	return true, nil
}

// move writes what a newer token shows of a known user: the profile, identity and email rows in
// one transaction.
func (s *Store) move(ctx context.Context, known Identity, seen Seen) error {
	raced := func(item) error { return errRaced }
	t := &txn{}
	holds, err := s.claimEmail(ctx, t, known.UserID, seen)
	if err != nil {
		return err
	}
	if known.holds && (!seen.Verified || known.folded != seen.Folded) {
		t.remove(s.table, emailKey(known.folded), expr{
			when: "userId = :me", values: item{":me": str(string(known.UserID))},
		}, raced)
	}
	t.put(s.table, identityKey(seen.Issuer, seen.Subject), identityAttrs(known.UserID, seen, holds), expr{
		when: "iat = :iat AND holds = :holds", values: item{":iat": num(known.iat), ":holds": boolean(known.holds)},
	}, raced)
	if profile := seen.profile(); profile.update != "" {
		t.update(s.table, userKey(known.UserID), profile, nil)
	}
	return s.commit(ctx, t)
}

// profile returns the update of the user's row, which other users see. It has an address only
// once that is verified; an unverified one replaces nothing.
func (s Seen) profile() expr {
	e := expr{when: "attribute_exists(PK)", values: item{}}
	if s.Verified {
		e.update, e.values[":email"] = "SET email = :email", str(s.Email)
	}
	if s.Name != "" {
		e.update += sep(e.update, "SET ", ", ") + "#name = :name"
		e.names, e.values[":name"] = map[string]string{"#name": attrName}, str(s.Name)
	}
	return e
}

// noteAsked writes that the userinfo endpoint was called and showed nothing new.
func (s *Store) noteAsked(ctx context.Context, known Identity, seen Seen) error {
	t := &txn{}
	t.update(s.table, identityKey(seen.Issuer, seen.Subject), expr{
		update: "SET askedAt = :at", when: "userId = :me",
		values: item{":at": num(seen.AskedAt), ":me": str(string(known.UserID))},
	}, nil)
	return s.commit(ctx, t)
}
