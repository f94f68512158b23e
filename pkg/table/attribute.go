package table

import (
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/plainjson"
)

// Attribute is an attribute's name, with the type T and the format F of its value. Declare one as
// a constant: const role = table.Text[Role]("role").
type Attribute[T any, F format[T]] string

// format converts values to and from the form in which a row has them. encode returns nil for a value
// that cannot be written.
type format[T any] interface {
	encode(v T) types.AttributeValue
	decode(v types.AttributeValue) (_ T, ok bool)
}

// Text is an attribute that holds a text.
type Text[T ~string] = Attribute[T, textFormat[T]]

// Number is an attribute that holds an integer.
type Number[T ~int | ~int64] = Attribute[T, numberFormat[T]]

// Int is a Number of 64 bits.
type Int = Number[int64]

// Bool is an attribute that is true or false.
type Bool = Attribute[bool, boolFormat]

// Bytes is an attribute that holds bytes.
type Bytes = Attribute[[]byte, bytesFormat]

// Bits is an attribute that holds 128 bits in 16 bytes. Bits that are all zero are not written, and do not decode.
type Bits[T ~[16]byte] = Attribute[T, bitsFormat[T]]

// JSON is an attribute that holds a T as the text of plainjson.Marshal.
type JSON[T any] = Attribute[T, jsonFormat[T]]

// Map is an attribute that holds integers by name.
type Map[T ~int | ~int64] = Attribute[map[string]T, mapFormat[T]]

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

type textFormat[T ~string] struct{}

func (textFormat[T]) encode(v T) types.AttributeValue { return text(string(v)) }
func (textFormat[T]) decode(v types.AttributeValue) (T, bool) {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return T(s.Value), true
}

type numberFormat[T ~int | ~int64] struct{}

func (numberFormat[T]) encode(v T) types.AttributeValue { return number(int64(v)) }
func (numberFormat[T]) decode(v types.AttributeValue) (T, bool) {
	s, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s.Value, 10, 64)
	return T(n), err == nil
}

type boolFormat struct{}

func (boolFormat) encode(v bool) types.AttributeValue {
	return &types.AttributeValueMemberBOOL{Value: v}
}

func (boolFormat) decode(v types.AttributeValue) (bool, bool) {
	b, ok := v.(*types.AttributeValueMemberBOOL)
	return ok && b.Value, ok
}

type bytesFormat struct{}

func (bytesFormat) encode(v []byte) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: v}
}

func (bytesFormat) decode(v types.AttributeValue) ([]byte, bool) {
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok {
		return nil, false
	}
	return b.Value, true
}

type bitsFormat[T ~[16]byte] struct{}

func (bitsFormat[T]) encode(v T) types.AttributeValue {
	if v == (T{}) {
		return nil
	}
	b := [16]byte(v)
	return &types.AttributeValueMemberB{Value: b[:]}
}

func (bitsFormat[T]) decode(v types.AttributeValue) (out T, ok bool) {
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) != len(out) {
		return out, false
	}
	out = T([16]byte(b.Value))
	return out, out != (T{})
}

type jsonFormat[T any] struct{}

func (jsonFormat[T]) encode(v T) types.AttributeValue {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return nil
	}
	return text(string(b))
}

func (jsonFormat[T]) decode(v types.AttributeValue) (out T, ok bool) {
	s, ok := v.(*types.AttributeValueMemberS)
	if ok {
		ok = json.Unmarshal([]byte(s.Value), &out) == nil
	}
	return out, ok
}

type mapFormat[T ~int | ~int64] struct{}

func (mapFormat[T]) encode(v map[string]T) types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(v))
	for name, n := range v {
		out[name] = number(int64(n))
	}
	return &types.AttributeValueMemberM{Value: out}
}

func (mapFormat[T]) decode(v types.AttributeValue) (map[string]T, bool) {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return nil, false
	}
	out := make(map[string]T, len(m.Value))
	for name, value := range m.Value {
		if out[name], ok = (numberFormat[T]{}).decode(value); !ok {
			return nil, false
		}
	}
	return out, true
}
