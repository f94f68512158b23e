package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/tools/parameters"
)

// maxShown is the number of characters of a property that are shown.
const maxShown = 120

// hidden is shown in place of a value that may be a secret.
const hidden = "(not shown)"

// notKnown is CloudFormation's value of a property that depends on a resource which the same change set makes or changes.
const notKnown = "{{changeSet:KNOWN_AFTER_APPLY}}"

// show prints each property that changes in an existing resource, and the names of new resources.
func (p *program) show(changes []change) {
	built := p.readBuilt()
	replaced := map[string]string{"True": ", which is REPLACED", "Conditional": ", which may be replaced"}
	for _, c := range changes {
		if c.Action == "Add" {
			c.Replacement = "" // for some new resources AWS answers True
		}
		p.say("%s %s (%s)%s", c.Action, c.LogicalResourceID, c.ResourceType, replaced[c.Replacement])
		for _, one := range p.properties(c, built) {
			p.say("  %s: %s -> %s", one.name, p.shown(one, one.before), p.shown(one, one.after))
		}
	}
}

// property is a property that changes.
type property struct {
	name, before, after string
	isSecret            bool
}

// properties returns the properties of a change, each once. CloudFormation lists a property once for each cause of its change, and
// may give the value with one cause only.
func (p *program) properties(c change, built *builtTemplate) (all []property) {
	for _, d := range c.Details {
		name := strings.ReplaceAll(strings.Trim(d.Target.Path, "/"), "/", ".")
		if d.Target.Path == "" || !strings.HasPrefix(name, d.Target.Attribute) {
			name = strings.Trim(d.Target.Attribute+"."+cmp.Or(name, d.Target.Name), ".")
		}
		at := slices.IndexFunc(all, func(one property) bool { return one.name == name })
		if at < 0 {
			at, all = len(all), append(all, property{name: name})
		}
		one := &all[at]
		one.before = cmp.Or(one.before, d.Target.BeforeValue)
		if one.after == "" || one.after == notKnown {
			one.after = cmp.Or(d.Target.AfterValue, one.after)
		}
		parameter, _, _ := strings.Cut(d.CausingEntity, ".")
		one.isSecret = one.isSecret || p.template.Parameters[parameter].NoEcho || built.holdsSecret(c.LogicalResourceID+"."+name)
	}
	return all
}

// shown returns the text that is shown for a property's value.
func (p *program) shown(one property, value string) string {
	switch {
	case value == notKnown:
		return "(known after the deployment)"
	case value != "" && one.isSecret, strings.Contains(value, `"NoEcho":true`):
		return hidden
	}
	return shortened(p.withoutSecrets(value))
}

// builtTemplate is the template as the SAM CLI has built it.
type builtTemplate struct {
	Parameters map[string]parameters.Parameter `yaml:"Parameters"`
	Resources  map[string]map[string]any       `yaml:"Resources"`
}

// readBuilt returns the built template, nil when it cannot be read.
func (p *program) readBuilt() *builtTemplate {
	var built builtTemplate
	text, err := os.ReadFile(filepath.Join(p.buildDir(), "template.yaml"))
	if err != nil || yaml.Unmarshal(text, &built) != nil {
		return nil
	}
	return &built
}

// holdsSecret reports whether a property's value may be a secret: a part of an environment, or a value with a NoEcho parameter in
// it. Without a built template it reports true. path has points: the resource's name, then the property's path.
func (built *builtTemplate) holdsSecret(path string) bool {
	steps := strings.Split(path, ".")
	if built == nil || slices.Contains(steps, "Environment") || built.Parameters[steps[0]].NoEcho {
		return true
	}
	part := any(built.Resources[steps[0]])
	for _, step := range steps[1:min(len(steps), 3)] { // Properties, then the property's name
		inner, _ := part.(map[string]any)
		part = inner[step]
	}
	value := inOneLine(part)
	for name, declared := range built.Parameters {
		if declared.NoEcho && strings.Contains(value, name) {
			return true
		}
	}
	return false
}

// withoutSecrets removes secrets from a text of AWS: the values of given NoEcho parameters, and everything after the beginning of
// an environment.
func (p *program) withoutSecrets(text string) string {
	for name, value := range p.Parameters {
		if value != "" && p.template.Parameters[name].NoEcho {
			text = strings.ReplaceAll(text, value, hidden)
		}
	}
	for _, begin := range []string{"String measured: ", `"Environment":`} { // Lambda's error; a property with nested ones
		if before, _, found := strings.Cut(text, begin); found {
			text = before + begin + hidden
		}
	}
	return text
}

func shortened(value string) string {
	if all := []rune(value); len(all) > maxShown {
		return string(all[:maxShown]) + "…"
	}
	return value
}
