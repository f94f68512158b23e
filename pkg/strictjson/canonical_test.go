package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"latchkey/pkg/strictjson"
)

// canonical returns the canonical form of a valid text.
func canonical(t *testing.T, text string) string {
	t.Helper()
	out, err := strictjson.Canonical([]byte(text), nil)
	if err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return string(out)
}

func TestEqualValuesHaveOneText(t *testing.T) {
	nines := strings.Repeat("9", 30)
	for want, texts := range map[string][]string{
		`{}`: {` { } `, "\n{\t}\r"}, `[1,"1",true,null]`: {`[1,"1",true,null]`, ` [ 1.0 , "\u0031",true , null]`},
		`{"a":[{"b":1,"c":2}],"z":""}`:   {`{"z":"","a":[{"c":2,"b":1}]}`, `{"\u0061":[{"b":10e-1,"\u0063":2.0}],"z":""}`},
		`{"":1,"A":1,"a":1,"é":1,"😀":1}`: {`{"😀":1,"é":1,"a":1,"A":1,"":1}`, `{"a":1,"A":1,"\u00e9":1,"\ud83d\uDe00":1,"":1}`},
		`"a/\"\\\n\u003c\ufffd"`:         {`"a\/\u0022\u005C\u000a<` + "\ufffd" + `"`}, `"` + "\u007f\uffff" + `"`: {`"\u007f\uFFFF"`},
		`60`: {`60`, `60.0`, `6e1`, `6E+1`, `0.6e2`, `600e-1`, `60.000e00`, `0.00006e+0006`}, `-15e-1`: {`-1.5`, `-15e-1`, `-0.15E1`, `-1.50`}, `120`: {`120`, `1.2e2`}, `1`: {`1`, `0.1e1`, `1000e-3`},
		`0`: {`0`, `-0`, `0.0`, `-0.000e5`, `0e999999999`, `-0E-` + nines}, `9007199254740993`: {`9007199254740993`, `9007199254740993.0`, `900719925474099.3e1`},
		`1e999999999`: {`1e999999999`, `10e999999998`, `0.01e1000000001`}, `1e1` + strings.Repeat("0", 30): {`1e1` + strings.Repeat("0", 30), `10e` + nines, `1e+001` + strings.Repeat("0", 30), `0.1e1` + strings.Repeat("0", 29) + `1`},
		`1e-` + nines:           {`1e-` + nines, `10e-1` + strings.Repeat("0", 30), `0.1e-` + strings.Repeat("9", 29) + `8`, `100e-1` + strings.Repeat("0", 29) + `1`},
		`1e4611686018427387904`: {`1e4611686018427387904`, `10e4611686018427387903`, `0.1e4611686018427387905`}, `1e-4611686018427387904`: {`10e-4611686018427387905`, `0.1e-4611686018427387903`, `1e-4611686018427387904`},
		`9223372036854775807`: {`9223372036854775807.0`, `9.223372036854775807e18`}, `1000000000000000000`: {`1e18`, `1e+18`}, `-9000000000000000000`: {`-9e18`}, `1e19`: {`10000000000000000000`, `100e17`}, `12345678901234567891e0`: {`12345678901234567891`},
	} {
		for _, text := range append(texts, strings.ReplaceAll(want, `\ufffd`, "\ufffd")) {
			if got := canonical(t, text); strings.ReplaceAll(got, "\ufffd", `\ufffd`) != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

func TestDifferentValuesHaveDifferentTexts(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`{}`, `null`, `[]`, `""`, `0`, `false`, `"0"`, `"null"`, `{"a":null}`, `{"a":1}`, `{"a":"1"}`, `{"A":1}`, `{"a":{"b":1}}`, `{"a.b":1}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`, `{"a":1,"b":null}`,
		`[1,2]`, `[2,1]`, `[[1],2]`, `[1,[2]]`, `[1,2,null]`, `"é"`, `"e\u0301"`, `"\\u0061"`, `"a"`, `" a"`, `"A"`, `"\ufffd"`, `"\\ufffd"`,
		`1`, `-1`, `10`, `1.1`, `1e400`, `1e-400`, `-1e400`, `9007199254740992`, `9007199254740993`, `1e999999999`, `1e9999999990`, `1e-999999999`, `1e99999999999999999999`, `1e99999999999999999998`, `11e99999999999999999998`,
		`1e-99999999999999999999`, `0.30000000000000004`, `0.3`, `12345678901234567890.5`, `12345678901234567890.05`,
	} {
		got := canonical(t, text)
		if seen[got] != "" {
			t.Errorf("%s and %s are both %s", text, seen[got], got)
		}
		seen[got] = text
	}
}

func TestAnExponentOfAMillionDigitsTakesLittleTime(t *testing.T) {
	nines := strings.Repeat("9", 1_000_000)
	begun := time.Now()
	canonical(t, `["`+nines+`","`+nines+`","`+nines+`","`+nines+`"]`)
	asTexts := time.Since(begun)
	begun = time.Now()
	if canonical(t, "1e"+nines) != canonical(t, "0.1e1"+strings.Repeat("0", 1_000_000)) || canonical(t, "1e-"+nines) == canonical(t, "1e"+nines) {
		t.Error("the exponents are not exact")
	}
	if took := time.Since(begun); took > 20*asTexts { // math/big would take eighty times as long
		t.Errorf("%s, and %s as texts", took, asTexts)
	}
}

func TestWholeNumbersAreReadInEachSpelling(t *testing.T) {
	type counted struct {
		N    *int64           `json:"n"`
		M    int64            `json:"m"`
		List []counted        `json:"list"`
		Any  json.RawMessage  `json:"any"`
		By   map[string]int64 `json:"by"`
	}
	for text, want := range map[string]string{
		`{"n":60.0}`: `{"n":60}`, `{ "n" : 6e1 , "m":600E-1}`: `{ "n" : 60 , "m":60}`, `{"n":-0.0,"m":-0}`: `{"n":0,"m":0}`, `{"n":1e18,"m":-1.0}`: `{"n":1000000000000000000,"m":-1}`, `{"n":9007199254740993.0}`: `{"n":9007199254740993}`,
		`{"n":9.223372036854775807e18,"m":-9223372036854775808.0}`: `{"n":9223372036854775807,"m":-9223372036854775808}`, `{"list":[{"n":1.0},{"list":[{"m":2e0}]}],"n":3.0}`: `{"list":[{"n":1},{"list":[{"m":2}]}],"n":3}`,
		`{"any":{"n":60.0,"x":[6e1]},"n":6e1}`: `{"any":{"n":60.0,"x":[6e1]},"n":60}`, // a json.RawMessage is not changed
		`{"n":1.5}`:                            "", `{"n":1e19}`: "", `{"n":9223372036854775808.0}`: "", `{"n":1e999999999}`: "", `{"n":1e-1}`: "", `{"n":60.00000000000000000001}`: "", `{"n":"60"}`: "", `{"n":1e` + strings.Repeat("9", 1_000_000) + `}`: "",
	} {
		out := strictjson.Digits([]byte(text), reflect.TypeFor[counted]())
		if err := json.Unmarshal(out, new(counted)); want != "" && string(out) != want || (err == nil) != (want != "") {
			t.Errorf("%.60s: %.60s, %v", text, out, err)
		}
	}
}

// rational returns the value of a number. ok is false if its exponent is too large.
func rational(n json.Number) (r *big.Rat, ok bool) {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e < -400 || e > 400) {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// respelt returns another spelling of a value: with members in a random order, characters as escapes, blanks, and numbers with
// other exponents.
func respelt(random *rand.Rand, v any) string {
	blank := []string{"", " ", "\n", "\t\r "}[random.IntN(4)]
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v { // in the random order of a map
			parts = append(parts, respelt(random, name)+":"+respelt(random, member))
		}
		return blank + "{" + strings.Join(parts, ",") + "}" + blank
	case []any:
		for _, element := range v {
			parts = append(parts, respelt(random, element))
		}
		return blank + "[" + strings.Join(parts, ",") + "]"
	case string:
		var quoted strings.Builder
		for _, unit := range utf16.Encode([]rune(v)) {
			fmt.Fprintf(&quoted, `\u%04x`, unit)
		}
		return `"` + quoted.String() + `"` + blank
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		e, err := strconv.Atoi(exponent)
		if exponent != "" && (err != nil || e < -1000000 || e > 1000000) {
			return string(v)
		}
		zeros := random.IntN(30)
		if !strings.Contains(mantissa, ".") && strings.TrimPrefix(mantissa, "-") != "0" { // 12 becomes 12000e-3
			return mantissa + strings.Repeat("0", zeros) + "e" + strconv.Itoa(e-zeros)
		}
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + strings.Repeat("0", zeros) + "E" + strconv.Itoa(e)
	default:
		text, _ := json.Marshal(v)
		return blank + string(text)
	}
}

// equal reports whether two values are the same. ok is false if a number is too large to be compared.
func equal(a, b any) (same, ok bool) {
	switch a := a.(type) {
	case map[string]any:
		other, isMap := b.(map[string]any)
		if !isMap || len(a) != len(other) {
			return false, true
		}
		for name, member := range a {
			found, has := other[name]
			if same, ok := equal(member, found); !has || !same || !ok {
				return false, ok
			}
		}
		return true, true
	case []any:
		other, isList := b.([]any)
		if !isList || len(a) != len(other) {
			return false, true
		}
		for i := range a {
			if same, ok := equal(a[i], other[i]); !same || !ok {
				return false, ok
			}
		}
		return true, true
	case json.Number:
		other, isNumber := b.(json.Number)
		if !isNumber {
			return false, true
		}
		x, okX := rational(a)
		y, okY := rational(other)
		return okX && okY && x.Cmp(y) == 0, okX && okY
	default:
		return reflect.DeepEqual(a, b), true
	}
}

// FuzzCanonical: two spellings of one value have the same canonical text. Different values have different texts.
func FuzzCanonical(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":[1,{"b":-0.0}],"é":"a\n<"}`, `{"a":[1,{"b":0}],"é":"a\n<"}`}, {`[60,1e400,1e-7]`, `[60.0,10e399,0.1e-6]`}, {`1e4611686018427387904`, `1`}, {`"\ud83d\ude00"`, `"😀"`},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`}, {`12345678901234567890`, `12345678901234567891`}, {`-1.50`, `-15e-1`}, {`"1"`, `1`}, {`[]`, `{}`}, {`{"a":null}`, `{}`},
	} {
		f.Add(seed[0], seed[1], uint64(1))
	}
	f.Fuzz(func(t *testing.T, text, other string, seed uint64) {
		read := func(text string) (v any, ok bool) {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			return v, json.Valid([]byte(text)) && d.Decode(&v) == nil
		}
		v, ok := read(text)
		w, okOther := read(other)
		if !ok || !okOther {
			return
		}
		first := canonical(t, text)
		if again := respelt(rand.New(rand.NewPCG(seed, 1)), v); canonical(t, again) != first {
			t.Errorf("%q is %s, and %q is %s", text, first, again, canonical(t, again))
		}
		if canonical(t, first) != first {
			t.Errorf("%q is %s, which is %s", text, first, canonical(t, first))
		}
		if same, ok := equal(v, w); ok && same != (canonical(t, other) == first) {
			t.Errorf("%q is %s, and %q is %s", text, first, other, canonical(t, other))
		}
	})
}

// TestUnescapedKeepsOnlyNeededEscapes, in their shortest form. The value does not change.
func TestUnescapedKeepsOnlyNeededEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"\u00e9\ud83d\ude00\/\u003c"}`: `{"a":"é😀/<"}`, `["\\u00e9","\\\u00e9","\"\u0022\u005c\u005C"]`: `["\\u00e9","\\é","\"\"\\\\"]`,
		`"\u0008\u0009\u000a\u000A\u000c\u000C\u000d\u000D\b\t\n\f\r"`: `"\b\t\n\n\f\f\r\r\b\t\n\f\r"`, `{"\u0022\u0061":"\u005cu0022\u005c\u0022"}`: `{"\"a":"\\u0022\\\""}`, `"\u000b\u000B\u0007\u002f\u007F"`: `"\u000b\u000B\u0007/` + "\u007f" + `"`,
		`"\u0000\u001f\u0020\n\b\u007f\ufffd\u2028"`: "\"\\u0000\\u001f \\n\\b\u007f\ufffd\u2028\"", `{"\u0061":1.50e1}`: `{"a":1.50e1}`, `"é"`: `"é"`, `{}`: `{}`,
	} {
		got := strictjson.Unescaped([]byte(text))
		var before, after any
		if err := errors.Join(json.Unmarshal([]byte(text), &before), json.Unmarshal(got, &after)); err != nil || string(got) != want || !reflect.DeepEqual(before, after) {
			t.Errorf("%s: %s, want %s, %v", text, got, want, err)
		}
	}
}

// TestANullMemberOfAStructCountsAsNotSent. In a map, in an array and below a json.RawMessage, null is a value.
func TestANullMemberOfAStructCountsAsNotSent(t *testing.T) {
	type inner struct {
		A *string `json:"a"`
	}
	type shape struct {
		Name *string           `json:"name"`
		In   *inner            `json:"in"`
		List []inner           `json:"list"`
		Map  map[string]string `json:"map"`
		Raw  json.RawMessage   `json:"raw"`
	}
	for text, want := range map[string]string{
		`{}`: `{}`, `{"name":null}`: `{}`, `{"name":null,"in":null,"list":null,"map":null}`: `{}`, `{"name":""}`: `{"name":""}`,
		`{"in":{"a":null}}`: `{"in":{}}`, `{"list":[{"a":null},null,{"a":"x"}]}`: `{"list":[{},null,{"a":"x"}]}`, `{"list":[]}`: `{"list":[]}`,
		`{"map":{"a":null}}`: `{"map":{"a":null}}`, `{"raw":null}`: `{}`, `{"raw":{"a":null,"name":null}}`: `{"raw":{"a":null,"name":null}}`,
	} {
		got, err := strictjson.Canonical([]byte(text), reflect.TypeFor[shape]())
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", text, got, err, want)
		}
		if got, err := strictjson.Canonical([]byte(text), nil); err != nil || string(got) == want != (text == want) {
			t.Errorf("%s, without a shape: %s %v", text, got, err)
		}
	}
}
