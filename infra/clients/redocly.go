package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"latchkey/infra/contract"
	"latchkey/infra/tools"
)

// redocly runs Redocly's recommended rules on the document of OpenAPI 3.0, and on that of 3.1 that is made from it.
func redocly(ctx context.Context, _ *api) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	text, err := contract.Text()
	if err != nil {
		return err
	}
	later, err := contract.OpenAPI31(text)
	if err != nil {
		return err
	}
	made := filepath.Join(root, ".local", "clients", "openapi-3.1.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(made), 0o755), os.WriteFile(made, later, 0o644)); err != nil {
		return err
	}
	modules, err := nodeModules(ctx)
	if err != nil {
		return err
	}
	var found []report
	for _, document := range []string{filepath.Join(root, "infra", "openapi.yaml"), made} {
		// Redocly fails when it has a problem to report.
		said, failed := output(ctx, ".", []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, filepath.Join(modules, ".bin", "redocly"),
			"lint", "--extends", "recommended", "--format", "json", "--max-problems", "1000", document)
		var answer struct {
			Problems []struct {
				RuleID   string
				Location []struct{ Pointer string }
			}
		}
		if err := json.Unmarshal([]byte(said), &answer); err != nil {
			return fmt.Errorf("redocly printed what cannot be read: %w\n%s", errors.Join(err, failed), said)
		}
		for _, p := range answer.Problems {
			found = append(found, report{tool: "redocly", rule: p.RuleID, where: p.Location[0].Pointer})
		}
	}
	return compare("redocly", found, listed)
}
