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

// TestWhatOthersReviewStays has a stack that was never deployed, for which another program has made a change set.
func TestWhatOthersReviewStays(t *testing.T) {
	t.Parallel()
	const describes, creates = "cloudformation:DescribeStacks", "cloudformation:CreateChangeSet"
	for name, c := range map[string]struct {
		ours   []string // the calls of a deployment that fails before which others make a change set; nil: there is no such deployment
		others []string // the same for the undeployment
		words  []string // of the undeployment's error; nil: it removes the stack
	}{
		"only the other's":        {nil, []string{describes}, []string{"is not Latchkey's"}},
		"beside one of ours":      {[]string{creates}, nil, []string{"is not Latchkey's"}},
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

// TestADeclinedStackKeepsWhatOthersReview declines a first deployment, for which another program has made a change set too.
func TestADeclinedStackKeepsWhatOthersReview(t *testing.T) {
	r := newRig(t).withSAM()
	r.aws.Set(standin.Faults{Others: []string{"cloudformation:CreateChangeSet"}})
	r.in = "n\n"
	_, err := r.deploy(first[:2]...)
	refused(t, err, "declined")
	if now := r.aws.Stack("latchkey"); now == nil || now.Waiting() != 1 {
		t.Errorf("after a declined deployment: %+v", now)
	}
}

// TestAStackIsKnownByAllItsParameters puts stacks of others that have some parameters of ours.
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
