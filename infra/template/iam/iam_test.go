package iam

import (
	"slices"
	"testing"
)

// TestConditionsFollowAWSDocumentation follows the IAM user guide, "Condition operators" and
// "Multivalued context keys".
func TestConditionsFollowAWSDocumentation(t *testing.T) {
	partitions := []string{"ORG#*", "KEYS#*"}
	for _, c := range []struct {
		operator     string
		values, have []string // in the policy; in the request
		want         bool
	}{
		{"StringEquals", []string{"DIGEST"}, []string{"DIGEST"}, true},
		{"StringEquals", []string{"DIGEST"}, []string{"RAW"}, false},
		{"StringEquals", []string{"DIGEST"}, nil, false},
		{"StringEquals", []string{"DI*"}, []string{"DIGEST"}, false},
		{"StringEqualsIfExists", []string{"a"}, []string{"a"}, true},
		{"StringEqualsIfExists", []string{"a"}, []string{"b"}, false},
		{"StringEqualsIfExists", []string{"a"}, nil, true},
		{"ForAnyValue:StringEquals", []string{"a"}, []string{"b", "a"}, true},
		{"ForAnyValue:StringEquals", []string{"a"}, []string{"b"}, false},
		{"ForAnyValue:StringEquals", []string{"a"}, nil, false},
		{"ForAllValues:StringEquals", []string{"a", "b"}, []string{"b"}, true},
		{"ForAllValues:StringEquals", []string{"a"}, []string{"b", "a"}, false},
		{"ForAllValues:StringEquals", []string{"a"}, nil, true},
		{"ForAllValues:StringLike", partitions, []string{"ORG#1", "KEYS#2"}, true},
		{"ForAllValues:StringLike", partitions, []string{"ORG#1", "AUD#2"}, false},
		{"ForAllValues:StringLike", partitions, []string{"org#1"}, false},
		{"ForAllValues:StringLike", []string{"VKEYS"}, []string{"VKEYS#1"}, false},
		{"ForAllValues:StringLike", []string{"A?C"}, []string{"ABC"}, true},
		{"ForAllValues:StringLike", []string{"A?C"}, []string{"AC"}, false},
		{"Null", []string{"false"}, []string{"x"}, true},
		{"Null", []string{"false"}, nil, false},
		{"Null", []string{"true"}, nil, true},
	} {
		if got, _ := operators[c.operator](condition{c.operator, "k", c.values}, c.have); got != c.want {
			t.Errorf("%s %v of %v: %v", c.operator, c.values, c.have, got)
		}
	}
}

// TestAnUpdateNeedsEveryAttributeThatItNames tries each way to name an attribute.
func TestAnUpdateNeedsEveryAttributeThatItNames(t *testing.T) {
	c := &Calls{hashKeys: map[string]string{"Table": "PK"}}
	const key = `"TableName":"Table","Key":{"PK":{"S":"USED#1"},"SK":{"S":"KEY#1"}}`
	for body, want := range map[string][]string{
		`{` + key + `}`: {"PK", "SK"},
		`{` + key + `,"UpdateExpression":"SET lastUsedAt = :0, #1 = if_not_exists(#1, :due)","ExpressionAttributeNames":{"#1":"purgeAt"}}`: {"PK", "SK", "lastUsedAt", "purgeAt"},
		`{` + key + `,"UpdateExpression":"set a.b = :v remove #0.c[1] ADD d :v delete e :v","ExpressionAttributeNames":{"#0":"SET"}}`:      {"PK", "SET", "SK", "a", "d", "e"},
		`{` + key + `,"ConditionExpression":"(attribute_not_exists (x) OR NOT y IN (:1, z)) and size(w)>:2"}`:                              {"PK", "SK", "w", "x", "y", "z"},
		`{` + key + `,"AttributeUpdates":{"due":{"Action":"PUT"}},"Expected":{"dueAt":{}}}`:                                                {"PK", "SK", "due", "dueAt"},
	} {
		// The same update as a single call, and inside a transaction.
		alone, err := c.dynamoDB(t.Context(), "UpdateItem", []byte(body))
		if err != nil || !slices.Equal(alone[0].Context[attributes], want) {
			t.Errorf("%s: %v, %v, want %q", body, err, alone, want)
		}
		inside, err := c.dynamoDB(t.Context(), "TransactWriteItems", []byte(`{"TransactItems":[{"Delete":{`+key+`}},{"Update":`+body+`}]}`))
		if err != nil || inside[0].Context[attributes] != nil || !slices.Equal(inside[1].Context[attributes], want) {
			t.Errorf("%s in a transaction: %v, %v, want %q", body, err, inside, want)
		}
	}
}
