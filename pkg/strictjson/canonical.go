package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Canonical returns the same text for all texts of one JSON value. It has no blanks, sorted members, no needless escapes, and
// each number as digits and an exponent. Check must accept the text, because of two members with the same name only the last
// counts. shape is the struct into which the text is decoded. A null member of the struct counts as not sent. So Canonical is not for a
// body in which null clears something. With a nil shape, each null counts.
func Canonical(text []byte, shape reflect.Type) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // as float64, different integers could become the same
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(canonical(v, shape))
}

// canonical returns a value with its numbers in the form of number, and without null members that count as not sent.
func canonical(v any, shape reflect.Type) any {
	switch v := v.(type) {
	case map[string]any:
		known, isStruct := fieldsOf(shape)
		for name, member := range v {
			v[name] = canonical(member, known[name])
			if isStruct && member == nil {
				delete(v, name)
			}
		}
	case []any:
		for i, element := range v {
			v[i] = canonical(element, elementOf(shape))
		}
	case json.Number:
		return number(v)
	}
	return v
}

// Digits returns the text with plain digits for each whole number that will be decoded into an int64: 60 for 60.0 or 6e1.
// encoding/json accepts no other spelling. Check must accept the text for this shape. A number that is not whole, or that is
// too large, keeps its value.
func Digits(text []byte, shape reflect.Type) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out []byte
	done := 0
	onInteger := func(n json.Number) {
		end := int(d.InputOffset())
		out = append(append(out, text[done:end-len(n)]...), number(n)...)
		done = end
	}
	_ = walker{Decoder: d, rules: Rules{Depth: math.MaxInt}, onInteger: onInteger}.value(shape, "", 0) // no error, because Check accepts the text
	return append(out, text[done:]...)
}

// maxDigits is the number of digits of the largest int64.
const maxDigits = 19

// number returns the only spelling of a number: its digits without zeros at the beginning and the end, and an exponent of ten.
// A whole number of at most maxDigits digits has no exponent: 60.0 and 6e1 are 60, and -0.0 is 0.
func number(n json.Number) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	unsigned := strings.TrimPrefix(mantissa, "-")
	sign := mantissa[:len(mantissa)-len(unsigned)]
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := whole + fraction
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	exponent = sum(cmp.Or(exponent, "0"), len(digits)-len(short)-len(fraction))
	short = strings.TrimLeft(short, "0")
	if zeros, err := strconv.Atoi(exponent); err == nil && zeros >= 0 && len(short)+zeros <= maxDigits {
		return json.Number(sign + short + strings.Repeat("0", zeros))
	}
	return json.Number(sign + short + "e" + exponent)
}

// sum returns the sum of an integer of any length, which may have a sign, and a small integer. It needs time in proportion to
// the length of the text. math/big would need seconds for a million digits.
func sum(text string, n int) string {
	if v, err := strconv.ParseInt(text, 10, 62); err == nil {
		return strconv.FormatInt(v+int64(n), 10)
	}
	rest, isNegative := strings.CutPrefix(text, "-")
	sign := ""
	if isNegative {
		sign, n = "-", -n // the sum has the sign of the long integer, which is the larger one
	}
	digits := []byte("0" + strings.TrimPrefix(rest, "+"))
	for i := len(digits) - 1; n != 0; i-- {
		n += int(digits[i] - '0')
		digit := (n%10 + 10) % 10
		digits[i], n = byte('0'+digit), (n-digit)/10
	}
	return sign + strings.TrimLeft(string(digits), "0")
}
