package store_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/authn"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

// alterHash changes one bit of a hash in a row, in the byte at an index. The other bytes are as in row, which was
// read before.
func (c *connected) alterHash(t *testing.T, row map[string]types.AttributeValue, attribute string, at int) {
	t.Helper()
	hash, ok := row[attribute].(*types.AttributeValueMemberB)
	if !ok || len(hash.Value) != sha256.Size {
		t.Fatalf("%s of %s is not a hash", attribute, text(row, "PK"))
	}
	changed := slices.Clone(hash.Value)
	changed[at] ^= 1 << (at % 8)
	_, err := c.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.Name, Key: map[string]types.AttributeValue{"PK": row["PK"], "SK": row["SK"]},
		UpdateExpression: aws.String("SET #hash = :hash"), ExpressionAttributeNames: map[string]string{"#hash": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":hash": &types.AttributeValueMemberB{Value: changed}},
	})
	noError(t, err)
}

// TestHashesThatDifferInOneByteAreRefused changes every byte of each kind of hash in the table, one at a time: a
// comparison that leaves out a byte would accept a wrong secret.
func TestHashesThatDifferInOneByteAreRefused(t *testing.T) {
	c := connect(t)
	k := makeKey(t, c.Table, c.org, c.ada, 0)
	unclaimed, claimed := c.link(t, time.Hour), c.link(t, time.Hour)
	noError(t, errorOf(c.ClaimLink(ctx, claimed.claim("k"))))
	const answer = "answer"
	record := once[store.App](c, idempotencyKey, "{}", answer)
	again := func() error {
		made, err := c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "x"}, record)
		if err == nil && (!made.Replayed || made.Answer.Reveal() != answer) {
			err = fmt.Errorf("answered %q", made.Answer.Reveal())
		}
		return err
	}
	noError(t, errorOf(c.CreateApp(ctx, admin(c.ada), c.org, store.NewApp{Name: "x"}, record)))
	for _, h := range []struct {
		name    string
		pk, sk  string       // of the row; pk is the beginning
		hash    string       // the attribute
		show    func() error // shows the right secret or request
		refused problem.Code // of show, when the hash is altered
	}{
		{"an API key", "KEYS#" + string(c.org), "KEY#" + string(k.ID), "hash", func() error {
			return errorOf(authn.New(c.Store, nil).Authorize(ctx, route.Route{Takes: principal.APIKey}, []string{"Bearer " + k.Minted.Key.Reveal()}))
		}, problem.InvalidCredentials},
		{"a claim key", "LINKS#" + string(c.app), "LINK#" + string(claimed.ID), "claimKeyHash", func() error {
			return errorOf(c.ClaimLink(ctx, claimed.claim("k")))
		}, problem.LinkAlreadyClaimed},
		{"a link token", "LINKS#" + string(c.app), "LINK#" + string(unclaimed.ID), "hash", func() error {
			return errorOf(c.ClaimLink(ctx, unclaimed.claim("k")))
		}, problem.LinkNotFound},
		{"the body of a kept request", "IDEM#", "META", "request", again, problem.IdempotencyKeyReused},
	} {
		at := slices.IndexFunc(c.rowsOf(t, h.pk), func(r map[string]types.AttributeValue) bool { return text(r, "SK") == h.sk })
		row := c.rowsOf(t, h.pk)[at]
		for i := range sha256.Size {
			c.alterHash(t, row, h.hash, i)
			if err := h.show(); !problem.Is(err, h.refused) {
				t.Errorf("%s, byte %d: %v, want %s", h.name, i, err, h.refused)
			}
		}
		c.putRow(t, row) // restores the row
		noError(t, h.show())
	}
}
