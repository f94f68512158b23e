// Package receivers has the receivers that infra/docs/webhooks.md shows, one in Node and one in
// Python, and runs them for tests. Each is one file, with a pinned list of its packages beside it.
package receivers

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"latchkey/infra/tools"
)

//go:embed node/receiver.mjs node/package.json node/package-lock.json python/receiver.py python/requirements.txt
var files embed.FS

// Language is the language of a receiver.
type Language string

// The languages.
const (
	Node   Language = "node"
	Python Language = "python"
)

// Config is passed to a receiver in its environment.
type Config struct {
	BaseURL    string
	EndpointID string
	Issuer     string    // "": BaseURL
	Port       int       // 0: a free one
	Output     io.Writer // gets a line "<event id> <type>" for each event; nil: the lines are dropped
}

// Receiver is a running receiver.
type Receiver struct {
	URL string // for webhooks, by POST

	cmd  *exec.Cmd
	dir  string
	done chan struct{} // closed when the receiver has ended
}

const (
	startTimeout = 30 * time.Second
	stopGrace    = 2 * time.Second
)

// Start starts a receiver and returns when it listens. It installs the receiver's packages at the
// first use. Without the language the error is a *tools.MissingError. The caller must call Stop.
func Start(ctx context.Context, l Language, c Config) (*Receiver, error) {
	if c.Port == 0 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		c.Port = port
	}
	dir, err := os.MkdirTemp("", "latchkey-receiver-")
	if err != nil {
		return nil, err
	}
	r := &Receiver{URL: fmt.Sprintf("http://127.0.0.1:%d/", c.Port), dir: dir, done: make(chan struct{})}
	if r.cmd, err = command(ctx, l, dir); err == nil {
		err = r.run(ctx, c)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // only the first error counts
		return nil, fmt.Errorf("%s receiver: %w", l, err)
	}
	return r, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// command writes the receiver into dir and returns the command that starts it.
func command(ctx context.Context, l Language, dir string) (*exec.Cmd, error) {
	if l == Python {
		interpreter, err := tools.VirtualEnv(ctx, "receiver-python", text("python/requirements.txt"), nil)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "receiver.py")
		return exec.Command(interpreter, path), os.WriteFile(path, []byte(text("python/receiver.py")), 0o644)
	}
	modules, err := tools.NodeModules(ctx, "receiver-node", text("node/package.json"), text("node/package-lock.json"), nil)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "receiver.mjs")
	return exec.Command("node", path), errors.Join(
		os.WriteFile(path, []byte(text("node/receiver.mjs")), 0o644),
		os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")))
}

func (r *Receiver) run(ctx context.Context, c Config) error {
	r.cmd.Env = append(os.Environ(), "BASE_URL="+c.BaseURL, "ENDPOINT_ID="+c.EndpointID, fmt.Sprintf("PORT=%d", c.Port))
	if c.Issuer != "" {
		r.cmd.Env = append(r.cmd.Env, "ISSUER="+c.Issuer)
	}
	var said bytes.Buffer
	r.cmd.Stdout, r.cmd.Stderr = c.Output, &said
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not end it: Stop does
	if err := r.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = r.cmd.Wait() // done reports the end
		close(r.done)
	}()
	if err := r.await(ctx, c.Port); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(err, r.end()), &said)
	}
	return nil
}

// await waits until the receiver listens.
func (r *Receiver) await(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-r.done:
			return errors.New("it ended at its start")
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the receiver.
func (r *Receiver) Stop() error { return errors.Join(r.end(), os.RemoveAll(r.dir)) }

func (r *Receiver) end() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-r.done:
		return nil
	case <-time.After(stopGrace):
	}
	err := r.cmd.Process.Kill()
	<-r.done
	return err
}

func text(path string) string {
	b, err := files.ReadFile(path)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(b)
}
