package settings

import (
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
// as JSON: AWS would refuse them in the middle of a deployment. What is not known before counts as 128 bytes, and a
// deployed secret as 258, which two have at most. The longer of two branches counts.
func (t Template) CheckEnvironments(value func(parameter string) string) error {
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		r, all := t.Resources[name], map[string]string{}
		if condition, ok := t.Conditions[r.Condition]; ok && r.Properties.Environment.Variables != nil {
			isMade, err := holds(&condition, value)
			if faults.Note(err); !isMade {
				continue
			}
		}
		for _, variables := range []map[string]yaml.Node{t.Globals.Function.Environment.Variables, r.Properties.Environment.Variables} {
			for variable, n := range variables {
				all[variable] = t.textOf(n, value)
			}
		}
		text, err := json.Marshal(all) // an & is six bytes
		if faults.Note(err); len(text) > 4096 {
			faults.Note(fmt.Errorf("the variables of %s have %d bytes, and Lambda allows 4096: give shorter values", name, len(text)))
		}
	}
	return faults.Err()
}

// textOf returns the value of a variable, or of a part of one.
func (t Template) textOf(n yaml.Node, value func(parameter string) string) (text string) {
	valueOf := func(name string) string {
		d, ok := t.Parameters[name]
		switch {
		case !ok:
			return strings.Repeat("x", 128)
		case d.NoEcho && value(name) == "****": // this is shown in place of a deployed secret
			return strings.Repeat("x", 258)
		}
		return value(name)
	}
	switch n.Tag {
	case "!Ref", "!GetAtt":
		return valueOf(n.Value)
	case "!Sub":
		return os.Expand(n.Value, valueOf)
	case "!If": // its first part is the name of the condition
		branches := []string{t.textOf(*n.Content[1], value), t.textOf(*n.Content[2], value)}
		return slices.MaxFunc(branches, func(a, b string) int { return len(a) - len(b) })
	}
	for _, part := range n.Content { // of !Join and others all parts, which is a few bytes more than they are
		text += t.textOf(*part, value)
	}
	return text + n.Value
}
