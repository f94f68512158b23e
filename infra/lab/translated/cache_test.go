package translated_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGosTestCacheSeesTheTemplate runs a test of this package and reads the log from which Go's
// test cache finds the files that a test depends on.
func TestGosTestCacheSeesTheTemplate(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnknownAuthorizerOfARouteStopsTheStart$", "-test.testlogfile="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "open ") && strings.HasSuffix(strings.TrimSpace(line), "/template.yaml") {
			return
		}
	}
	t.Errorf("no template was opened:\n%s", text)
}
