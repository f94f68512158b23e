package store

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
)

// The attributes of API keys.
const (
	attrHash      = "hash"
	attrPrefix    = "prefix"
	attrAppID     = "appId"
	attrCreatedBy = "createdBy"
	attrRevokedAt = "revokedAt"
	attrRotatedTo = "rotatedTo"
	attrLastUsed  = "lastUsedAt"

	// A key from a rotation has the id of its predecessor, and when the predecessor's grace ends.
	attrPredecessor     = "predecessor"
	attrPredecessorEnds = "predecessorEnds"

	deadKeysFor = 90 * 24 * time.Hour
	noteEvery   = time.Hour
	noteTimeout = 200 * time.Millisecond
)

// APIKey is a key's row. Times are milliseconds; 0 means not set.
type APIKey struct {
	ID         id.Key
	OrgID      id.Org
	AppID      id.App
	Hash       apikey.Hash
	Prefix     string // the public part of the key
	Name       string
	CreatedAt  int64
	ExpiresAt  int64
	RevokedAt  int64
	RotatedTo  id.Key
	LastUsedAt int64 // filled in lists only

	predecessor     id.Key
	predecessorEnds int64
	purgeAt         int64 // seconds
}

func apiKeyFrom(row item) APIKey {
	k := APIKey{
		ID: id.Key(trimmed(row.str(attrSK), skKey)), OrgID: id.Org(trimmed(row.str(attrPK), pkKeys)),
		AppID: id.App(row.str(attrAppID)), Prefix: row.str(attrPrefix), Name: row.str(attrName),
		CreatedAt: row.num(attrCreatedAt), ExpiresAt: row.num(attrExpiresAt), RevokedAt: row.num(attrRevokedAt),
		RotatedTo:   id.Key(row.str(attrRotatedTo)),
		predecessor: id.Key(row.str(attrPredecessor)), predecessorEnds: row.num(attrPredecessorEnds),
		purgeAt: row.num(attrPurgeAt),
	}
	copy(k.Hash[:], row.bin(attrHash))
	return k
}

// APIKey reads a key's row with one strong read on the base table. Only this row decides whether a
// key is good. ok is false when there is no row.
func (s *Store) APIKey(ctx context.Context, o id.Org, k id.Key) (found APIKey, ok bool, err error) {
	row, err := s.get(ctx, apiKeyKey(o, k))
	if err != nil || row == nil {
		return APIKey{}, false, err
	}
	return apiKeyFrom(row), true, nil
}

// NoteUse writes when a key was used, on a row of its own, at most once an hour. It makes one
// try of 200 ms and ignores its failure, because no request may fail for it. at is in
// milliseconds.
func (s *Store) NoteUse(ctx context.Context, k APIKey, at int64) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	update := "SET lastUsedAt = :at"
	values := item{":at": num(at), ":before": num(at - noteEvery.Milliseconds())}
	if k.purgeAt != 0 {
		// A revocation or rotation since the read may have set purgeAt: its value stays.
		update += ", purgeAt = if_not_exists(purgeAt, :purge)"
		values[":purge"] = num(k.purgeAt)
	}
	_, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: s.table, Key: usedKey(k.OrgID, k.ID).attributes(),
		UpdateExpression:          aws.String(update),
		ConditionExpression:       aws.String("attribute_not_exists(lastUsedAt) OR lastUsedAt <= :before"),
		ExpressionAttributeValues: values,
	}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	_ = err // another process noted it, or the database is slow: both are fine
}
