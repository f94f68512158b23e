package main

import (
	"context"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
)

// TestChangeSetsOfOthersAreNeverExecuted lets another program make a change set before each call of a deployment. Some of these
// change sets replace the deployment's change set under the same name.
func TestChangeSetsOfOthersAreNeverExecuted(t *testing.T) {
	t.Parallel()
	const cf = "cloudformation:"
	all := []string{cf + "DescribeStacks", cf + "GetTemplateSummary", cf + "CreateChangeSet", cf + "DescribeChangeSet", cf + "ExecuteChangeSet"}
	const changed, same = "AUDIENCE=https://other.example", "AUDIENCE=https://api.example"
	for name, c := range map[string]struct {
		faults    standin.Faults
		variables []string
		typed     string
		deploys   bool // our change is deployed
		fails     bool
	}{
		"with each call":                  {faults: standin.Faults{Others: all}, variables: []string{changed, "YES=1"}, deploys: true},
		"a person confirms":               {faults: standin.Faults{Others: all}, variables: []string{changed}, typed: "y\n", deploys: true},
		"declined":                        {faults: standin.Faults{Others: all}, variables: []string{changed}, typed: "n\n", fails: true},
		"nothing changes":                 {faults: standin.Faults{Others: all}, variables: []string{same, "YES=1"}},
		"nothing changes, by a person":    {faults: standin.Faults{Others: all[2:3]}, variables: []string{same}, typed: "y\n"},
		"ours is swapped when executed":   {faults: standin.Faults{Others: all[4:5], Swapped: true}, variables: []string{changed, "YES=1"}, fails: true},
		"an empty one of ours is swapped": {faults: standin.Faults{Others: all[3:4], Swapped: true}, variables: []string{same, "YES=1"}, fails: true},
		"a dry run":                       {faults: standin.Faults{Others: all}, variables: []string{changed, "DRY=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).withSAM()
			out, err := r.deploy(first...)
			succeeded(t, out, err)
			r.aws.Set(c.faults)
			r.in = c.typed
			out, err = r.deploy(c.variables...)
			if (err != nil) != c.fails {
				t.Errorf("%v\n%s", err, out)
			}
			now := r.aws.Stack("latchkey")
			if strings.Contains(now.Template, standin.Backdoor) || (now.Parameters["Audience"] == "https://other.example") != c.deploys {
				t.Errorf("deployed: %s, for %s\n%s", now.Status, now.Parameters["Audience"], out)
			}
			if strings.Contains(out, standin.Backdoor) {
				t.Errorf("the change set of the other program is shown:\n%s", out)
			}
		})
	}
}

// TestAStackWithForeignChangeSetsIsKept undeploys a stack that was never deployed. Another program has made a change set for it.
func TestAStackWithForeignChangeSetsIsKept(t *testing.T) {
	t.Parallel()
	const describes, creates = "cloudformation:DescribeStacks", "cloudformation:CreateChangeSet"
	for name, c := range map[string]struct {
		ours   []string // before each of these calls of our failed deployment another program makes a change set; nil: we deploy nothing
		others []string // the same for the calls of the undeployment; with "refuse", AWS refuses the second call
		words  []string // of the undeployment's error; nil: it removes the stack
	}{
		"only the other's":        {nil, []string{describes}, []string{"is not Latchkey's"}},
		"another's and ours":      {[]string{creates}, nil, []string{"is not Latchkey's"}},
		"one is made in between":  {[]string{}, []string{describes}, []string{"is not Latchkey's"}},
		"only ours":               {[]string{}, nil, nil},
		"the list cannot be read": {[]string{}, []string{"refuse", "cloudformation:ListChangeSets"}, []string{"no right"}},
		"a set that is not read":  {[]string{}, []string{"refuse", "cloudformation:DescribeChangeSet"}, []string{"no right"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).withSAM()
			if c.ours != nil {
				r.aws.Set(standin.Faults{ChangeSet: "Transform failed", Others: c.ours})
				_, err := r.deploy(first...)
				refused(t, err, "sam deploy failed")
			}
			faults := standin.Faults{Others: c.others}
			if len(c.others) == 2 {
				faults = standin.Faults{Refuse: map[string]string{c.others[1]: "no right"}}
			}
			r.aws.Set(faults)
			out, err := r.undeploy("YES=1")
			if c.words == nil {
				succeeded(t, out, err)
			} else {
				refused(t, err, c.words...)
			}
			if isThere := r.aws.Stack("latchkey") != nil; isThere != (c.words != nil) {
				t.Errorf("the stack is there: %v\n%s", isThere, out)
			}
		})
	}
}

