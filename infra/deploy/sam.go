package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// noConfig is a section that samconfig.toml does not have: what sam deploy --guided saved there
// for one stack must not be used for another.
const noConfig = "none"

// buildDir returns the stack's own folder, so that no stack is deployed with another one's build.
func (p *program) buildDir() string { return filepath.Join(p.root, ".local", "deploy", p.stack) }

func (p *program) build(ctx context.Context) error {
	return p.run(ctx, "build", "--template-file", filepath.Join(p.root, "template.yaml"), "--build-dir", p.buildDir(),
		"--no-cached", "--parallel", "--parameter-overrides", override("Architecture", p.architecture))
}

// change creates the change set, shows it, and executes it once it is confirmed, unless it is empty.
func (p *program) change(ctx context.Context) error {
	confirm := "--confirm-changeset"
	if p.yes {
		confirm = "--no-confirm-changeset"
	}
	args := []string{
		"deploy", "--template-file", filepath.Join(p.buildDir(), "template.yaml"), "--stack-name", p.stack, "--region", p.aws.region,
		"--resolve-s3", "--s3-prefix", p.stack, "--capabilities", "CAPABILITY_IAM", confirm, "--no-fail-on-empty-changeset",
		"--parameter-overrides", override("Architecture", p.architecture),
	}
	for _, name := range slices.Sorted(maps.Keys(p.parameters)) {
		args = append(args, override(name, p.parameters[name]))
	}
	args = append(args, tagArguments(p.stackTags())...)
	before, err := p.waiting()
	if err != nil {
		return err
	}
	if err := p.run(ctx, args...); err != nil {
		return err
	}
	after, err := p.waiting()
	if err != nil {
		return err
	}
	for _, set := range after {
		if !slices.Contains(before, set) {
			return p.declined(set)
		}
	}
	if p.deployed, err = p.describe(); err == nil && p.deployed == nil {
		err = fmt.Errorf("there is no stack %s after its deployment", p.stack)
	}
	return err
}

// waiting returns the change sets that could be executed. After a deployment there is a new one
// only if it was declined.
func (p *program) waiting() ([]string, error) {
	if now, err := p.describe(); err != nil || now == nil {
		return nil, err
	}
	var out struct {
		Summaries []struct{ ChangeSetID, ExecutionStatus string }
	}
	if err := p.aws.call("cloudformation", "list_change_sets", params{"StackName": p.stack}, &out); err != nil {
		return nil, fmt.Errorf("the change sets of %s cannot be read: %w", p.stack, err)
	}
	var ids []string
	for _, s := range out.Summaries {
		if s.ExecutionStatus == "AVAILABLE" {
			ids = append(ids, s.ChangeSetID)
		}
	}
	return ids, nil
}

// declined removes a declined change set, or the whole stack when it is new, and always returns an error.
func (p *program) declined(set string) error {
	var err error
	if p.deployed == nil {
		err = p.aws.call("cloudformation", "delete_stack", params{"StackName": p.stack}, nil)
	} else {
		err = p.aws.call("cloudformation", "delete_change_set", params{"ChangeSetName": set, "StackName": p.stack}, nil)
	}
	return errors.Join(errors.New("nothing was deployed: the change set was declined"), err)
}

// run runs the SAM CLI, which prints its own errors.
func (p *program) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, p.sam, append(args, "--config-env", noConfig)...)
	cmd.Dir, cmd.Env = p.root, p.environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.out, p.out
	if p.out == os.Stdout { // not in tests, which collect both in one text
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sam %s failed, for the reason above (%w)", args[0], err)
	}
	return nil
}

// override returns a parameter as the SAM CLI takes it. The quotes are for an empty value.
func override(name, value string) string {
	return fmt.Sprintf(`ParameterKey=%s,ParameterValue="%s"`, name, value)
}

//go:embed aws.py
var awsProgram string

// cloud calls AWS by the SAM CLI's own boto3, so that both use the same credentials.
type cloud struct {
	region string
	run    func(service, operation, parameters string) ([]byte, error)
}

// params are the parameters of a call, by boto3's names.
type params map[string]any

func newCloud(ctx context.Context, python string, env []string, region string) (*cloud, error) {
	c := &cloud{region: region}
	c.run = func(service, operation, parameters string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, python, "-c", awsProgram, c.region, service, operation, parameters)
		cmd.Env = env
		return cmd.Output()
	}
	return c, c.call("", "", nil, &c.region) // without a service, aws.py returns the region in use
}

// call decodes the result into out, unless that is nil.
func (c *cloud) call(service, operation string, in params, out any) error {
	parameters, err := json.Marshal(in)
	if err != nil {
		return err
	}
	result, err := c.run(service, operation, string(parameters))
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s", strings.Join(strings.Fields(string(failed.Stderr)), " "))
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(result, out)
}
