// Command bench measures what Latchkey costs, as ratios against baselines that are built and
// measured in the same run: `make bench`. With -gate it compares the figures with the committed
// ones.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"latchkey/infra/tools"
	"latchkey/pkg/parallel"
)

const (
	resultsFile = "infra/harness/e2e/bench/results.json"
	tolerance   = 1.05 // a figure may be 5 % worse than the committed one
	atOnce      = 2    // how many figures are measured at the same time, except those that run alone
)

// results is the content of results.json.
type results struct {
	Date    string            `json:"date"`
	Figures map[string]result `json:"figures"`
}

func main() {
	gate := flag.Bool("gate", false, "compare with the committed figures, and write nothing")
	only := flag.String("only", "", "measure the figures whose names begin with this text, and write nothing")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelError) // what the product logs is not printed
	tools.Exit("bench: ", run(context.Background(), *gate, *only))
}

func run(ctx context.Context, gate bool, only string) error {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return errors.New("valgrind is missing: install Debian's package valgrind")
	}
	root, err := tools.Root()
	if err != nil {
		return err
	}
	out, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(out) }()
	if err := os.Chdir(root); err != nil {
		return err
	}
	b, err := prepare(ctx, root, out)
	if err != nil {
		return err
	}
	defer b.close() //nolint:errcheck // the database ends with this program anyway
	chosen := slices.DeleteFunc(figures(), func(f figure) bool {
		leftOut := gate && !f.gated()
		return !strings.HasPrefix(f.Name, only) || leftOut
	})
	var committed results // empty without gate: then each figure makes all its runs
	if gate {
		if committed, err = readCommitted(); err != nil {
			return err
		}
	}
	measured, err := measure(ctx, b, chosen, committed.Figures)
	if err != nil {
		return err
	}
	if gate {
		return compare(committed.Figures, measured, chosen)
	}
	if only != "" {
		return nil
	}
	text, err := json.MarshalIndent(results{time.Now().UTC().Format(time.DateOnly), measured}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(resultsFile, append(text, '\n'), 0o644)
}

// prepare builds the functions, and the baselines under out with the same flags. It starts the services that they call.
func prepare(ctx context.Context, root, out string) (b *bench, err error) {
	builds := filepath.Join(root, ".local/build")
	b = &bench{programs: builds + "/linux-" + runtime.GOARCH, arm: builds + "/linux-arm64", baseline: out}
	for _, command := range []string{
		"make build ARCH=" + runtime.GOARCH, "make build ARCH=arm64",
		"env CGO_ENABLED=0 GOFLAGS= go -C infra/harness build -trimpath -tags=lambda.norpc -ldflags=-s -o " + out + "/ ./e2e/bench/baseline/...",
	} {
		words := strings.Fields(command)
		if text, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", command, err, text)
		}
	}
	b.hello = sync.OnceValues(func() (int64, error) {
		return least(ctx, program{path: b.baseline + "/hello"}, never)
	})
	b.getItem = sync.OnceValues(func() (int64, error) { return perCall(ctx, checks, b.loop("getitem")) })
	b.grown = sync.OnceValues(func() (map[string]cost, error) { return grow(ctx) })
	if b.gogc, err = gogc(); err == nil {
		b.world, err = newWorld(ctx)
	}
	return b, err
}

// measure measures the figures that run alone one by one, and then the others, and prints each.
func measure(ctx context.Context, b *bench, list []figure, committed map[string]result) (map[string]result, error) {
	var mu sync.Mutex
	out := map[string]result{}
	measureOne := func(_ int, f figure) error {
		own := *b
		own.passes = func(now result) bool { return f.worse(committed, now) == nil }
		value, base, err := f.measure(ctx, &own)
		r := newResult(value, base)
		mu.Lock()
		defer mu.Unlock()
		out[f.Name] = r
		fmt.Printf("%-20s %10d %10d %7.3f\n", f.Name, r.Value, r.Base, r.Ratio)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		return nil
	}
	failed := parallel.Each(1, slices.DeleteFunc(slices.Clone(list), func(f figure) bool { return !f.alone() }), measureOne)
	failed = append(failed, parallel.Each(atOnce, slices.DeleteFunc(slices.Clone(list), figure.alone), measureOne)...)
	return out, errors.Join(failed...)
}

// compare returns an error for each figure that is worse than before. It prints the figures that are better than the committed
// ones by more than the tolerance.
func compare(committed, measured map[string]result, list []figure) error {
	var worse error
	for _, f := range list {
		before, now := committed[f.Name], measured[f.Name]
		worse = errors.Join(worse, f.worse(committed, now))
		if now.compared()*tolerance < before.compared() {
			fmt.Printf("%s is better: %s, and was %s. Run make bench and commit the results.\n", f.Name, now, before)
		}
	}
	return worse
}

// worse returns an error if a figure misses its goal, or is worse than the committed one by more than the tolerance.
func (f figure) worse(committed map[string]result, now result) error {
	before, ok := committed[f.Name]
	switch {
	case !ok:
		return fmt.Errorf("%s is not in %s: run make bench", f.Name, resultsFile)
	case now.compared() > f.Goal:
		return fmt.Errorf("%s is %s, and its goal is %g", f.Name, now, f.Goal)
	case now.compared() > before.compared()*tolerance:
		return fmt.Errorf("%s is %s, and was %s", f.Name, now, before)
	}
	return nil
}

func readCommitted() (results, error) {
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		return results{}, err
	}
	var r results
	return r, json.Unmarshal(text, &r)
}
