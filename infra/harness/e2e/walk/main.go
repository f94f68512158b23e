// Command walk uses the console in Chromium as people do, on a local stack that it starts. It checks the accessibility of each page
// with axe-core.
//
//	go -C infra/harness run ./e2e/walk                 checks the types of the console's sources, and walks
//	go -C infra/harness run ./e2e/walk -shots FOLDER   also makes a picture of each page
//	go -C infra/harness run ./e2e/walk -pictures       only makes the pictures of the documents, infra/docs/pictures
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"latchkey/infra/harness/local/demo"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

func main() {
	shots := flag.String("shots", "", "a `FOLDER` for pictures of each page")
	pictures := flag.Bool("pictures", false, "only make the pictures of the documents")
	flag.Parse()
	tools.Main("", func(ctx context.Context) error { return run(ctx, *shots, *pictures) })
}

//go:embed requirements.txt node
var files embed.FS

func text(name string) string { return tools.Text(files, name) }

func run(ctx context.Context, shots string, pictures bool) (err error) {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return fmt.Errorf("the walk needs Debian's packages chromium and fonts-dejavu-core: %w", err)
	}
	node, err := tools.NodeModules(ctx, "console-node", text("node/package.json"), text("node/package-lock.json"), nil)
	if err != nil {
		return err
	}
	if err := checkTypes(ctx, root, node); err != nil {
		return err
	}
	python, err := tools.VirtualEnv(ctx, "console-python", text("requirements.txt"), nil)
	if err != nil {
		return err
	}
	port, err := tools.FreePort(0)
	if err != nil {
		return err
	}
	parameters := map[string]string{
		"ConsoleOrigins": fmt.Sprintf("http://127.0.0.1:%d", port), // the origin of the page that embeds the elements
		"MaxKeyDays":     "45",                                     // not a lifetime that the console offers by default
	}
	if !pictures {
		maps.Copy(parameters, map[string]string{"ProductName": `Ärger & <img src=x onerror=alert(1)>`, "SupportUrl": "mailto:help@example.com", "Accent": "#2b0a3d"})
	}
	s, err := stack.Start(ctx, stack.Options{Parameters: parameters})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := demo.Fill(ctx, s); err != nil {
		return err
	}
	args := []string{
		filepath.Join(root, "infra", "harness", "e2e", "walk", "walk.py"), s.URL + "/console", s.URL, "--axe", filepath.Join(node, "node_modules", "axe-core", "axe.min.js"),
		"--vectors", filepath.Join(root, "infra", "examples", "vectors", "webhooks.json"),
		"--example", filepath.Join(root, "infra", "examples", "embed", "serve.mjs"), "--port", strconv.Itoa(port),
	}
	if shots != "" {
		args = append(args, "--shots", shots)
	}
	if pictures {
		args = append(args, "--pictures", filepath.Join(root, "infra", "docs", "pictures"))
	}
	walk := exec.CommandContext(ctx, python, args...)
	walk.Dir = root // shots may be relative to it
	walk.Env, walk.Stdout, walk.Stderr = append(os.Environ(), "CHROMIUM="+chromium, "PYTHONDONTWRITEBYTECODE=1"), os.Stdout, os.Stderr
	return walk.Run()
}

// checkTypes runs TypeScript's compiler on the console's sources, because the bundler removes the types without a check.
func checkTypes(ctx context.Context, root, node string) error {
	if err := tools.Run(ctx, root, "go", "-C", "infra/harness", "run", "./console/build", "-unpack", filepath.Join(root, ".local", "console")); err != nil {
		return err
	}
	return tools.Run(ctx, root, filepath.Join(node, "node_modules", ".bin", "tsc"), "--noEmit", "-p", filepath.Join("infra", "console", "tsconfig.json"))
}
