package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// declaration is a parameter of the template, with what CloudFormation checks of its value.
type declaration struct {
	Default        *string  `yaml:"Default"`
	AllowedPattern string   `yaml:"AllowedPattern"`
	AllowedValues  []string `yaml:"AllowedValues"`
	MinValue       *float64 `yaml:"MinValue"`
	MaxValue       *float64 `yaml:"MaxValue"`
	MaxLength      *int     `yaml:"MaxLength"`
}

// check returns an error when CloudFormation would refuse a value.
func (d declaration) check(name, value string) error {
	number, errNumber := strconv.ParseFloat(value, 64)
	switch {
	case len(d.AllowedValues) > 0 && !slices.Contains(d.AllowedValues, value):
		return fmt.Errorf("%s=%s: it is one of %s", name, value, strings.Join(d.AllowedValues, ", "))
	case d.AllowedPattern != "" && !regexp.MustCompile(`^(?:`+d.AllowedPattern+`)$`).MatchString(value):
		return fmt.Errorf("%s=%s: it must match %s", name, value, d.AllowedPattern)
	case d.MaxLength != nil && len(value) > *d.MaxLength:
		return fmt.Errorf("%s has %d characters: %d are the most", name, len(value), *d.MaxLength)
	case d.MinValue == nil && d.MaxValue == nil:
		return nil
	case errNumber != nil:
		return fmt.Errorf("%s=%s is no number", name, value)
	case d.MinValue != nil && number < *d.MinValue:
		return fmt.Errorf("%s=%s: %v is the least", name, value, *d.MinValue)
	case d.MaxValue != nil && number > *d.MaxValue:
		return fmt.Errorf("%s=%s: %v is the most", name, value, *d.MaxValue)
	}
	return nil
}

// rule is one of the template's rules: CloudFormation refuses values that fulfil its condition and not its assertions.
type rule struct {
	RuleCondition yaml.Node `yaml:"RuleCondition"`
	Assertions    []struct {
		Assert            yaml.Node `yaml:"Assert"`
		AssertDescription string    `yaml:"AssertDescription"`
	} `yaml:"Assertions"`
}

// faults are what is wrong, for one line.
type faults []string

func (f *faults) note(err error) {
	if err != nil {
		*f = append(*f, err.Error())
	}
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return errors.New(strings.Join(f, "; "))
}

// checkGiven checks each given value. Each must be of one of the template's parameters: the SAM CLI would ignore another one
// silently.
func (p *program) checkGiven() error {
	var wrong faults
	for _, name := range slices.Sorted(maps.Keys(p.parameters)) {
		if d, ok := p.declared[name]; ok {
			wrong.note(d.check(name, p.parameters[name]))
		} else {
			wrong.note(fmt.Errorf("the template has no parameter %s", name))
		}
	}
	return wrong.err()
}

// checkRules checks all values by the template's rules.
func (p *program) checkRules() error {
	var wrong faults
	for _, name := range slices.Sorted(maps.Keys(p.rules)) {
		r := p.rules[name]
		if applies, err := p.holds(&r.RuleCondition); err != nil || !applies {
			wrong.note(err)
			continue
		}
		for _, a := range r.Assertions {
			holds, err := p.holds(&a.Assert)
			if err == nil && !holds {
				err = errors.New(a.AssertDescription)
			}
			wrong.note(err)
		}
	}
	return wrong.err()
}

// holds evaluates a condition of a rule, with the values of the coming deployment. Error: it has a function that is not
// known here.
func (p *program) holds(n *yaml.Node) (bool, error) {
	switch n.Tag {
	case "!Not":
		holds, err := p.holds(n.Content[0])
		return !holds, err
	case "!Equals":
		return p.text(n.Content[0]) == p.text(n.Content[1]), nil
	}
	return false, fmt.Errorf("template.yaml, line %d: %s in a rule", n.Line, n.Tag)
}

// text returns a text, or the value of the parameter that !Ref names.
func (p *program) text(n *yaml.Node) string {
	if n.Tag == "!Ref" {
		return p.value(n.Value)
	}
	return n.Value
}
