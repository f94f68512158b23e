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

// variables are the environment variables that the template gives to one function, or to all.
type variables struct {
	Environment struct {
		Variables map[string]yaml.Node `yaml:"Variables"`
	} `yaml:"Environment"`
}

// CheckEnvironments returns an error if the variables of a function have more than the 4,096 bytes of JSON that Lambda allows: AWS
// would refuse them in the middle of a deployment. It estimates too much rather than too little. A value that AWS makes during
// the deployment counts as 128 bytes, and a deployed secret as 258, the most that two secrets can have. Of two branches the longer
// counts.
func (t Template) CheckEnvironments(value func(parameter string) string) error {
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		r, all := t.Resources[name], map[string]string{}
		if condition, ok := t.Conditions[r.Condition]; ok && r.Properties.Environment.Variables != nil {
			isMade, err := isTrue(&condition, value)
			if faults.Note(err); !isMade {
				continue
			}
		}
		for _, variables := range []map[string]yaml.Node{t.Globals.Function.Environment.Variables, r.Properties.Environment.Variables} {
			for variable, n := range variables {
				all[variable] = t.textOf(n, value)
			}
		}
		text, err := json.Marshal(all) // as JSON an & has six bytes
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
		case d.NoEcho && value(name) == "****": // CloudFormation shows this in place of a deployed secret
			return strings.Repeat("x", 258)
		}
		return value(name)
	}
	switch n.Tag {
	case "!Ref", "!GetAtt":
		return valueOf(n.Value)
	case "!Sub":
		return os.Expand(n.Value, valueOf)
	case "!If": // Content[0] is the name of the condition
		branches := []string{t.textOf(*n.Content[1], value), t.textOf(*n.Content[2], value)}
		return slices.MaxFunc(branches, func(a, b string) int { return len(a) - len(b) })
	}
	for _, part := range n.Content { // of !Join and others all parts, which is a few bytes too many
		text += t.textOf(*part, value)
	}
	return text + n.Value
}
