package store

import (
	"cmp"
	"context"
	"maps"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
)

// maxWholeKeys is how many keys GET …/keys returns without a page.
const maxWholeKeys = 1000

// keyPages and keySearch bound the pages and the time of one call that searches for the keys of one creator, so that the
// call ends soon when there are few of them.
const (
	keyPages  = 10
	keySearch = 4 * time.Second
)

// Keys lists an org's API keys, newest first. If by is not "", it lists only the keys that this user created. next is
// After of the next page, "" at the end. With by, a page may be short although more keys follow. Errors:
// org_not_found, insufficient_role.
func (s *Store) Keys(ctx context.Context, a Actor, o id.Org, by id.User, p Page) (keys []APIKey, next string, err error) {
	begun, most := time.Now(), cmp.Or(p.Limit, maxWholeKeys)
	for range keyPages {
		found, end, err := s.keys(ctx, a, o, p)
		if err != nil || by == "" {
			return found, end, err
		}
		for _, k := range found {
			if len(keys) == most {
				return keys, next, nil // next is the last key that was read
			}
			next = string(k.ID)
			if k.CreatedBy.Long() == by {
				keys = append(keys, k)
			}
		}
		next = end
		if next == "" || time.Since(begun) > keySearch {
			break
		}
		p.After = next
	}
	return keys, next, nil
}

// keys lists one page of an org's keys of all creators, with their last uses.
func (s *Store) keys(ctx context.Context, a Actor, o id.Org, p Page) (keys []APIKey, next string, err error) {
	page := p.span(pkKeys+string(o), skKey, maxWholeKeys)
	page.Reverse = true
	var uses lastUses
	err = s.checkWhileReading(ctx, a, o, func(ctx context.Context) (err error) {
		keys, next, err = list(ctx, s, page, apiKeyFrom)
		return err
	}, func(ctx context.Context) (err error) {
		uses, err = s.lastUses(ctx, o, page)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if err := uses.fill(ctx, s, o, keys); err != nil {
		return nil, "", err
	}
	return keys, next, nil
}

// use is the row of a key's last use.
type use struct{ lastUsedAt, leakedAt int64 } // milliseconds; 0: never

func useFrom(r *table.Reading) use { return use{attrLastUsed.OrZero(r), attrLeakedAt.OrZero(r)} }

// fill writes a last use into its key.
func (u use) fill(k *APIKey) { k.LastUsedAt, k.LeakedAt = u.lastUsedAt, u.leakedAt }

// lastUses are the last uses of a page of keys, as far as one query has read them.
type lastUses struct {
	of  map[table.Key]use // by the key of the row
	end id.Key            // the query ended at this key; "": it has read all
}

// lastUses reads the last uses of the keys of a page. Their rows have the same sort keys as the keys, in another
// partition. So lastUses does not need the keys' rows, and runs at the same time as the read of the keys.
func (s *Store) lastUses(ctx context.Context, o id.Org, page table.Span) (uses lastUses, err error) {
	type found struct {
		row table.Key
		use use
	}
	page.PK = pkUsed + string(o)
	rows, end, err := list(ctx, s, page, func(r *table.Reading) found { return found{r.Row.Key(), useFrom(r)} })
	uses = lastUses{make(map[table.Key]use, len(rows)), id.Key(end)}
	for _, r := range rows {
		uses.of[r.row] = r.use
	}
	return uses, err
}

// fill writes the last uses into a page of keys. The query of the last uses may have ended before the
// last key of the page, because it also finds uses of keys whose own rows are deleted already. Then a
// batch reads the last uses of the keys after its end.
func (u lastUses) fill(ctx context.Context, s *Store, o id.Org, keys []APIKey) error {
	var unread []table.Key
	for _, k := range keys {
		if k.ID < u.end { // the newest keys, with the greatest ids, come first
			unread = append(unread, usedRow(o, k.ID))
		}
	}
	rest, err := batch(ctx, s, unread, useFrom)
	maps.Copy(u.of, rest)
	for i, k := range keys {
		u.of[usedRow(o, k.ID)].fill(&keys[i])
	}
	return err
}
