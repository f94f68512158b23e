package table

import (
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Exists is the condition that there is a row.
func Exists(e *Expression) string { return "attribute_exists(" + e.name("PK") + ")" }

// Absent is the condition that there is no row.
func Absent(e *Expression) string { return "attribute_not_exists(" + e.name("PK") + ")" }

// All is the condition that all of the conditions hold. At least one of them must not be nil.
func All(of ...Condition) Condition { return joined(" AND ", of) }

// Any is the condition that one of the conditions holds. At least one of them must not be nil.
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
func (a Attribute[T, F]) Present() Condition { return tested("attribute_exists", string(a)) }

// Absent is the condition that the row lacks the attribute.
func (a Attribute[T, F]) Absent() Condition { return tested("attribute_not_exists", string(a)) }

func tested(function, attribute string) Condition {
	return func(e *Expression) string { return function + "(" + e.name(attribute) + ")" }
}

// compared is a comparison of the attribute with a value. When the row lacks the attribute,
// DynamoDB evaluates <> as true and each other comparison as false.
func compared(attribute, operator string, v types.AttributeValue) Condition {
	return func(e *Expression) string { return e.name(attribute) + operator + e.value(attribute, v) }
}

// Is is the condition that the attribute has a value.
func (a Attribute[T, F]) Is(v T) Condition { return compared(string(a), " = ", a.encode(v)) }

// Not is the condition that the attribute is absent or has another value.
func (a Attribute[T, F]) Not(v T) Condition { return compared(string(a), " <> ", a.encode(v)) }

// IsOrAbsent is Is, and for the zero value Absent. It is the condition that OrZero would still return this value.
func (a Attribute[T, F]) IsOrAbsent(v T) Condition {
	if reflect.ValueOf(v).IsZero() {
		return a.Absent()
	}
	return a.Is(v)
}

// Over is the condition that the attribute is greater than a value.
func (a Attribute[T, F]) Over(v T) Condition { return compared(string(a), " > ", a.encode(v)) }

// Under is the condition that the attribute is less than a value.
func (a Attribute[T, F]) Under(v T) Condition { return compared(string(a), " < ", a.encode(v)) }

// AtMost is the condition that the attribute is not greater than a value.
func (a Attribute[T, F]) AtMost(v T) Condition { return compared(string(a), " <= ", a.encode(v)) }

// Between is the condition that the attribute is between two values, both included.
func (a Attribute[T, F]) Between(least, most T) Condition {
	return between(string(a), a.encode(least), a.encode(most))
}

func between(attribute string, least, most types.AttributeValue) Condition {
	return func(e *Expression) string {
		return e.name(attribute) + " BETWEEN " + e.value(attribute, least) + " AND " + e.value(attribute, most)
	}
}

// In is the condition that the attribute has one of the values.
func (a Attribute[T, F]) In(values ...T) Condition {
	encoded := make([]types.AttributeValue, len(values))
	for i, v := range values {
		encoded[i] = a.encode(v)
	}
	return in(string(a), encoded)
}

func in(attribute string, values []types.AttributeValue) Condition {
	return func(e *Expression) string {
		list := make([]string, len(values))
		for i, v := range values {
			list[i] = e.value(attribute, v)
		}
		return e.name(attribute) + " IN (" + strings.Join(list, ", ") + ")"
	}
}

// Shorter is the condition that a map has fewer entries than a number.
func Shorter[T ~int | ~int64](m Map[T], than int) Condition {
	return func(e *Expression) string {
		return "size(" + e.name(string(m)) + ") < " + e.value("", number(int64(than)))
	}
}
