// Package tools installs pinned programs under .local/ in the repository at their first use: Python's, Node's and Java's
// packages, the SAM CLI and the AWS CLI.
package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Root returns the module's folder: the nearest one at or above the working directory with a go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if exists(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod at or above the working directory")
		}
		dir = parent
	}
}

// Dir returns the folder of the installed tools, without links: some tools keep the path that they were
// installed at. The folder may be deleted while nothing runs.
func Dir() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".local", "tools")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("a place for tools: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}
