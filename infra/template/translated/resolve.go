package translated

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// noValue is AWS::NoValue: a property with this value is left out.
type noValue struct{}

// resolver replaces CloudFormation's functions by their values.
type resolver struct {
	parameters map[string]string
	lists      map[string]bool // the parameters whose value is a list with commas
	conditions map[string]any
	resources  map[string]map[string]any // the resources that exist: with a true condition or with none
	options    Options
	evaluating map[string]bool // the conditions that are being evaluated, to find a condition that refers to itself
}

func newResolver(doc map[string]any, o Options) (*resolver, error) {
	r := &resolver{parameters: map[string]string{}, lists: map[string]bool{}, resources: map[string]map[string]any{}, options: o, evaluating: map[string]bool{}}
	r.conditions = Object(doc["Conditions"])
	if err := r.setParameters(Object(doc["Parameters"])); err != nil {
		return nil, err
	}
	var errs []error
	for name, v := range Object(doc["Resources"]) {
		exists, err := r.exists(Object(v))
		if exists {
			r.resources[name] = Object(v)
		}
		errs = append(errs, err)
	}
	return r, errors.Join(errs...)
}

func (r *resolver) setParameters(declared map[string]any) error {
	var errs []error
	for name := range r.options.Parameters {
		if _, ok := declared[name]; !ok {
			errs = append(errs, fmt.Errorf("the template has no parameter %s", name))
		}
	}
	for name, v := range declared {
		typ, _ := Object(v)["Type"].(string)
		r.lists[name] = typ == "CommaDelimitedList" || strings.HasPrefix(typ, "List<")
		if value, ok := r.options.Parameters[name]; ok {
			r.parameters[name] = value
		} else if value, ok := Object(v)["Default"]; ok {
			r.parameters[name] = scalar(value)
		} else {
			errs = append(errs, fmt.Errorf("parameter %s has no default and was given no value", name))
		}
	}
	return errors.Join(errs...)
}

// exists reports whether a resource or an output has a true condition, or no condition.
func (r *resolver) exists(declaration map[string]any) (bool, error) {
	name, ok := declaration["Condition"].(string)
	if !ok {
		return true, nil
	}
	return r.condition(name)
}

// condition evaluates the condition of that name.
func (r *resolver) condition(name string) (bool, error) {
	c, ok := r.conditions[name]
	if !ok {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	if r.evaluating[name] {
		return false, fmt.Errorf("condition %s refers to itself", name)
	}
	r.evaluating[name] = true
	defer delete(r.evaluating, name)
	v, err := r.resolve(c)
	isTrue, ok := v.(bool)
	if err == nil && !ok {
		err = fmt.Errorf("%v is not true or false", v)
	}
	return isTrue, err
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
			if value != (noValue{}) {
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
			if value != (noValue{}) {
				out = append(out, value)
			}
		}
		return out, nil
	}
	return v, nil
}

// function reports whether the object is a call of a function: its one member is Ref, Fn::… or Condition with a name.
// (The Condition of a policy's statement is an object.)
func function(v map[string]any) (name string, arg any, ok bool) {
	if len(v) != 1 {
		return "", nil, false
	}
	for k, a := range v {
		_, isName := a.(string)
		isCondition := k == "Condition" && isName
		if k == "Ref" || strings.HasPrefix(k, "Fn::") || isCondition {
			return k, a, true
		}
	}
	return "", nil, false
}

func (r *resolver) call(name string, arg any) (any, error) {
	switch name {
	case "Ref":
		return r.ref(scalar(arg))
	case "Fn::GetAtt":
		return r.getAtt(arg)
	case "Fn::Sub":
		return r.sub(arg)
	case "Fn::If":
		return r.choose(arg)
	case "Condition":
		return r.condition(scalar(arg))
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("%s is not supported by the local stack", name)
	}
	args, err := r.resolve(arg)
	if err != nil {
		return nil, err
	}
	v, ok := f(List(args))
	if !ok {
		return nil, fmt.Errorf("%s cannot have the arguments %v", name, args)
	}
	return v, nil
}

