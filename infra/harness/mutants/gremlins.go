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

	"latchkey/infra/tools"
	"latchkey/infra/tools/copied"
)

// mutant is a change that gremlins has made.
type mutant struct {
	Type, Status string // such as INVERT_LOGICAL, KILLED
	Line, Column int
}

// gremlins runs the program gremlins in a copy of the repository, on each package in floors that wanted selects, and prints the
// results. It returns an error for each package below its floor. For packages of the kind sampled, seed selects the mutants.
func gremlins(ctx context.Context, root string, wanted func(floor) bool, seed int) error {
	if len(equivalent) > maxEquivalent {
		return fmt.Errorf("equivalent lists %d mutants; the limit is %d", len(equivalent), maxEquivalent)
	}
	chosen := slices.DeleteFunc(slices.Clone(floors), func(f floor) bool { return !wanted(f) })
	if len(chosen) == 0 {
		return nil
	}
	dir := filepath.Join(root, ".local", "mutants", "gremlins")
	if err := copied.Tree(ctx, root, dir); err != nil {
		return err
	}
	env, program, err := prepare(ctx, root, filepath.Join(dir, ".local", "bin"))
	if err != nil {
		return err
	}
	begun := time.Now()
	var low []error
	for _, f := range chosen {
		env := env
		if f.kind == sampled {
			env = append(slices.Clone(env), fmt.Sprintf("%s=%d", sampleEnv, seed))
		}
		found, err := f.findMutants(ctx, program, dir, env)
		if err != nil {
			return err
		}
		low = append(low, f.check(root, found))
	}
	fmt.Printf("gremlins took %s\n", time.Since(begun).Round(time.Second))
	return errors.Join(low...)
}

// prepare returns the path of the program gremlins, and its environment. It makes a link named go in the folder bin, so that
// gremlins calls this program in place of the go command (see asGo). The flags in GOFLAGS make mutants compile faster.
func prepare(ctx context.Context, root, bin string) (env []string, program string, err error) {
	out, errTool := tools.Output(ctx, root, nil, "go", "tool", "-n", "-modfile="+filepath.Join("infra", "tools", "test", "tools.mod"), "gremlins")
	self, errSelf := os.Executable()
	goCommand, errGo := exec.LookPath("go")
	if err := errors.Join(errTool, errSelf, errGo, os.MkdirAll(bin, 0o755), os.Symlink(self, filepath.Join(bin, "go"))); err != nil {
		return nil, "", err
	}
	return append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), realGoEnv+"="+goCommand, "GOFLAGS=-vet=off -trimpath -ldflags=-s -gcflags=-l"),
		strings.TrimSpace(out), nil
}

