package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"latchkey/infra/harness/lab/build"
	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// sources is the code of a template's functions.
type sources struct {
	functions map[string]translated.Function // by name
	folders   map[string]string              // the full path of each function's code, by the function's name
	module    string                         // the folder of the Go module with the functions in Go; "": no function is in Go
	out       string                         // the folder for the programs
	code      []string                       // the folders to watch: the module, and the folder of each interpreted function
	files     map[string]string              // the last seen fingerprint of each folder in code
}

// sourcesOf finds the code of a template's functions. A CodeUri is relative to the template's folder.
func sourcesOf(template, out string, functions map[string]translated.Function) (sources, error) {
	c := sources{functions: functions, folders: make(map[string]string), out: out}
	base, err := filepath.Abs(filepath.Dir(template))
	if err != nil {
		return c, err
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := functions[name]
		folder := filepath.Join(base, f.CodeURI)
		if _, err := os.Stat(folder); err != nil {
			return c, fmt.Errorf("function %s: its code: %w", name, err)
		}
		c.folders[name] = folder
		if f.Interpreted() {
			c.code = append(c.code, folder)
			continue
		}
		module, err := tools.ModuleOf(folder)
		if err != nil {
			return c, fmt.Errorf("function %s: %w", name, err)
		}
		if c.module != "" && module != c.module {
			return c, fmt.Errorf("function %s: the local stack cannot build functions of two Go modules, %s and %s", name, c.module, module)
		}
		c.module = module
	}
	if c.module != "" {
		c.code = append(c.code, c.module)
	}
	c.files, err = c.fingerprints()
	return c, err
}

// fingerprints returns the fingerprint of each folder in c.code. It changes when a file in the folder changes.
func (c sources) fingerprints() (map[string]string, error) {
	out := make(map[string]string)
	for _, folder := range c.code {
		text, err := build.Fingerprint(folder)
		if err != nil {
			return nil, err
		}
		out[folder] = text
	}
	return out, nil
}

// program returns the path of a function's program.
func (c sources) program(function string) string {
	return filepath.Join(c.out, filepath.Base(c.folders[function]))
}

// build builds the functions in Go that are not built yet.
func (s *Stack) build(ctx context.Context) error {
	for _, c := range []sources{s.sources, s.consumer.sources} {
		var missing []string
		for name, f := range c.functions {
			if !f.Interpreted() && !s.built[c.program(name)] {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			continue
		}
		s.options.Progress("building the functions")
		if err := s.compile(ctx, c, missing); err != nil {
			return err
		}
		for _, name := range missing {
			s.built[c.program(name)] = true
		}
	}
	return nil
}

// compile builds functions in Go, if there are any.
func (s *Stack) compile(ctx context.Context, c sources, functions []string) error {
	if len(functions) == 0 {
		return nil
	}
	var folders []string // relative to the module
	for _, name := range functions {
		folder, err := filepath.Rel(c.module, c.folders[name])
		if err != nil {
			return err
		}
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	return build.Functions(ctx, build.Options{
		Root: c.module, Folders: slices.Compact(folders), Out: c.out, Kept: filepath.Join(s.root, ".local", "built"),
	})
}

// lambdaFunctions returns the functions for package lambda. A function finds AWS at the endpoint, unless the template sets another.
func (c sources) lambdaFunctions(endpoint string) ([]lambda.Function, error) {
	var out []lambda.Function
	for _, name := range slices.Sorted(maps.Keys(c.functions)) {
		f := c.functions[name]
		env := maps.Clone(f.Env)
		env["AWS_ENDPOINT_URL"] = cmp.Or(env["AWS_ENDPOINT_URL"], endpoint)
		r := lambda.Function{Name: name, Path: c.program(name), Timeout: f.Timeout, Memory: f.Memory, Env: env, Reserved: f.Reserved}
		if f.Interpreted() {
			var err error
			if r, err = lambda.Interpreted(r, f.Python(), c.folders[name], f.Handler); err != nil {
				return nil, fmt.Errorf("the local stack cannot serve function %s: %w", name, err)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// reloadInterval is the time between two checks for changed files. A check takes some milliseconds.
const reloadInterval = 300 * time.Millisecond

// reload replaces the functions whose code changes, until the context ends.
func (s *Stack) reload(ctx context.Context) {
	for tools.Sleep(ctx, reloadInterval) == nil {
		for _, c := range []*sources{&s.sources, &s.consumer.sources} {
			before := c.files
			// An error means that a file is being replaced now: the next check finds the change.
			if now, err := c.fingerprints(); err == nil && !maps.Equal(now, before) {
				c.files = now
				s.replace(ctx, *c, before)
			}
		}
	}
}

// replace replaces interpreted functions with changed files; oldFiles has the earlier fingerprints. It builds the functions in Go,
// first the functions with running copies, and replaces a function if its program has changed. If the code does not compile, the
// functions in Go stay unchanged.
func (s *Stack) replace(ctx context.Context, c sources, oldFiles map[string]string) {
	begun := time.Now()
	var interpreted, used, unused []string
	for name, f := range c.functions {
		switch {
		case f.Interpreted() && oldFiles[c.folders[name]] != c.files[c.folders[name]]:
			interpreted = append(interpreted, name)
		case f.Interpreted(): // unchanged
		case len(s.Lambda.Copies(name)) > 0:
			used = append(used, name)
		default:
			unused = append(unused, name)
		}
	}
	s.renew(begun, interpreted)
	for _, names := range [][]string{used, unused} {
		before := c.programs()
		if err := s.compile(ctx, c, names); err != nil {
			if ctx.Err() == nil {
				s.options.Progress("the functions stay unchanged: " + err.Error())
			}
			return
		}
		after := c.programs()
		s.renew(begun, slices.DeleteFunc(names, func(name string) bool { return os.SameFile(before[name], after[name]) }))
	}
}

// renew makes the next calls of the changed functions run their new code.
func (s *Stack) renew(begun time.Time, changed []string) {
	var errs error
	for _, name := range changed {
		errs = errors.Join(errs, s.Lambda.Renew(name))
	}
	slices.Sort(changed)
	switch {
	case errs != nil:
		s.options.Progress("the functions were not replaced: " + errs.Error())
	case len(changed) > 0:
		s.options.Progress(fmt.Sprintf("replaced after %.1f s: %s", time.Since(begun).Seconds(), strings.Join(changed, ", ")))
	}
}

// programs returns the program files of the functions in Go, by function.
func (c sources) programs() map[string]os.FileInfo {
	out := make(map[string]os.FileInfo)
	for name, f := range c.functions {
		if info, err := os.Stat(c.program(name)); err == nil && !f.Interpreted() {
			out[name] = info
		}
	}
	return out
}
