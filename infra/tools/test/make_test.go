// Package test tests the recipes of `make test`, `make mutants` and `make home`. Its tools.mod pins the program that shows test results.
package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/tools/copied"
)

// recipe returns the commands of a target, and of the targets that it calls with make.
func recipe(t *testing.T, target string) []string {
	t.Helper()
	cmd := exec.Command("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-n", target)
	cmd.Dir = "../../.."
	var log strings.Builder // not a part of the recipe: on a new machine, go says what it downloads
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	isMake := func(line string) bool { return strings.HasPrefix(line, "make ") }
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), isMake)
}

// TestTestsCallTheStacksThatTheyStart checks that BASE_URL and TOKEN_CMD are unset: with them the tests would call another deployment.
func TestTestsCallTheStacksThatTheyStart(t *testing.T) {
	for _, target := range []string{"test", "mutants"} {
		for _, line := range recipe(t, target) {
			if !strings.Contains(line, "env -u BASE_URL -u TOKEN_CMD ") {
				t.Errorf("%s: %.200s", target, line)
			}
		}
	}
}

// TestMakeChangesNoGivenValue: make would read $A in a value as a variable, and $(shell ...) as a command.
func TestMakeChangesNoGivenValue(t *testing.T) {
	const value = "https://x.example/$web/a $(shell echo b) $$ ' \"c"
	names := []string{"PARAMETERS", "CONSUMER_PARAMETERS", "TAGS", "ISSUER", "AUDIENCE", "EMAIL", "NAME", "SUB", "TOKEN_CMD"}
	show := filepath.Join(t.TempDir(), "show.mk")
	if err := os.WriteFile(show, []byte("show:\n\t@env\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{nil, names} { // in the environment; in the command
		cmd := exec.Command("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-s", "-f", "Makefile", "-f", show, "show")
		cmd.Dir, cmd.Env = "../../..", os.Environ()
		for _, name := range names {
			if given == nil {
				cmd.Env = append(cmd.Env, name+"="+value)
			} else {
				cmd.Args = append(cmd.Args, name+"="+value)
			}
		}
		out, err := cmd.Output()
		for _, name := range names {
			if err != nil || !slices.Contains(strings.Split(string(out), "\n"), name+"="+value) {
				t.Errorf("%s, in the command %t: %v, %s", name, given != nil, err, regexp.MustCompile("(?m)^"+name+"=.*").FindString(string(out)))
			}
		}
	}
}

// TestMakeTestUsesNoCachedResult checks that no result comes from Go's test cache, and that no test is left out. The first command
// runs one test of infra/harness/e2e. The next two run the other packages of each module, two more the tests of limits in another
// time zone, and the last the other tests of infra/harness/e2e.
func TestMakeTestUsesNoCachedResult(t *testing.T) {
	lines := recipe(t, "test")
	for _, line := range lines {
		for _, word := range []string{" gotestsum ", " -count=1 "} {
			if !strings.Contains(line, word) {
				t.Errorf("no%sin %.200s", word, line)
			}
		}
		if strings.Contains(line, " -short") {
			t.Errorf("-short skips tests: %.200s", line)
		}
	}
	if len(lines) != 6 || !strings.HasPrefix(lines[1], "TZ=Pacific/Kiritimati ") || !strings.Contains(lines[1], " latchkey/pkg/store ") ||
		!strings.HasPrefix(lines[2], "TZ=Pacific/Kiritimati ") || !strings.Contains(lines[2], " latchkey/infra/harness/lab ") ||
		!strings.HasPrefix(lines[3], "TZ=America/Adak ") || !strings.HasPrefix(lines[4], "TZ=America/Adak ") {
		t.Fatalf("%d lines: %.400s", len(lines), lines)
	}
	first, last := strings.TrimSuffix(lines[0], "$' ./e2e"), strings.TrimSuffix(lines[5], "$' ./e2e")
	_, alone, _ := strings.Cut(first, " -run '^")
	if alone == "" || !strings.HasSuffix(last, " -skip '^("+alone+"|TestDeployed|TestSmoke|TestFrontDoor)") {
		t.Errorf("the first command runs %q of infra/harness/e2e, and the last command is %s", alone, last)
	}
}

// TestRecipesNameExistingPackages finds a wrong path in a target that no other test runs, because it is slow or needs an account.
func TestRecipesNameExistingPackages(t *testing.T) {
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	inHarness := regexp.MustCompile(`-C \$\(HARNESS\)|\$\((IN_HARNESS|HARNESS_TEST)\)`)
	for line := range strings.Lines(string(text)) {
		module := "../../.."
		if inHarness.MatchString(line) {
			module += "/infra/harness"
		}
		for _, m := range regexp.MustCompile(`[ ,]\./([a-z0-9/]+)`).FindAllStringSubmatch(line, -1) {
			named++
			if info, err := os.Stat(filepath.Join(module, m[1])); err != nil || !info.IsDir() {
				t.Errorf("no package %s: %s", m[0], line)
			}
		}
	}
	if named < 25 {
		t.Errorf("only %d packages were found", named)
	}
}

// TestATestProgramWithoutServicesHasAMinute runs the script that starts test programs for make test. Of two -test.timeout flags, Go
// uses the last.
func TestATestProgramWithoutServicesHasAMinute(t *testing.T) {
	script, err := filepath.Abs("minute")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range recipe(t, "test")[1:3] {
		if !strings.Contains(line, ` -exec "'`+script+`'" `) {
			t.Errorf("the script is not used in %.200s", line)
		}
	}
	for folder, want := range map[string]string{
		"pkg/table": "-test.timeout=30m -test.timeout=1m", "pkg/authn/jwks": "-test.timeout=30m -test.timeout=1m",
		"pkg/store": "-test.timeout=30m", "infra/deploy": "-test.timeout=30m",
	} {
		run := exec.Command(script, "echo", "-test.timeout=30m")
		if run.Dir, err = filepath.Abs(filepath.Join("../../..", folder)); err != nil {
			t.Fatal(err)
		}
		if out, err := run.Output(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q, %v; want %q", folder, out, err, want)
		}
	}
}

// TestRecipesWorkInAFolderWithABlank runs the recipe of make test, with one package, and make catalogue, whose API does not answer.
func TestRecipesWorkInAFolderWithABlank(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my code")
	files(t, "../../..", func(path string) {
		if err := copied.File(filepath.Join("../../..", path), filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	})
	lines := strings.Split(run(t, dir, nil, "make", "-n", "test-packages", "PACKAGES=./pkg/parallel", "HARNESS_PACKAGES=./lab/gateway"), "\n")
	for _, line := range lines[:2] {
		run(t, dir, nil, "sh", "-c", line+" -run NoTest")
	}
	cmd := exec.Command("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "catalogue", "FILE=infra/examples/catalogue.json", "BASE_URL=http://127.0.0.1:1", "TOKEN_CMD=echo")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "connection refused") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMakeHelpFitsALine checks that each target has a line of at most 90 characters, and that TARGET= shows its options.
func TestMakeHelpFitsALine(t *testing.T) {
	help := func(arguments ...string) string {
		cmd := exec.Command("make", append([]string{"-s", "help"}, arguments...)...)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	all := help()
	for line := range strings.Lines(all) {
		if n := len([]rune(line)); n > 91 { // with the newline
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if one := help("TARGET=run"); strings.Count(all, "\n  make ") < 25 || strings.Count(one, "make ") != 1 || !strings.Contains(one, " CONCURRENCY=10 ") {
		t.Errorf("%s\n%s", all, one)
	}
}
