// Command lint is `make lint`. It runs the linters of .golangci.yml and deadcode, which
// tools.mod pins apart from the product's own modules, the template's linter, and shellcheck
// where it is installed. It checks that go.mod is tidy and that workflows pin their actions.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"latchkey/infra/tools"
)

func main() {
	if err := lint(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func lint(ctx context.Context) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	cli, err := tools.SAM(ctx, nil)
	if err != nil {
		return err
	}
	pins := "-modfile=" + filepath.Join("infra", "lint", "tools.mod")
	wrong := []error{
		run(ctx, root, os.Environ(), "go", "tool", pins, "golangci-lint", "run", "--allow-parallel-runners", "./..."),
		run(ctx, root, os.Environ(), "go", "mod", "tidy", "-diff"),
		silent(ctx, root, "go", "tool", pins, "deadcode", "-test", "./..."),
		pinned(os.DirFS(filepath.Join(root, ".github", "workflows"))),
		run(ctx, root, tools.SAMEnvironment(), cli, "validate", "--lint", "--template-file", "template.yaml"),
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

// silent runs a program that exits 0 when it finds faults. What it prints is the error.
func silent(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err == nil && len(bytes.TrimSpace(out)) > 0 {
		err = fmt.Errorf("%w:\n%s", errPrinted, out)
	}
	return err
}

var (
	errPrinted   = errors.New("deadcode")
	errNotPinned = errors.New("an action is not pinned by its commit")

	uses   = regexp.MustCompile(`(?m)^[ -]*uses: *(\S+)`)
	commit = regexp.MustCompile(`@[0-9a-f]{40}$`)
)

// pinned demands that the workflows name every action by its commit: a tag can be moved.
func pinned(workflows fs.FS) error {
	names, err := fs.Glob(workflows, "*.yml")
	wrong := []error{err}
	for _, name := range names {
		text, err := fs.ReadFile(workflows, name)
		wrong = append(wrong, err)
		for _, action := range uses.FindAllStringSubmatch(string(text), -1) {
			if !commit.MatchString(action[1]) {
				wrong = append(wrong, fmt.Errorf("%s: %w: %s", name, errNotPinned, action[1]))
			}
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
