package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"latchkey/infra/deploy/cloud"
)

// undeploy deletes the stack, and prints which keys and tables stay.
func (p *program) undeploy(ctx context.Context, deployed *cloud.Stack) error {
	if err := p.checkOurs(deployed); err != nil {
		return err
	}
	tables, err := p.tables(deployed)
	if err != nil {
		return err
	}
	if err := p.checkNoHolder(deployed.Output("GuardPolicyArn")); err != nil {
		return err
	}
	if err := p.confirm(fmt.Sprintf("Delete the stack %s in %s of account %s? Its API ends at once, and APIs that call its authorizers fail; its table and signing keys stay.",
		p.Stack, p.aws.Region, p.account), "nothing was deleted"); err != nil {
		return err
	}
	if deployed.StackStatus == cloud.InReview {
		return p.aws.Call("cloudformation", "delete_stack", cloud.Params{"StackName": p.Stack}, nil)
	}
	if deployed.EnableTerminationProtection {
		if err := p.setTerminationProtection(false); err != nil {
			return err
		}
	}
	if err := p.run(ctx, p.out, "delete", "--stack-name", p.Stack, "--region", p.aws.Region, "--no-prompts"); err != nil {
		if deployed.EnableTerminationProtection {
			err = join(err, p.setTerminationProtection(true))
		}
		return err
	}
	p.say("%s", listKept(p.Stack, p.aws.Region, tables))
	return nil
}

// tables returns the tables that stay: the stack's table, and the restored table if the parameter TableStreamArn names one.
func (p *program) tables(deployed *cloud.Stack) (tables []string, err error) {
	own, err := p.ownTable()
	if own != "" {
		tables = append(tables, own)
	}
	if stream := deployed.Values()["TableStreamArn"]; stream != "" {
		tables = append(tables, tableOf(stream))
	}
	return tables, err
}

// ownTable returns the name of the table that the stack made, also while it uses another one; "" if it has none.
func (p *program) ownTable() (string, error) {
	var out struct {
		StackResourceSummaries []struct{ LogicalResourceID, PhysicalResourceID string }
	}
	if err := p.aws.Call("cloudformation", "list_stack_resources", cloud.Params{"StackName": p.Stack}, &out); err != nil {
		return "", fmt.Errorf("the resources of %s cannot be read: %w", p.Stack, err)
	}
	for _, r := range out.StackResourceSummaries {
		if r.LogicalResourceID == "Table" {
			return r.PhysicalResourceID, nil
		}
	}
	return "", nil
}

// checkNoHolder returns an error that names the roles, users and groups that have the policy. IAM does not delete a policy while a
// role, user or group has it, so the deletion of the stack would fail half-way.
func (p *program) checkNoHolder(policy string) error {
	if policy == "" {
		return nil // the first deployment of the stack failed
	}
	type holder struct{ RoleName, UserName, GroupName string } // one of them is set
	var out struct{ PolicyRoles, PolicyUsers, PolicyGroups []holder }
	if err := p.aws.Call("iam", "list_entities_for_policy", cloud.Params{"PolicyArn": policy}, &out); err != nil {
		return fmt.Errorf("the roles, users and groups with the policy %s cannot be read: %w", policy, err)
	}
	var commands []string
	for _, h := range slices.Concat(out.PolicyRoles, out.PolicyUsers, out.PolicyGroups) {
		for kind, name := range map[string]string{"role": h.RoleName, "user": h.UserName, "group": h.GroupName} {
			if name != "" {
				commands = append(commands, fmt.Sprintf("aws iam detach-%s-policy --%s-name %s --policy-arn %s", kind, kind, name, policy))
			}
		}
	}
	if commands == nil {
		return nil
	}
	return fmt.Errorf("programs of yours still have the policy %s, and the stack's deletion would remove it. First: %s", policy, strings.Join(commands, " && "))
}

// confirm asks a person to confirm, unless YES=1 is given. It returns an error with the text refusal when the answer is not yes.
func (p *program) confirm(question, refusal string) error {
	if p.Yes {
		return nil
	}
	if !p.terminal {
		return errors.New("there is no terminal to confirm at: give YES=1")
	}
	fmt.Fprintf(p.out, "%s [y/N] ", question)
	line, err := bufio.NewReader(p.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return errors.New(refusal)
	}
	return nil
}

// listKept returns a text that lists the keys and tables that a deleted stack leaves, and how to remove them.
func listKept(stack, region string, tables []string) string {
	text := "Kept: the signing keys, the first and all later ones, at about a dollar a month each. To remove the signing keys of every stack with this name permanently:\n" +
		fmt.Sprintf("  for key in $(aws resourcegroupstaggingapi get-resources --region %s --resource-type-filters kms:key --tag-filters Key=latchkey:stack,Values=%s --query 'ResourceTagMappingList[].ResourceARN' --output text); do\n", region, stack) +
		fmt.Sprintf("    aws kms schedule-key-deletion --region %s --key-id \"$key\" --pending-window-in-days 30; done", region)
	for _, table := range tables {
		text += fmt.Sprintf("\nKept: the table %s with all its rows. To remove it permanently:\n", table) +
			fmt.Sprintf("  aws dynamodb update-table --region %s --table-name %s --no-deletion-protection-enabled\n", region, table) +
			fmt.Sprintf("  aws dynamodb delete-table --region %s --table-name %s", region, table)
	}
	return text
}
