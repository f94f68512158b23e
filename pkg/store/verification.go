package store

import (
	"context"
	"errors"

	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// The attributes of a verification key's row.
const (
	attrX           = "x"
	attrY           = "y"
	attrARN         = "arn"
	attrState       = "state" // a reserved word: always #state
	attrActivatedAt = "activatedAt"
	attrRetiredAt   = "retiredAt"
	attrExpiredAt   = "expiredAt"
	attrDisabledAt  = "disabledAt" // of endpoints too
)

// verificationPage is how many rows one query of the keys reads. With a new key every 90 days,
// that is all keys of a century.
const verificationPage = 500

func keyFrom(row item) webhook.SigningKey {
	return webhook.SigningKey{
		JWK: webhook.JWK{Kid: trimmed(row.str(attrSK), skKey), X: row.str(attrX), Y: row.str(attrY)},
		ARN: row.str(attrARN), State: webhook.SigningState(row.str(attrState)),
		CreatedAt: row.num(attrCreatedAt), ActivatedAt: row.num(attrActivatedAt), RetiredAt: row.num(attrRetiredAt),
		ExpiredAt: row.num(attrExpiredAt), RevokedAt: row.num(attrRevokedAt), DisabledAt: row.num(attrDisabledAt),
	}
}

func errUnknownKid() error {
	return problem.New(problem.UnknownKid, "There is no verification key with this kid.")
}

// VerificationKey returns a verification key in any state, also a revoked one, in one strong
// read. Error: unknown_kid.
func (s *Store) VerificationKey(ctx context.Context, kid string) (webhook.SigningKey, error) {
	row, err := s.get(ctx, verificationKeyKey(kid))
	if err != nil {
		return webhook.SigningKey{}, err
	}
	if row == nil {
		return webhook.SigningKey{}, errUnknownKid()
	}
	return keyFrom(row), nil
}

// SigningKey is the active signing key.
type SigningKey struct{ Kid, ARN string }

// ActiveSigningKey returns the active key, in one strong read. ok is false before the first.
func (s *Store) ActiveSigningKey(ctx context.Context) (k SigningKey, ok bool, err error) {
	row, err := s.get(ctx, signingStateKey())
	k = SigningKey{row.str(attrKid), row.str(attrARN)}
	return k, k.Kid != "", err
}

// VerificationKeys returns every verification key that ever was, by kid.
func (s *Store) VerificationKeys(ctx context.Context) ([]webhook.SigningKey, error) {
	rows, err := s.whole(ctx, span{pk: pkVerify, prefix: skKey, limit: verificationPage})
	if err != nil {
		return nil, err
	}
	keys := make([]webhook.SigningKey, len(rows))
	for i, row := range rows {
		keys[i] = keyFrom(row)
	}
	return keys, nil
}

// whole reads a span to its end, sp.limit rows a query.
func (s *Store) whole(ctx context.Context, sp span) (all []item, err error) {
	for {
		rows, more, err := s.query(ctx, sp)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if !more {
			return all, nil
		}
		sp.after = rows[len(rows)-1].str(attrSK)
	}
}

// RevokeVerificationKey revokes a key, so that it proves nothing from now on: its lookup answers
// 410, the key set leaves it out, and the next rotation disables it in KMS and, when it was
// active, replaces it. A revocation cannot be undone. Error: unknown_kid.
//
// It is a step for emergencies, which an operator does by hand; no route calls it. The AWS CLI
// does the same, where now is in milliseconds:
//
//	aws dynamodb update-item --table-name "$TABLE" \
//	  --key '{"PK":{"S":"VKEYS"},"SK":{"S":"KEY#<kid>"}}' \
//	  --condition-expression 'attribute_exists(PK) AND #state <> :revoked' \
//	  --update-expression 'SET #state = :revoked, revokedAt = :now' \
//	  --expression-attribute-names '{"#state":"state"}' \
//	  --expression-attribute-values '{":revoked":{"S":"revoked"},":now":{"N":"<now>"}}'
func (s *Store) RevokeVerificationKey(ctx context.Context, kid string) error {
	t := &txn{}
	t.update(s.table, verificationKeyKey(kid), expr{
		update: "SET #state = :revoked, revokedAt = :now", when: "attribute_exists(PK) AND #state <> :revoked",
		names: stateName(), values: item{":revoked": str(string(webhook.SigningRevoked)), ":now": num(s.now())},
	}, func(found item) error {
		if found == nil {
			return errUnknownKid()
		}
		return errRevokedAlready
	})
	if err := s.commit(ctx, t); !errors.Is(err, errRevokedAlready) {
		return err
	}
	return nil
}

func stateName() map[string]string { return map[string]string{"#state": attrState} }
