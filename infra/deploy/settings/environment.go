package settings

import (
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
		Variables yaml.Node `yaml:"Variables"`
	} `yaml:"Environment"`
}

// CheckEnvironments refuses values with which the variables of a function are over the 4,096 bytes that Lambda allows, their names
// included: AWS would refuse them in the middle of a deployment. What is not known before counts as 128 bytes, and the longer of two branches counts.
func (t Template) CheckEnvironments(value func(parameter string) string) error {
	var wrong Faults
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		if size := t.sizeOf(t.Globals.Function.Environment.Variables, value) + t.sizeOf(t.Resources[name].Properties.Environment.Variables, value); size > 4096 {
			wrong.Note(fmt.Errorf("the variables of %s have %d bytes, and Lambda allows 4096: give shorter values", name, size))
		}
	}
	return wrong.Err()
}

// sizeOf returns the bytes of variables, or of a part of them.
func (t Template) sizeOf(n yaml.Node, value func(parameter string) string) (size int) {
	valueOf := func(name string) string {
		if d, ok := t.Parameters[name]; ok && !d.NoEcho {
			return value(name)
		}
		return strings.Repeat("x", 128)
	}
	switch n.Tag {
	case "!Ref", "!GetAtt":
		return len(valueOf(n.Value))
	case "!Sub":
		return len(os.Expand(n.Value, valueOf))
	case "!If": // its first part is the name of the condition
		return max(t.sizeOf(*n.Content[1], value), t.sizeOf(*n.Content[2], value))
	}
	for _, part := range n.Content {
		size += t.sizeOf(*part, value)
	}
	return size + len(n.Value)
}
