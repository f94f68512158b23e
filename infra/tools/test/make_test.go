// Package test tests the recipes of `make test`, `make mutants` and `make home`, and pins the program that shows the
// results of tests.
package test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recipe returns the commands of a target.
func recipe(t *testing.T, target string) []string {
	t.Helper()
	cmd := exec.Command("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-n", target)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestTestsAskTheStacksThatTheyStart wants the variables to be unset that lead the tests to another deployment.
func TestTestsAskTheStacksThatTheyStart(t *testing.T) {
	for _, target := range []string{"test", "mutants"} {
		for _, line := range recipe(t, target) {
			if !strings.HasPrefix(line, "env -u BASE_URL -u TOKEN_CMD ") {
				t.Errorf("%s: %.200s", target, line)
			}
		}
	}
}

// TestMakeTestRunsEveryTestAnew wants no result from Go's test cache, and no test left out. The last one of its commands
// runs infra/e2e, and the other one the other packages.
func TestMakeTestRunsEveryTestAnew(t *testing.T) {
	lines := recipe(t, "test")
	for _, line := range lines {
		for _, word := range []string{" gotestsum ", " -count=1 "} {
			if !strings.Contains(line, word) {
				t.Errorf("no%sin %.200s", word, line)
			}
		}
		if strings.Contains(line, " -short") {
			t.Errorf("not all of the tests: %.200s", line)
		}
	}
	if last := lines[len(lines)-1]; len(lines) != 2 || !strings.HasSuffix(last, " ./infra/e2e") || !strings.Contains(lines[0], " latchkey/pkg/store ") {
		t.Errorf("%d lines, the last one: %s", len(lines), last)
	}
}

// TestATestProgramWithoutServicesHasAMinute runs the script by which make test starts test programs. The last limit counts.
func TestATestProgramWithoutServicesHasAMinute(t *testing.T) {
	script, err := filepath.Abs("minute")
	if err != nil {
		t.Fatal(err)
	}
	if line := recipe(t, "test")[0]; !strings.Contains(line, " -exec '"+script+"' ") {
		t.Errorf("it is not used in %.200s", line)
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
