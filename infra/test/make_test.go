// Package test holds `make test` to what it promises, and pins the program that
// shows its results.
package test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMakeTestRunsEveryTestAnew wants no answer from Go's test cache.
func TestMakeTestRunsEveryTestAnew(t *testing.T) {
	cmd := exec.Command("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-n", "test")
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
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
