package cloud

import (
	"strings"

	"latchkey/infra/deploy/settings"
)

// InReview is the status of a new stack: it has change sets, and none was executed.
const InReview = "REVIEW_IN_PROGRESS"

// Stack is CloudFormation's description of a stack, or of a change set.
type Stack struct {
	StackName, StackStatus      string
	EnableTerminationProtection bool

	Parameters []struct{ ParameterKey, ParameterValue string }
	Outputs    []Output
	Tags       []settings.Tag
}

// Output is an output of a stack.
type Output struct{ OutputKey, OutputValue string }

// Output returns the value of an output, or "" when there is none.
func (s *Stack) Output(name string) string {
	for _, o := range s.Outputs {
		if o.OutputKey == name {
			return o.OutputValue
		}
	}
	return ""
}

// Values returns the values of all parameters; none when the stack is nil.
func (s *Stack) Values() map[string]string {
	all := map[string]string{}
	if s != nil {
		for _, p := range s.Parameters {
			all[p.ParameterKey] = p.ParameterValue
		}
	}
	return all
}

// Stacks returns the stack with this name; an empty list if there is none. With the name "" it returns all stacks.
func (c *Client) Stacks(name string) ([]Stack, error) {
	in := Params{}
	if name != "" {
		in["StackName"] = name
	}
	var out struct{ Stacks []Stack }
	err := c.Call("cloudformation", "describe_stacks", in, &out)
	if err != nil && name != "" && strings.Contains(err.Error(), "does not exist") {
		return nil, nil
	}
	return out.Stacks, err
}

// ChangeSets returns the change sets of a stack, with their parameters and tags.
func (c *Client) ChangeSets(stack string) (all []Stack, err error) {
	var list struct {
		Summaries []struct{ ChangeSetID string }
	}
	if err := c.Call("cloudformation", "list_change_sets", Params{"StackName": stack}, &list); err != nil {
		return nil, err
	}
	for _, set := range list.Summaries {
		var one Stack
		if err := c.Call("cloudformation", "describe_change_set", Params{"ChangeSetName": set.ChangeSetID, "StackName": stack}, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
