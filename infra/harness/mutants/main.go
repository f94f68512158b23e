// Command mutants is `make mutants`. It plants bugs, one at a time, in a copy of the repository, and checks that the test
// of each bug fails. The bugs are in planted/, one list for each topic. The run fails for a bug that no longer fits the code, that
// does not compile, or that its test does not find. Then the program gremlins makes many small changes (mutants), and the
// run fails for a package below its floor in floors.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"latchkey/infra/tools"
	"latchkey/pkg/parallel"
)

// workers is the number of bugs or mutants that are tested at the same time. Each worker has a copy of the repository for the
// planted bugs.
const workers = 2

// plantedLists is the folder of the lists that `make mutants` plants, from the repository's root.
const plantedLists = "infra/harness/mutants/planted"

func main() {
	if filepath.Base(os.Args[0]) == "go" { // gremlins calls this program as its go command
		code, err := asGo(os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	short := flag.Bool("short", false, "only the short form")
	run := flag.String("run", "", "only bugs with a matching list or name, and packages of floors.go with a matching path")
	lists := flag.String("lists", plantedLists, "the folder with the lists of bugs; gremlins runs only with the default folder")
	seed := flag.Int("seed", 0, "test only a sample of gremlins' mutants in the packages that need a database; the seed selects the sample")
	flag.Parse()
	tools.Main("", func(ctx context.Context) error { return mutants(ctx, *lists, *short, *run, *seed) })
}

func mutants(ctx context.Context, lists string, short bool, run string, seed int) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	var errBugs error
	if seed == 0 {
		errBugs = planted(ctx, root, lists, short, wanted)
	}
	if lists != plantedLists {
		return errBugs
	}
	return errors.Join(errBugs, gremlins(ctx, root, func(f floor) bool {
		ofThisRun := (f.kind == sampled) == (seed != 0) // a run with a seed is only for the sampled packages
		shortEnough := !short || f.kind == shortToo
		return ofThisRun && shortEnough && wanted.MatchString(f.pkg)
	}, seed))
}

// planted tests the bugs that short and wanted select.
func planted(ctx context.Context, root, lists string, short bool, wanted *regexp.Regexp) error {
	bugs, err := readBugs(filepath.Join(root, lists))
	if err != nil {
		return err
	}
	if err := fit(root, bugs); err != nil {
		return err
	}
	bugs = slices.DeleteFunc(bugs, func(b bug) bool { return short && !b.short || !wanted.MatchString(b.source+" "+b.name) })
	if len(bugs) == 0 {
		fmt.Printf("no bug in %s matches %q\n", lists, wanted)
		return nil
	}
	started := time.Now()
	survivors, err := tryAll(ctx, root, bugs)
	if err != nil {
		return err
	}
	fmt.Printf("%d planted bugs, %d found, %d not found, in %s\n",
		len(bugs), len(bugs)-len(survivors), len(survivors), time.Since(started).Round(time.Second))
	return errors.Join(survivors...)
}

// fit returns an error for each bug that no longer fits the code, and for each missing test. It checks all bugs, also those that -run
// leaves out.
func fit(root string, bugs []bug) error {
	var errs []error
	for _, b := range bugs {
		errs = append(errs, b.hasTests(root))
		for _, e := range b.edits {
			text, err := os.ReadFile(filepath.Join(root, e.file))
			if err == nil {
				_, err = e.apply(string(text))
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", b.source, b.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// tryAll first checks that the tests pass without a bug. Then it plants each bug. survivors has an error for each bug that no test
// found.
func tryAll(ctx context.Context, root string, bugs []bug) (survivors []error, err error) {
	copies := make(chan *tree, workers)
	for n := range workers {
		c, err := newTree(ctx, root, n)
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.database.Stop() }()
		copies <- c
	}
	each := func(bugs []bug, do func(*tree, context.Context, bug) error) []error {
		errs := parallel.Each(workers, bugs, func(_ int, b bug) error {
			c := <-copies
			defer func() { copies <- c }()
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(c, ctx, b)
		})
		return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	}
	if err := errors.Join(each(testsOf(bugs), (*tree).passes)...); err != nil {
		return nil, err
	}
	return each(bugs, (*tree).finds), nil
}

// testsOf returns a bug without replacements for each package. Its pattern names all tests of the package's bugs.
func testsOf(bugs []bug) []bug {
	var out []bug
	for _, b := range bugs {
		i := slices.IndexFunc(out, func(o bug) bool { return o.pkg == b.pkg })
		if i < 0 {
			out = append(out, bug{pkg: b.pkg, pattern: b.pattern})
		} else if !slices.Contains(alternatives(out[i].pattern), b.pattern) {
			out[i].pattern += "|" + b.pattern
		}
	}
	return out
}
