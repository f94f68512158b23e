package translated

import (
	"errors"
	"fmt"
)

// condition reports whether a resource or output is there: its condition holds, or it has none.
func (r *resolver) condition(of map[string]any) (bool, error) {
	name, ok := of["Condition"].(string)
	if !ok {
		return true, nil
	}
	return r.named(name)
}

// named evaluates the condition of that name.
func (r *resolver) named(name string) (bool, error) {
	c, ok := r.conditions[name]
	if !ok {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	if r.asking[name] {
		return false, fmt.Errorf("condition %s asks for itself", name)
	}
	r.asking[name] = true
	defer delete(r.asking, name)
	return r.test(c)
}

// choose evaluates Fn::If.
func (r *resolver) choose(arg any) (any, error) {
	args, _ := arg.([]any)
	if len(args) != 3 {
		return nil, fmt.Errorf("Fn::If wants a condition and two values, not %v", arg)
	}
	yes, err := r.named(scalar(args[0]))
	if err != nil {
		return nil, err
	}
	if yes {
		return r.resolve(args[1])
	}
	return r.resolve(args[2])
}

// test evaluates a condition's expression.
func (r *resolver) test(v any) (bool, error) {
	call, _ := v.(map[string]any)
	if len(call) != 1 {
		return false, fmt.Errorf("%v is no condition", v)
	}
	for name, arg := range call {
		if name == "Condition" {
			return r.named(scalar(arg))
		}
		args, ok := arg.([]any)
		if !ok {
			return false, fmt.Errorf("%s wants a list, not %v", name, arg)
		}
		switch name {
		case "Fn::Equals":
			return r.equals(args)
		case "Fn::Not":
			yes, err := r.every(args)
			return !yes, err
		case "Fn::And":
			return r.every(args)
		case "Fn::Or":
			return r.some(args)
		}
		return false, fmt.Errorf("%s is no condition", name)
	}
	return false, nil
}

func (r *resolver) equals(args []any) (bool, error) {
	if len(args) != 2 {
		return false, errors.New("Fn::Equals wants two values")
	}
	a, errA := r.resolve(args[0])
	b, errB := r.resolve(args[1])
	return scalar(a) == scalar(b), errors.Join(errA, errB)
}

func (r *resolver) every(args []any) (bool, error) {
	for _, a := range args {
		if yes, err := r.test(a); err != nil || !yes {
			return false, err
		}
	}
	return true, nil
}

func (r *resolver) some(args []any) (bool, error) {
	for _, a := range args {
		if yes, err := r.test(a); err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}
