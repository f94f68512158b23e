package strictjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/strictjson"
)

type shape struct {
	Name   string            `json:"name"`
	Maybe  *inner            `json:"maybe,omitempty"`
	Labels map[string]string `json:"labels"`
	List   []inner           `json:"list"`
	Any    json.RawMessage   `json:"any"`
	Hidden string            // without a JSON name, so no member can set it
}

type inner struct {
	A int `json:"a"`
}

func TestATextThatBreaksARuleIsRefused(t *testing.T) {
	for text, want := range map[string]error{
		`{}`: nil, ` { "name" : "x" } `: nil, `{"name":null,"maybe":{"a":1},"labels":{"x":"1","X":"2"},"list":[{"a":1},{"a":2}],"any":[[]]}`: nil,
		// A map and a json.RawMessage may have any members.
		`{"labels":{"anything":"goes"}}`: nil, `{"any":{"a":1,"A":2}}`: nil, `{"any":[{"b":1}]}`: nil,

		``: strictjson.ErrSyntax, `{`: strictjson.ErrSyntax, `nul`: strictjson.ErrSyntax, `[1`: strictjson.ErrSyntax, `{"name"}`: strictjson.ErrSyntax, `{"name":}`: strictjson.ErrSyntax,
		`{"name":"x"`: strictjson.ErrSyntax, `{"name":"x",}`: strictjson.ErrSyntax, `{1:2}`: strictjson.ErrSyntax, `{"any":[1}`: strictjson.ErrSyntax, `{"any":[`: strictjson.ErrSyntax, `{"any":[}]}`: strictjson.ErrSyntax,
		`[]`: strictjson.ErrNotObject, `"x"`: strictjson.ErrNotObject, `null`: strictjson.ErrNotObject, `1`: strictjson.ErrNotObject,
		`{}{}`: strictjson.ErrTrailing, `{} x`: strictjson.ErrTrailing, `{}]`: strictjson.ErrTrailing,
		`{"name":"x","name":"x"}`: strictjson.ErrDuplicate, `{"name":"x","NAME":"x"}`: strictjson.ErrDuplicate, `{"labels":{"x":"1","x":"2"}}`: strictjson.ErrDuplicate, `{"any":{"a":1,"a":2}}`: strictjson.ErrDuplicate, `{"any":[{"a":1,"a":2}]}`: strictjson.ErrDuplicate, `{"list":[{"a":1,"A":2}]}`: strictjson.ErrDuplicate,
		`{"any":[[[]]]}`: strictjson.ErrDepth, `{"any":[[{}]]}`: strictjson.ErrDepth, `{"any":{"a":{"b":{}}}}`: strictjson.ErrDepth, `{"any":{"a":[{}]}}`: strictjson.ErrDepth, `{"any":{"a":{}}}`: nil, `{"any":[{}]}`: nil,
	} {
		if err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 3, Shape: reflect.TypeFor[shape]()}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	if err := strictjson.Check([]byte(`{}`), strictjson.Rules{}); !errors.Is(err, strictjson.ErrDepth) {
		t.Errorf("the outer object is not counted as a level: %v", err)
	}
}

func TestAnUnknownMemberIsNamedByItsPointer(t *testing.T) {
	for text, want := range map[string]string{
		`{"nam":1}`: "/nam", `{"Name":1}`: "/Name", `{"Hidden":"x"}`: "/Hidden", `{"maybe":{"b":1}}`: "/maybe/b", `{"list":[{"a":1},{"b":1}]}`: "/list/1/b", `{"a/b~c":1}`: "/a~1b~0c", `{"":1}`: "/",
	} {
		for _, structType := range []reflect.Type{reflect.TypeFor[shape](), reflect.TypeFor[*shape]()} {
			var unknown *strictjson.Error
			err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 3, Shape: structType})
			if !errors.As(err, &unknown) || unknown.Pointer != want || !errors.Is(err, strictjson.ErrUnknown) || err.Error() != "an unknown member" {
				t.Errorf("%s: %v", text, err)
			}
		}
		if err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 3}); err != nil {
			t.Errorf("%s without a shape: %v", text, err)
		}
	}
}

