package iam

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// word matches a path of attributes, a value, a function or a keyword in DynamoDB's expressions.
var word = regexp.MustCompile(`([:#]?\w+)(?:\.#?\w+|\[\d+\])*(\s*\()?`)

// keywords are the words of expressions that are no attributes. An attribute of such a name has a placeholder.
var keywords = []string{"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}

// attributes returns the top-level attributes that an update names, sorted: those of the key, of the changes and of
// the condition. They are the values of dynamodb:Attributes.
func (r row) attributes() []string {
	named := map[string]bool{}
	for name := range r.Key {
		named[name] = true
	}
	for name := range r.AttributeUpdates {
		named[name] = true
	}
	for name := range r.Expected {
		named[name] = true
	}
	for _, m := range word.FindAllStringSubmatch(r.UpdateExpression+" "+r.ConditionExpression, -1) {
		name, function := m[1], m[2] != ""
		switch {
		case name[0] == '#':
			named[r.ExpressionAttributeNames[name]] = true
		case name[0] != ':' && !function && !slices.Contains(keywords, strings.ToUpper(name)):
			named[name] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}
