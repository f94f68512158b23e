package store

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
)

// dropAtOnce bounds one expression. DynamoDB takes 4 KB.
const dropAtOnce = 50

// dropExpired removes the expired keys from the map of active keys, and reports whether there
// were any.
func (s *Store) dropExpired(ctx context.Context, o id.Org) (bool, error) {
	row, err := s.get(ctx, liveKeysKey(o))
	if err != nil {
		return false, err
	}
	live, _ := row[attrLive].(*types.AttributeValueMemberM)
	if live == nil {
		return false, nil
	}
	now := s.now()
	update, names, values, when := "", map[string]string{}, item{}, ""
	for k, v := range live.Value {
		if at := (item{"at": v}).num("at"); at == 0 || at > now {
			continue
		}
		if len(names) == dropAtOnce {
			break
		}
		n := strconv.Itoa(len(names))
		names["#k"+n], values[":e"+n] = k, v
		update += sep(update, "REMOVE ", ", ") + "live.#k" + n
		// A key that was rotated meanwhile has left the map, which makes room too.
		when += sep(when, "", " AND ") + "live.#k" + n + " = :e" + n
	}
	if update == "" {
		return false, nil
	}
	t := &txn{}
	t.update(s.table, liveKeysKey(o), expr{update: update, when: when, names: names, values: values},
		func(item) error { return errRaced })
	if err := s.commit(ctx, t); err != nil && !errors.Is(err, errRaced) {
		return false, err
	}
	return true, nil
}

func sep(so, first, next string) string {
	if so == "" {
		return first
	}
	return next
}
