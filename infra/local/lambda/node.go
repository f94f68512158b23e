package lambda

import (
	_ "embed"
	"errors"
	"os/exec"
	"path/filepath"
)

//go:embed runtime.mjs
var nodeRuntime string

// Node returns a function that Node.js runs: its code is in a folder, and its handler is file.export. Node
// must be on this machine.
func Node(f Function, folder, handler string) (Function, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return f, errors.New("there is no node on this machine")
	}
	f.Path, f.Args, f.Handler = node, []string{"--input-type=module", "--eval", nodeRuntime}, handler
	f.Dir, err = filepath.Abs(folder)
	return f, err
}
