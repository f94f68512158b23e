package store

import (
	"context"
	"errors"

	"latchkey/pkg/id"
)

// Attributes of identities, users and emails.
const (
	attrUserID   = "userId"
	attrEmail    = "email"
	attrVerified = "verified"
	attrHolds    = "holds"
	attrIssuedAt = "iat" // seconds, as the token has it; 0: the token had none
	attrAskedAt  = "askedAt"
	attrIdentity = "identity" // of an email row: the partition of the identity that holds it
)

// Seen is what an access token, or the issuer's userinfo, shows of a user.
type Seen struct {
	Issuer, Subject string
	Email           string // as the issuer writes it; shown to people when it is verified
	Folded          string // the form in which addresses are compared
	Verified        bool   // the issuer vouches for the address
	Name            string
	IssuedAt        int64 // seconds; 0: the token does not say
	AskedAt         int64 // milliseconds; when userinfo was asked for this, else 0
}

// VerifiedEmail is the address, when the issuer vouches for it, else "".
func (s Seen) VerifiedEmail() string {
	if s.Verified {
		return s.Email
	}
	return ""
}

// Identity is what the table knows of (issuer, subject). The user is the pair,
// never the email.
type Identity struct {
	UserID   id.User
	Email    string
	Name     string
	Verified bool
	AskedAt  int64 // milliseconds; when userinfo was last asked, 0: never

	folded string
	holds  bool  // the email row of the address is this user's
	iat    int64 // of the token whose email and name these are
}

// Shows reports whether a token shows something newer than this identity has: a
// changed email or name, or an address it could prove now.
func (i Identity) shows(seen Seen) bool {
	return i.Email != seen.Email || i.Name != seen.Name || i.Verified != seen.Verified || (seen.Verified && !i.holds)
}

// Identity reads who (issuer, subject) is: one strong read. ok is false for a
// pair never seen before.
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

// attrFolded keeps, on an identity's row, the address as it is compared.
const attrFolded = "folded"

// SignIn brings the table up to what a token shows and gives the user. known is
// what Identity found; for a pair never seen it makes the user. In steady state
// it neither reads nor writes.
//
// A verified address belongs to the identity that proved it last: its row moves
// for a token with a greater iat only, so that an old token takes no address
// back. A token without iat changes nothing of a user who is known.
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
		// Another request was faster: go on from what it wrote.
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

// firstSight makes identity, user and, for a verified address, the email row in
// one transaction. errRaced: the identity, or the email row, was overtaken.
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

// claimEmail adds to a transaction what gives a verified address to a user, and
// reports whether it does: not when the identity that holds it proved it by a
// later token. The former holder's identity is told, so that its next newer
// token claims the address again.
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

// move writes what a newer token shows of a known user: profile, identity and
// email rows in one transaction.
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

// profile is the update of what others see of a user. An address is shown only
// once it was verified, and then until another one is.
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

// noteAsked remembers that userinfo was asked and showed nothing new.
func (s *Store) noteAsked(ctx context.Context, known Identity, seen Seen) error {
	t := &txn{}
	t.update(s.table, identityKey(seen.Issuer, seen.Subject), expr{
		update: "SET askedAt = :at", when: "userId = :me",
		values: item{":at": num(seen.AskedAt), ":me": str(string(known.UserID))},
	}, nil)
	return s.commit(ctx, t)
}
