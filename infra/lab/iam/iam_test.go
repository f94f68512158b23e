package iam

import "testing"

// TestConditionsMeanWhatAWSDocuments follows the IAM user guide, "Condition operators" and
// "Multivalued context keys".
func TestConditionsMeanWhatAWSDocuments(t *testing.T) {
	partitions := []string{"ORG#*", "KEYS#*"}
	for _, c := range []struct {
		operator     string
		values, have []string
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
