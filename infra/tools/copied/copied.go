// Package copied makes copies of the repository. Tests plant bugs and apply worked examples in such a copy.
package copied

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"latchkey/infra/tools"
)

// Tree empties the folder dir, and copies every file to it that git tracks or does not ignore. A link leads from the copy to the
// installed tools.
func Tree(ctx context.Context, root, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	files, err := tools.Output(ctx, root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.Trim(files, "\x00"), "\x00") {
		err := File(filepath.Join(root, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // git lists a deleted file too
			return err
		}
	}
	installed := filepath.Join(root, ".local", "tools")
	if err := os.MkdirAll(installed, 0o755); err != nil { // a new clone has no tools yet
		return err
	}
	if installed, err = filepath.EvalSymlinks(installed); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Join(dir, ".local"), 0o755), os.Symlink(installed, filepath.Join(dir, ".local", "tools")))
}

// File copies a file with its permissions, and makes the folders above it. It skips a folder, such as a submodule.
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
