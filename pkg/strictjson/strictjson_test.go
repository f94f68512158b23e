package strictjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
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
	Hidden string            // it has no JSON name, so no member may set it
}

type inner struct {
	A int `json:"a"`
}

func TestATextKeepsToItsRulesOrIsRefused(t *testing.T) {
	for text, want := range map[string]error{
		`{}`: nil, ` { "name" : "x" } `: nil, `{"name":null,"maybe":{"a":1},"labels":{"x":"1","X":"2"},"list":[{"a":1},{"a":2}],"any":[[]]}`: nil,
		// A map, and json.RawMessage with all below it, may have any members.
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
			var unknown *strictjson.UnknownMemberError
			err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 3, Shape: structType})
			if !errors.As(err, &unknown) || unknown.Pointer != want || unknown.Error() != "an unknown member" {
				t.Errorf("%s: %v", text, err)
			}
		}
		if err := strictjson.Check([]byte(text), strictjson.Rules{Depth: 3}); err != nil {
			t.Errorf("%s without a shape: %v", text, err)
		}
	}
}

func TestANameMayBeRefused(t *testing.T) {
	rules := strictjson.Rules{Depth: 3, Name: func(name string) bool { return strings.ToLower(name) == name }}
	for text, want := range map[string]error{`{"a":{"b":1}}`: nil, `{"A":1}`: strictjson.ErrSyntax, `{"a":[{"B":1}]}`: strictjson.ErrSyntax} {
		if err := strictjson.Check([]byte(text), rules); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
