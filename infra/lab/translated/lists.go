package translated

import (
	"fmt"
	"strconv"
	"strings"
)

// split evaluates Fn::Split, which cuts a text at each separator.
func (r *resolver) split(arg any) (any, error) {
	resolved, err := r.resolve(arg)
	if err != nil {
		return nil, err
	}
	args, _ := resolved.([]any)
	if len(args) != 2 || scalar(args[0]) == "" {
		return nil, fmt.Errorf("Fn::Split wants a separator and a text, not %v", arg)
	}
	var out []any
	for part := range strings.SplitSeq(scalar(args[1]), scalar(args[0])) {
		out = append(out, part)
	}
	return out, nil
}

// pick evaluates Fn::Select, which is a value of a list, counted from 0.
func (r *resolver) pick(arg any) (any, error) {
	resolved, err := r.resolve(arg)
	if err != nil {
		return nil, err
	}
	args, _ := resolved.([]any)
	if len(args) != 2 {
		return nil, fmt.Errorf("Fn::Select wants a number and a list, not %v", arg)
	}
	n, err := strconv.Atoi(scalar(args[0]))
	values, ok := args[1].([]any)
	if err != nil || !ok || n < 0 || n >= len(values) {
		return nil, fmt.Errorf("Fn::Select finds no value %v in %v", args[0], args[1])
	}
	return values[n], nil
}
