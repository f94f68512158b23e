// Package plainjson writes compact JSON without escapes for HTML. The contract measures sizes in this text, and rows of the table
// contain it.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal, except that it does not escape <, > and &: each is one byte. The members of a map are in the order
// of their names.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err // Encode ends with a line break
}
