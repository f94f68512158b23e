package store

import (
	"context"

	"latchkey/pkg/problem"
	"latchkey/pkg/table"
)

var errNoCatalogue = problem.New(problem.RouteNotFound, "The owner has not stored a catalogue.")

// Catalogue returns the owner's catalogue, as PutCatalogue wrote it. Error: route_not_found.
func (s *Store) Catalogue(ctx context.Context) (text string, err error) {
	return find(ctx, s, catalogueRow(), func(r *table.Reading) string { return attrCatalogue.From(r) }, errNoCatalogue)
}

// PutCatalogue replaces the owner's catalogue.
func (s *Store) PutCatalogue(ctx context.Context, text string) error {
	return s.db.Put(ctx, catalogueRow(), attrCatalogue.Set(text))
}
