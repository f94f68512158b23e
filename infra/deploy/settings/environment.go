package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variables are those that the template gives to a function, or to all.
type variables struct {
	Environment struct {
		Variables map[string]yaml.Node `yaml:"Variables"`
	} `yaml:"Environment"`
}

// CheckEnvironments refuses values with which the variables of a function that is made are over the 4,096 bytes that Lambda allows,
// as JSON: AWS would refuse them in the middle of a deployment. What is not known before counts as 128 bytes.
func (t Template) CheckEnvironments(value func(parameter string) string) error {
	var wrong Faults
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		r, all, isMade := t.Resources[name], map[string]string{}, true
		if r.Condition != "" {
			var err error
			isMade, err = t.holds(&yaml.Node{Tag: "!Condition", Value: r.Condition}, value)
			wrong.Note(err)
		}
		for _, variables := range []map[string]yaml.Node{t.Globals.Function.Environment.Variables, r.Properties.Environment.Variables} {
			for variable, n := range variables {
				text, err := t.textOf(n, value)
				wrong.Note(err)
				all[variable] = text
			}
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		wrong.Note(encoder.Encode(all))
		if size := text.Len() - len("\n"); isMade && size > 4096 {
			wrong.Note(fmt.Errorf("the variables of %s have %d bytes, and Lambda allows 4096: give shorter values", name, size))
		}
	}
	return wrong.Err()
}

// textOf returns the value of a variable, or of a part of one.
func (t Template) textOf(n yaml.Node, value func(parameter string) string) (text string, err error) {
	valueOf := func(name string) string {
		if d, ok := t.Parameters[name]; ok && (!d.NoEcho || value(name) != "****") { // this is shown in place of a deployed secret
			return value(name)
		}
		return strings.Repeat("x", 128)
	}
	parts := n.Content
	switch n.Tag {
	case "!Ref", "!GetAtt":
		return valueOf(n.Value), nil
	case "!Sub":
		return os.Expand(n.Value, valueOf), nil
	case "!If": // its first part is the name of the condition
		isFirst, err := t.holds(&yaml.Node{Tag: "!Condition", Value: parts[0].Value}, value)
		if err != nil {
			return "", err
		}
		if parts = parts[1:2]; !isFirst {
			parts = n.Content[2:]
		}
	}
	for _, part := range parts { // of !Join and others all parts, which is a few bytes more than they are
		more, err := t.textOf(*part, value)
		if err != nil {
			return "", err
		}
		text += more
	}
	return text + n.Value, nil
}
