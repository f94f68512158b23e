package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a body. No request of the API needs more.
const maxDepth = 8

// The faults of a body. The texts go to the caller, so they are constants.
var (
	errNotJSON   = errors.New("The body is not valid JSON.")                                        //nolint:staticcheck // a sentence for the caller
	errNotObject = errors.New("The body must be a JSON object.")                                    //nolint:staticcheck // as above
	errTrailing  = errors.New("There is data behind the body's JSON value.")                        //nolint:staticcheck // as above
	errDuplicate = errors.New("The body has a member twice.")                                       //nolint:staticcheck // as above
	errTooDeep   = errors.New("The body is nested too deeply.")                                     //nolint:staticcheck // as above
	errEncoding  = errors.New("The body is not valid UTF-8, has U+FFFD, or half a surrogate pair.") //nolint:staticcheck // as above
)

// unknownMemberError names a member that a route does not know.
type unknownMemberError struct {
	pointer string // RFC 6901, from the body's root
}

func (*unknownMemberError) Error() string {
	return "The body has a member that this route does not know."
}

// pointerTo returns the JSON pointer of a member of the object at parent (RFC 6901, section
// 3).
func pointerTo(parent, member string) string {
	return parent + "/" + strings.ReplaceAll(strings.ReplaceAll(member, "~", "~0"), "/", "~1")
}

// replacement is U+FFFD in UTF-8. API Gateway puts it in place of bytes that are not UTF-8,
// so that the function cannot know the bytes that were sent. The escape \ufffd arrives as it
// was sent, and is taken.
var replacement = []byte("\uFFFD")

// checkJSON walks a body before encoding/json decodes it into a struct, because
// encoding/json takes the last of two members, matches names in any case, ignores unknown
// members and replaces broken text.
func checkJSON(body []byte, into any) error {
	if !utf8.Valid(body) || bytes.Contains(body, replacement) || halfSurrogate(body) {
		return errEncoding
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	t, err := d.Token()
	if err != nil {
		return errNotJSON
	}
	if t != json.Delim('{') {
		// A body that is no JSON at all is refused as that.
		if !json.Valid(body) {
			return errNotJSON
		}
		return errNotObject
	}
	if err := walkObject(d, reflect.TypeOf(into).Elem(), "", 1); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// walkObject reads the object at a pointer, whose "{" is read already. of is the struct or
// map into which the object will be decoded, nil when the object may have any member.
func walkObject(d *json.Decoder, of reflect.Type, pointer string, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	known, isStruct := fieldsOf(of)
	seen := map[string]struct{}{}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		if err != nil || !isName {
			return errNotJSON
		}
		folded := strings.ToLower(name)
		if !isStruct {
			folded = name // the members of a map are the caller's own names
		}
		if _, twice := seen[folded]; twice {
			return errDuplicate
		}
		seen[folded] = struct{}{}
		member, isKnown := known[name]
		if isStruct && !isKnown {
			return &unknownMemberError{pointerTo(pointer, name)}
		}
		if err := walkValue(d, member, pointerTo(pointer, name), depth); err != nil {
			return err
		}
	}
	return closing(d)
}

func walkValue(d *json.Decoder, of reflect.Type, pointer string, depth int) error {
	t, err := d.Token()
	if err != nil {
		return errNotJSON
	}
	switch t {
	case json.Delim('{'):
		return walkObject(d, of, pointer, depth+1)
	case json.Delim('['):
		if depth >= maxDepth {
			return errTooDeep
		}
		for d.More() {
			if err := walkValue(d, nil, pointer, depth+1); err != nil {
				return err
			}
		}
		return closing(d)
	default:
		return nil
	}
}

func closing(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return errNotJSON
	}
	return nil
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

// halfSurrogate reports whether a \u escape is half a surrogate pair, which encoding/json
// would silently replace.
func halfSurrogate(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if high, ok := escape(body[i:]); ok && high >= 0xd800 && high <= 0xdfff {
			low, ok := escape(body[min(i+6, len(body)):])
			if high >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
		i++ // the character behind the backslash is no escape of its own
	}
	return false
}

// escape reads a \uXXXX escape at the beginning of b.
func escape(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		r <<= 4
		switch {
		case '0' <= c && c <= '9':
			r |= rune(c - '0')
		case 'a' <= c && c <= 'f':
			r |= rune(c-'a') + 10
		case 'A' <= c && c <= 'F':
			r |= rune(c-'A') + 10
		default:
			return 0, false
		}
	}
	return r, true
}
