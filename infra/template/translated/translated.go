// Package translated reads a template as CloudFormation would get it: it runs the SAM translator
// and resolves every reference. The local stack serves the result, and tests of the template read
// it. A reference that cannot be resolved is an error, because lint accepts some references
// that CloudFormation refuses. The package is generic: it reads any template.
package translated

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"latchkey/infra/tools"
	"latchkey/infra/tools/parts"
)

//go:embed translate.py
var script string

// The region, and the ids of the account and of the API, for every template.
const (
	Region    = "us-east-1"
	AccountID = "000000000000"
	apiID     = "local"
)

// Options are the options of a translation.
type Options struct {
	// StackName is the value of AWS::StackName. "" is "stack".
	StackName string
	// Parameters override the template's defaults. A parameter that the template does not have is an error.
	Parameters map[string]string
	// Physical has the names of existing resources, by logical id: the values of Ref. Other names are made up.
	Physical map[string]string
	// Attributes has values of GetAtt, by "Resource.Attribute". Other values are made up.
	Attributes map[string]string
	// QueueEndpoint is the base URL of the queues: the Ref of a queue is a URL below it. "" is AWS's.
	QueueEndpoint string
	// FunctionPrefix precedes the logical id in the names of functions.
	FunctionPrefix string
	// SSM has values of parameters in the Systems Manager by name, for the template's parameters of type
	// AWS::SSM::Parameter::Value<String>.
	SSM map[string]string
	// Progress gets lines about an installation; nil: standard error.
	Progress tools.Progress
}

// Template is a translated template.
type Template struct {
	// Raw is the document as CloudFormation would get it, with references.
	Raw map[string]any
	// Code has the CodeUri of each function, by logical id. The translator removes it from Raw.
	Code map[string]string
	// Resources are the resources with a true condition or with none, by logical id, with every reference resolved.
	Resources map[string]Resource
	// Outputs are resolved values by name.
	Outputs map[string]string
	// Parameters are the values by name, from Options or by default.
	Parameters map[string]string

	options Options
}

// Resource is a resource of a translated template.
type Resource struct {
	Type       string
	Properties map[string]any
}

// Translate translates and resolves the template at path. Without Python the error is a
// *tools.MissingError.
func Translate(ctx context.Context, path string, o Options) (*Template, error) {
	declared, err := ReadParameters(path)
	if err != nil {
		return nil, err
	}
	if o.Parameters, err = resolveParameters(declared, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	raw, code, err := transform(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("translating %s: %w", path, err)
	}
	t, err := (&Template{Raw: raw, Code: code}).Resolve(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Resolve resolves the same document with other options: for example with the name of a resource
// that was created after the translation.
func (t *Template) Resolve(o Options) (*Template, error) {
	r, err := newResolver(t.Raw, o)
	if err != nil {
		return nil, err
	}
	out := &Template{
		Raw: t.Raw, Code: t.Code, options: o,
		Resources: make(map[string]Resource), Outputs: make(map[string]string), Parameters: r.parameters,
	}
	if err := errors.Join(out.resolveResources(r), out.resolveOutputs(r)); err != nil {
		return nil, err
	}
	return out, nil
}

func transform(ctx context.Context, path string, o Options) (map[string]any, map[string]string, error) {
	python, errPython := parts.Python(ctx, o.Progress)
	parameters, errParameters := json.Marshal(o.Parameters)
	text, errText := os.ReadFile(path) // not in the script: Go's test cache does not see the files that another program reads
	if err := errors.Join(errPython, errParameters, errText); err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", script, string(parameters))
	cmd.Stdin = bytes.NewReader(text)
	cmd.Env = append(os.Environ(), "PYTHONWARNINGS=ignore")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var answer struct {
		Template map[string]any
		Code     map[string]string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, nil, err
	}
	return answer.Template, answer.Code, nil
}

func (t *Template) resolveResources(r *resolver) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.resources)) {
		typ, _ := r.resources[name]["Type"].(string)
		properties, err := r.resolve(r.resources[name]["Properties"])
		if err != nil {
			errs = append(errs, fmt.Errorf("resource %s: %w", name, err))
			continue
		}
		t.Resources[name] = Resource{Type: typ, Properties: Object(properties)}
	}
	return errors.Join(errs...)
}

func (t *Template) resolveOutputs(r *resolver) error {
	var errs []error
	for name, o := range Object(t.Raw["Outputs"]) {
		exists, err := r.exists(Object(o))
		if err != nil || !exists {
			errs = append(errs, err)
			continue
		}
		value, err := r.resolve(Object(o)["Value"])
		if err != nil {
			errs = append(errs, fmt.Errorf("output %s: %w", name, err))
			continue
		}
		t.Outputs[name] = fmt.Sprint(value)
	}
	return errors.Join(errs...)
}

// Named returns the logical ids of the resources of a type that have a true condition or none, sorted.
func (t *Template) Named(typ string) []string {
	return slices.DeleteFunc(t.Declared(typ), func(name string) bool { return t.Resources[name].Type == "" })
}

// Declared returns the logical ids of all resources of a type, sorted, also with a false condition.
func (t *Template) Declared(typ string) []string {
	var names []string
	for name, v := range Object(t.Raw["Resources"]) {
		if Object(v)["Type"] == typ {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readEach reads the resources with these logical ids. Its error has all faults, each with the kind and id of its resource.
func readEach[T any](kind string, ids []string, read func(id string) (T, error)) ([]T, error) {
	var out []T
	var errs []error
	for _, id := range ids {
		one, err := read(id)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", kind, id, err))
		}
		out = append(out, one)
	}
	return out, errors.Join(errs...)
}
