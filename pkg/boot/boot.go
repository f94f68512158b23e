// Package boot turns the environment of a function into settings, HTTP and AWS clients, and
// the logger. It names every missing or malformed variable at once. It builds aws.Config by
// hand, because the SDK's config module makes a cold start half as long again.
package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reader reads variables and collects their faults, so that one failed start names all of them. Err returns the faults so far.
type Reader struct {
	lookup func(string) (string, bool)
	faults []error
}

// New returns a Reader of the process's environment.
func New() *Reader { return From(os.LookupEnv) }

// From returns a Reader of another environment.
func From(lookup func(string) (string, bool)) *Reader { return &Reader{lookup: lookup} }

// Required returns a variable that must be set and not empty.
func (r *Reader) Required(name string) string {
	v, _ := r.lookup(name)
	if v == "" {
		r.faults = append(r.faults, fmt.Errorf("%s is not set", name))
	}
	return v
}

// Optional returns a variable, or fallback when it is not set or empty.
func (r *Reader) Optional(name, fallback string) string {
	if v, _ := r.lookup(name); v != "" {
		return v
	}
	return fallback
}

// List returns the parts of a comma-separated variable, without empty ones and without the space around each. It
// returns nil when the variable is not set.
func (r *Reader) List(name string) []string {
	var out []string
	for part := range strings.SplitSeq(r.Optional(name, ""), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Pairs returns pairs from two comma-separated variables: each name of the first, with the value at the same position in the
// second.
func (r *Reader) Pairs(names, values string) [][2]string {
	first, second := r.List(names), r.List(values)
	if len(first) != len(second) {
		r.Reject(values, fmt.Sprintf("has %d values, want one for each of the %d in %s", len(second), len(first), names))
		return nil
	}
	out := make([][2]string, len(first))
	for i := range first {
		out[i] = [2]string{first[i], second[i]}
	}
	return out
}

// Choice returns a variable whose value must be fallback or one of the others. It returns fallback if the variable is not set
// or empty.
func (r *Reader) Choice(name, fallback string, others ...string) string {
	v := r.Optional(name, fallback)
	if all := append([]string{fallback}, others...); !slices.Contains(all, v) {
		r.Reject(name, fmt.Sprintf("is %q, want one of %s", v, strings.Join(all, ", ")))
	}
	return v
}

// Bool returns a variable that is true or false, or fallback when it is not set or empty.
func (r *Reader) Bool(name string, fallback bool) bool {
	v := r.Optional(name, strconv.FormatBool(fallback))
	b, err := strconv.ParseBool(v)
	if err != nil {
		r.faults = append(r.faults, fmt.Errorf("%s is %q, want true or false", name, v))
	}
	return b
}

// Int returns a variable that is a whole number of at least lowest, or fallback when it is not set or empty.
func (r *Reader) Int(name string, fallback, lowest int) int {
	v := r.Optional(name, strconv.Itoa(fallback))
	n, err := strconv.Atoi(v)
	if err != nil || n < lowest {
		r.faults = append(r.faults, fmt.Errorf("%s is %q, want a whole number of at least %d", name, v, lowest))
	}
	return n
}

// Seconds returns a variable that is a whole number of seconds. It returns 0 if the variable is not set.
func (r *Reader) Seconds(name string) time.Duration {
	return time.Duration(r.Int(name, 0, 0)) * time.Second
}

// Reject adds a fault that the caller found in a variable. It does not end the process: Run does that, after all variables are
// read.
func (r *Reader) Reject(name, why string) {
	r.faults = append(r.faults, fmt.Errorf("%s %s", name, why))
}

// Err returns an error that names every missing or malformed variable, or nil.
func (r *Reader) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return fmt.Errorf("environment: %w", errors.Join(r.faults...))
}

// Run starts a Lambda function. wire reads the settings of the function and returns serve, which serves its events and does not
// return. If a variable is missing or malformed, Run logs all such variables and ends the process.
func Run(wire func(*Reader) (serve func())) {
	slog.SetDefault(Logger())
	r := New()
	serve := wire(r)
	if err := r.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	serve()
}
