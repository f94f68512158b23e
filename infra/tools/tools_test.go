package tools

import (
	"strings"
	"testing"
)

// TestTheSAMCLIIsInstalledByHash wants a hash of each package, also of those that the CLI needs: it works with an
// operator's credentials.
func TestTheSAMCLIIsInstalledByHash(t *testing.T) {
	requirements := strings.ReplaceAll(samRequirements, "\\\n", " ")
	n := 0
	for line := range strings.Lines(requirements) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if n++; !strings.Contains(line, "==") || !strings.Contains(line, "--hash=sha256:") {
			t.Errorf("%.60s… has no version or no hash", line)
		}
	}
	if n < 20 {
		t.Errorf("%d packages: those that the CLI needs are missing", n)
	}
}
