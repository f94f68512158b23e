// Package build compiles functions as they are deployed: static, for Linux, with
// the flags of the template's build. Only the architecture differs.
package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// flags are those that `sam build` uses too; the tag leaves out the RPC mode of
// the old Go runtime, a third of a cold start.
const flags = "-trimpath -tags=lambda.norpc -ldflags=-s"

// Options says what is built.
type Options struct {
	Root    string   // the module's folder
	Folders []string // of main packages, under Root; each has another last name
	Out     string   // a program per folder goes here, under the folder's last name
	GOOS    string   // "": this machine's
	GOARCH  string   // "": this machine's
}

// Functions builds, and gives the program of each folder.
func Functions(ctx context.Context, o Options) (map[string]string, error) {
	programs := make(map[string]string, len(o.Folders))
	args := []string{"build", "-o", o.Out + string(filepath.Separator)}
	taken := make(map[string]string)
	for _, folder := range o.Folders {
		name := filepath.Base(filepath.Clean(folder))
		if other, ok := taken[name]; ok && other != folder {
			return nil, fmt.Errorf("%s and %s would both build %s", other, folder, name)
		}
		if _, ok := programs[folder]; ok {
			continue
		}
		if _, err := os.Stat(filepath.Join(o.Root, folder)); err != nil {
			return nil, fmt.Errorf("the code of a function: %w", err)
		}
		taken[name] = folder
		programs[folder] = filepath.Join(o.Out, name)
		args = append(args, "./"+filepath.ToSlash(filepath.Clean(folder)))
	}
	if len(programs) == 0 {
		return nil, errors.New("there is no function to build")
	}
	if err := errors.Join(noteSources(o.Root), os.MkdirAll(o.Out, 0o755)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = o.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+flags, "GOOS="+or(o.GOOS, runtime.GOOS), "GOARCH="+or(o.GOARCH, runtime.GOARCH))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return programs, nil
}

// noteSources looks at each Go file of the product, so that Go's test cache knows
// that a test which builds functions depends on them.
func noteSources(root string) error {
	for _, folder := range []string{"functions", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".go" {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
