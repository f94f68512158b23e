package settings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/tools/parameters"
)

// Template has the parameters and the rules of the template.
type Template struct {
	Parameters map[string]parameters.Parameter `yaml:"Parameters"`
	Rules      map[string]rule                 `yaml:"Rules"`
	Conditions map[string]yaml.Node            `yaml:"Conditions"`
	Globals    struct {
		Function variables `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]struct {
		Condition  string    `yaml:"Condition"`
		Properties variables `yaml:"Properties"`
	} `yaml:"Resources"`
}

// ReadTemplate reads template.yaml in a folder.
func ReadTemplate(root string) (t Template, err error) {
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		return t, err
	}
	if err := yaml.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("template.yaml: %w", err)
	}
	return t, nil
}

// addressSecrets matches the parts of an address that can have a secret: the user and the query.
var addressSecrets = regexp.MustCompile(`(//)[^/?]*@|(\?).*`)

// Shown returns NAME=VALUE to print, without the secrets of addresses.
func Shown(name, value string) string {
	return name + "=" + addressSecrets.ReplaceAllString(value, "$1$2…")
}

// check returns an error when CloudFormation would refuse a value, or when the functions cannot read a number.
func check(d parameters.Parameter, name, value string) error {
	shown := name
	if !d.NoEcho {
		shown = Shown(name, value)
	}
	number, err := strconv.Atoi(value)
	if d.Type == "Number" && d.AllowedValues == nil && (err != nil || strconv.Itoa(number) != value) { // the template's conditions compare texts, so 07 is not 7
		return fmt.Errorf("%s is not a number that the functions read: give a whole number, in its shortest form", shown)
	}
	if err := d.Accepts(value); err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	return nil
}

// rule is a rule of the template. If its condition is true, CloudFormation refuses values for which an assertion is false.
type rule struct {
	RuleCondition yaml.Node `yaml:"RuleCondition"`
	Assertions    []struct {
		Assert            yaml.Node `yaml:"Assert"`
		AssertDescription string    `yaml:"AssertDescription"`
	} `yaml:"Assertions"`
}

// Faults collects errors and prints them in one line.
type Faults []string

// Note adds an error, if there is one.
func (f *Faults) Note(err error) {
	if err != nil {
		*f = append(*f, err.Error())
	}
}

// Err returns all faults in one error, or nil.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return errors.New(strings.Join(f, "; "))
}

// parameterName matches the names of parameters. A name that does not match is not printed: it may be a piece of a secret that was
// given with blanks.
var parameterName = regexp.MustCompile(`^[A-Z][A-Za-z]*$`)

// CheckValues checks each given value by itself. The template must have each parameter: the SAM CLI would ignore an unknown one.
func (t Template) CheckValues(given map[string]string) error {
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if d, ok := t.Parameters[name]; ok {
			faults.Note(check(d, name, given[name]))
		} else if parameterName.MatchString(name) {
			faults.Note(fmt.Errorf("the template has no parameter %s", name))
		} else {
			faults.Note(errors.New("a given parameter has a bad name (not shown): the names of the template's parameters have only letters"))
		}
	}
	return faults.Err()
}

// Value returns the value that a parameter gets: the given value, the deployed stack's value, or the default.
func (t Template) Value(name string, given, deployed map[string]string) string {
	for _, values := range []map[string]string{given, deployed} {
		if v, ok := values[name]; ok {
			return v
		}
	}
	if d := t.Parameters[name].Default; d != nil {
		return *d
	}
	return ""
}

// Dropped returns NAME=VALUE of each deployed parameter that the template does not have.
func (t Template) Dropped(deployed map[string]string) (out []string) {
	for name, value := range deployed {
		if _, has := t.Parameters[name]; !has && value != "" {
			out = append(out, Shown(name, value))
		}
	}
	slices.Sort(out)
	return out
}

// CheckTogether checks all values of a deployment with the template's rules. An audience or client ids must be given.
func (t Template) CheckTogether(value func(name string) string) error {
	var faults Faults
	if value("Audience") == "" && value("ClientIds") == "" {
		faults.Note(errors.New("give AUDIENCE=, the aud of your access tokens (for Cognito, whose tokens have none: PARAMETERS='ClientIds=…'); without it every token is refused"))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Rules)) {
		r := t.Rules[name]
		if applies, err := isTrue(&r.RuleCondition, value); err != nil || !applies {
			faults.Note(err)
			continue
		}
		for _, a := range r.Assertions {
			isMet, err := isTrue(&a.Assert, value)
			if err == nil && !isMet {
				err = errors.New(a.AssertDescription)
			}
			faults.Note(err)
		}
	}
	return faults.Err()
}

// isTrue evaluates a condition. Error: the condition has another function than !Not and !Equals.
func isTrue(n *yaml.Node, value func(name string) string) (bool, error) {
	text := func(n *yaml.Node) string {
		if n.Tag == "!Ref" {
			return value(n.Value)
		}
		return n.Value
	}
	switch n.Tag {
	case "!Not":
		isMet, err := isTrue(n.Content[0], value)
		return !isMet, err
	case "!Equals":
		return text(n.Content[0]) == text(n.Content[1]), nil
	}
	return false, fmt.Errorf("template.yaml, line %d: %s in a condition", n.Line, n.Tag)
}
