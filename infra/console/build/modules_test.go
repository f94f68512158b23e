package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"latchkey/infra/tools"
)

// TestModulesInNode runs the tests of the modules that draw nothing with Node's own runner.
func TestModulesInNode(t *testing.T) {
	t.Parallel()
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	if err := unpack(filepath.Join(root, "infra/console/npm"), modules); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "modules.test.mjs")
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(root, "infra/console/test/modules.test.js")}, NodePaths: []string{modules}, Bundle: true, Outfile: program, Write: true,
		Platform: api.PlatformBrowser, External: []string{"node:*"}, Format: api.FormatESModule, Target: api.ES2022, TsconfigRaw: tsconfig,
	})
	if len(result.Errors) > 0 {
		t.Fatal(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}))
	}
	if out, err := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=tap", program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
