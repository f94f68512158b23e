// Package secret has the texts by which a caller proves a right: API keys and link tokens. A String prints as "[redacted]" everywhere:
// in logs, errors, JSON and with every verb of fmt. Only Reveal returns the secret.
//
// Mint and Parse have the grammar that API keys and link tokens share:
//
//	<prefix>_<locator>_<secret><check>
//
// The locator leads to the row. Its 43 base62 characters have the bits of the row's ULID, with the random part first, and then the bits
// of the id in the row's partition key. The secret is 256 random bits in 43 base62 characters. The check is the CRC-32 of all
// characters before it, in 6 characters. A text of another form, or with a wrong checksum, is refused without a read.
//
// A text that Parse accepts is good only if its Hash equals the hash in its row.
package secret

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// String is a secret. Its zero value is the empty secret. The value is inside a function, because fmt prints unexported fields without
// calling their methods, but cannot print the variables of a function.
type String struct{ reveal func() string }

// New returns a secret with this value.
func New(value string) String { return String{reveal: func() string { return value }} }

// Reveal returns the value. Call it only to compute the hash, or for the one answer that shows the value.
func (s String) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String returns "[redacted]".
func (String) String() string { return redacted }

// Format writes "[redacted]" for every verb.
func (String) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText returns "[redacted]". encoding/json uses it too.
func (String) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (String) LogValue() slog.Value { return slog.StringValue(redacted) }
