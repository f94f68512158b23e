// Package secret has the texts that prove something. A String prints as "[redacted]" everywhere:
// in logs, errors, JSON and with every verb of fmt. Only Reveal returns the secret.
//
// Mint and Parse have the grammar that API keys and link tokens share:
//
//	<prefix>_<locator>_<secret><check>
//
// The locator says where the row is: 43 base62 characters of a ULID, its random part first,
// and of the id that the row's partition has. The secret is 256 random bits in 43 base62
// characters. The check is the CRC-32 of all characters before it, in 6. A text of another
// form, or with a wrong checksum, is refused without a read.
//
// Parse must not be used to decide whether a text is good: only the hash in its row does that.
package secret

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// String is a secret. Its zero value is the empty secret. A function holds the value, because fmt
// prints a value behind an unexported field without calling its methods.
type String struct{ reveal func() string }

// New returns a secret with this value.
func New(value string) String { return String{reveal: func() string { return value }} }

// Reveal returns the value. Call it only where the value must go out, into the one answer that
// shows it, or into a hash.
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

// MarshalText returns "[redacted]", in JSON too.
func (String) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (String) LogValue() slog.Value { return slog.StringValue(redacted) }