// TestDecliningKeepsAStackWithForeignChangeSets declines first deployments, or only shows them. Some stacks have a change set of
// another program, and some calls are refused. The stack is removed only if it surely has no other change set.
func TestDecliningKeepsAStackWithForeignChangeSets(t *testing.T) {
	t.Parallel()
	others := []string{"cloudformation:CreateChangeSet"}
	refuse := func(call string) map[string]string { return map[string]string{"cloudformation:" + call: "no right"} }
	for name, c := range map[string]struct {
		faults  standin.Faults
		dry     bool
		waiting int    // the change sets that the stack still has; -1: the stack is removed
		word    string // in the error, besides "declined"
	}{
		"only ours":                       {standin.Faults{}, false, -1, ""},
		"another's and ours":              {standin.Faults{Others: others}, false, 1, ""},
		"a dry run and another's":         {standin.Faults{Others: others}, true, 1, ""},
		"the list cannot be read":         {standin.Faults{Others: others, Refuse: refuse("ListChangeSets")}, false, 1, ""},
		"a dry run without the list":      {standin.Faults{Refuse: refuse("ListChangeSets")}, true, 0, ""},
		"ours cannot be removed":          {standin.Faults{Refuse: refuse("DeleteChangeSet")}, false, 1, "no right"},
		"a dry run cannot remove ours":    {standin.Faults{Refuse: refuse("DeleteChangeSet")}, true, 1, "no right"},
		"the stack cannot be removed":     {standin.Faults{Refuse: refuse("DeleteStack")}, false, 0, "no right"},
		"another's when the list is read": {standin.Faults{Others: []string{"cloudformation:ListChangeSets"}}, false, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).withSAM()
			r.aws.Set(c.faults)
			r.in = "n\n"
			variables, words := first[:2:2], []string{"declined", c.word} // without YES=1
			if c.dry {
				variables, words = append(variables, "DRY=1"), []string{c.word}
			}
			out, err := r.deploy(variables...)
			if c.dry && c.word == "" {
				succeeded(t, out, err)
			} else {
				refused(t, err, words...)
			}
			now, waiting := r.aws.Stack("latchkey"), -1
			if now != nil {
				waiting = now.Waiting()
			}
			if waiting != c.waiting {
				t.Errorf("%d change sets are left, want %d", waiting, c.waiting)
			}
		})
	}
}

// TestADeployedStackIsNotRemovedWithItsChangeSet removes a change set of a stack that another deployment has deployed meanwhile.
func TestADeployedStackIsNotRemovedWithItsChangeSet(t *testing.T) {
	r := newRig(t)
	for _, status := range []string{"CREATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_COMPLETE", "ROLLBACK_COMPLETE"} {
		r.aws.Put("latchkey", status, deployedWith(t))
		_, err := r.run(func(p *program, ctx context.Context) error {
			if err := p.connect(ctx); err != nil {
				return err
			}
			return p.remove("gone")
		}, nil)
		refused(t, err, "ChangeSetNotFound")
		if r.aws.Stack("latchkey") == nil {
			t.Errorf("%s: the stack is removed", status)
		}
	}
}

// TestAStackIsKnownByAllItsParameters tries stacks of other products with some of Latchkey's parameters.
func TestAStackIsKnownByAllItsParameters(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]string{
		"two of ours": {"Issuer": "https://i.example", "KeyPrefix": "k"}, "three": {"Issuer": "", "KeyPrefix": "", "EmailsAreVerified": ""}, "none": nil,
		"others": {"Issuer": "", "Audience": "", "KeyPrefix": "", "Region": ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.aws.Put("latchkey", "CREATE_COMPLETE", values)
			_, err := r.undeploy("YES=1")
			refused(t, err, "is not Latchkey's")
			_, err = r.deploy(first...)
			refused(t, err, "is not Latchkey's")
		})
	}
}

// TestANewStackIsNotMadeByOthers tries a stack for which another program has made a change set.
func TestANewStackIsNotMadeByOthers(t *testing.T) {
	r := newRig(t).withSAM()
	r.aws.Set(standin.Faults{Others: []string{"cloudformation:DescribeStacks", "cloudformation:CreateChangeSet", "cloudformation:DescribeChangeSet"}})
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	if now := r.aws.Stack("latchkey"); now.Status != "CREATE_COMPLETE" || strings.Contains(now.Template, standin.Backdoor) {
		t.Errorf("deployed: %s\n%s", now.Status, now.Template)
	}
}
