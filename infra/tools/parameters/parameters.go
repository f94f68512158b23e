// Package parameters reads parameters of a template from a text.
package parameters

import (
	"fmt"
	"strings"
)

// Parse reads parameters as Name=value, with blanks between them. A value has no blanks. For an empty text it returns nil. Errors
// have no value, which may be a secret.
func Parse(text string) (map[string]string, error) {
	var out map[string]string
	for i, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("parameter %d: want Name=value, with blanks between them and none inside", i+1)
		}
		if _, isRepeated := out[name]; isRepeated {
			return nil, fmt.Errorf("parameter %s: want each once", name)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}
