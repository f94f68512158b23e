package translated

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parameter is a parameter that a template declares.
type Parameter struct {
	Type    string `yaml:"Type"`
	Default string `yaml:"Default"`
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

// lookUp returns the given parameters, with the values of those that name a parameter in the Systems Manager.
// The translator writes such a value into the document, as in AWS.
func lookUp(declared map[string]Parameter, o Options) (map[string]string, error) {
	out := maps.Clone(o.Parameters)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		p := declared[name]
		if !strings.HasPrefix(p.Type, "AWS::SSM::Parameter::") {
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
		if out == nil {
			out = make(map[string]string)
		}
		out[name] = value
	}
	return out, nil
}

// SSMParameters returns the values of the template's parameters in the Systems Manager, by name.
func (t *Template) SSMParameters() map[string]string {
	out := make(map[string]string)
	for _, id := range t.Named("AWS::SSM::Parameter") {
		p := t.Resources[id].Properties
		out[scalar(p["Name"])] = scalar(p["Value"])
	}
	return out
}
