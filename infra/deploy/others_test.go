package main

import (
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
)

// TestChangeSetsOfOthersAreNeverExecuted has another program make a change set before each call of a deployment, also one
// that takes the place and the name of the deployment's own.
func TestChangeSetsOfOthersAreNeverExecuted(t *testing.T) {
	t.Parallel()
	const cf = "cloudformation:"
	all := []string{cf + "DescribeStacks", cf + "GetTemplateSummary", cf + "CreateChangeSet", cf + "DescribeChangeSet", cf + "ExecuteChangeSet"}
	const changed, same = "AUDIENCE=https://other.example", "AUDIENCE=https://api.example"
	for name, c := range map[string]struct {
		faults    standin.Faults
		variables []string
		typed     string
		deploys   bool // the deployment's own change
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
				t.Errorf("the other's change set is shown:\n%s", out)
			}
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
