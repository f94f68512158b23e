package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"latchkey/infra/mutants/copied"
)

// mutant is a change that gremlins has made.
type mutant struct {
	Type, Status string
	Line, Column int
}

// gremlins runs mutants that no one chooses, in a copy of the repository, and prints a line for each
// package that floors lists for the form. It returns an error for each package below its floor.
func gremlins(ctx context.Context, root string, wanted func(floor) bool, seed int) error {
	if len(equivalent) > mostEquivalent {
		return fmt.Errorf("%d mutants are listed as equivalent, and %d may be", len(equivalent), mostEquivalent)
	}
	floors := slices.DeleteFunc(slices.Clone(floors), func(f floor) bool { return !wanted(f) })
	if len(floors) == 0 {
		return nil
	}
	dir := filepath.Join(root, ".local", "mutants", "gremlins")
	if err := copied.Tree(ctx, root, dir); err != nil {
		return err
	}
	env, program, err := between(ctx, root, filepath.Join(dir, ".local", "bin"))
	if err != nil {
		return err
	}
	begun := time.Now()
	var low []error
	for _, f := range floors {
		env := env
		if f.kind == sampled {
			env = append(slices.Clone(env), fmt.Sprintf("%s=%d", sampleEnv, seed))
		}
		found, err := f.unleash(ctx, program, dir, env)
		if err != nil {
			return err
		}
		low = append(low, f.judge(root, found))
	}
	fmt.Printf("gremlins took %s\n", time.Since(begun).Round(time.Second))
	return errors.Join(low...)
}

// between returns gremlins' program, and an environment in which the go command that it calls is this
// program: see asGo.
func between(ctx context.Context, root, bin string) (env []string, program string, err error) {
	find := exec.CommandContext(ctx, "go", "tool", "-n", "-modfile="+filepath.Join("infra", "tools", "test", "tools.mod"), "gremlins")
	find.Dir = root
	out, errTool := find.Output()
	self, errSelf := os.Executable()
	goCommand, errGo := exec.LookPath("go")
	if err := errors.Join(errTool, errSelf, errGo, os.MkdirAll(bin, 0o755), os.Symlink(self, filepath.Join(bin, "go"))); err != nil {
		return nil, "", err
	}
	return append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), realGoEnv+"="+goCommand, "GOFLAGS=-vet=off -ldflags=-s -gcflags=-l"),
		strings.TrimSpace(string(out)), nil
}

// unleash returns the mutants of a package, by file.
func (f floor) unleash(ctx context.Context, program, dir string, env []string) (map[string][]mutant, error) {
	report := filepath.Join(dir, ".local", "gremlins.json")
	cmd := exec.CommandContext(ctx, program, "unleash", "--silent", "--workers", strconv.Itoa(workers), "--timeout-coefficient", "1000", "--output", report,
		"--exclude-files", "/", // the packages below
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl", "--remove-self-assignments", "./"+f.pkg)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gremlins %s: %w\n%s", f.pkg, err, tail(string(out)))
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var read struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []mutant
		}
	}
	found := map[string][]mutant{}
	err = json.Unmarshal(text, &read)
	for _, file := range read.Files {
		found[filepath.Join(f.pkg, file.Name)] = file.Mutations
	}
	return found, err
}

// judge prints how many mutants of a package were killed, lived or were not covered, and which.
func (f floor) judge(root string, found map[string][]mutant) error {
	var killed, lived, uncovered int
	var seen []string
	for file, mutants := range found {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		source := strings.Split(string(text), "\n")
		for _, m := range mutants {
			line := strings.TrimSpace(source[m.Line-1])
			_, same := equivalent[file+" "+m.Type+" "+line]
			switch {
			case m.Status == "KILLED":
				killed++
				continue
			case same || m.Status == "NOT VIABLE":
				continue
			case m.Status == "NOT COVERED":
				uncovered++
			default:
				lived++
			}
			if m.Status != "NOT COVERED" || f.kind != sampled {
				seen = append(seen, fmt.Sprintf("  %s: %s:%d:%d %s: %s", strings.ToLower(m.Status), file, m.Line, m.Column, m.Type, line))
			}
		}
	}
	covered := killed + lived
	of := func(n, all int) float64 { return 100 * float64(n) / float64(max(all, 1)) }
	fmt.Printf("%-24s %4d killed, %3d lived, %3d not covered: %5.1f %% of the covered killed, %5.1f %% covered\n",
		f.pkg, killed, lived, uncovered, of(killed, covered), of(covered, covered+uncovered))
	slices.Sort(seen)
	for _, line := range seen {
		fmt.Println(line)
	}
	if of(killed, covered) < f.killed || of(covered, covered+uncovered) < f.covered {
		return fmt.Errorf("%s is below its floor: %v %% of the covered killed, %v %% covered", f.pkg, f.killed, f.covered)
	}
	return nil
}

