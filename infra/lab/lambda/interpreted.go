package lambda

import (
	_ "embed"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

var (
	//go:embed runtime.mjs
	nodeRuntime string
	//go:embed runtime.py
	pythonRuntime string
)

// Node returns a function that Node.js runs: its code is in a folder, and its handler is file.export. Node
// must be on this machine.
func Node(f Function, folder, handler string) (Function, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return f, errors.New("there is no node on this machine")
	}
	return interpreted(f, folder, handler, node, "--input-type=module", "--eval", nodeRuntime)
}

// Python returns a function that Python runs: its code is in a folder, with the packages that it imports, and its
// handler is module.function. Python must be on this machine, in any version.
func Python(f Function, folder, handler string) (Function, error) {
	// A python3 that is a script would not run in the environment of a function.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return f, errors.New("there is no python3 on this machine")
	}
	return interpreted(f, folder, handler, strings.TrimSpace(string(python)), "-u", "-B", "-c", pythonRuntime)
}

func interpreted(f Function, folder, handler, path string, args ...string) (Function, error) {
	var err error
	f.Path, f.Args, f.Handler = path, args, handler
	f.Dir, err = filepath.Abs(folder)
	return f, err
}
