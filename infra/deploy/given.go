package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"latchkey/infra/tools"
	"latchkey/pkg/webhook"
)

const usage = "make deploy ISSUER=https://… AUDIENCE=… [STACK=latchkey] [REGION=us-east-1] [ARCH=arm64] [YES=1] [TAGS='name=value …'] [PARAMETERS='Name=value …']"

// given has the settings of `make deploy`, which come in the environment.
type given struct {
	stack        string
	region       string            // "": the profile's
	architecture string            // "": that of the deployed stack, or the default
	parameters   map[string]string // of the template, without Architecture
	tags         []tag             // of the stack and of its keys
	tagsGiven    bool              // TAGS is given; empty, it removes all tags
	yes          bool              // deploy without a question
}

func readGiven(lookup func(string) (string, bool)) (given, error) {
	env := func(name string) string { v, _ := lookup(name); return v }
	g := given{stack: cmp.Or(env("STACK"), "latchkey"), region: cmp.Or(env("REGION"), env("AWS_REGION"), env("AWS_DEFAULT_REGION")), parameters: map[string]string{}}
	more, err := tools.ParseParameters(env("PARAMETERS"))
	if err != nil {
		return g, err
	}
	maps.Copy(g.parameters, more)
	for variable, name := range map[string]string{"ISSUER": "Issuer", "AUDIENCE": "Audience"} {
		if env(variable) == "" {
			continue
		}
		if _, twice := g.parameters[name]; twice {
			return g, fmt.Errorf("%s is given twice: by %s and in PARAMETERS", name, variable)
		}
		g.parameters[name] = env(variable)
	}
	if _, ok := g.parameters["Architecture"]; ok {
		return g, errors.New("give ARCH=arm64 or ARCH=amd64 instead of the parameter Architecture: the build needs it too")
	}
	if err := g.readTags(lookup("TAGS")); err != nil {
		return g, err
	}
	for name, value := range g.parameters {
		if strings.ContainsAny(value, " \t\n\"\\") {
			return g, fmt.Errorf("%s has a blank, a quote or a backslash, which the SAM CLI does not pass on", name)
		}
	}
	if g.architecture, err = architecture(env("ARCH")); err != nil {
		return g, err
	}
	g.yes = env("YES") == "1"
	if !g.yes && env("YES") != "" {
		return g, fmt.Errorf("YES=%s: only YES=1 deploys without a question", env("YES"))
	}
	return g, nil
}

// architecture returns the template's name of a processor, which is x86_64 for Go's amd64.
func architecture(name string) (string, error) {
	known, ok := map[string]string{"": "", "arm64": "arm64", "x86_64": "x86_64", "amd64": "x86_64"}[name]
	if !ok {
		return "", fmt.Errorf("ARCH=%s: the functions run on arm64 or amd64", name)
	}
	return known, nil
}

// maxTags limits the tags of a stack: AWS takes 50 on each resource, and signing keys have
// webhook.StackTag too.
const maxTags = 49

// tag is a tag of the stack. CloudFormation puts it on the stack's resources.
type tag struct{ Key, Value string }

// characters matches what the SAM CLI, CloudFormation's parameters and AWS's tags all take.
var characters = regexp.MustCompile(`^[A-Za-z0-9_.:/=+@-]+$`)

// readTags sets the stack's tags, and the parameters that pass them to the rotation, if TAGS is given.
func (g *given) readTags(text string, isGiven bool) (err error) {
	for _, name := range tagParameters {
		if _, ok := g.parameters[name]; ok {
			return fmt.Errorf("give TAGS='name=value …' instead of the parameter %s: the stack gets them too", name)
		}
	}
	g.tagsGiven = isGiven
	if !isGiven {
		return nil
	}
	if g.tags, err = parseTags(text); err != nil {
		return err
	}
	maps.Copy(g.parameters, parametersOfTags(g.tags))
	return nil
}

// parseTags reads tags as name=value, with blanks between them, and sorts them by name.
func parseTags(text string) ([]tag, error) {
	all, err := tools.ParseParameters(text)
	if err != nil {
		return nil, fmt.Errorf("TAGS: %w", err)
	}
	var out []tag
	for name, value := range all {
		if err := checkTag(name, value); err != nil {
			return nil, fmt.Errorf("TAGS: %s=%s: %w", name, value, err)
		}
		out = append(out, tag{name, value})
	}
	if len(out) > maxTags {
		return nil, fmt.Errorf("TAGS has %d tags: %d are the most", len(out), maxTags)
	}
	slices.SortFunc(out, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

func checkTag(name, value string) error {
	prefix, _, _ := strings.Cut(webhook.StackTag, ":")
	switch {
	case strings.HasPrefix(strings.ToLower(name), prefix+":"):
		return fmt.Errorf("a tag %s:… is Latchkey's own, by which the roles know the stack's keys", prefix)
	case strings.HasPrefix(strings.ToLower(name), "aws:"):
		return errors.New("a tag aws:… is AWS's own")
	case !characters.MatchString(name) || len(name) > 128:
		return errors.New("a name has 1 to 128 of the characters A-Z a-z 0-9 _ . : / = + @ -")
	case !characters.MatchString(value) || len(value) > 256:
		return errors.New("a value has 1 to 256 of the characters A-Z a-z 0-9 _ . : / = + @ -")
	}
	return nil
}

// tagParameters are the parameters that pass the tags to the rotation. CloudFormation does not
// make, and so does not tag, the keys that the rotation makes.
var tagParameters = [2]string{"KeyTagNames", "KeyTagValues"}

// parametersOfTags returns the values of tagParameters.
func parametersOfTags(tags []tag) map[string]string {
	var names, values []string
	for _, t := range tags {
		names, values = append(names, t.Key), append(values, t.Value)
	}
	return map[string]string{tagParameters[0]: strings.Join(names, ","), tagParameters[1]: strings.Join(values, ",")}
}

// stackTags returns the tags of the coming deployment. Without TAGS they are the deployed stack's:
// the SAM CLI removes tags that it is not given.
func (p *program) stackTags() []tag {
	if p.tagsGiven || p.deployed == nil {
		return p.tags
	}
	return p.deployed.Tags
}

// tagArguments returns the SAM CLI's arguments for tags.
func tagArguments(tags []tag) []string {
	if len(tags) == 0 {
		return nil
	}
	args := []string{"--tags"}
	for _, t := range tags {
		args = append(args, fmt.Sprintf(`"%s"="%s"`, t.Key, t.Value))
	}
	return args
}
