// Package store reads and writes the table. It has every key, every condition and every transaction.
//
// A method is a use case (CreateOrg, RevokeKey). It decides, in the transaction that writes,
// whether the caller may do it. Its comment names the problem codes that a caller can see. Each
// method can also return unavailable, when the database cannot be reached, does not answer, or
// keeps reporting conflicts. A row that lacks an attribute which every row of its kind has, or
// has one of another type, is an internal error.
//
// Every read that decides about access is strongly consistent and on the base table. Nothing
// here may be cached: a cached row would let a revoked key in.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/clock"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// Limits are the bounds of the contract that the store enforces (infra/docs/api.md, "Limits").
type Limits struct {
	ActiveKeys  int    // active API keys of an org: not revoked, expired or rotated
	Apps        int    // apps of an org
	Members     int    // members of an org
	OrgsCreated int    // orgs that one user created
	Endpoints   int    // webhook endpoints of an app
	Held        int    // deliveries of an endpoint that HeldCount reads
	Queued      int    // deliveries that one run of the sweep queues: the number that is sent in a minute
	Redelivered int    // deliveries that one call redelivers
	Budget      Budget // of an app
	OrgBudget   Budget // of all apps of an org together
}

// DefaultLimits returns the limits of the contract.
func DefaultLimits() Limits {
	return Limits{
		ActiveKeys: 200, Apps: 20, Members: 500, OrgsCreated: 20, Endpoints: 20,
		Held: 1000, Queued: 5000, Redelivered: 500,
		Budget: Budget{PerSecond: 100, Burst: 2000}, OrgBudget: Budget{PerSecond: 300, Burst: 6000},
	}
}

// Store reads and writes the table. Make it with New; it is safe for concurrent use.
type Store struct {
	db     *table.Table
	Now    func() time.Time // the clock; tests set it
	Rand   io.Reader        // randomness of ids, keys, salts and nonces; nil: crypto/rand
	Limits Limits

	closingPage   int           // the constant closingPage; tests lower it
	closingWithin time.Duration // the constant closingWithin; tests lower it
	spreadWithin  time.Duration // the constant spreadWithin; tests lower it
	usageWithin   time.Duration // the constant usageWithin; tests lower it
}

// New returns the store on one table.
func New(db *table.DB, name string) *Store {
	return &Store{
		db: table.New(db, name, table.Rules{
			Fault: fault,
			First: func(refused error) bool { return problem.Is(refused, problem.OrgNotFound) },
			Index: table.Index{Name: "due", PK: attrDue, SK: attrDueAt},
			TTL:   string(attrPurgeAt),
		}),
		Now: clock.Now, Limits: DefaultLimits(), closingPage: closingPage, closingWithin: closingWithin,
		spreadWithin: spreadWithin, usageWithin: usageWithin,
	}
}

// fault turns an error of the table into the caller's error, a 503. A request that the database calls
// malformed is our own mistake, and becomes a 500. The cause is kept for the log.
func fault(err error) error {
	if errors.Is(err, table.ErrMalformed) {
		return fmt.Errorf("store: %w", err)
	}
	return problem.Wrap(problem.Unavailable, "The service cannot answer right now. Try again.", err)
}

// Busy reports whether a use case did nothing because each of its tries lost a race for the same rows.
// Work that can wait is then left to a later run.
func Busy(err error) bool { return errors.Is(err, table.ErrBusy) }

// Unreadable reports whether a row does not decode. Another try would fail too.
func Unreadable(err error) bool { return errors.Is(err, table.ErrRow) }

// ids returns the source of ids, with the store's randomness.
func (s *Store) ids() id.Source { return id.Source{Rand: s.Rand} }

// random returns the store's source of randomness.
func (s *Store) random() io.Reader {
	if s.Rand != nil {
		return s.Rand
	}
	return rand.Reader
}

// now returns the time in milliseconds since the epoch, the unit of every time in the table but
// purgeAt and iat.
func (s *Store) now() int64 { return s.Now().UnixMilli() }

// txn is the transaction of a use case. When several operations are refused, the caller gets the refusal of the
// first. So the operations have this order: caller, idempotency, existence, state, limit. But org_not_found comes
// before all others.
type txn struct {
	*table.Txn
	s *Store
}

func (s *Store) begin() *txn { return &txn{s.db.Begin(), s} }

// refuse returns a refusal that is always this error.
func refuse(err error) table.Refusal { return func(table.Row) error { return err } }

