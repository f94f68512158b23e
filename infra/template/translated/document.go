package translated

import "fmt"

// Object returns a value of a translated document as an object, or nil.
func Object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// List returns a value of a translated document as a list. A value that is not a list becomes a list of one
// element: a policy may have a single value where a list is allowed.
func List(v any) []any {
	if l, ok := v.([]any); ok || v == nil {
		return l
	}
	return []any{v}
}

// Words returns a value of a translated document as a list of texts.
func Words(v any) []string {
	var out []string
	for _, e := range List(v) {
		out = append(out, scalar(e))
	}
	return out
}

// scalar returns a value of a translated document as a text. A whole number has no exponent: 1000000, not 1e+06.
func scalar(v any) string {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return fmt.Sprint(int64(f))
	}
	return fmt.Sprint(v)
}

// texts returns the members of an object as texts.
func texts(v any) map[string]string {
	out := map[string]string{}
	for k, e := range Object(v) {
		out[k] = scalar(e)
	}
	return out
}

// Like reports whether a text fits a pattern of IAM, in which * is any text and ? is any character. Up to the first
// *, pattern[i] must fit text[i]; after it, the rest of the pattern must fit some end of the text.
func Like(pattern, text string) bool {
	for i := range len(pattern) {
		switch {
		case pattern[i] == '*':
			for j := len(text); j >= i; j-- {
				if Like(pattern[i+1:], text[j:]) {
					return true
				}
			}
			return false
		case i >= len(text) || pattern[i] != '?' && pattern[i] != text[i]:
			return false
		}
	}
	return len(pattern) == len(text)
}