// findMutants runs gremlins on a package, and returns the mutants by file. asGo sets the time limit of tests, so the time-out
// coefficient of gremlins only has to be large enough.
func (f floor) findMutants(ctx context.Context, program, dir string, env []string) (map[string][]mutant, error) {
	report := filepath.Join(dir, ".local", "gremlins.json")
	cmd := exec.CommandContext(ctx, program, "unleash", "--silent", "--workers", strconv.Itoa(workers), "--timeout-coefficient", "1000", "--output", report,
		"--exclude-files", "/", // leave out the packages in subfolders
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl", "--remove-self-assignments", "./"+f.pkg)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gremlins %s: %w\n%s", f.pkg, err, tools.Tail(out))
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

// check prints the numbers of killed, living and uncovered mutants of a package, without the equivalent ones, and a line for each
// mutant that was not killed. It returns an error if the package is below its floor.
func (f floor) check(root string, found map[string][]mutant) error {
	var killed, lived, uncovered int
	var notKilled []string
	for file, mutants := range found {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		source := strings.Split(string(text), "\n")
		for _, m := range mutants {
			line := strings.TrimSpace(source[m.Line-1])
			_, isEquivalent := equivalent[file+" "+m.Type+" "+line]
			switch {
			case m.Status == "KILLED":
				killed++
				continue
			case isEquivalent || m.Status == "NOT VIABLE": // NOT VIABLE: the mutant does not compile
				continue
			case m.Status == "NOT COVERED":
				uncovered++
			default:
				lived++
			}
			if m.Status != "NOT COVERED" || f.kind != sampled { // mutants outside of a sample count as not covered
				notKilled = append(notKilled, fmt.Sprintf("  %s: %s:%d:%d %s: %s", strings.ToLower(m.Status), file, m.Line, m.Column, m.Type, line))
			}
		}
	}
	covered := killed + lived
	percent := func(n, all int) float64 { return 100 * float64(n) / float64(max(all, 1)) }
	fmt.Printf("%-24s %4d killed, %3d lived, %3d not covered: %5.1f %% of the covered ones killed, %5.1f %% covered\n",
		f.pkg, killed, lived, uncovered, percent(killed, covered), percent(covered, covered+uncovered))
	slices.Sort(notKilled)
	for _, line := range notKilled {
		fmt.Println(line)
	}
	if percent(killed, covered) < f.killed || percent(covered, covered+uncovered) < f.covered {
		return fmt.Errorf("%s is below its floor: %v %% of the covered mutants killed, %v %% covered", f.pkg, f.killed, f.covered)
	}
	return nil
}

// Environment variables that gremlins passes on to asGo.
const (
	realGoEnv = "LATCHKEY_REAL_GO" // the path of the real go command
	sampleEnv = "LATCHKEY_SAMPLE"  // the seed of the sample; "": all mutants
)

// asGo acts as the go command for gremlins. It calls the real go command, and corrects three errors of gremlins:
//   - For a mutant that does not compile, it returns 2. Otherwise gremlins counts the mutant as killed.
//   - coverGaps covers code that has no block in Go's coverage (constants, the conditions of cases).
//   - The time limit is only for the tests. The limit of gremlins includes the compilation, so that a busy machine kills mutants.
func asGo(args []string) (int, error) {
	profile := slices.Index(args, "-coverprofile") + 1
	if args[0] == "test" && profile == 0 { // before the mutants, gremlins measures the coverage once
		return testMutant(args[len(args)-1])
	}
	cmd := exec.Command(os.Getenv(realGoEnv), args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return failed.ExitCode(), nil
	case err == nil && profile > 0:
		err = coverGaps(args[profile], os.Getenv(sampleEnv))
	}
	if err != nil {
		return 2, err
	}
	return 0, nil
}

// testMutant runs the tests of pkg, the package in the current folder. It returns 0 if they pass, 1 if they fail, 2 if
// they do not compile, and 3 with an error. For gremlins, 3 means that the mutant lived.
func testMutant(pkg string) (int, error) {
	program, err := testProgram(pkg)
	if errors.Is(err, errNoProgram) {
		return 2, nil
	}
	if err != nil {
		return 3, err
	}
	processor, clock := "5", "30s"  // limits: seconds of processor time (this ends a loop also on a busy machine), and total time
	if os.Getenv(sampleEnv) != "" { // the tests use a database
		processor, clock = "120", "10m"
	}
	cmd := exec.Command("sh", "-c", `ulimit -t $0 && exec "$@"`, processor,
		program, "-test.v", "-test.failfast", "-test.paniconexit0", "-test.timeout="+clock)
	if pass, err := passes(cmd); err != nil {
		return 3, err
	} else if !pass {
		return 1, nil
	}
	return 0, nil
}

// maxOutput is the limit for the output of a mutant's tests, in bytes: a mutant can print in an endless loop.
const maxOutput = 16 << 20

// passes runs a test program, and reports whether all tests pass. When a test fails, or the output is longer than maxOutput, it
// kills the program and its children.
func passes(cmd *exec.Cmd) (bool, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that the kill below also ends the children
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	limited := &io.LimitedReader{R: out, N: maxOutput}
	lines := bufio.NewReader(limited)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "--- FAIL: ") || limited.N == 0 {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			break
		}
		if err != nil {
			break
		}
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		return false, err
	}
	return failed == nil, nil
}

// block is a line of a coverage profile: the code between two positions, with the number of its runs.
type block struct {
	file              string
	line, col         int // the beginning
	endLine, endCol   int
	statements, count int // count: the number of runs
}

// coverGaps rewrites a coverage profile. The code between two blocks (a gap) counts as covered if one of them is covered. With a
// seed, only a sample of the covered blocks and gaps stays, because gremlins makes mutants only of covered code.
func coverGaps(profile, seed string) error {
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	mode, rest, _ := strings.Cut(string(text), "\n")
	var blocks []block
	for line := range strings.Lines(rest) {
		var b block
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.col, &b.endLine, &b.endCol, &b.statements, &b.count); err != nil {
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
		if b.count > 0 && inSample(b, seed) {
			fmt.Fprintf(&out, "%s:%d.%d,%d.%d 1 1\n", b.file, b.line, b.col, b.endLine, b.endCol)
		}
	}
	var before block
	for i, b := range blocks {
		if b.file != before.file { // the first gap begins at the beginning of the file
			before = block{file: b.file, endLine: 1, endCol: 1, count: b.count}
		}
		write(block{file: b.file, line: before.endLine, col: before.endCol + 1, endLine: b.line, endCol: b.col - 1, count: before.count + b.count})
		write(b)
		isLastOfFile := i+1 == len(blocks) || blocks[i+1].file != b.file
		if isLastOfFile {
			write(block{file: b.file, line: b.endLine, col: b.endCol + 1, endLine: math.MaxInt32, endCol: 1, count: b.count})
		}
		before = b
	}
	return os.WriteFile(profile, []byte(out.String()), 0o644)
}

// inSample reports whether a block is in the sample of a seed: a quarter of all blocks; seed "": all blocks.
func inSample(b block, seed string) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", seed, b.file, b.line, b.col))
	return seed == "" || sum[0]%4 == 0
}
