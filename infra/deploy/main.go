// Command deploy is `make deploy`: it builds the functions for arm64, deploys the
// template with the SAM CLI, which asks for the parameters, and calls the
// rotation once, so that the first signing key is active.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/sam"
)

func main() {
	if err := deploy(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "latchkey:", err)
		os.Exit(1)
	}
}

func deploy(ctx context.Context) error {
	root, err := backing.Root()
	if err != nil {
		return err
	}
	cli, err := backing.SAM(ctx, nil)
	if err != nil {
		return err
	}
	stack := os.Getenv("STACK")
	if stack == "" {
		stack = "latchkey"
	}
	for _, args := range [][]string{
		{"build"},
		{"deploy", "--guided", "--stack-name", stack},
		{"remote", "invoke", "RotateFunction", "--stack-name", stack},
		{"list", "stack-outputs", "--stack-name", stack},
	} {
		cmd := exec.CommandContext(ctx, cli, args...)
		cmd.Dir, cmd.Env = root, sam.BuildEnvironment()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s %s: %w", filepath.Base(cli), args[0], err)
		}
	}
	return nil
}
