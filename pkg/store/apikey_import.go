package store

import (
	"context"
	"errors"
	"slices"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

// NewImport describes an API key that the owner made elsewhere. Latchkey knows only the hash of its text.
type NewImport struct {
	AppID     id.App // "": the org's default app
	Name      string
	ExpiresAt int64 // milliseconds; 0: never
	Hash      apikey.Hash
	Prefix    string // the public beginning of the text
	Carried
}

// ImportResult is the result of ImportKeys for one key: the key that was made, or the refusal.
type ImportResult struct {
	Created[MintedKey]
	Refusal *problem.Error // app_not_found, conflict, limit_reached
}

// importParts is the largest number of keys in one request.
const importParts = 25

// ImportKeys makes API keys of texts that the owner gave out before, each in a separate transaction, and returns the result
// of each. When one key is refused, the others are still made. A key has an ordinary row, and only this row decides about the key. A
// second row leads from the hash of the text to it. The second row never changes and is never deleted. So a text can be imported only
// once, in any org, even after the key or its org is gone: the next import is a conflict. After an error, some keys may have been made.
// Only a key that was made has a record of the request, so the same request tries a refused key again.
//
// Errors: org_not_found, insufficient_role, idempotency_key_reused, org_suspended.
func (s *Store) ImportKeys(ctx context.Context, a Actor, o id.Org, wanted []NewImport, once Once[MintedKey]) ([]ImportResult, error) {
	reads := []table.Key{orgRow(o)}
	for i := range importParts { // an earlier request may have had more keys
		reads = once.part(i).Request.reads(reads...)
	}
	rows, err := s.readAs(ctx, a, o, reads...) // refuses a user, because the route allows no role
	if err != nil {
		return nil, err
	}
	found, err := decode(rows[orgRow(o)], orgFrom, errOrgNotFound)
	if err != nil {
		return nil, err
	}
	for i := range importParts { // no key is made if any record has another body
		request := once.part(i).Request
		if err := request.kept(rows[request.row()], s.now()); err != nil && !errors.As(err, new(replayed)) {
			return nil, err
		}
	}
	out := make([]ImportResult, len(wanted))
	for i, n := range wanted {
		made, err := s.importKey(ctx, a, o, n, &found, once.part(i))
		var refused *problem.Error
		switch {
		case err == nil:
			out[i].Created = made
		case errors.As(err, &refused) && slices.Contains(importRefusals, refused.Code):
			out[i].Refusal = refused
		default:
			return nil, err
		}
	}
	return out, nil
}

// ImportBegan reports whether an import of n keys is a retry of a request that has made at least one key. Error: idempotency_key_reused.
func (s *Store) ImportBegan(ctx context.Context, request Request, n int) (bool, error) {
	for i := range n {
		err := s.unlessKept(ctx, Once[MintedKey]{Request: request}.part(i).Request, nil)
		if errors.As(err, new(replayed)) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// importRefusals are the errors that refuse only one key of an import.
var importRefusals = []problem.Code{problem.AppNotFound, problem.Conflict, problem.LimitReached}

func (s *Store) importKey(ctx context.Context, a Actor, o id.Org, n NewImport, of *Org, once Once[MintedKey]) (Created[MintedKey], error) {
	now := s.Now()
	k := MintedKey{
		ID: s.ids().NewKey(now), AppID: n.AppID, Name: n.Name, CreatedAt: now.UnixMilli(), ExpiresAt: n.ExpiresAt,
		Carried: n.Carried, Minted: apikey.Minted{Prefix: n.Prefix, Hash: n.Hash}, org: of,
	}
	k.Metadata = someMetadata(k.Metadata)
	if k.AppID == "" {
		k.AppID = id.DefaultApp(o)
	}
	return s.addKey(ctx, a, o, k, once, "key.imported", func(t *txn) {
		t.Put(importRow(n.Hash), table.Absent, refuse(errKeyImported), attrOrgID.Set(o), attrKeyID.Set(k.ID))
	})
}

// Imported is where the row of an imported key is.
type Imported struct {
	Org id.Org
	Key id.Key
}

// Imported returns the key that a text was imported as, by the text's hash. The read is strong. The key may have ended since. ok is
// false for a text that was never imported.
func (s *Store) Imported(ctx context.Context, h apikey.Hash) (at Imported, ok bool, err error) {
	return lookup(ctx, s, importRow(h), func(r *table.Reading) Imported { return Imported{attrOrgID.From(r), attrKeyID.From(r)} })
}
