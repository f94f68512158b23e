package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"latchkey/infra/tools"
)

// TestConsoleModulesPassTheirNodeTests runs the tests of the modules with Node's own runner, without a browser.
func TestConsoleModulesPassTheirNodeTests(t *testing.T) {
	t.Parallel()
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	if err := unpack(filepath.Join(root, "infra/console/npm"), modules); err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(filepath.Join(root, "infra/console/test/*.test.js"))
	if err != nil {
		t.Fatal(err)
	}
	// test/lit.js replaces lit: it draws text, which the tests read.
	built, drawing := t.TempDir(), filepath.Join(root, "infra/console/test/lit.js")
	result := api.Build(api.BuildOptions{
		EntryPoints: tests, NodePaths: []string{modules}, Bundle: true, Outdir: built, OutExtension: map[string]string{".js": ".mjs"}, Write: true,
		Platform: api.PlatformBrowser, External: []string{"node:*"}, Format: api.FormatESModule, Target: api.ES2022, TsconfigRaw: tsconfig,
		Alias: map[string]string{"lit": drawing, "lit/directives/keyed.js": drawing}, Loader: loaders(".js"), Define: constants(),
	})
	if len(result.Errors) > 0 {
		t.Fatal(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}))
	}
	args := []string{"--test", "--test-reporter=tap"}
	for _, f := range result.OutputFiles {
		args = append(args, f.Path)
	}
	node := exec.CommandContext(t.Context(), "node", args...)
	node.Env = append(os.Environ(), "TZ=UTC") // pages show times in the person's time zone; the tests expect UTC
	if out, err := node.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
