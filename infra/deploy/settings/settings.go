// Package settings reads the variables of `make deploy`, and checks them with the template only. It has no dependency that takes
// long to compile, so values that cannot work are refused before anything is installed.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"latchkey/infra/tools/parameters"
)

// Usage is the command of a first deployment.
const Usage = "make deploy ISSUER=https://… AUDIENCE=… [STACK=latchkey] [REGION=us-east-1] [ARCH=arm64] [YES=1] [TAGS='name=value …'] [PARAMETERS='Name=value …']"

// Settings are the variables of `make deploy`, read from the environment.
type Settings struct {
	Stack        string
	Region       string            // "": the region of the AWS profile
	Architecture string            // "": keep the deployed value, or the default
	Parameters   map[string]string // of the template, without Architecture
	Tags         []Tag             // of the stack and of its keys
	TagsGiven    bool              // TAGS is given; an empty TAGS removes all tags
	Yes          bool              // deploy without a question
	Dry          bool              // only show the change set, or the differences of the templates
	Compare      bool              // with Dry: compare the templates, and make no change set
	Unprotected  bool              // leave the stack's protection as it is
	Replace      []string          // protected resources that may be replaced or removed
}

// Protected are the resources whose loss cannot be undone. They hold the rows, the key that receivers know, the API's address, and
// the waiting deliveries.
var Protected = []string{"Api", "DeliveryQueue", "SigningKey", "Table"}

// Read reads the settings. Its error has all faults in one line.
func Read(lookup func(string) (string, bool)) (Settings, error) {
	env := func(name string) string { v, _ := lookup(name); return v }
	g := Settings{Stack: cmp.Or(env("STACK"), "latchkey"), Region: cmp.Or(env("REGION"), env("AWS_REGION"), env("AWS_DEFAULT_REGION")), Parameters: map[string]string{}}
	var faults Faults
	more, err := parameters.Parse(env("PARAMETERS"))
	faults.Note(err)
	maps.Copy(g.Parameters, more)
	for variable, name := range map[string]string{"ISSUER": "Issuer", "AUDIENCE": "Audience"} {
		if env(variable) == "" {
			continue
		}
		if _, twice := g.Parameters[name]; twice {
			faults.Note(fmt.Errorf("%s is given twice: by %s and in PARAMETERS", name, variable))
		}
		g.Parameters[name] = env(variable)
	}
	if _, ok := g.Parameters["Architecture"]; ok {
		faults.Note(errors.New("give ARCH=arm64 or ARCH=amd64 instead of the parameter Architecture: the build needs it too"))
	}
	faults.Note(g.readTags(lookup("TAGS")))
	for _, name := range slices.Sorted(maps.Keys(g.Parameters)) {
		if strings.ContainsAny(g.Parameters[name], "\t\n\"\\") {
			faults.Note(fmt.Errorf("%s has a quote, a backslash, a tab or a new line, which the SAM CLI does not pass on", name))
		}
	}
	g.Architecture, err = architecture(env("ARCH"))
	faults.Note(err)
	for name, values := range map[string][]string{"YES": {"1"}, "DRY": {"1", "templates"}, "PROTECT": {"0"}} {
		if value := env(name); value != "" && !slices.Contains(values, value) {
			faults.Note(fmt.Errorf("%s=%s: only %s=%s is known", name, value, name, strings.Join(values, " or ")))
		}
	}
	g.Yes, g.Dry, g.Compare, g.Unprotected = env("YES") != "", env("DRY") != "", env("DRY") == "templates", env("PROTECT") != ""
	for _, name := range strings.Fields(env("REPLACE")) {
		if !slices.Contains(Protected, name) {
			faults.Note(fmt.Errorf("REPLACE=%s: the protected resources are %s", name, strings.Join(Protected, ", ")))
		}
		g.Replace = append(g.Replace, name)
	}
	return g, faults.Err()
}

// architecture returns the template's name of a processor, which is x86_64 for Go's amd64.
func architecture(name string) (string, error) {
	known, ok := map[string]string{"": "", "arm64": "arm64", "x86_64": "x86_64", "amd64": "x86_64"}[name]
	if !ok {
		return "", fmt.Errorf("ARCH=%s: the functions run on arm64 or amd64", name)
	}
	return known, nil
}

