package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"latchkey/infra/local/backing"
)

// documents are the files that the linters read.
var documents = []string{"openapi.yaml", "openapi-3.1.yaml"}

// redocly runs Redocly's recommended rules.
func redocly(ctx context.Context, _ *api) error {
	return lint(ctx, "redocly", func(document string) (string, error) {
		return nodeOutput(ctx, []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"},
			"redocly", "lint", "--extends", "recommended", "--format", "json", "--max-problems", "1000", document)
	}, func(said string) ([]report, error) {
		var answer struct {
			Problems []struct {
				Rule     string `json:"ruleId"`
				Location []struct {
					Pointer string `json:"pointer"`
				} `json:"location"`
			} `json:"problems"`
		}
		if err := json.Unmarshal([]byte(said), &answer); err != nil {
			return nil, err
		}
		var out []report
		for _, p := range answer.Problems {
			out = append(out, report{tool: "redocly", rule: p.Rule, where: p.Location[0].Pointer})
		}
		return out, nil
	})
}

// spectral runs Spectral's rules for OpenAPI.
func spectral(ctx context.Context, _ *api) error {
	rules, err := os.CreateTemp("", "spectral-*.yaml")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(rules.Name()) }()
	if _, err := rules.WriteString("extends: ['spectral:oas']\n"); err != nil {
		return err
	}
	return lint(ctx, "spectral", func(document string) (string, error) {
		return nodeOutput(ctx, nil, "spectral", "lint", "--ruleset", rules.Name(), "--format", "json", "--quiet", document)
	}, func(said string) ([]report, error) {
		var problems []struct {
			Code string `json:"code"`
			Path []any  `json:"path"`
		}
		if err := json.Unmarshal([]byte(said), &problems); err != nil {
			return nil, err
		}
		var out []report
		for _, p := range problems {
			out = append(out, report{tool: "spectral", rule: p.Code, where: strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Path), " ", "."), "[]")})
		}
		return out, nil
	})
}

// nodeOutput returns what a Node tool prints. A linter that finds something exits with an
// error, which counts only when it printed nothing.
func nodeOutput(ctx context.Context, env []string, name string, args ...string) (string, error) {
	modules, err := nodeModules(ctx)
	if err != nil {
		return "", err
	}
	said, err := output(ctx, "", env, filepath.Join(modules, ".bin", name), args...)
	if strings.TrimSpace(said) != "" {
		return said, nil
	}
	return "", errors.Join(fmt.Errorf("%s printed nothing", name), err)
}

// lint runs a linter on each document, and compares its reports with the list.
func lint(_ context.Context, tool string, run func(document string) (string, error), read func(said string) ([]report, error)) error {
	root, err := backing.Root()
	if err != nil {
		return err
	}
	var found []report
	for _, document := range documents {
		said, err := run(filepath.Join(root, "infra", document))
		if err != nil {
			return err
		}
		reports, err := read(said)
		if err != nil {
			return fmt.Errorf("%s printed what cannot be read: %w\n%s", tool, err, last([]byte(said)))
		}
		found = append(found, reports...)
	}
	return against(tool, found)
}
