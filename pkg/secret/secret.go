// Package secret holds a string that prints as "[redacted]" everywhere: in
// logs, errors, JSON and with every fmt verb. A secret leaves it only by Reveal.
package secret

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// String is a secret. Its zero value is the empty secret. The value is held in
// a function, because fmt prints the fields of a value it finds behind an
// unexported field without asking its methods.
type String struct{ reveal func() string }

// New wraps a secret value.
func New(value string) String { return String{reveal: func() string { return value }} }

// Reveal gives the secret itself: call it only where the value must go out
// (into the one answer that shows it) or into a hash.
func (s String) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String is "[redacted]".
func (String) String() string { return redacted }

// Format writes "[redacted]" whatever the verb.
func (String) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText writes "[redacted]", in JSON too.
func (String) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue logs "[redacted]".
func (String) LogValue() slog.Value { return slog.StringValue(redacted) }
