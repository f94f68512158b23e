package table

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrRow means that a row lacks an attribute that it must have, or has one of another type.
var ErrRow = errors.New("table: a row does not decode")

// Reading is one row whose attributes are being read, by From and OrZero. It keeps the first fault,
// so that a caller reads all attributes and then checks Err once.
type Reading struct {
	Row Row
	err error
}

// Read begins to read a row.
func Read(row Row) Reading { return Reading{Row: row} }

// Err returns the first fault, nil without one. It wraps ErrRow and names the row's key and the
// attribute, never a value: a value may be a secret.
func (r *Reading) Err() error { return r.err }

// PK returns the row's partition key without a prefix.
func (r *Reading) PK(prefix string) string { return strings.TrimPrefix(r.Row.Key().PK, prefix) }

// SK returns the row's sort key without a prefix.
func (r *Reading) SK(prefix string) string { return strings.TrimPrefix(r.Row.Key().SK, prefix) }

// Decode reads a row by a function, and returns its result or the first fault.
func Decode[T any](row Row, from func(*Reading) T) (T, error) {
	r := Read(row)
	out := from(&r)
	if r.err != nil {
		var none T
		return none, r.err
	}
	return out, nil
}

// DecodeAll reads rows by a function, and returns the results. If one row does not decode, DecodeAll fails.
func DecodeAll[T any](rows []Row, from func(*Reading) T) ([]T, error) {
	out := make([]T, len(rows))
	for i, row := range rows {
		var err error
		if out[i], err = Decode(row, from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// From returns the attribute's value. A row that lacks the attribute does not decode.
func (a Attribute[T, F]) From(r *Reading) T { return a.read(r, r.Row[string(a)]) }

// OrZero returns the attribute's value, the zero value when the row lacks the attribute.
func (a Attribute[T, F]) OrZero(r *Reading) (zero T) {
	v, ok := r.Row[string(a)]
	if !ok {
		return zero
	}
	return a.read(r, v)
}

// IsIn reports whether a row has the attribute.
func (a Attribute[T, F]) IsIn(row Row) bool {
	_, ok := row[string(a)]
	return ok
}

func (a Attribute[T, F]) read(r *Reading, v types.AttributeValue) T {
	var f F
	out, ok := f.decode(v)
	if !ok && r.err == nil {
		k := r.Row.Key()
		r.err = fmt.Errorf("%w: %s of %s %s", ErrRow, string(a), k.PK, k.SK)
	}
	return out
}