// functions are the functions whose arguments are resolved first. They return false for arguments that CloudFormation
// refuses.
var functions = map[string]func(args []any) (any, bool){
	"Fn::Equals": func(args []any) (any, bool) {
		return len(args) == 2 && scalar(args[0]) == scalar(args[1]), len(args) == 2
	},
	"Fn::Not": func(args []any) (any, bool) {
		return !slices.Contains(args, any(true)), allBool(args) && len(args) == 1
	},
	"Fn::And": func(args []any) (any, bool) { return !slices.Contains(args, any(false)), allBool(args) },
	"Fn::Or":  func(args []any) (any, bool) { return slices.Contains(args, any(true)), allBool(args) },
	"Fn::Join": func(args []any) (any, bool) {
		if len(args) != 2 {
			return nil, false
		}
		_, ok := args[1].([]any)
		return strings.Join(Words(args[1]), scalar(args[0])), ok
	},
	"Fn::Split": func(args []any) (any, bool) {
		if len(args) != 2 || args[0] == "" {
			return nil, false
		}
		var out []any
		for part := range strings.SplitSeq(scalar(args[1]), scalar(args[0])) {
			out = append(out, part)
		}
		return out, true
	},
	"Fn::Select": func(args []any) (any, bool) {
		if len(args) != 2 {
			return nil, false
		}
		n, err := strconv.Atoi(scalar(args[0]))
		values, _ := args[1].([]any)
		if err != nil || n < 0 || n >= len(values) {
			return nil, false
		}
		return values[n], true
	},
}

// allBool reports whether all values are true or false.
func allBool(args []any) bool {
	return !slices.ContainsFunc(args, func(a any) bool { _, is := a.(bool); return !is })
}

// choose evaluates Fn::If. It does not resolve the other value, which may refer to a resource that does not exist.
func (r *resolver) choose(arg any) (any, error) {
	args := List(arg)
	if len(args) != 3 {
		return nil, fmt.Errorf("Fn::If needs a condition and two values, not %v", arg)
	}
	yes, err := r.condition(scalar(args[0]))
	if err != nil {
		return nil, err
	}
	if yes {
		return r.resolve(args[1])
	}
	return r.resolve(args[2])
}

// ref evaluates Ref, of a pseudo parameter, a parameter or a resource.
func (r *resolver) ref(name string) (any, error) {
	if name == "AWS::NoValue" {
		return noValue{}, nil
	}
	if v, ok := r.pseudo(name); ok {
		return v, nil
	}
	if v, ok := r.parameters[name]; ok {
		if !r.lists[name] {
			return v, nil
		}
		var out []any
		for part := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(part))
		}
		return out, nil
	}
	if v, ok := r.options.Physical[name]; ok {
		return v, nil
	}
	resource, ok := r.resources[name]
	if !ok {
		return nil, fmt.Errorf("there is no parameter or resource for Ref %v", name)
	}
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

func (r *resolver) pseudo(name string) (string, bool) {
	stack := cmp.Or(r.options.StackName, "stack")
	value, ok := map[string]string{
		"AWS::Region": Region, "AWS::AccountId": AccountID, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
		"AWS::StackName": stack, "AWS::StackId": ARN("cloudformation", "stack/"+stack+"/local"),
	}[name]
	return value, ok
}

var subName = regexp.MustCompile(`\$\{([^}]*)\}`)

// sub evaluates Fn::Sub, of a text, or of a list of a text and variables.
func (r *resolver) sub(arg any) (any, error) {
	args := slices.Concat(List(arg), []any{nil, nil}) // so that args[1] exists
	variables := Object(args[1])
	var errs error
	out := subName.ReplaceAllStringFunc(scalar(args[0]), func(match string) string {
		name := match[2 : len(match)-1]
		if literal, ok := strings.CutPrefix(name, "!"); ok { // ${!Literal} is the text ${Literal}
			return "${" + literal + "}"
		}
		value, err := r.subValue(name, variables)
		errs = errors.Join(errs, err)
		return scalar(value)
	})
	return out, errs
}

func (r *resolver) subValue(name string, variables map[string]any) (any, error) {
	if v, ok := variables[name]; ok {
		return r.resolve(v)
	}
	if strings.Contains(name, ".") {
		return r.getAtt(name)
	}
	return r.ref(name)
}
