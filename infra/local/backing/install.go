package backing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Progress is told, in a short line, what an installation is doing.
type Progress func(line string)

// stderr is the Progress of callers that give none.
func stderr(line string) { fmt.Fprintln(os.Stderr, line) }

// tool is something to install into a folder of its own.
type tool struct {
	name    string
	recipe  []string // whatever changes when the tool's contents must
	missing func() error
	build   func(ctx context.Context, dir string) error
}

// install returns the tool's folder, after building it when this recipe has not
// been built yet. Several processes may ask at once: one builds, the others
// wait. A build that was cut short is started afresh.
func install(ctx context.Context, t tool, say Progress) (string, error) {
	if say == nil {
		say = stderr
	}
	if err := t.missing(); err != nil {
		return "", err
	}
	tools, err := toolsDir()
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
	if exists(done) {
		return dir, nil
	}
	say("installing " + t.name + " (once)")
	begun := time.Now()
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := t.build(ctx, dir); err != nil {
		return "", fmt.Errorf("installing %s: %w", t.name, err)
	}
	say(fmt.Sprintf("installed %s in %.0f s", t.name, time.Since(begun).Seconds()))
	return dir, os.WriteFile(done, nil, 0o644)
}

// Lock waits for a lock that ends with its holder's process. It calls waiting
// once if it is not free at once.
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
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

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
