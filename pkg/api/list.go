package api

import (
	"bytes"
	"encoding/json"
	"sort"
	"time"

	"latchkey/pkg/plainjson"
	"latchkey/pkg/store"
)

const (
	// maxList is the most bytes of a list's items, counted as a function hands them to the gateway: in a JSON string, where each quote and
	// backslash has two bytes. Lambda accepts 6 MB, and ends a process that answers more.
	maxList = 4_000_000

	// wholeFor is how long a list is read for one answer. A function has 6 s.
	wholeFor = 4 * time.Second
)

// list is a page of a list.
type list[Item any] struct {
	name  string // of the JSON member that holds the items
	items []Item
	next  string // the cursor of the next page, "" at the end; the list of events has no end
}

// listOf makes the page of a list from the rows that the store found. next is the id after
// which the next page begins, "" at the end.
func listOf[Found, Item any](name string, found []Found, next string, shown func(Found) Item) list[Item] {
	l := list[Item]{name: name, items: make([]Item, len(found)), next: cursor(next)}
	for i, f := range found {
		l.items[i] = shown(f)
	}
	return l
}

// MarshalJSON renders {"<name>": [...], "nextCursor": "..."}. A name is a constant and a cursor is
// base64url: neither needs escapes.
func (l list[Item]) MarshalJSON() ([]byte, error) {
	items, err := plainjson.Marshal(l.items)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"`+l.name+`":`), items...)
	if l.next != "" {
		out = append(out, `,"nextCursor":"`+l.next+`"`...)
	}
	return append(out, '}'), nil
}

// reading is how a list is read, in pages or whole.
type reading[Found, Item any] struct {
	name  string
	valid func(id string) bool // reports whether a cursor's id is one of the list
	rows  func(store.Page) (found []Found, next string, err error)
	shown func(Found) Item
	id    func(Item) string   // as a cursor has it
	toEnd bool                // a whole list needs more than the rows of one read
	order func(a, b Item) int // of a list that is whole; nil: the order of its pages
}

// shownItem is an item, and its text in the answer.
type shownItem[Item any] struct {
	item Item
	text json.RawMessage
}

// answer returns the page that the query asks for, or without limit and cursor the whole list. A list that ends early, at maxList or
// wholeFor or the rows of one read, is in the order of its pages, so that its cursor leads to the rest. Errors: validation_failed,
// invalid_cursor, and the errors of rows.
func (r reading[Found, Item]) answer(c *call) (list[json.RawMessage], error) {
	p, err := c.pageOrAll(r.valid)
	if err != nil {
		return list[json.RawMessage]{}, err
	}
	all, next, err := r.read(p)
	if r.order != nil && p.Limit == 0 && next == "" {
		sort.Slice(all, func(i, j int) bool { return r.order(all[i].item, all[j].item) < 0 }) // slices.SortFunc would be linked once for each list
	}
	return listOf(r.name, all, next, func(s shownItem[Item]) json.RawMessage { return s.text }), err
}

// read reads a page, and for toEnd the pages after it. The first item is read whatever its size: no row has maxList.
func (r reading[Found, Item]) read(p store.Page) (all []shownItem[Item], next string, err error) {
	begun, size := time.Now(), 0
	for {
		found, after, err := r.rows(p)
		if err != nil {
			return nil, "", err
		}
		for _, f := range found {
			item := r.shown(f)
			text, err := plainjson.Marshal(item)
			if err != nil {
				return nil, "", err
			}
			size += len(text) + 1 + bytes.Count(text, []byte(`"`)) + bytes.Count(text, []byte(`\`)) // 1: the comma
			if size > maxList && len(all) > 0 {
				return all, r.id(all[len(all)-1].item), nil
			}
			all = append(all, shownItem[Item]{item, text})
		}
		if after == "" || !r.toEnd || p.Limit > 0 || time.Since(begun) > wholeFor {
			return all, after, nil
		}
		p.After = after
	}
}
