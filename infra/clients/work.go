package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"latchkey/infra/tools"
)

// try generates a client, compiles it with its program, and runs the program on the API
// and through each proxy.
func (g generator) try(ctx context.Context, a *api) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".local", "clients", g.name)
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(root, "infra", "clients", "examples", g.name)))); err != nil {
		return err
	}
	if err := g.build(ctx, dir, filepath.Join(root, "infra", "openapi.yaml")); err != nil {
		return fmt.Errorf("%s: it does not generate and compile: %w", g.name, err)
	}
	command, err := g.program(ctx, dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, way := range a.ways {
		if err := run1(ctx, dir, command, a, g.name, way); err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", g.name, way.name, err))
		}
	}
	return errors.Join(errs...)
}

// run1 runs a program one way, as a user of its own, and checks what the program prints.
func run1(ctx context.Context, dir string, command []string, a *api, name string, w way) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	token, err := a.token(ctx, fmt.Sprintf("%s-%s@example.com", name, strings.ReplaceAll(w.name, " ", "-")))
	if err != nil {
		return err
	}
	got, err := output(ctx, dir, []string{"BASE_URL=" + w.url, "ACCESS_TOKEN=" + token}, command[0], command[1:]...)
	if err != nil {
		return err
	}
	if want := w.expected(); got != want {
		return fmt.Errorf("the program prints\n%s\nnot\n%s", indent(got), indent(want))
	}
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// way is a base URL by which a program reaches the API.
type way struct {
	name string
	url  string
	code string // replaces each error's code; "": codes stay
}

// expected returns what each program prints.
func (w way) expected() string {
	code := func(documented string) string {
		if w.code != "" {
			return w.code
		}
		return documented
	}
	return fmt.Sprintf("the key of Acme works\n404 %s\n3 orgs in 2 pages\n401 %s\n", code("org_not_found"), code("key_revoked"))
}
