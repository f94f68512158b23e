// Package build compiles functions for this machine, with the flags of the deployed functions. The package is
// generic: it builds any module's functions.
package build

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"latchkey/infra/tools"
)

// Options lists the functions to build, and the folders for their programs.
type Options struct {
	Root    string   // the module's folder
	Folders []string // main packages, as folders under Root; their last names must differ
	Out     string   // the folder for the programs. Each has the last name of its folder in Folders
	Kept    string   // the folder that keeps programs between builds; "": .local/built in Root
}

// Functions builds functions. Copies of the programs stay in Options.Kept, so that the next build links only changed programs.
func Functions(ctx context.Context, o Options) error {
	folders := make(map[string]string) // by the last name
	for _, folder := range o.Folders {
		name := o.name(folder)
		if other, ok := folders[name]; ok && other != folder {
			return fmt.Errorf("%s and %s would both build %s", other, folder, name)
		}
		folders[name] = folder
	}
	// This call is for Go's test cache. It reads the files' times, so that a cached test result depends on them.
	if _, err := Fingerprint(o.Root); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	kept, unlock, err := lockKept(ctx, o)
	if err != nil {
		return err
	}
	defer unlock()
	if err := o.build(ctx, kept); err != nil {
		return err
	}
	for name := range folders {
		if err := place(filepath.Join(kept, name), filepath.Join(o.Out, name)); err != nil {
			return err
		}
	}
	return nil
}

// lockKept returns the folder that keeps the programs between builds, and locks it until unlock. The name of this folder depends
// on the parents of o.Folders, because folders with other parents may have the same last names.
func lockKept(ctx context.Context, o Options) (dir string, unlock func(), err error) {
	parents := make([]string, len(o.Folders))
	for i, folder := range o.Folders {
		parents[i] = filepath.Dir(filepath.Clean(folder))
	}
	slices.Sort(parents)
	hash := sha256.Sum256([]byte(o.Root + "\n" + strings.Join(slices.Compact(parents), "\n")))
	dir = filepath.Join(cmp.Or(o.Kept, filepath.Join(o.Root, ".local", "built")), fmt.Sprintf("%x", hash[:4]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	unlock, err = tools.Lock(ctx, dir+".lock", func() {})
	return dir, unlock, err
}

// name returns the name of a folder's program.
func (o Options) name(folder string) string { return filepath.Base(filepath.Join(o.Root, folder)) }

// build builds all programs by one call of go. The program of the module's root folder needs a separate call,
// because go would name it after the module.
func (o Options) build(ctx context.Context, out string) error {
	var below []string
	for _, folder := range o.Folders {
		if folder = filepath.ToSlash(filepath.Clean(folder)); folder != "." {
			below = append(below, "./"+folder)
		} else if err := o.compile(ctx, filepath.Join(out, o.name(folder)), "."); err != nil {
			return err
		}
	}
	if len(below) == 0 {
		return nil
	}
	return o.compile(ctx, out+string(filepath.Separator), below...)
}

func (o Options) compile(ctx context.Context, out string, folders ...string) error {
	_, err := tools.Output(ctx, o.Root, tools.SAMBuildEnvironment(), "go", append([]string{"build", "-o", out}, folders...)...)
	return err
}

// place puts a program at a path, as a hard link. A later build makes a new file, so it does not change a running
// program. The path has a program at every moment: Rename replaces the old one.
func place(from, to string) error {
	next := to + ".next"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	if os.Link(from, next) != nil { // for example because the path is on another disk
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(next, text, 0o755); err != nil {
			return err
		}
	}
	if err := os.Rename(next, to); err != nil {
		return err
	}
	return os.RemoveAll(next) // next still exists if both paths were links to one file: then Rename does nothing
}

// code has the extensions of source files. Fingerprint does not notice a change in an embedded file of another type.
var code = []string{".go", ".mod", ".sum", ".js", ".mjs", ".cjs", ".py"}

// Fingerprint returns a hash of the paths, sizes and times of all source files in a folder and its subfolders. It skips hidden
// folders and node_modules, and what leads nowhere: a file that has just gone, or Emacs' link .#main.go while main.go is not saved.
func Fingerprint(folder string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil && (path == folder || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
		if d.IsDir() && path != folder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains(code, filepath.Ext(path)) {
			return nil
		}
		info, err := os.Stat(path)
		if err == nil {
			_, err = fmt.Fprintln(sum, path, info.Size(), info.ModTime().UnixNano())
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
