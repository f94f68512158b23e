package servicetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// harness is the folder of the module that tests the whole product, from the root of the repository.
const harness = "/infra/harness"

// program is the built program local/testkit of infra/harness.
type program struct {
	root string // the folder of the repository
	path string // the file of the program
}

// built builds the program at its first call, and returns the same result at later calls.
var built = sync.OnceValues(build)

// build builds the program in .local. `go test ./...` runs several test programs at the same time. They build one after the
// other, so that only the first one compiles and links the changes.
func build() (p program, err error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return p, err
	}
	p.root = strings.TrimSuffix(filepath.Dir(string(mod)), harness)
	p.path = filepath.Join(p.root, ".local", "test", "testkit")
	if err := os.MkdirAll(filepath.Dir(p.path), 0o750); err != nil {
		return p, err
	}
	lock, err := os.OpenFile(p.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return p, err
	}
	defer func() { _ = lock.Close() }() // this releases the lock
	// A signal interrupts the wait for the lock (EINTR).
	for {
		if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return p, err
	}
	// Without -buildvcs=false, the program would contain the commit, and be linked again after each one.
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s", "-o", p.path, "./local/testkit")
	cmd.Dir = p.root + harness
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return p, nil
}
