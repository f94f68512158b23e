// Package copied makes copies of the repository, in which planted bugs and worked examples are tried.
package copied

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tree copies the files that git tracks or would track to a folder, which it empties first, and
// shares the installed tools.
func Tree(ctx context.Context, root, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for _, name := range strings.Split(strings.Trim(string(files), "\x00"), "\x00") {
		if err := File(filepath.Join(root, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	tools := filepath.Join(root, ".local", "tools")
	if err := os.MkdirAll(tools, 0o755); err != nil { // a new clone has none yet
		return err
	}
	if tools, err = filepath.EvalSymlinks(tools); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Join(dir, ".local"), 0o755), os.Symlink(tools, filepath.Join(dir, ".local", "tools")))
}

// File copies a file with its permissions, and makes the folders above it.
func File(from, to string) error {
	info, err := os.Stat(from)
	if err != nil || info.IsDir() {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
