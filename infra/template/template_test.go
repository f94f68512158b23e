// Package template_test checks that template.yaml is what the product promises. It reads the
// document that CloudFormation would get, with SAM's defaults.
//
// Each promise is a check, which returns faults. A test wants it to return none, and
// TestPlantedFaultsAreFound wants it to return some for a template with a planted fault.
package template_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/lab/translated"
	"latchkey/infra/tools"
)

// check returns the faults of a template, one a line.
type check func(*translated.Template) []string

// options returns the options of a deployment: values of the parameters without a default, of the
// alarms' topic, and of what opens the shared authorizers and the function URL to others.
func options() translated.Options {
	return translated.Options{StackName: stackOfTests, Parameters: map[string]string{
		"Issuer": "https://issuer.example", "AlarmTopicArn": topicOfTests, "ForwardAuth": "true", "ConsumerOrganizationId": organizationOfTests,
	}}
}

const stackOfTests = "latchkey"

const organizationOfTests = "o-0123456789"

const topicOfTests = "arn:aws:sns:us-east-1:000000000000:operators"

var deployed = sync.OnceValues(func() (*translated.Template, error) {
	if path := os.Getenv(mutantVariable); path != "" {
		return readMutant(path)
	}
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	return translated.Translate(context.Background(), filepath.Join(root, "template.yaml"), options())
})

func template(t *testing.T) *translated.Template {
	t.Helper()
	tpl, err := deployed()
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func holds(t *testing.T, checks ...check) {
	t.Helper()
	tpl := template(t)
	for _, c := range checks {
		for _, wrong := range c(tpl) {
			t.Error(wrong)
		}
	}
}

// plant is a fault: old becomes new in the translated text of a resource, or of all resources when
// none is named. A resource "Parameters/X" is a parameter. The template must still resolve.
type plant struct {
	fault    string
	found    check
	resource string
	old, new string
}

func TestPlantedFaultsAreFound(t *testing.T) {
	tpl := template(t)
	for _, plants := range [][]plant{routePlants(), responsePlants(), rolePlants(), resourcePlants(), sourcePlants(), settingPlants(), alarmPlants(), restoredPlants(), doorPlants()} {
		for _, p := range plants {
			t.Run(p.fault, func(t *testing.T) {
				if wrong := p.found(planted(t, tpl, p)); len(wrong) == 0 {
					t.Error("nothing was found")
				}
			})
		}
	}
}

func planted(t *testing.T, tpl *translated.Template, p plant) *translated.Template {
	t.Helper()
	var raw map[string]any
	parse(t, text(t, tpl.Raw), &raw)
	section, name, named := strings.Cut(p.resource, "/")
	if !named {
		section, name = "Resources", p.resource
	}
	all, _ := raw[section].(map[string]any)
	before := text(t, all)
	if name != "" {
		before = text(t, all[name])
	}
	after := strings.Replace(before, p.old, p.new, 1)
	if after == before {
		t.Fatalf("%s has no %s", p.resource, p.old)
	}
	var changed map[string]any
	parse(t, after, &changed)
	if name == "" {
		raw[section] = changed
	} else {
		all[name] = changed
	}
	faulty := *tpl
	faulty.Raw = raw
	out, err := faulty.Resolve(options())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// text returns a value as JSON with sorted names and without escapes.
func text(t *testing.T, v any) string {
	t.Helper()
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func parse(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// object returns a value of a translated document as an object, or nil.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// list returns a value of a translated document as a list, or nil.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

func words(v any) []string {
	var out []string
	for _, e := range list(v) {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}
