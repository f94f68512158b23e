// Package strictjson walks a JSON text before encoding/json decodes it, because encoding/json takes
// the last of two members, matches names in any case, and ignores unknown members. Two readers of one
// text could then read different values.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// The faults of a text.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrNotObject = errors.New("not a JSON object")
	ErrTrailing  = errors.New("data behind the JSON value")
	ErrDuplicate = errors.New("a member twice")
	ErrDepth     = errors.New("nested too deeply")
)

// UnknownMemberError is the fault of a member that the shape does not have.
type UnknownMemberError struct {
	Pointer string // RFC 6901, from the root
}

func (*UnknownMemberError) Error() string { return "an unknown member" }

// Rules are what a text must keep to beyond the syntax of JSON.
type Rules struct {
	Depth int                    // of nested objects and arrays, the outer object included
	Shape reflect.Type           // the struct into which the text will be decoded; nil: any members
	Name  func(name string) bool // reports whether a member may have the name; nil: every name
}

// Check checks that a text is one JSON object that keeps to the rules. In objects that are decoded
// into a struct, two names that differ only in case are the same member twice. The errors are the
// faults above; a name that Rules.Name refuses is ErrSyntax.
func Check(text []byte, rules Rules) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	t, err := d.Token()
	if err != nil {
		return ErrSyntax
	}
	if t != json.Delim('{') {
		// A text that is no JSON at all is refused as that.
		if !json.Valid(text) {
			return ErrSyntax
		}
		return ErrNotObject
	}
	w := walker{d, rules}
	if err := w.object(rules.Shape, "", 1); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrTrailing
	}
	return nil
}

type walker struct {
	*json.Decoder
	rules Rules
}

// object reads the object at a pointer, whose "{" is read already. of is the struct or
// map into which the object will be decoded, nil when the object may have any member.
func (w walker) object(of reflect.Type, pointer string, depth int) error {
	if depth > w.rules.Depth {
		return ErrDepth
	}
	known, isStruct := fieldsOf(of)
	seen := map[string]struct{}{}
	for w.More() {
		t, err := w.Token()
		name, isName := t.(string)
		if err != nil || !isName || w.rules.Name != nil && !w.rules.Name(name) {
			return ErrSyntax
		}
		folded := strings.ToLower(name)
		if !isStruct {
			folded = name // the members of a map are the caller's own names
		}
		if _, twice := seen[folded]; twice {
			return ErrDuplicate
		}
		seen[folded] = struct{}{}
		member, isKnown := known[name]
		if isStruct && !isKnown {
			return &UnknownMemberError{PointerTo(pointer, name)}
		}
		if err := w.value(member, PointerTo(pointer, name), depth); err != nil {
			return err
		}
	}
	return w.closing()
}

func (w walker) value(of reflect.Type, pointer string, depth int) error {
	t, err := w.Token()
	if err != nil {
		return ErrSyntax
	}
	switch t {
	case json.Delim('{'):
		return w.object(of, pointer, depth+1)
	case json.Delim('['):
		if depth >= w.rules.Depth {
			return ErrDepth
		}
		for w.More() {
			if err := w.value(nil, pointer, depth+1); err != nil {
				return err
			}
		}
		return w.closing()
	default:
		return nil
	}
}

func (w walker) closing() error {
	if _, err := w.Token(); err != nil {
		return ErrSyntax
	}
	return nil
}

// PointerTo returns the JSON pointer of a member of the object at parent (RFC 6901, section
// 3).
func PointerTo(parent, member string) string {
	return parent + "/" + strings.ReplaceAll(strings.ReplaceAll(member, "~", "~0"), "/", "~1")
}

// fieldsOf returns the JSON names of a struct's fields. isStruct is false for any other type.
func fieldsOf(t reflect.Type) (known map[string]reflect.Type, isStruct bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, false
	}
	known = make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			known[name] = t.Field(i).Type
		}
	}
	return known, true
}
