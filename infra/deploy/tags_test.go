package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTagsReachTheStackAndTheRotation wants tags to be set at a first deployment, to stay when
// TAGS is not given, and to be removed when TAGS is empty.
func TestTagsReachTheStackAndTheRotation(t *testing.T) {
	r := newRig(t).withSAM()
	first := []string{"env=prod", "team=payments", "url=https://a.example/b=c"}
	for _, c := range []struct {
		variables     []string
		tags          []string
		names, values string
		words         []string
	}{
		{
			[]string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "TAGS=team=payments env=prod url=https://a.example/b=c"},
			first, "env,team,url", "prod,payments,https://a.example/b=c", nil,
		},
		{nil, first, "env,team,url", "prod,payments,https://a.example/b=c", []string{"No changes to deploy"}},
		{[]string{"TAGS=env=test"}, []string{"env=test"}, "env", "test", nil},
		{[]string{"TAGS="}, nil, "", "", nil},
	} {
		out, err := r.deploy(append(c.variables, "YES=1")...)
		succeeded(t, out, err)
		has(t, "output", out, c.words...)
		now := r.aws.Stack("latchkey")
		tags := now.Tags()
		slices.Sort(tags)
		if got := now.Parameters; !slices.Equal(tags, c.tags) || got["KeyTagNames"] != c.names || got["KeyTagValues"] != c.values {
			t.Errorf("%q: tags %q, %q=%q", c.variables, tags, got["KeyTagNames"], got["KeyTagValues"])
		}
	}
}

// TestTagsThatCannotBeAreRefusedBeforeABuild tries tags of Latchkey's own, tags of AWS's own, and
// tags that a program between make and KMS does not take.
func TestTagsThatCannotBeAreRefusedBeforeABuild(t *testing.T) {
	var many []string
	for i := range mostTags + 1 {
		many = append(many, fmt.Sprintf("t%d=x", i))
	}
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	for _, c := range []struct{ variable, word string }{
		{"TAGS=latchkey:stack=other", "is Latchkey's own"}, {"TAGS=team=a Latchkey:Stack=other", "is Latchkey's own"}, {"TAGS=latchkey:kind=key", "is Latchkey's own"},
		{"TAGS=aws:team=a", "is AWS's own"}, {"TAGS=team", "\"team\""}, {"TAGS==a", "\"=a\""}, {"TAGS=team=", "a value has 1 to 256"},
		{"TAGS=team=a team=b", "each once"}, {"TAGS=team=a,b", "a value has"}, {"TAGS=te\"am=a", "a name has"}, {"TAGS=tëam=a", "a name has"},
		{"TAGS=team=" + strings.Repeat("v", 257), "a value has"}, {"TAGS=" + strings.Repeat("n", 129) + "=a", "a name has"},
		{"TAGS=" + strings.Join(many, " "), "49 are the most"}, {"PARAMETERS=KeyTagNames=team", "give TAGS="}, {"PARAMETERS=KeyTagValues=a", "give TAGS="},
	} {
		_, err := r.deploy("YES=1", c.variable)
		refused(t, err, c.word)
		if calls := r.calls(); calls != nil {
			t.Errorf("%s: the SAM CLI was run: %q", c.variable, calls)
		}
	}
}

// TestTagsPutByOthersAreKept fails when the SAM CLI removes them.
func TestTagsPutByOthersAreKept(t *testing.T) {
	r := newRig(t).withSAM()
	first := []string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1"}
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	r.aws.Tag("latchkey", "cost centre", "12 a")
	out, err = r.deploy("YES=1", "PARAMETERS=RotationDays=30")
	succeeded(t, out, err)
	if got := r.aws.Stack("latchkey").Tags(); !slices.Equal(got, []string{"cost centre=12 a"}) {
		t.Errorf("tags %q", got)
	}
}
