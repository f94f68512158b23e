// Command lint is `make lint`: the linters of .golangci.yml, pinned in tools.mod
// apart from the product's own modules, the template's linter, and shellcheck
// where it is installed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/sam"
)

func main() {
	if err := lint(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func lint(ctx context.Context) error {
	root, err := backing.Root()
	if err != nil {
		return err
	}
	cli, err := backing.SAM(ctx, nil)
	if err != nil {
		return err
	}
	wrong := []error{
		run(ctx, root, os.Environ(), "go", "tool", "-modfile="+filepath.Join("infra", "lint", "tools.mod"), "golangci-lint", "run", "./..."),
		run(ctx, root, sam.Environment(), cli, "validate", "--lint", "--template-file", "template.yaml"),
	}
	if _, err := exec.LookPath("shellcheck"); err == nil {
		wrong = append(wrong, run(ctx, root, os.Environ(), "shellcheck", ".ci/run"))
	} else {
		fmt.Fprintln(os.Stderr, "SKIPPED: shellcheck is not installed. CI never skips it.")
		if os.Getenv("CI") != "" {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}
