package translated

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"latchkey/infra/lab/backing"
)

// noValue is AWS::NoValue: a property with this value is left out.
type noValue struct{}

// resolver replaces CloudFormation's functions by their values.
type resolver struct {
	parameters map[string]string
	lists      map[string]bool // parameters that are comma lists
	conditions map[string]any
	mappings   map[string]any
	resources  map[string]map[string]any // those whose condition holds
	options    Options
	asking     map[string]bool // conditions under evaluation, to find a circle
}

func newResolver(doc map[string]any, o Options) (*resolver, error) {
	r := &resolver{parameters: map[string]string{}, lists: map[string]bool{}, resources: map[string]map[string]any{}, options: o, asking: map[string]bool{}}
	r.conditions, _ = doc["Conditions"].(map[string]any)
	r.mappings, _ = doc["Mappings"].(map[string]any)
	declared, _ := doc["Parameters"].(map[string]any)
	if err := r.setParameters(declared); err != nil {
		return nil, err
	}
	resources, _ := doc["Resources"].(map[string]any)
	return r, r.setResources(resources)
}

func (r *resolver) setResources(declared map[string]any) error {
	var wrong []error
	for name, v := range declared {
		resource, _ := v.(map[string]any)
		holds, err := r.condition(resource)
		if holds {
			r.resources[name] = resource
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

func (r *resolver) setParameters(declared map[string]any) error {
	var wrong []error
	for name := range r.options.Parameters {
		if _, ok := declared[name]; !ok {
			wrong = append(wrong, fmt.Errorf("the template has no parameter %s", name))
		}
	}
	for name, v := range declared {
		p, _ := v.(map[string]any)
		typ, _ := p["Type"].(string)
		r.lists[name] = typ == "CommaDelimitedList" || strings.HasPrefix(typ, "List<")
		if value, ok := r.options.Parameters[name]; ok {
			r.parameters[name] = value
		} else if value, ok := p["Default"]; ok {
			r.parameters[name] = scalar(value)
		} else {
			wrong = append(wrong, fmt.Errorf("parameter %s has no default and was given no value", name))
		}
	}
	return errors.Join(wrong...)
}

// resolve returns v with every function replaced.
func (r *resolver) resolve(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if name, arg, ok := function(v); ok {
			return r.call(name, arg)
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			value, err := r.resolve(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			if _, none := value.(noValue); !none {
				out[k] = value
			}
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			value, err := r.resolve(e)
			if err != nil {
				return nil, err
			}
			if _, none := value.(noValue); !none {
				out = append(out, value)
			}
		}
		return out, nil
	}
	return v, nil
}

// function reports whether the object is a call of a function: it has one member, Ref or Fn::….
// {"Condition": name} is a call too, but only inside a condition.
func function(v map[string]any) (name string, arg any, ok bool) {
	if len(v) != 1 {
		return "", nil, false
	}
	for k, a := range v {
		if k == "Ref" || strings.HasPrefix(k, "Fn::") {
			return k, a, true
		}
	}
	return "", nil, false
}

func (r *resolver) call(name string, arg any) (any, error) {
	switch name {
	case "Ref":
		return r.ref(arg)
	case "Fn::GetAtt":
		return r.getAtt(arg)
	case "Fn::Sub":
		return r.sub(arg)
	case "Fn::Join":
		return r.join(arg)
	case "Fn::If":
		return r.choose(arg)
	case "Fn::FindInMap":
		return r.findInMap(arg)
	case "Fn::Split":
		return r.split(arg)
	case "Fn::Select":
		return r.pick(arg)
	case "Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or":
		return r.test(map[string]any{name: arg})
	}
	return nil, fmt.Errorf("%s is not supported by the local stack", name)
}

func (r *resolver) ref(arg any) (any, error) {
	name, _ := arg.(string)
	if name == "AWS::NoValue" {
		return noValue{}, nil
	}
	if v, ok := r.pseudo(name); ok {
		return v, nil
	}
	if v, ok := r.parameters[name]; ok {
		if r.lists[name] {
			return list(v), nil
		}
		return v, nil
	}
	if v, ok := r.options.Physical[name]; ok {
		return v, nil
	}
	if resource, ok := r.resources[name]; ok {
		switch resource["Type"] {
		case "AWS::ApiGateway::RestApi":
			return apiID, nil
		case "AWS::Lambda::Function":
			return r.options.FunctionPrefix + name, nil
		case "AWS::SQS::Queue":
			physical, err := r.queueName(name)
			return queueURL(r.options.QueueEndpoint, physical), err
		}
		return name, nil
	}
	return nil, fmt.Errorf("there is no parameter or resource for Ref %v", arg)
}

func list(v string) []any {
	var out []any
	for part := range strings.SplitSeq(v, ",") {
		out = append(out, strings.TrimSpace(part))
	}
	return out
}

func (r *resolver) pseudo(name string) (string, bool) {
	stack := cmp.Or(r.options.StackName, "stack")
	value, ok := map[string]string{
		"AWS::Region": backing.Region, "AWS::AccountId": AccountID, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
		"AWS::StackName": stack, "AWS::StackId": "arn:aws:cloudformation:" + backing.Region + ":" + AccountID + ":stack/" + stack + "/local",
	}[name]
	return value, ok
}

var subName = regexp.MustCompile(`\$\{([^}]*)\}`)

func (r *resolver) sub(arg any) (any, error) {
	text, own := "", map[string]any(nil)
	switch arg := arg.(type) {
	case string:
		text = arg
	case []any:
		if len(arg) == 2 {
			text, _ = arg[0].(string)
			own, _ = arg[1].(map[string]any)
		}
	}
	var wrong error
	out := subName.ReplaceAllStringFunc(text, func(match string) string {
		name := match[2 : len(match)-1]
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			return "${" + literal + "}"
		}
		value, err := r.subValue(name, own)
		wrong = errors.Join(wrong, err)
		return scalar(value)
	})
	return out, wrong
}

func (r *resolver) subValue(name string, own map[string]any) (any, error) {
	if v, ok := own[name]; ok {
		return r.resolve(v)
	}
	if strings.Contains(name, ".") {
		return r.getAtt(name)
	}
	return r.ref(name)
}

func scalar(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return fmt.Sprint(int64(f))
	}
	return fmt.Sprint(v)
}

func (r *resolver) join(arg any) (any, error) {
	args, ok := arg.([]any)
	if !ok || len(args) != 2 {
		return nil, fmt.Errorf("Fn::Join wants a separator and a list, not %v", arg)
	}
	resolved, err := r.resolve(args[1])
	if err != nil {
		return nil, err
	}
	values, ok := resolved.([]any)
	if !ok {
		return nil, fmt.Errorf("Fn::Join wants a list, not %v", resolved)
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = scalar(v)
	}
	return strings.Join(parts, scalar(args[0])), nil
}

func (r *resolver) findInMap(arg any) (any, error) {
	resolved, err := r.resolve(arg)
	if err != nil {
		return nil, err
	}
	keys, _ := resolved.([]any)
	if len(keys) != 3 {
		return nil, fmt.Errorf("Fn::FindInMap wants three keys, not %v", arg)
	}
	var at any = r.mappings
	for _, k := range keys {
		level, _ := at.(map[string]any)
		if at = level[scalar(k)]; at == nil {
			return nil, fmt.Errorf("Fn::FindInMap %v: not found", keys)
		}
	}
	return at, nil
}
