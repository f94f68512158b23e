package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"latchkey/infra/deploy/settings"
)

// noConfig names a section that samconfig.toml does not have. With it the SAM CLI ignores the values that sam deploy --guided
// saved for another stack.
const noConfig = "none"

// buildDir returns a folder of this stack, so that no stack is deployed with the build of another.
func (p *program) buildDir() string { return filepath.Join(p.root, ".local", "deploy", p.Stack) }

func (p *program) build(ctx context.Context) error {
	return p.run(ctx, p.out, "build", "--template-file", filepath.Join(p.root, "template.yaml"), "--build-dir", p.buildDir(),
		"--no-cached", "--parallel", "--parameter-overrides", override("Architecture", p.Architecture))
}

// stackTags returns the tags of the coming deployment. Without TAGS these are the tags of the deployed stack, because the SAM CLI
// removes every tag that it is not given.
func (p *program) stackTags() []settings.Tag {
	if p.TagsGiven || p.deployed == nil {
		return p.Tags
	}
	return p.deployed.Tags
}

// tagArguments returns the SAM CLI's arguments for tags.
func tagArguments(tags []settings.Tag) []string {
	if len(tags) == 0 {
		return nil
	}
	args := []string{"--tags"}
	for _, t := range tags {
		args = append(args, fmt.Sprintf(`"%s"="%s"`, t.Key, t.Value))
	}
	return args
}

// run runs the SAM CLI, which prints its own errors. out gets its standard output.
func (p *program) run(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, p.sam, append(args, "--config-env", noConfig)...)
	cmd.Dir, cmd.Env = p.root, p.environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, out, p.out
	if p.out == os.Stdout { // tests collect both in one text
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sam %s failed, for the reason above (%w)", args[0], err)
	}
	return nil
}

// override returns a parameter as the SAM CLI reads it. The quotes are for an empty value.
func override(name, value string) string {
	return fmt.Sprintf(`ParameterKey=%s,ParameterValue="%s"`, name, value)
}
