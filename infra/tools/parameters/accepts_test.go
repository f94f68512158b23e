package parameters_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/tools/parameters"
)

// TestValuesAreAcceptedAsByCloudFormation tries both sides of each constraint.
func TestValuesAreAcceptedAsByCloudFormation(t *testing.T) {
	for declared, c := range map[string]struct{ good, wrong []string }{
		`{Type: String}`: {[]string{"", "x\n"}, nil},
		`{Type: String, MinLength: 2, MaxLength: 3}`:                                      {[]string{"ab", "éàü"}, []string{"a", "é", "abcd"}},
		`{Type: String, AllowedValues: [on, off, 7]}`:                                     {[]string{"on", "7"}, []string{"", "ON", "on,off", "7.0"}},
		`{Type: String, AllowedPattern: 'a|ab'}`:                                          {[]string{"a", "ab"}, []string{"", "abc", "xa", "a\n", "a,ab"}},
		`{Type: String, AllowedPattern: '(?!x).*'}`:                                       {[]string{"x"}, nil}, // Go cannot compile it
		`{Type: Number, MinValue: 2, MaxValue: 2000000000}`:                               {[]string{"2", "2.5", "2000000000"}, []string{"", "1", "1.9", "2000000001", "x", "NaN", "Inf", "0x1p4"}},
		`{Type: Number, AllowedValues: [1, 7]}`:                                           {[]string{"7"}, []string{"8", "7.0"}},
		`{Type: CommaDelimitedList, MaxLength: 1, AllowedPattern: '[a-z]+'}`:              {[]string{"abc", "a, b"}, []string{"", "a,", "a,B", "a b"}},
		`{Type: CommaDelimitedList, AllowedValues: [a, b]}`:                               {[]string{"a", "b,a", "a , b"}, []string{"c", "a,c"}},
		`{Type: String, NoEcho: true, AllowedPattern: x, ConstraintDescription: Be an x}`: {[]string{"x"}, []string{"SECRET"}},
	} {
		var p parameters.Parameter
		if err := yaml.Unmarshal([]byte(declared), &p); err != nil {
			t.Fatal(err)
		}
		for at, value := range append(c.good, c.wrong...) {
			err := p.Accepts(value)
			if (err == nil) != (at < len(c.good)) {
				t.Errorf("%s: %q: %v", declared, value, err)
			}
			if err != nil && (strings.Contains(err.Error(), "SECRET") || p.ConstraintDescription != "" && err.Error() != p.ConstraintDescription) {
				t.Errorf("%s: %q is refused by %q", declared, value, err)
			}
		}
	}
}