// ignoreRaced drops ErrRaced. It is for work that is needed no longer when the row has changed, because
// another process has then done the work or made it unnecessary.
func ignoreRaced(err error) error {
	if errors.Is(err, table.ErrRaced) {
		return nil
	}
	return err
}

// inParts writes items in several transactions, each with up to most items. add adds the writes of one
// item to a transaction. All writes of a transaction are actionsAtOnce at most.
func inParts[T any](ctx context.Context, s *Store, items []T, most int, add func(*txn, T)) error {
	for batch := range slices.Chunk(items, most) {
		t := s.begin()
		for _, item := range batch {
			add(t, item)
		}
		if err := t.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Page selects a part of a list. The zero value selects the whole list, up to the bound in the
// contract.
type Page struct {
	Limit int    // 1 to 100; 0: the whole list
	After string // the last id of the previous page; "": the page is the first
}

// span returns the page of a partition's rows that have a sort key with this prefix. whole bounds the rows of
// the whole list.
func (p Page) span(pk, prefix string, whole int) table.Span {
	s := table.Span{PK: pk, Prefix: prefix, Limit: cmp.Or(p.Limit, whole)}
	if p.After != "" {
		s.After = prefix + p.After
	}
	return s
}

// list reads a page, and decodes its rows with from. next is After of the next page, "" at the
// end.
func list[T any](ctx context.Context, s *Store, page table.Span, from func(*table.Reading) T) (found []T, next string, err error) {
	rows, more, err := s.db.Query(ctx, page)
	if err != nil {
		return nil, "", err
	}
	if found, err = table.DecodeAll(rows, from); err != nil {
		return nil, "", err
	}
	if more {
		next = strings.TrimPrefix(rows[len(rows)-1].Key().SK, page.Prefix)
	}
	return found, next, nil
}

// searchPages bounds the pages of a partition that one call reads, so that it ends soon when few rows match.
const searchPages = 10

// search reads at most this number of pages, until collect has collected limit rows. next is as for list. collect decodes a row. If the
// row matches, collect appends it to the caller's result and returns true.
func (s *Store) search(ctx context.Context, page table.Span, pages, limit int, collect func(*table.Reading) bool) (next string, err error) {
	collected := 0
	for range pages {
		rows, more, err := s.db.Query(ctx, page)
		if err != nil {
			return "", err
		}
		for i, row := range rows {
			r := table.Read(row)
			if collect(&r) {
				collected++
			}
			if r.Err() != nil {
				return "", r.Err()
			}
			page.After = row.Key().SK
			if collected == limit && (more || i < len(rows)-1) {
				return page.After, nil
			}
		}
		if !more {
			return "", nil
		}
	}
	return page.After, nil
}

// whole reads a span to its end, page.Limit rows with each query.
func whole[T any](ctx context.Context, s *Store, page table.Span, from func(*table.Reading) T) (all []T, err error) {
	for {
		found, next, err := list(ctx, s, page, from)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if next == "" {
			return all, nil
		}
		page.After = page.Prefix + next
	}
}

// batch reads rows, and returns them by key. Missing rows are absent.
func batch[T any](ctx context.Context, s *Store, keys []table.Key, from func(*table.Reading) T) (map[table.Key]T, error) {
	rows, err := s.db.Batch(ctx, keys...)
	found := make(map[table.Key]T, len(rows))
	for k, row := range rows {
		if found[k], err = table.Decode(row, from); err != nil {
			return nil, err
		}
	}
	return found, err
}

// lookup reads one row. ok is false when there is no row.
func lookup[T any](ctx context.Context, s *Store, row table.Key, from func(*table.Reading) T) (found T, ok bool, err error) {
	read, err := s.db.Get(ctx, row)
	if err != nil || read == nil {
		return found, false, err
	}
	found, err = table.Decode(read, from)
	return found, err == nil, err
}

// find is lookup, but returns the error missing when there is no row.
func find[T any](ctx context.Context, s *Store, row table.Key, from func(*table.Reading) T, missing error) (T, error) {
	found, ok, err := lookup(ctx, s, row, from)
	if err == nil && !ok {
		err = missing
	}
	return found, err
}

// decode decodes a row that was read before, or returns the error missing when there was no row.
func decode[T any](row table.Row, from func(*table.Reading) T, missing error) (none T, err error) {
	if row == nil {
		return none, missing
	}
	return table.Decode(row, from)
}

// newestFirst compares by time, the later one first. Equal times are ordered by id, so that a list
// is the same each time.
func newestFirst(at, bt int64, a, b string) int {
	return cmp.Or(cmp.Compare(bt, at), cmp.Compare(b, a))
}
