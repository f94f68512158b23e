// Package parameters reads parameters of a template from a text.
package parameters

import (
	"fmt"
	"strings"
)

// Parse reads parameters as Name=value, with blanks between them. A value has no blanks. For an empty text it returns nil.
func Parse(text string) (map[string]string, error) {
	var out map[string]string
	for _, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		if _, isRepeated := out[name]; isRepeated || !ok || name == "" {
			return nil, fmt.Errorf("parameter %q: want each once, as Name=value, with blanks between them", word)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}
