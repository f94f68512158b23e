package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/build"
)

func TestAFunctionIsBuilt(t *testing.T) {
	root, err := backing.Root()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := build.Functions(t.Context(), build.Options{Root: root, Folders: []string{"functions/webhookkeys"}, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(programs["functions/webhookkeys"]); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestGosTestCacheSeesTheFunctions runs the test above and reads what Go's test
// cache would know of it.
func TestGosTestCacheSeesTheFunctions(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFunctionIsBuilt$", "-test.testlogfile="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"/functions/webhookkeys/main.go\n", "/pkg/authz/authz.go\n"} {
		if !strings.Contains(string(text), source) {
			t.Errorf("%s is not among what the cache knows", strings.TrimSpace(source))
		}
	}
}
