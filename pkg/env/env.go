// Package env turns the environment of a function into settings and AWS
// clients. It names every missing or malformed variable at once, and it builds
// aws.Config by hand: the SDK's config module costs a cold start half as much
// again.
package env

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Reader reads variables and remembers what is wrong with them. Ask Err once,
// after the last.
type Reader struct {
	lookup func(string) (string, bool)
	wrong  []error
}

// New reads the process's environment.
func New() *Reader { return From(os.LookupEnv) }

// From reads another environment.
func From(lookup func(string) (string, bool)) *Reader { return &Reader{lookup: lookup} }

// Required gives a variable that must be set and not empty.
func (r *Reader) Required(name string) string {
	v, _ := r.lookup(name)
	if v == "" {
		r.wrong = append(r.wrong, fmt.Errorf("%s is not set", name))
	}
	return v
}

// Optional gives a variable, or fallback when it is not set or empty.
func (r *Reader) Optional(name, fallback string) string {
	if v, _ := r.lookup(name); v != "" {
		return v
	}
	return fallback
}

// List gives a comma-separated variable without its blanks; nil when it is not
// set.
func (r *Reader) List(name string) []string {
	var out []string
	for part := range strings.SplitSeq(r.Optional(name, ""), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Pairs gives what two comma-separated variables pair: a name of the first with the
// value at its place in the second.
func (r *Reader) Pairs(names, values string) [][2]string {
	all, its := r.List(names), r.List(values)
	if len(all) != len(its) {
		r.Reject(values, fmt.Sprintf("has %d values, want one for each of the %d in %s", len(its), len(all), names))
		return nil
	}
	out := make([][2]string, len(all))
	for i := range all {
		out[i] = [2]string{all[i], its[i]}
	}
	return out
}

// Bool gives a variable that is true or false.
func (r *Reader) Bool(name string, fallback bool) bool {
	v := r.Optional(name, strconv.FormatBool(fallback))
	b, err := strconv.ParseBool(v)
	if err != nil {
		r.wrong = append(r.wrong, fmt.Errorf("%s is %q, want true or false", name, v))
	}
	return b
}

// Int gives a variable that is a whole number of at least least.
func (r *Reader) Int(name string, fallback, least int) int {
	v := r.Optional(name, strconv.Itoa(fallback))
	n, err := strconv.Atoi(v)
	if err != nil || n < least {
		r.wrong = append(r.wrong, fmt.Errorf("%s is %q, want a whole number of at least %d", name, v, least))
	}
	return n
}

// Reject adds a fault of a variable that its package found.
func (r *Reader) Reject(name, why string) {
	r.wrong = append(r.wrong, fmt.Errorf("%s %s", name, why))
}

// Err names every variable that is missing or malformed, or is nil.
func (r *Reader) Err() error {
	if len(r.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("environment: %w", errors.Join(r.wrong...))
}
