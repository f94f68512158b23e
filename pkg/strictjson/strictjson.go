// Package strictjson checks a JSON text before encoding/json decodes it. Of two members with the same name, encoding/json uses the
// last. It also matches names in any case, and ignores unknown members. Without the check, two programs could read different values
// from the same text.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// The faults of a text.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrNotObject = errors.New("not a JSON object")
	ErrTrailing  = errors.New("data after the JSON value")
	ErrDuplicate = errors.New("a duplicate member")
	ErrDepth     = errors.New("nested too deeply")
	ErrUnknown   = errors.New("an unknown member")
	ErrText      = errors.New("invalid characters")
)

// Error is a fault of a text at a place.
type Error struct {
	Fault   error  // one of the faults above
	Pointer string // the JSON pointer (RFC 6901) to the value, or to the member whose name has the fault
}

func (e *Error) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }

// Rules are the rules that a text must follow beyond the syntax of JSON.
type Rules struct {
	Depth int                    // the largest number of nested objects and arrays, including the outer object
	Shape reflect.Type           // the struct into which the text will be decoded; nil: any members
	Name  func(name string) bool // reports whether a member may have the name; nil: every name

	// Texts refuses names and strings (ErrText) that a decoder would change without notice: bytes that are not UTF-8, and half of a
	// surrogate pair. It also refuses U+FFFD, because a gateway writes it in place of such bytes. Below a json.RawMessage U+FFFD is
	// accepted, because programs put their own data there. The escape of U+FFFD is always accepted.
	Texts bool
}

// Check checks that a text is one JSON object that follows the rules. In an object that is decoded into a struct, two names
// that differ only in case are ErrDuplicate. A name that Rules.Name refuses is ErrSyntax. The errors are the faults above, with
// their place as Error if they have one.
func Check(text []byte, rules Rules) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	t, err := d.Token()
	if err != nil {
		return ErrSyntax
	}
	if t != json.Delim('{') {
		if !json.Valid(text) { // so far only the first token was read
			return ErrSyntax
		}
		return ErrNotObject
	}
	w := walker{Decoder: d, rules: rules, text: text}
	if err := w.object(rules.Shape, "", 1); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrTrailing
	}
	return nil
}

// PointerAt returns the JSON pointer of the value at the Offset of a json.UnmarshalTypeError, in bytes. There the value ends,
// or its object or array has begun. The text must be valid JSON. The Field of the error is no alternative, because it has no
// indexes of arrays.
func PointerAt(text []byte, offset int64) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // no Go type can have the number 1e400
	w := walker{Decoder: d, rules: Rules{Depth: math.MaxInt}, until: offset}
	var at *reached
	if err := w.value(nil, "", 0); errors.As(err, &at) {
		return at.pointer
	}
	return ""
}

// reached ends a walk at the value with this pointer.
type reached struct{ pointer string }

func (*reached) Error() string { return "reached" }

// walker reads the tokens of a text and checks them.
type walker struct {
	*json.Decoder
	rules     Rules
	text      []byte
	inRaw     bool              // the value is below a json.RawMessage
	until     int64             // the offset at which the walk ends with reached; 0: the end of the text
	onInteger func(json.Number) // called for each number that will be decoded into an int64; nil: no call
}

// object reads the object at a pointer. Its "{" was already read. into is the struct or map into which the object will be
// decoded; nil: the object may have any members. depth is the level of the object.
func (w walker) object(into reflect.Type, pointer string, depth int) error {
	if depth > w.rules.Depth {
		return &Error{ErrDepth, pointer}
	}
	known, isStruct := fieldsOf(into)
	seen := map[string]struct{}{}
	for w.More() {
		begin := w.InputOffset()
		t, err := w.Token()
		name, isName := t.(string)
		if err != nil || !isName || w.rules.Name != nil && !w.rules.Name(name) {
			return &Error{ErrSyntax, pointer}
		}
		at := PointerTo(pointer, name)
		if w.hasInvalidText(begin) {
			return &Error{ErrText, at}
		}
		key := name   // equal keys are duplicates
		if isStruct { // encoding/json matches the names of a struct's fields in any case
			key = strings.ToLower(name)
		}
		if _, twice := seen[key]; twice {
			return &Error{ErrDuplicate, at}
		}
		seen[key] = struct{}{}
		memberType, isKnown := known[name]
		if isStruct && !isKnown {
			return &Error{ErrUnknown, at}
		}
		if err := w.value(memberType, at, depth); err != nil {
			return err
		}
	}
	return w.readClosing(pointer)
}

// value reads the value at a pointer. into has the same meaning as in object, and may also be the slice into which an array
// will be decoded. depth is the level of the object or array that contains the value.
func (w walker) value(into reflect.Type, pointer string, depth int) error {
	begin := w.InputOffset()
	t, err := w.Token()
	if err != nil {
		return &Error{ErrSyntax, pointer}
	}
	w.inRaw = w.inRaw || into == reflect.TypeFor[json.RawMessage]()
	if w.hasInvalidText(begin) {
		return &Error{ErrText, pointer}
	}
	if n, isNumber := t.(json.Number); isNumber && w.onInteger != nil && isInteger(into) {
		w.onInteger(n)
	}
	if w.until > 0 && w.InputOffset() >= w.until {
		return &reached{pointer}
	}
	switch t {
	case json.Delim('{'):
		return w.object(into, pointer, depth+1)
	case json.Delim('['):
		if depth >= w.rules.Depth {
			return &Error{ErrDepth, pointer}
		}
		for i := 0; w.More(); i++ {
			if err := w.value(elementOf(into), PointerTo(pointer, strconv.Itoa(i)), depth+1); err != nil {
				return err
			}
		}
		return w.readClosing(pointer)
	default:
		return nil
	}
}

// readClosing reads the closing bracket of the object or array at a pointer.
func (w walker) readClosing(pointer string) error {
	if _, err := w.Token(); err != nil {
		return &Error{ErrSyntax, pointer}
	}
	return nil
}

// PointerTo returns the JSON pointer of a member (RFC 6901, section 3). parent is the pointer of its object.
func PointerTo(parent, member string) string {
	return parent + "/" + strings.ReplaceAll(strings.ReplaceAll(member, "~", "~0"), "/", "~1")
}

// isInteger reports whether a type is int64, or a pointer to it.
func isInteger(t reflect.Type) bool {
	return t == reflect.TypeFor[int64]() || t == reflect.TypeFor[*int64]()
}

// elementOf returns the type of the elements of a slice, nil for any other type.
func elementOf(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice {
		return nil
	}
	return t.Elem()
}

// fieldsOf returns the JSON names and the types of the fields of a struct, or of the struct that a pointer type points to. It
// ignores fields without a JSON name. isStruct is false for any other type.
func fieldsOf(t reflect.Type) (known map[string]reflect.Type, isStruct bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, false
	}
	known = make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			known[name] = t.Field(i).Type
		}
	}
	return known, true
}
