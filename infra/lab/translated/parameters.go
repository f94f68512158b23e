package translated

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parameter is a parameter that a template declares.
type Parameter struct {
	Type           string   `yaml:"Type"`
	Default        string   `yaml:"Default"`
	AllowedPattern string   `yaml:"AllowedPattern"`
	AllowedValues  []string `yaml:"AllowedValues"`
	MinValue       *float64 `yaml:"MinValue"`
	MaxValue       *float64 `yaml:"MaxValue"`
}

// check returns an error for a value that CloudFormation would refuse. It ignores a pattern that Go cannot compile:
// CloudFormation's patterns are Java's.
func (p Parameter) check(name, value string) error {
	if p.Type == "Number" {
		n, err := strconv.ParseFloat(value, 64)
		isLow, isHigh := p.MinValue != nil && n < *p.MinValue, p.MaxValue != nil && n > *p.MaxValue
		if err != nil || isLow || isHigh {
			return fmt.Errorf("parameter %s: %q is not a number in the range that the template allows", name, value)
		}
	}
	values := []string{value}
	if p.Type == "CommaDelimitedList" {
		values = strings.Split(value, ",")
	}
	pattern, err := regexp.Compile("^(?:" + p.AllowedPattern + ")$")
	for _, v := range values {
		switch {
		case p.AllowedValues != nil && !slices.Contains(p.AllowedValues, v):
			return fmt.Errorf("parameter %s: %q is none of %s", name, v, strings.Join(p.AllowedValues, ", "))
		case p.AllowedPattern != "" && err == nil && !pattern.MatchString(v):
			return fmt.Errorf("parameter %s: %q does not match the pattern %s", name, v, p.AllowedPattern)
		}
	}
	return nil
}

// ReadParameters returns the parameters that the template at path declares, by name.
func ReadParameters(path string) (map[string]Parameter, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Parameters map[string]Parameter `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc.Parameters, nil
}

// resolveParameters returns the given parameters. It checks each given value of a declared parameter as CloudFormation does.
// A parameter of an SSM type has the name of a parameter in the Systems Manager. resolveParameters puts the value there
// in place of the name, and does not check it: on AWS, too, the translator works with the value.
func resolveParameters(declared map[string]Parameter, o Options) (map[string]string, error) {
	out := make(map[string]string)
	maps.Copy(out, o.Parameters)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		p := declared[name]
		if !strings.HasPrefix(p.Type, "AWS::SSM::Parameter::") {
			if value, given := o.Parameters[name]; given {
				if err := p.check(name, value); err != nil {
					return nil, err
				}
			}
			continue
		}
		if p.Type != "AWS::SSM::Parameter::Value<String>" {
			return nil, fmt.Errorf("parameter %s: the local stack does not know the type %s", name, p.Type)
		}
		key, given := o.Parameters[name]
		if !given {
			key = p.Default
		}
		value, ok := o.SSM[key]
		if !ok {
			return nil, fmt.Errorf("parameter %s: the Systems Manager has no parameter %q", name, key)
		}
		out[name] = value
	}
	return out, nil
}

// SSMParameters returns the parameters that the template creates in the Systems Manager (AWS::SSM::Parameter): the value of
// each, by its name there.
func (t *Template) SSMParameters() map[string]string {
	out := make(map[string]string)
	for _, id := range t.Named("AWS::SSM::Parameter") {
		p := t.Resources[id].Properties
		out[scalar(p["Name"])] = scalar(p["Value"])
	}
	return out
}
