// Package backing runs the services that functions need, on one machine: DynamoDB Local, a KMS, a
// server of queues and a token issuer, each a child process on a loopback port. It installs them
// and other tools (the SAM CLI, the AWS CLI) under .local/ in the repository at the first use. Tests
// get a real database in two lines:
//
//	db, err := backing.StartDynamoDB(ctx, backing.DynamoDBOptions{})
//	defer db.Stop()
//
// The package is generic: it serves any template. Nothing here is for production.
package backing

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

// toolsDir returns the folder of the installed tools, without links: some tools keep the path that they were
// installed at. The folder may be deleted while nothing runs.
func toolsDir() (string, error) {
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
