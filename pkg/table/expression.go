package table

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Condition is a condition on a row. It adds its names and values to the expression, and returns
// its text. nil: there is no condition.
type Condition func(*Expression) string

// Change changes a row. It adds itself to the expression. nil changes nothing.
type Change func(*Expression)

// Expression is a condition with changes, in DynamoDB's language. Every name and value in it is
// a placeholder, so an attribute may be named like a reserved word.
type Expression struct {
	when                string
	sets, removes, adds []string          // the clauses of the update
	names               map[string]string // by placeholder
	values              Row               // by placeholder
	row                 Row               // the attributes that Set writes: the row of a put
	proof               Row               // the attributes that prove the write, see Prove
	err                 error
}

// render returns the expression of a condition and changes.
func render(when Condition, changes ...Change) *Expression {
	e := &Expression{row: Row{}}
	if when != nil {
		e.when = when(e)
	}
	Changes(changes...)(e)
	return e
}

// update returns the update expression.
func (e *Expression) update() *string {
	var parts []string
	for _, p := range []struct {
		verb    string
		clauses []string
	}{{"SET ", e.sets}, {"REMOVE ", e.removes}, {"ADD ", e.adds}} {
		if p.clauses != nil {
			parts = append(parts, p.verb+strings.Join(p.clauses, ", "))
		}
	}
	return textOrNil(strings.Join(parts, " "))
}

func (e *Expression) condition() *string { return textOrNil(e.when) }

// textOrNil returns nil for an empty expression, because DynamoDB refuses one.
func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

// name returns the placeholder of an attribute's name. For a map's entry, "map.entry", it returns
// two, with the dot between them.
func (e *Expression) name(of string) string {
	if of, entry, ok := strings.Cut(of, "."); ok {
		return e.name(of) + "." + e.name(entry)
	}
	for placeholder, known := range e.names {
		if known == of {
			return placeholder
		}
	}
	if e.names == nil {
		e.names = map[string]string{}
	}
	placeholder := "#" + strconv.Itoa(len(e.names))
	e.names[placeholder] = of
	return placeholder
}

// value returns the placeholder of an attribute's value. nil, for a value that cannot be written, fails the expression.
func (e *Expression) value(of string, v types.AttributeValue) string {
	if v == nil {
		e.err = fmt.Errorf("table: the value of %s cannot be written", of)
	}
	if e.values == nil {
		e.values = Row{}
	}
	placeholder := ":" + strconv.Itoa(len(e.values))
	e.values[placeholder] = v
	return placeholder
}

// encode returns a value in DynamoDB's format, nil when it cannot be written. Functions without type parameters make conditions and
// changes of it, so that a binary has these functions only once.
func (Attribute[T, F]) encode(v T) types.AttributeValue {
	var f F
	return f.encode(v)
}

// Entry returns one entry of a map, as an attribute for conditions and changes. Neither the map's
// name nor the entry's has a dot, because a dot separates them.
func Entry[T ~int | ~int64](m Map[T], entry string) Number[T] {
	return Number[T](string(m) + "." + entry)
}

// Changes joins several changes into one.
func Changes(all ...Change) Change {
	return func(e *Expression) {
		for _, c := range all {
			if c != nil {
				c(e)
			}
		}
	}
}

// If returns the change if holds is true, or else nil.
func If(holds bool, c Change) Change {
	if holds {
		return c
	}
	return nil
}

// Set gives the attribute a value.
func (a Attribute[T, F]) Set(v T) Change { return set(string(a), a.encode(v)) }

func set(attribute string, v types.AttributeValue) Change {
	return func(e *Expression) {
		e.sets = append(e.sets, e.name(attribute)+" = "+e.value(attribute, v))
		e.row[attribute] = v
	}
}

// SetOrRemove gives the attribute a value, or removes it for the zero value: OrZero returns the value from then on.
func (a Attribute[T, F]) SetOrRemove(v T) Change {
	if reflect.ValueOf(v).IsZero() {
		return a.Remove()
	}
	return a.Set(v)
}

// SetIfAbsent gives the attribute a value, if the row lacks it.
func (a Attribute[T, F]) SetIfAbsent(v T) Change { return setIfAbsent(string(a), a.encode(v)) }

func setIfAbsent(attribute string, v types.AttributeValue) Change {
	return func(e *Expression) {
		name := e.name(attribute)
		e.sets = append(e.sets, name+" = if_not_exists("+name+", "+e.value(attribute, v)+")")
	}
}

// Prove gives the attribute a value that no other write has. If a later try of the same write finds the
// value in the row, an earlier try was carried out.
func (a Attribute[T, F]) Prove(v T) Change { return prove(string(a), a.encode(v)) }

func prove(attribute string, v types.AttributeValue) Change {
	return Changes(set(attribute, v), func(e *Expression) { e.proof = Row{attribute: v} })
}

// Remove removes the attribute.
func (a Attribute[T, F]) Remove() Change { return remove(string(a)) }

func remove(attribute string) Change {
	return func(e *Expression) { e.removes = append(e.removes, e.name(attribute)) }
}

// Add adds a number to the attribute. An absent one counts as 0.
func Add[T ~int | ~int64](a Number[T], n T) Change {
	return func(e *Expression) { e.adds = append(e.adds, e.name(string(a))+" "+e.value("", number(int64(n)))) }
}

// Operand is a number of a sum.
type Operand func(*Expression) string

// Literal is a number as an operand.
func Literal(n int64) Operand { return func(e *Expression) string { return e.value("", number(n)) } }

// Stored is the row's number as an operand, 0 when the row lacks the attribute.
func Stored[T ~int | ~int64](a Number[T]) Operand { return StoredOr(a, 0) }

// StoredOr is the row's number as an operand, n when the row lacks the attribute.
func StoredOr[T ~int | ~int64](a Number[T], n int64) Operand {
	return func(e *Expression) string {
		return "if_not_exists(" + e.name(string(a)) + ", " + e.value("", number(n)) + ")"
	}
}

// SetSum gives the attribute the sum of two numbers, as they are before the update.
func SetSum[T ~int | ~int64](a Number[T], x, y Operand) Change {
	return func(e *Expression) { e.sets = append(e.sets, e.name(string(a))+" = "+x(e)+" + "+y(e)) }
}

// onlySets returns an error when the changes do not describe a whole row: each must be a Set of another attribute, or a Remove,
// which leaves an attribute out. Only Set adds to both sets and row.
func (e *Expression) onlySets() error {
	if len(e.sets) != len(e.row) || e.adds != nil {
		return errors.Join(e.err, errors.New("table: a row is put by other changes than Set and Remove"))
	}
	return e.err
}