// MaxTags limits the tags of a stack. AWS allows 50 on each resource, and a signing key also has Latchkey's tag.
const MaxTags = 49

// Tag is a tag of the stack. CloudFormation puts it on the stack's resources.
type Tag struct{ Key, Value string }

// characters matches the texts that the SAM CLI, CloudFormation's parameters and AWS's tags all accept.
var characters = regexp.MustCompile(`^[A-Za-z0-9_.:/=+@-]+$`)

// readTags sets the stack's tags, and the parameters that pass them to the rotation, if TAGS is given.
func (g *Settings) readTags(text string, isGiven bool) (err error) {
	for _, name := range tagParameters {
		if _, ok := g.Parameters[name]; ok {
			return fmt.Errorf("give TAGS='name=value …' instead of the parameter %s: the stack gets them too", name)
		}
	}
	g.TagsGiven = isGiven
	if !isGiven {
		return nil
	}
	if g.Tags, err = parseTags(text); err != nil {
		return err
	}
	maps.Copy(g.Parameters, parametersOfTags(g.Tags))
	return nil
}

// parseTags reads tags as name=value, with blanks between them, and sorts them by name.
func parseTags(text string) ([]Tag, error) {
	all, err := parameters.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("TAGS: %w", err)
	}
	var out []Tag
	for name, value := range all {
		if err := checkTag(name, value); err != nil {
			return nil, fmt.Errorf("TAGS: %s=%s: %w", name, value, err)
		}
		out = append(out, Tag{name, value})
	}
	if len(out) > MaxTags {
		return nil, fmt.Errorf("TAGS has %d tags: %d are the most", len(out), MaxTags)
	}
	slices.SortFunc(out, func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// TrialTag marks the resources that `make trial` made, so that it can remove them. The tag's value is the stack's name.
const TrialTag = "latchkey-trial"

// CheckTrial returns an error if a stack has the name of a trial without its tag, or the tag without the name: the next trial of
// the account removes a stack with such a name, and its table.
func (g Settings) CheckTrial() error {
	isTrial := strings.HasPrefix(g.Stack, TrialTag)
	at := slices.IndexFunc(g.Tags, func(t Tag) bool { return strings.EqualFold(t.Key, TrialTag) })
	if isTrial && (at < 0 || g.Tags[at] != Tag{TrialTag, g.Stack}) || !isTrial && at >= 0 {
		return fmt.Errorf("STACK=%s: a name that begins with %[2]s and the tag %[2]s are for trials; the next make trial removes such stacks with their tables: give others", g.Stack, TrialTag)
	}
	return nil
}

// OurTagPrefix begins the names of our own tags (webhook.StackTag).
const OurTagPrefix = "latchkey:"

func checkTag(name, value string) error {
	switch {
	case strings.HasPrefix(strings.ToLower(name), OurTagPrefix):
		return fmt.Errorf("a tag %s… is Latchkey's own: by this tag the roles recognise the stack's keys", OurTagPrefix)
	case strings.HasPrefix(strings.ToLower(name), "aws:"):
		return errors.New("a tag aws:… is AWS's own")
	case !characters.MatchString(name) || len(name) > 128:
		return errors.New("a name has 1 to 128 of the characters A-Z a-z 0-9 _ . : / = + @ -")
	case !characters.MatchString(value) || len(value) > 256:
		return errors.New("a value has 1 to 256 of the characters A-Z a-z 0-9 _ . : / = + @ -")
	}
	return nil
}

// tagParameters are the parameters that pass the tags to the rotation. The rotation makes keys and tags them itself: CloudFormation
// does not know these keys.
var tagParameters = [2]string{"KeyTagNames", "KeyTagValues"}

// parametersOfTags returns the values of tagParameters.
func parametersOfTags(tags []Tag) map[string]string {
	var names, values []string
	for _, t := range tags {
		names, values = append(names, t.Key), append(values, t.Value)
	}
	return map[string]string{tagParameters[0]: strings.Join(names, ","), tagParameters[1]: strings.Join(values, ",")}
}

// ErrNoRegion means that neither the settings nor AWS's configuration name a region.
var ErrNoRegion = errors.New("no AWS region is set: give REGION=us-east-1, or another")
