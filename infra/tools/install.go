// Package tools installs pinned programs under .local/ in the repository at their first use: packages of Python, Node and
// Java, the SAM CLI and the AWS CLI.
package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"latchkey/pkg/parallel"
)

// Progress gets a short line about each step of an installation.
type Progress func(line string)

// tool is a program to install. Each recipe gets its own folder.
type tool struct {
	name    string
	recipe  []string        // the inputs of the build; after a change of the recipe the old folder stays
	missing func() []string // returns the programs that build needs and this machine lacks
	build   func(ctx context.Context, dir string) error
}

// install returns the tool's folder. If this recipe was not built yet, install builds it first. When several processes call
// install, one builds and the others wait. An interrupted build starts again.
func install(ctx context.Context, t tool, say Progress) (string, error) {
	if say == nil {
		say = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	if err := missing(t.missing); err != nil {
		return "", err
	}
	tools, err := Dir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(tools, t.name+"-"+digest(t.recipe))
	done := filepath.Join(dir, ".done")
	if exists(done) {
		return dir, nil
	}
	unlock, err := Lock(ctx, filepath.Join(tools, t.name+".lock"), func() {
		say("waiting until " + t.name + " is installed")
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(done) { // another process has installed the tool while this one waited
		return dir, nil
	}
	say("installing " + t.name + " (once)")
	begun := time.Now()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil { // an interrupted build may have left files
		return "", err
	}
	if err := t.build(ctx, dir); err != nil {
		return "", fmt.Errorf("installing %s: %w", t.name, err)
	}
	say(fmt.Sprintf("installed %s in %.0f s", t.name, time.Since(begun).Seconds()))
	return dir, os.WriteFile(done, nil, 0o644)
}

// Lock waits for a lock. It calls waiting once if another process has the lock. When that process ends without unlock, the
// system releases the lock.
func Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			_ = f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if try == 0 {
			waiting()
		}
		if err := Sleep(ctx, 100*time.Millisecond); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
}

// Sleep waits. It returns the context's error when the context ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// AtOnce runs all steps at the same time, waits for them and returns their errors.
func AtOnce(ctx context.Context, steps []func(context.Context) error) error {
	return errors.Join(parallel.Each(len(steps), steps, func(_ int, step func(context.Context) error) error { return step(ctx) })...)
}

// digest hashes each part with its length. Without the lengths, ("ab", "c") and ("a", "bc") would have the same digest.
func digest(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Listen listens on a port of 127.0.0.1, or on a free one if port is 0.
func Listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("port %d is taken (choose others with PORT=): %w", port, err)
	}
	return l, nil
}

// FreePort returns a free port if port is 0. Otherwise it returns port, or an error when a program listens there. It tries to
// connect. It does not try to listen: a process that starts at that moment would get a copy of the open socket, and the port would
// stay taken for a moment.
func FreePort(port int) (int, error) {
	if port == 0 {
		return FreePorts(1)
	}
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return port, nil
	}
	if err == nil {
		err = c.Close()
	}
	return 0, errors.Join(fmt.Errorf("port %d is taken (choose others with PORT=)", port), err)
}

// claimed are the blocks of ports that this process has claimed. FreePorts returns ports of the newest block.
var claimed struct {
	sync.Mutex
	listeners []net.Listener // on the first port of each block: so other processes see that the block is claimed
	next, end int            // of the newest block: the first port that was not returned yet, and the port after the last
}

// FreePorts returns the first of n free ports in a row (at most 63). A stack derives its ports from the first. While this process
// lives, FreePorts of other processes does not return these ports, and Linux does not use them for outgoing connections. So they are
// still free when a child process listens later.
func FreePorts(n int) (int, error) {
	claimed.Lock()
	defer claimed.Unlock()
	for {
		for ; claimed.next+n <= claimed.end; claimed.next++ {
			if first := claimed.next; areFree(first, n) {
				claimed.next += n
				return first, nil
			}
		}
		if err := claimBlock(); err != nil {
			return 0, err
		}
	}
}

// claimBlock claims the next block of ports that no other process has.
func claimBlock() error {
	const from, to, size = 20000, 32000, 64 // Linux's outgoing connections begin at 32768
	for first := max(from, claimed.end); first < to; first += size {
		l, err := Listen(first)
		if err == nil {
			claimed.listeners = append(claimed.listeners, l)
			claimed.next, claimed.end = first+1, first+size
			return nil
		}
	}
	return errors.New("no free ports")
}

func areFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		if _, err := FreePort(port); err != nil {
			return false
		}
	}
	return true
}

// Root returns the folder of the repository. The working directory must be in it.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return nearestWith(dir, "samconfig.toml") // only the repository's folder has this file
}

// ModuleOf returns the nearest folder with a go.mod at or above a folder, whose path is absolute.
func ModuleOf(folder string) (string, error) { return nearestWith(folder, "go.mod") }

// nearestWith returns the nearest folder with a file of this name at or above a folder, whose path is absolute.
func nearestWith(folder, name string) (string, error) {
	for at := folder; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, name)) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("there is no %s at or above %s", name, folder)
		}
	}
}

// Dir returns the folder of the installed tools. It resolves links, because some tools work only at the path of their
// installation. You can delete the folder while no command uses it.
func Dir() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".local", "tools")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("a place for tools: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}