// The environment of a go command that is this program: the real one's path, and a sample's seed.
const (
	realGoEnv = "LATCHKEY_REAL_GO"
	sampleEnv = "LATCHKEY_SAMPLE"
)

// asGo calls the real go command for gremlins, and corrects three of its measures. It takes every failure for a
// killed mutant, also of one that does not compile: exit code 2 says that. It takes what Go's
// coverage has no block for (constants, the conditions of cases) for not covered: see tried. And it bounds
// a compilation together with its tests, so that a busy machine seems to kill: here only the tests are bounded.
// The first test that fails ends the tests of a mutant, also those that run in parallel.
func asGo(args []string) int {
	if i := slices.Index(args, "-timeout") + 1; i > 0 {
		args[i] = "30s"
		if os.Getenv(sampleEnv) != "" {
			args[i] = "10m"
		}
	}
	profile := slices.Index(args, "-coverprofile") + 1
	ofMutant := args[0] == "test" && profile == 0
	if ofMutant {
		args = slices.Insert(args, 1, "-v") // says at once that a test has failed
	}
	out, err := untilFailure(exec.Command(os.Getenv(realGoEnv), args...), ofMutant)
	_, _ = os.Stdout.WriteString(out)
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && strings.Contains(out, "[build failed]"):
		return 2
	case errors.As(err, &failed) && failed.ExitCode() < 0: // ended at the first failure
		return 1
	case errors.As(err, &failed):
		return failed.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 2
	case profile > 0:
		if err := tried(args[profile], os.Getenv(sampleEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return 0
}

// mostOutput bounds the output of a mutant, in bytes. One that loops may print without end.
const mostOutput = 16 << 20

// untilFailure runs a command and returns its output. If stop is set, a test that fails ends the command and
// its children, as does an output of mostOutput.
func untilFailure(cmd *exec.Cmd, stop bool) (string, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	limited := &io.LimitedReader{R: read, N: math.MaxInt64}
	if stop {
		limited.N = mostOutput
	}
	lines := bufio.NewReader(limited)
	for {
		line, end := lines.ReadString('\n')
		out.WriteString(line)
		if stop && (strings.HasPrefix(line, "--- FAIL: ") || limited.N == 0) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			break
		}
		if end != nil {
			break
		}
	}
	return out.String(), cmd.Wait()
}

// block is a line of a coverage profile: what lies between two positions, and how often it ran.
type block struct {
	file                  string
	line, col, end, endTo int
	statements, count     int
}

// tried rewrites a coverage profile, so that the gaps beside a covered block count as covered. With a
// seed, only a sample of the covered blocks stays.
func tried(profile, seed string) error {
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	mode, rest, _ := strings.Cut(string(text), "\n")
	var blocks []block
	for line := range strings.Lines(rest) {
		var b block
		name, where, _ := strings.Cut(strings.TrimSpace(line), ":")
		if _, err := fmt.Sscanf(where, "%d.%d,%d.%d %d %d", &b.line, &b.col, &b.end, &b.endTo, &b.statements, &b.count); err != nil {
			return fmt.Errorf("%s: %q: %w", profile, line, err)
		}
		b.file = name
		blocks = append(blocks, b)
	}
	slices.SortFunc(blocks, func(a, b block) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line, a.col-b.col)
	})
	var out strings.Builder
	fmt.Fprintln(&out, mode)
	write := func(b block) {
		if b.count > 0 && chosen(b, seed) {
			fmt.Fprintf(&out, "%s:%d.%d,%d.%d 1 1\n", b.file, b.line, b.col, b.end, b.endTo)
		}
	}
	before := block{end: 1, endTo: 1}
	for i, b := range blocks {
		if b.file != before.file {
			before = block{file: b.file, end: 1, endTo: 1, count: b.count}
		}
		write(block{file: b.file, line: before.end, col: before.endTo + 1, end: b.line, endTo: b.col - 1, count: before.count + b.count})
		write(b)
		if i+1 == len(blocks) || blocks[i+1].file != b.file {
			write(block{file: b.file, line: b.end, col: b.endTo + 1, end: math.MaxInt32, endTo: 1, count: b.count})
		}
		before = b
	}
	return os.WriteFile(profile, []byte(out.String()), 0o644)
}

// chosen reports whether a block is in the sample of a seed: a quarter of them are. Without a seed every block is.
func chosen(b block, seed string) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", seed, b.file, b.line, b.col))
	return seed == "" || sum[0]%4 == 0
}
