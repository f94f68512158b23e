package standin

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// notKnown is CloudFormation's value for what depends on a resource that the change set replaces.
const notKnown = "{{changeSet:KNOWN_AFTER_APPLY}}"

// references matches what refers to a name in a property as JSON, in the form that the SAM CLI writes.
var references = regexp.MustCompile(`\{"Ref":"(\w+)"\}|\{"Fn::GetAtt":\["(\w+)",[^\]]*\]\}|\$\{(\w+)\}`)

// substitution matches a text with such references.
var substitution = regexp.MustCompile(`\{"Fn::Sub":("[^"]*")\}`)

// textOf returns a property as a change set shows it. refer returns the value of a name.
func textOf(property any, refer func(name string) string) string {
	if property == nil {
		return "<nil>"
	}
	text, _ := json.Marshal(property) // of YAML: no error
	shown := references.ReplaceAllStringFunc(string(text), func(found string) string {
		return refer(strings.Join(references.FindStringSubmatch(found)[1:], ""))
	})
	return strings.Trim(substitution.ReplaceAllString(shown, "$1"), `"`)
}

// details returns what a change set says of a property that changes, or nil. As on AWS, a property is listed for each of its causes:
// parameters and replaced resources are static ones, beside which the property itself is a dynamic one.
func (k *Stack) details(c *changeSet, name string, was, is any, replaced map[string]bool) (all []fields) {
	causes := map[string]string{} // by their entities
	before := textOf(was, func(name string) string {
		if value, isParameter := k.Parameters[name]; isParameter {
			return value
		}
		return k.physical(name)
	})
	after := textOf(is, func(name string) string {
		value, isParameter := c.parameters[name]
		switch {
		case replaced[name]:
			causes[name+".Arn"] = "ResourceAttribute"
			return notKnown
		case !isParameter:
			return k.physical(name)
		case value != k.Parameters[name]:
			causes[name] = "ParameterReference"
		}
		return value
	})
	if before == after {
		return nil
	}
	target, how := field{"Target", fields{{"Attribute", "Properties"}, {"Name", name}, {"Path", "/Properties/" + name}, {"BeforeValue", before}, {"AfterValue", after}}}, "Static"
	for _, entity := range slices.Sorted(maps.Keys(causes)) {
		how, all = "Dynamic", append(all, fields{{"ChangeSource", causes[entity]}, {"CausingEntity", entity}, {"Evaluation", "Static"}, target})
	}
	return append(all, fields{{"ChangeSource", "DirectModification"}, {"Evaluation", how}, target})
}
