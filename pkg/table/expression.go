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
// its text. nil is no condition.
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

// value returns the placeholder of a value.
func (e *Expression) value(v types.AttributeValue) string {
	if e.values == nil {
		e.values = Row{}
	}
	placeholder := ":" + strconv.Itoa(len(e.values))
	e.values[placeholder] = v
	return placeholder
}

// encoded returns a value in DynamoDB's format. A value that cannot be encoded fails the expression.
func (a Attribute[T, F]) encoded(e *Expression, v T) types.AttributeValue {
	var f F
	out := f.encode(v)
	if out == nil {
		e.err = fmt.Errorf("table: the value of %s cannot be written", string(a))
	}
	return out
}

// Exists is the condition that there is a row.
func Exists(e *Expression) string { return "attribute_exists(" + e.name("PK") + ")" }

// Absent is the condition that there is no row.
func Absent(e *Expression) string { return "attribute_not_exists(" + e.name("PK") + ")" }

// All is the condition that all of the conditions hold. At least one of them is not nil.
func All(of ...Condition) Condition { return joined(" AND ", of) }

// Any is the condition that one of the conditions holds. At least one of them is not nil.
func Any(of ...Condition) Condition { return joined(" OR ", of) }

func joined(operator string, of []Condition) Condition {
	return func(e *Expression) string {
		var parts []string
		for _, c := range of {
			if c != nil {
				parts = append(parts, c(e))
			}
		}
		if len(parts) == 1 {
			return parts[0] // DynamoDB refuses redundant parentheses
		}
		return "(" + strings.Join(parts, operator) + ")"
	}
}

// Present is the condition that the row has the attribute.
func (a Attribute[T, F]) Present() Condition {
	return func(e *Expression) string { return "attribute_exists(" + e.name(string(a)) + ")" }
}

// Absent is the condition that the row lacks the attribute.
func (a Attribute[T, F]) Absent() Condition {
	return func(e *Expression) string { return "attribute_not_exists(" + e.name(string(a)) + ")" }
}

// compared is a comparison of the attribute with a value. When the row lacks the attribute,
// DynamoDB takes <> for true and each other comparison for false.
func (a Attribute[T, F]) compared(operator string, v T) Condition {
	return func(e *Expression) string { return e.name(string(a)) + operator + e.value(a.encoded(e, v)) }
}

// Is is the condition that the attribute has a value.
func (a Attribute[T, F]) Is(v T) Condition { return a.compared(" = ", v) }

// Not is the condition that the attribute is absent or has another value.
func (a Attribute[T, F]) Not(v T) Condition { return a.compared(" <> ", v) }

// IsOrAbsent is Is, but for the zero value Absent: the condition that OrZero would still return this value.
func (a Attribute[T, F]) IsOrAbsent(v T) Condition {
	if reflect.ValueOf(v).IsZero() {
		return a.Absent()
	}
	return a.Is(v)
}

// Over is the condition that the attribute is greater than a value.
func (a Attribute[T, F]) Over(v T) Condition { return a.compared(" > ", v) }

// Under is the condition that the attribute is less than a value.
func (a Attribute[T, F]) Under(v T) Condition { return a.compared(" < ", v) }

// AtMost is the condition that the attribute is not greater than a value.
func (a Attribute[T, F]) AtMost(v T) Condition { return a.compared(" <= ", v) }

// Between is the condition that the attribute is between two values, both included.
func (a Attribute[T, F]) Between(least, most T) Condition {
	return func(e *Expression) string {
		return e.name(string(a)) + " BETWEEN " + e.value(a.encoded(e, least)) + " AND " + e.value(a.encoded(e, most))
	}
}

// In is the condition that the attribute has one of the values.
func (a Attribute[T, F]) In(values ...T) Condition {
	return func(e *Expression) string {
		list := make([]string, len(values))
		for i, v := range values {
			list[i] = e.value(a.encoded(e, v))
		}
		return e.name(string(a)) + " IN (" + strings.Join(list, ", ") + ")"
	}
}

// Shorter is the condition that a map has fewer entries than this.
func Shorter[T ~int | ~int64](m Map[T], than int) Condition {
	return func(e *Expression) string { return "size(" + e.name(string(m)) + ") < " + e.value(number(int64(than))) }
}

// Entry returns one entry of a map, as an attribute for conditions and changes. Neither the map's
// name nor the entry's has a dot, because a dot separates them.
func Entry[T ~int | ~int64](m Map[T], entry string) Number[T] {
	return Number[T](string(m) + "." + entry)
}

// Changes makes one change of several.
func Changes(all ...Change) Change {
	return func(e *Expression) {
		for _, c := range all {
			if c != nil {
				c(e)
			}
		}
	}
}

// If returns the change if a condition of the program holds, else nil.
func If(holds bool, c Change) Change {
	if holds {
		return c
	}
	return nil
}

// Set gives the attribute a value.
func (a Attribute[T, F]) Set(v T) Change {
	return func(e *Expression) {
		encoded := a.encoded(e, v)
		e.sets = append(e.sets, e.name(string(a))+" = "+e.value(encoded))
		e.row[string(a)] = encoded
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
func (a Attribute[T, F]) SetIfAbsent(v T) Change {
	return func(e *Expression) {
		name := e.name(string(a))
		e.sets = append(e.sets, name+" = if_not_exists("+name+", "+e.value(a.encoded(e, v))+")")
	}
}

// Prove gives the attribute a value that no one else writes. A later try of the same write that
// finds the value knows that an earlier try was carried out.
func (a Attribute[T, F]) Prove(v T) Change {
	return func(e *Expression) {
		a.Set(v)(e)
		e.proof = Row{string(a): e.row[string(a)]}
	}
}

// Remove removes the attribute.
func (a Attribute[T, F]) Remove() Change {
	return func(e *Expression) { e.removes = append(e.removes, e.name(string(a))) }
}

// Add adds a number to the attribute. An absent one counts as 0.
func Add[T ~int | ~int64](a Number[T], n T) Change {
	return func(e *Expression) { e.adds = append(e.adds, e.name(string(a))+" "+e.value(number(int64(n)))) }
}

// Operand is a number of a sum.
type Operand func(*Expression) string

// Literal is a number as an operand.
func Literal(n int64) Operand { return func(e *Expression) string { return e.value(number(n)) } }

// Stored is the row's number as an operand, 0 when the row lacks the attribute.
func Stored[T ~int | ~int64](a Number[T]) Operand { return StoredOr(a, 0) }

// StoredOr is the row's number as an operand, n when the row lacks the attribute.
func StoredOr[T ~int | ~int64](a Number[T], n int64) Operand {
	return func(e *Expression) string {
		return "if_not_exists(" + e.name(string(a)) + ", " + e.value(number(n)) + ")"
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
