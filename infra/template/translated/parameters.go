package translated

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/tools/parameters"
)

// ReadParameters returns the parameters that the template at path declares, by name.
func ReadParameters(path string) (map[string]parameters.Parameter, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Parameters map[string]parameters.Parameter `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc.Parameters, nil
}

// resolveParameters returns the given parameters. It checks each given value of a declared parameter as CloudFormation does.
// The value of a parameter with an SSM type is the name of a parameter in the Systems Manager. resolveParameters replaces the name by
// the value there, and does not check that value. On AWS the translator works with the value too.
func resolveParameters(declared map[string]parameters.Parameter, o Options) (map[string]string, error) {
	out := make(map[string]string)
	maps.Copy(out, o.Parameters)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		p := declared[name]
		if !strings.HasPrefix(p.Type, "AWS::SSM::Parameter::") {
			if value, given := o.Parameters[name]; given {
				if err := p.Accepts(value); err != nil {
					return nil, fmt.Errorf("parameter %s: %w", name, err)
				}
			}
			continue
		}
		if p.Type != "AWS::SSM::Parameter::Value<String>" {
			return nil, fmt.Errorf("parameter %s: the local stack does not know the type %s", name, p.Type)
		}
		key, given := o.Parameters[name]
		if !given && p.Default != nil {
			key = *p.Default
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
