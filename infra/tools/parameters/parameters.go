// Package parameters reads the parameters of a template from a text, and checks their values.
package parameters

import (
	"fmt"
	"regexp"
	"strings"
)

// first matches the first parameter of a text: the name, and the value in single quotes, in double quotes, or without quotes.
var first = regexp.MustCompile(`^([^\s=]+)=(?:'([^']*)'|"([^"]*)"|(\S*))(?:\s+|$)`)

// Parse reads parameters as Name=value, with blanks between them. A value with blanks is in quotes: Name='a b'. For an empty text
// it returns nil. Errors have no value, which may be a secret.
func Parse(text string) (map[string]string, error) {
	var out map[string]string
	for text = strings.TrimSpace(text); text != ""; {
		m := first.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("parameter %d: write Name=value, with blanks between parameters, and Name='a b' for a value with blanks", len(out)+1)
		}
		if _, isRepeated := out[m[1]]; isRepeated {
			return nil, fmt.Errorf("parameter %s is given twice: give each once", m[1])
		}
		if out == nil {
			out = map[string]string{}
		}
		out[m[1]], text = m[2]+m[3]+m[4], text[len(m[0]):]
	}
	return out, nil
}
