package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
)

// protect makes CloudFormation refuse to delete the stack, and to replace or remove its protected resources. It runs after each
// deployment.
func (p *program) protect(context.Context) error {
	if p.Unprotected {
		return nil
	}
	if err := p.setPolicy(policyFor(settings.Protected)); err != nil {
		return err
	}
	return p.setTerminationProtection(true)
}

// policyFor returns a stack policy that forbids updates to replace or remove these resources.
func policyFor(resources []string) string {
	type statement struct {
		Effect    string
		Action    []string
		Principal string
		Resource  []string
	}
	all := []statement{{"Allow", []string{"Update:*"}, "*", []string{"*"}}}
	var named []string
	for _, r := range resources {
		named = append(named, "LogicalResourceId/"+r)
	}
	if named != nil {
		all = append(all, statement{"Deny", []string{"Update:Replace", "Update:Delete"}, "*", named})
	}
	text, _ := json.Marshal(map[string]any{"Statement": all}) // no error: only texts
	return string(text)
}

func (p *program) setPolicy(body string) error {
	if err := p.aws.Call("cloudformation", "set_stack_policy", cloud.Params{"StackName": p.Stack, "StackPolicyBody": body}, nil); err != nil {
		return fmt.Errorf("the stack policy of %s cannot be set: %w", p.Stack, err)
	}
	return nil
}

func (p *program) setTerminationProtection(on bool) error {
	in := cloud.Params{"StackName": p.Stack, "EnableTerminationProtection": on}
	if err := p.aws.Call("cloudformation", "update_termination_protection", in, nil); err != nil {
		return fmt.Errorf("the termination protection of %s cannot be set: %w", p.Stack, err)
	}
	return nil
}

// withoutPolicy calls do while the stack policy does not protect the resources in REPLACE. Then it restores the policy.
func (p *program) withoutPolicy(do func() error) error {
	if len(p.Replace) == 0 || p.deployed == nil {
		return do()
	}
	var out struct{ StackPolicyBody string }
	if err := p.aws.Call("cloudformation", "get_stack_policy", cloud.Params{"StackName": p.Stack}, &out); err != nil {
		return fmt.Errorf("the stack policy of %s cannot be read: %w", p.Stack, err)
	}
	if out.StackPolicyBody == "" {
		return do()
	}
	rest := slices.DeleteFunc(slices.Clone(settings.Protected), func(r string) bool { return slices.Contains(p.Replace, r) })
	if err := p.setPolicy(policyFor(rest)); err != nil {
		return err
	}
	return join(do(), p.setPolicy(out.StackPolicyBody))
}
