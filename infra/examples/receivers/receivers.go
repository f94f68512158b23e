// Package receivers has the receivers that infra/docs/webhooks.md shows, in Node, in Python and in FastAPI, and runs them for
// tests. Each receiver imports the verifying module of its folder. A lock file in the folder pins their packages.
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

//go:embed node/*.mjs node/*.json python/*.py python/requirements.txt
var files embed.FS

// Language is the language of a receiver, or its framework.
type Language string

// The languages.
const (
	Node    Language = "node"
	Python  Language = "python"
	FastAPI Language = "fastapi" // in Python
)

// Config is passed to a receiver in its environment.
type Config struct {
	BaseURL    string
	EndpointID string
	Issuer     string    // the iss that webhooks must have; "": BaseURL
	Output     io.Writer // gets a line "<event id> <type>" for each event, and errors; nil: the lines are dropped
}

// Receiver is a running receiver.
type Receiver struct {
	URL string // for webhooks, by POST

	dir  string
	stop context.CancelFunc // ends the receiver
	done chan struct{}      // closed when the receiver has ended
}

const (
	startTimeout = 30 * time.Second // until the receiver listens
	stopGrace    = 2 * time.Second  // from SIGTERM until the receiver is killed
)

// Start starts a receiver and returns when the receiver listens. It installs the receiver's packages at the first use. When
// this machine does not have the language, the error is a *tools.MissingError. The caller must call Stop.
func Start(ctx context.Context, l Language, c Config) (*Receiver, error) {
	port, errPort := tools.FreePort(0)
	dir, errDir := os.MkdirTemp("", "latchkey-receiver-")
	if err := errors.Join(errPort, errDir); err != nil {
		return nil, err
	}
	// Only Stop ends the receiver: it may outlive ctx, which bounds its start.
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &Receiver{URL: fmt.Sprintf("http://127.0.0.1:%d/", port), dir: dir, stop: stop, done: make(chan struct{})}
	cmd, err := command(living, l, dir)
	if err == nil {
		err = r.run(ctx, cmd, port, c)
	}
	if err != nil {
		stop()
		_ = os.RemoveAll(dir) // keep err: it explains why the receiver did not start
		return nil, fmt.Errorf("%s receiver: %w", l, err)
	}
	return r, nil
}

// command writes the receivers into dir and returns the command that starts one.
func command(ctx context.Context, l Language, dir string) (*exec.Cmd, error) {
	if err := os.CopyFS(dir, files); err != nil {
		return nil, err
	}
	if l == Node {
		modules, err := tools.NodeModules(ctx, "receiver-node", text("node/package.json"), text("node/package-lock.json"), nil)
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, "node", filepath.Join(dir, "node/receiver.mjs")),
			os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules"))
	}
	interpreter, err := tools.VirtualEnv(ctx, "receiver-python", text("python/requirements.txt"), nil)
	cmd := exec.CommandContext(ctx, interpreter, "receiver.py")
	if l == FastAPI {
		cmd = exec.CommandContext(ctx, interpreter, "-m", "uvicorn", "receiver_fastapi:app", "--no-access-log")
	}
	cmd.Dir = filepath.Join(dir, "python")
	return cmd, err
}

// run starts cmd and returns when the receiver listens, or ends it when it does not.
func (r *Receiver) run(ctx context.Context, cmd *exec.Cmd, port int, c Config) error {
	cmd.Env = append(os.Environ(), "BASE_URL="+c.BaseURL, "ENDPOINT_ID="+c.EndpointID, fmt.Sprintf("PORT=%d", port), fmt.Sprintf("UVICORN_PORT=%d", port))
	if c.Issuer != "" {
		cmd.Env = append(cmd.Env, "ISSUER="+c.Issuer)
	}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = c.Output, &stderr
	if c.Output != nil {
		cmd.Stderr = io.MultiWriter(&stderr, c.Output)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C in the terminal must not end the receiver; only Stop may
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait() // how the receiver ends does not matter
		close(r.done)
	}()
	if err := r.await(ctx, port); err != nil {
		r.end()
		return fmt.Errorf("%w\n%s", err, &stderr)
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
			return errors.New("it ended before it listened")
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the receiver.
func (r *Receiver) Stop() error {
	r.end()
	return os.RemoveAll(r.dir)
}

func (r *Receiver) end() {
	r.stop()
	<-r.done
}

func text(path string) string { return tools.Text(files, path) }