func TestNamesAreRefusedByTheRule(t *testing.T) {
	rules := strictjson.Rules{Depth: 3, Name: func(name string) bool { return strings.ToLower(name) == name }}
	for text, want := range map[string]error{`{"a":{"b":1}}`: nil, `{"A":1}`: strictjson.ErrSyntax, `{"a":[{"B":1}]}`: strictjson.ErrSyntax} {
		if err := strictjson.Check([]byte(text), rules); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// quoted matches a JSON string.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// count counts the members of a valid JSON text, and its levels of objects and arrays.
func count(text []byte) (members, depth int) {
	level := 0
	for _, c := range quoted.ReplaceAll(text, nil) {
		switch c {
		case ':':
			members++
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		}
	}
	return members, depth
}

// hasOnly reports whether all members of an object have one of these names.
func hasOnly(v any, names ...string) bool {
	o, _ := v.(map[string]any)
	for name := range o {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// FuzzCheck: Check accepts an object that encoding/json accepts, if it has no duplicate member and is not too deep. It accepts
// no other text. With a shape, all names must be in the shape, in the same case.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` {"name":"x\"\\","maybe":{"a":1},"labels":{"x":"1","X":"2"},"list":[{"a":1}],"any":[[-1.5e+3,true]]}`, `{"any":[1,{"a":null}]}`,
		`{"name":"x","name":"y"}`, `{"name":"x","\u006eame":"y"}`, `{"name":"x","NAME":"y"}`, `{"Name":"y"}`, `{"list":[{"A":1}]}`, `{"b":{"c":1,"c":2}}`,
		`{"any":[[[]]]}`, `{"any":{"a":[{}]}}`, `{}{}`, `{}]`, `[]`, `null`, `{"a":1,}`, `{"a" 1}`, `{"a":tru}`, `{"a":"\ud800"}`, "{\"\xff\":1,\"\xfe\":2}", ``,
	} {
		f.Add([]byte(seed))
	}
	const maxLevels = 3
	f.Fuzz(func(t *testing.T, text []byte) {
		err := strictjson.Check(text, strictjson.Rules{Depth: maxLevels})
		var read map[string]any
		isObject := json.Unmarshal(text, &read) == nil && read != nil
		again, _ := json.Marshal(read) // duplicate members are gone here
		kept, _ := count(again)
		members, depth := count(text)
		if want := isObject && members == kept && depth <= maxLevels; (err == nil) != want {
			t.Fatalf("%q: %v, but encoding/json reads %s", text, err, again)
		}
		list, _ := read["list"].([]any)
		fits := hasOnly(read, "name", "maybe", "labels", "list", "any") && hasOnly(read["maybe"], "a") &&
			!slices.ContainsFunc(list, func(element any) bool { return !hasOnly(element, "a") })
		shaped := strictjson.Check(text, strictjson.Rules{Depth: maxLevels, Shape: reflect.TypeFor[shape]()})
		if want := err == nil && fits; (shaped == nil) != want {
			t.Errorf("%q with a shape: %v, want it accepted: %t", text, shaped, want)
		}
	})
}

func TestPointerAtFindsAValueOfTheWrongType(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":1}`: "/name", `{"name":1e400}`: "/name", `{"labels":{"x":"1","a/b":[]}}`: "/labels/a~1b", `{"maybe":[]}`: "/maybe", `{"list":{"a":1}}`: "/list",
		`{"list":[{"a":1}, {"a" : "x" } ]}`: "/list/1/a", `{"list":[{"a":1},[]]}`: "/list/1", `{"list":[{"a":1.5},{"a":""}]}`: "/list/0/a",
	} {
		var mismatch *json.UnmarshalTypeError
		if err := json.Unmarshal([]byte(text), new(shape)); !errors.As(err, &mismatch) || strictjson.PointerAt([]byte(text), mismatch.Offset) != want {
			t.Errorf("%s: %s, want %s", text, strictjson.PointerAt([]byte(text), mismatch.Offset), want)
		}
	}
	if got := strictjson.PointerAt([]byte(`{"name":1}`), 100); got != "" {
		t.Errorf("after the end of the text: %s", got)
	}
}

func TestAFaultHasAPointerToItsPlace(t *testing.T) {
	rules := strictjson.Rules{Depth: 4, Shape: reflect.TypeFor[shape](), Texts: true}
	for text, want := range map[string]struct {
		fault   error
		pointer string
	}{
		`{"labels":{"a":"1","b":"2","a":"3"}}`: {strictjson.ErrDuplicate, "/labels/a"}, `{"list":[{},{"a":1,"A":2}]}`: {strictjson.ErrDuplicate, "/list/1/A"}, `{"any":[[{"x":1,"x":1}]]}`: {strictjson.ErrDuplicate, "/any/0/0/x"},
		`{"any":[1,[[[]]]]}`: {strictjson.ErrDepth, "/any/1/0/0"}, `{"any":{"a/b":{"c":{"d":{}}}}}`: {strictjson.ErrDepth, "/any/a~1b/c/d"},
		`{"any":[1,NaN]}`: {strictjson.ErrSyntax, "/any/1"}, `{"list":[{"a":1,}]}`: {strictjson.ErrSyntax, "/list/0"}, `{"list":[{"a":1}`: {strictjson.ErrSyntax, "/list"}, `{"name":'x'}`: {strictjson.ErrSyntax, "/name"}, `{"name":"a` + "\n" + `"}`: {strictjson.ErrSyntax, "/name"}, `{x:1}`: {strictjson.ErrSyntax, ""},
		`{"name":"\ud800"}`: {strictjson.ErrText, "/name"}, `{"labels":{"a":"","b":"\udc00\ud800"}}`: {strictjson.ErrText, "/labels/b"}, `{"any":[{},{"b":["x","\\\uDBFF"]}]}`: {strictjson.ErrText, "/any/1/b/1"}, `{"any":{"c":{"\udfff":1}}}`: {strictjson.ErrText, "/any/c/\ufffd"},
		"{\"name\":\"\xff\"}": {strictjson.ErrText, "/name"}, "{\"any\":[\"\xed\xa0\x80\"]}": {strictjson.ErrText, "/any/0"}, "{\"name\":\"a\ufffd\"}": {strictjson.ErrText, "/name"}, "{\"labels\":{\"\ufffd\":\"\"}}": {strictjson.ErrText, "/labels/\ufffd"}, "{\"labels\":{\"x\":\"\ufffd\"}}": {strictjson.ErrText, "/labels/x"},
		"{\"any\":{\"\ufffd\":[\"\ufffd\"]},\"name\":\"\ufffd\"}": {strictjson.ErrText, "/name"}, // after the json.RawMessage
	} {
		var at *strictjson.Error
		if err := strictjson.Check([]byte(text), rules); !errors.As(err, &at) || at.Fault != want.fault || at.Pointer != want.pointer { //nolint:errorlint // compares the fault itself
			t.Errorf("%q: %+v, want %v at %s", text, at, want.fault, want.pointer)
		}
	}
}

func TestTextsWithIntactCharactersAreAccepted(t *testing.T) {
	for _, text := range []string{
		`{"name":"\ud83d\ude00 \\ud800 \ufffd \uFFFD 😀"}`, `{"name":"\ud7ff\ue000\\"}`, "{\"any\":\"\ufffd\"}", "{\"any\":{\"\ufffd\":[\"a\ufffd\",{\"b\":\"\ufffd\"}]}}", `{"labels":{"\ufffd":"\ufffd"}}`,
	} {
		if err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 4, Shape: reflect.TypeFor[shape](), Texts: true}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{`{"name":"\ud800"}`, "{\"name\":\"\xff\ufffd\"}"} { // Texts is not set
		if err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 4, Shape: reflect.TypeFor[shape]()}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
