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
	resultsFile = "infra/bench/results.json"
	tableFile   = "infra/docs/speed.md"
	tolerance   = 1.05 // of the committed figure
	side        = 2    // programs that are measured at the same time

	// begin and end are the lines around the table.
	begin, end = "<!-- figures: printed by make bench -->\n", "<!-- end of figures -->"
)

// results is the content of results.json.
type results struct {
	Date    string            `json:"date"`
	Figures map[string]result `json:"figures"`
}

func main() {
	gate := flag.Bool("gate", false, "compare with the committed figures, and write nothing")
	old := flag.String("functions", "", "a folder of functions to measure in place of this tree's; figures of large tables, drain, guard and sizes are this tree's still")
	only := flag.String("only", "", "measure the figures whose names begin so")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelError) // what the product logs is not printed
	if err := run(context.Background(), *gate, *old, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, gate bool, old, only string) error {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return errors.New("valgrind is missing: install Debian's package valgrind")
	}
	root, err := tools.Root()
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	b, end, err := prepare(ctx, root, old)
	if err != nil {
		return err
	}
	defer end()
	chosen := slices.DeleteFunc(figures(), func(f figure) bool { return !strings.HasPrefix(f.Name, only) || gate && !f.gated() })
	measured, err := measure(ctx, b, chosen)
	if err != nil {
		return err
	}
	if gate {
		committed, err := read()
		if err != nil {
			return err
		}
		return compare(committed.Figures, measured, chosen)
	}
	if only != "" || old != "" {
		return nil
	}
	return write(measured, chosen)
}

// functions returns the names of the functions.
func functions() []string {
	folders, err := filepath.Glob("functions/*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, folder := range folders {
		folders[i] = filepath.Base(folder)
	}
	return folders
}

// prepare builds the programs and starts what answers them.
func prepare(ctx context.Context, root, old string) (b *bench, end func(), err error) {
	out, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, err
	}
	b = &bench{
		programs: filepath.Join(root, ".local/build/linux-"+runtime.GOARCH), arm: filepath.Join(root, ".local/build/linux-arm64"),
		baseline: out + "/baseline", baselines: map[string]func() (int64, error){},
	}
	err = errors.Join(
		command(ctx, "make", "build", "ARCH="+runtime.GOARCH), command(ctx, "make", "build", "ARCH=arm64"),
		goBuild(ctx, b.baseline, "-ldflags=-s", "./infra/bench/baseline/..."))
	if err == nil {
		b.world, err = newWorld(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(out))
	}
	if old != "" {
		b.programs = old
	}
	b.grown = sync.OnceValues(func() (map[string]cost, error) { return grow(ctx, b.world) })
	return b, func() { b.close(); _ = os.RemoveAll(out) }, nil
}

// goBuild builds programs as make build does.
func goBuild(ctx context.Context, out string, args ...string) error {
	return command(ctx, "env", append([]string{"CGO_ENABLED=0", "GOFLAGS=", "go", "build", "-trimpath", "-tags=lambda.norpc", "-o", out + "/"}, args...)...)
}

func command(ctx context.Context, name string, args ...string) error {
	if text, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return nil
}

func measure(ctx context.Context, b *bench, list []figure) (map[string]result, error) {
	var mu sync.Mutex
	out := map[string]result{}
	one := func(_ int, f figure) error {
		r, err := f.of(ctx, b)
		mu.Lock()
		defer mu.Unlock()
		out[f.Name] = r
		fmt.Printf("%-20s %10d %10d %7.3f\n", f.Name, r.Value, r.Base, r.Ratio)
		return err
	}
	failed := parallel.Each(1, slices.DeleteFunc(slices.Clone(list), func(f figure) bool { return !f.alone() }), one)
	failed = append(failed, parallel.Each(side, slices.DeleteFunc(slices.Clone(list), figure.alone), one)...)
	return out, errors.Join(failed...)
}

// compare fails for each figure that is worse than its goal, or than the committed one by more than the tolerance.
func compare(committed, measured map[string]result, list []figure) error {
	var worse error
	for _, f := range list {
		was, ok := committed[f.Name]
		is := measured[f.Name]
		switch {
		case !ok:
			worse = errors.Join(worse, fmt.Errorf("%s is not in %s: run make bench", f.Name, resultsFile))
		case is.compared() > f.Goal:
			worse = errors.Join(worse, fmt.Errorf("%s is %s, and its goal is %g", f.Name, is, f.Goal))
		case is.compared() > was.compared()*tolerance:
			worse = errors.Join(worse, fmt.Errorf("%s is %s, and was %s", f.Name, is, was))
		case is.compared()*tolerance < was.compared():
			fmt.Printf("%s is better: %s, and was %s. Run make bench and commit it.\n", f.Name, is, was)
		}
	}
	return worse
}

func read() (results, error) {
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		return results{}, err
	}
	var r results
	return r, json.Unmarshal(text, &r)
}

// write writes the results, and their table into the documentation.
func write(measured map[string]result, list []figure) error {
	r := results{time.Now().UTC().Format(time.DateOnly), measured}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(resultsFile, append(text, '\n'), 0o644); err != nil {
		return err
	}
	doc, err := os.ReadFile(tableFile)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(doc), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return fmt.Errorf("%s has no place for the figures", tableFile)
	}
	return os.WriteFile(tableFile, []byte(before+begin+table(r, list)+end+after), 0o644)
}

func table(r results, list []figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s.\n\n| Figure | Count | Against | Ratio | Goal |\n|---|---|---|---|---|\n", r.Date)
	for _, f := range slices.SortedFunc(slices.Values(list), func(x, y figure) int { return strings.Compare(x.Name, y.Name) }) {
		got := r.Figures[f.Name]
		ratio, goal := "", fmt.Sprintf("≤ %.0f", f.Goal)
		if got.Base != 0 {
			ratio, goal = fmt.Sprintf("%.2f ×", got.Ratio), fmt.Sprintf("≤ %g ×", f.Goal)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", f.What, got.Value, f.Base, ratio, goal)
	}
	return b.String()
}
