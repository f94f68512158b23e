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
	// maxList bounds the bytes of a list's items, and of a table, as sizeSent counts them. Lambda accepts 6 MB, and ends a process that
	// answers more.
	maxList = 4_000_000

	// wholeFor is how long one answer may read a list. A function has 6 s.
	wholeFor = 4 * time.Second
)

// sizeSent returns the bytes of a text in the JSON string in which a function passes it to the gateway: each quote and backslash is two.
func sizeSent(text []byte) int {
	return len(text) + bytes.Count(text, []byte(`"`)) + bytes.Count(text, []byte(`\`))
}

// list is a page of a list.
type list[Item any] struct {
	name  string // of the JSON member that has the items
	items []Item
	next  string // the cursor of the next page; "" at the end. The list of events has no end
}

// listOf makes a page of the rows that the store found. next is the id after which the next page begins; "" at the end.
func listOf[Found, Item any](name string, found []Found, next string, shown func(Found) Item) list[Item] {
	l := list[Item]{name: name, items: make([]Item, len(found)), next: cursor(next)}
	for i, f := range found {
		l.items[i] = shown(f)
	}
	return l
}

// MarshalJSON renders {"<name>": [...], "nextCursor": "..."}. The name and the cursor need no escapes: the name is a constant,
// and the cursor is base64url.
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

// reading describes how to read a list, in pages or as a whole.
type reading[Found, Item any] struct {
	name  string
	valid func(id string) bool // reports whether the id of a cursor has the form of the list's ids
	rows  func(store.Page) (found []Found, next string, err error)
	shown func(Found) Item
	id    func(Item) string   // the id of an item, for a cursor
	toEnd bool                // read again until the list is complete
	order func(a, b Item) int // the order of a complete list; nil: the order of its pages
}

// shownItem is an item and its JSON text.
type shownItem[Item any] struct {
	item Item
	text json.RawMessage
}

// answer returns the page that the query selects, or the whole list for a query without limit and cursor. A list that is not
// complete, because of maxList, wholeFor or the rows of one read, is in the order of its pages, so that its cursor leads to the
// rest. Errors: validation_failed, invalid_cursor, and the errors of rows.
func (r reading[Found, Item]) answer(c *call) (list[json.RawMessage], error) {
	p, err := c.pageOrAll(r.valid)
	if err != nil {
		return list[json.RawMessage]{}, err
	}
	all, next, err := r.read(p)
	if r.order != nil && p.Limit == 0 && next == "" {
		sort.Slice(all, func(i, j int) bool { return r.order(all[i].item, all[j].item) < 0 }) // slices.SortFunc would add its code to the binary once for each list
	}
	return listOf(r.name, all, next, func(s shownItem[Item]) json.RawMessage { return s.text }), err
}

// read reads a page, and with toEnd also the following pages. The first item is kept at any size: no row is as large as
// maxList.
func (r reading[Found, Item]) read(p store.Page) (all []shownItem[Item], next string, err error) {
	begun, size := time.Now(), 0
	for {
		pageBegun := time.Now()
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
			size += sizeSent(text) + 1 // 1: the comma
			if size > maxList && len(all) > 0 {
				return all, r.id(all[len(all)-1].item), nil
			}
			all = append(all, shownItem[Item]{item, text})
		}
		isLate := time.Since(begun)+time.Since(pageBegun) > wholeFor // after one more page like this one
		if after == "" || !r.toEnd || p.Limit > 0 || isLate {
			return all, after, nil
		}
		p.After = after
	}
}
