package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"

	"latchkey/infra/tools"
)

const usage = "make deploy ISSUER=https://… AUDIENCE=… [STACK=latchkey] [REGION=us-east-1] [ARCH=arm64] [YES=1] [TAGS='name=value …'] [PARAMETERS='Name=value …']"

// given has the settings that make passes on.
type given struct {
	stack        string
	region       string            // "": of the environment or the profile
	architecture string            // "": of the deployed stack
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
	switch env("YES") {
	case "", "1":
		g.yes = env("YES") == "1"
	default:
		return g, fmt.Errorf("YES=%s: only YES=1 deploys without a question", env("YES"))
	}
	return g, nil
}

// architecture returns the template's name of a processor. Go and make build call x86_64
// amd64.
func architecture(name string) (string, error) {
	switch name {
	case "", "arm64", "x86_64":
		return name, nil
	case "amd64":
		return "x86_64", nil
	}
	return "", fmt.Errorf("ARCH=%s: the functions run on arm64 or amd64", name)
}
