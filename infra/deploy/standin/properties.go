package standin

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// notKnown is CloudFormation's value of a property that depends on a resource which the change set replaces.
const notKnown = "{{changeSet:KNOWN_AFTER_APPLY}}"

// references matches the references to names in a property. The property is JSON, in the form that the SAM CLI writes.
var references = regexp.MustCompile(`\{"Ref":"(\w+)"\}|\{"Fn::GetAtt":\["(\w+)",[^\]]*\]\}|\$\{(\w+)\}`)

// substitution matches a text with such references.
var substitution = regexp.MustCompile(`\{"Fn::Sub":("[^"]*")\}`)

// textOf returns a property as a change set shows it. refer returns the value of a name.
func textOf(property any, refer func(name string) string) string {
	if property == nil {
		return "<nil>"
	}
	text, _ := json.Marshal(property) // no error: it was read from YAML
	shown := references.ReplaceAllStringFunc(string(text), func(found string) string {
		return refer(strings.Join(references.FindStringSubmatch(found)[1:], ""))
	})
	return strings.Trim(substitution.ReplaceAllString(shown, "$1"), `"`)
}

// details returns the entries of a change set for one property, or nil if the property does not change. As on AWS there is an entry
// for each cause: each changed parameter and each replaced resource (evaluation Static), and the property itself. The evaluation of
// the property's entry is Dynamic if there are other causes.
func (k *Stack) details(c *changeSet, name string, was, is any, replaced map[string]bool) (all []fields) {
	causes := map[string]string{} // the kind of each cause, by the name of the parameter or resource
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
	target, evaluation := field{"Target", fields{{"Attribute", "Properties"}, {"Name", name}, {"Path", "/Properties/" + name}, {"BeforeValue", before}, {"AfterValue", after}}}, "Static"
	for _, entity := range slices.Sorted(maps.Keys(causes)) {
		evaluation, all = "Dynamic", append(all, fields{{"ChangeSource", causes[entity]}, {"CausingEntity", entity}, {"Evaluation", "Static"}, target})
	}
	return append(all, fields{{"ChangeSource", "DirectModification"}, {"Evaluation", evaluation}, target})
}
