// Command build makes the console's files, functions/console/dist, from infra/console. It needs neither Node nor a network:
// the npm packages are in infra/console/npm.
//
//	go -C infra/harness run ./console/build                        writes dist
//	go -C infra/harness run ./console/build -unpack DIR            unpacks the packages to DIR/node_modules, for a check of types
package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"

	"latchkey/infra/tools"
)

func main() {
	unpackTo := flag.String("unpack", "", "only unpack the packages, to `DIR`/node_modules")
	flag.Parse()
	tools.Exit("", run(*unpackTo))
}

func run(unpackTo string) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	sources := filepath.Join(root, "infra/console")
	if unpackTo != "" {
		return unpack(filepath.Join(sources, "npm"), filepath.Join(unpackTo, "node_modules"))
	}
	files, err := build(sources)
	if err != nil {
		return err
	}
	dist := filepath.Join(root, distFolder)
	if err := errors.Join(os.RemoveAll(dist), os.MkdirAll(dist, 0o755)); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dist, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
