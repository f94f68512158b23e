package backing

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"latchkey/infra/tools"
)

const (
	// startTimeout bounds the wait for a child's READY. A JVM on a busy machine is slow.
	startTimeout = 3 * time.Minute

	// stopGrace is the time for a child to end after the end of its input. Then it is killed.
	stopGrace = 5 * time.Second
)

// Process is a child process that answers on a loopback port. It ends when the process that started
// it ends.
type Process struct {
	// Endpoint is the child's base URL, such as http://127.0.0.1:3001, without a slash at the end.
	Endpoint string
	// Port is the port of Endpoint.
	Port int

	name  string
	log   *os.File // the child's output
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}

	mu      sync.Mutex
	stopped bool
	guard   io.Closer // input of the shell that resumes the child if this process dies; nil: not paused
}

// start starts a child with the command for a free port, and waits until the child prints READY. An answer
// on the port is no proof, because it could come from another process.
func start(ctx context.Context, name string, o Options, command func(port int) (*exec.Cmd, error)) (*Process, error) {
	port, err := tools.FreePort(o.Port)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	cmd, err := command(port)
	if err != nil {
		return nil, err
	}
	log, err := openLog(name, o.LogPath)
	if err != nil {
		return nil, err
	}
	// A separate process group, so that a Ctrl-C in the terminal does not end the child before the others.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = log
	stdin, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Process{
		Endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), Port: port,
		name: name, log: log, cmd: cmd, stdin: stdin, done: make(chan struct{}),
	}
	ready := make(chan struct{})
	go p.watch(out, ready)
	return p, p.await(ctx, ready)
}

// openLog opens the child's log. Without a path the log is a deleted file, which this process can still read.
func openLog(name, path string) (*os.File, error) {
	if path != "" {
		return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_RDWR, 0o644)
	}
	log, err := os.CreateTemp("", "local-"+name+"-*.log")
	if err != nil {
		return nil, err
	}
	return log, os.Remove(log.Name())
}

// watch copies the child's output to its log, closes ready at READY, and waits for the child's end.
func (p *Process) watch(out io.Reader, ready chan<- struct{}) {
	lines := bufio.NewReader(out)
	isReady := false
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(p.log, line)
		if !isReady && strings.TrimSpace(line) == "READY" {
			isReady = true
			close(ready)
		}
		if err != nil {
			break
		}
	}
	_ = p.cmd.Wait() // Wait sets the state that Err prints
	close(p.done)
}

func (p *Process) await(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-p.done:
		return p.Err()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Stop())
	case <-time.After(startTimeout):
		_ = p.Stop()
		return fmt.Errorf("%s was not ready after %s: %s", p.name, startTimeout, p.logTail())
	}
}

// Done is closed when the child has ended, by Stop or by itself.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns the reason why the child ended by itself, with the end of its log. It returns nil
// while the child runs and after Stop.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%s): %s", p.name, p.cmd.ProcessState, p.logTail())
}

func (p *Process) logTail() string {
	text, err := io.ReadAll(io.NewSectionReader(p.log, 0, math.MaxInt64))
	if err != nil {
		return err.Error()
	}
	return tools.Tail(text)
}

// Stop ends the child and waits for its end. Then all acknowledged writes of the child are on disk.
// Stopping twice is allowed.
func (p *Process) Stop() error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	if err := p.Resume(); err != nil {
		return err
	}
	_ = p.stdin.Close()
	select {
	case <-p.done:
		return nil
	case <-time.After(stopGrace):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// Pause makes the child hang: connections open, but nothing answers. The child continues after
// Resume, and when this process ends.
func (p *Process) Pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guard != nil || p.stopped {
		return nil
	}
	// A paused child does not see the end of its input. If this process dies, the guard resumes the child.
	guard := exec.Command("/bin/sh", "-c", fmt.Sprintf("cat >/dev/null; kill -CONT %d 2>/dev/null", p.cmd.Process.Pid))
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := guard.StdinPipe()
	if err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	go func() { _ = guard.Wait() }()
	p.guard = in
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for range 1000 { // about a second: a thread on another processor can continue for a moment
		if isStopped(p.cmd.Process.Pid) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// isStopped reports whether every thread of a process is stopped. It reads /proc; on systems without /proc it returns true.
func isStopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well formed
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		_, state, _ := strings.Cut(string(text), ") ") // after "pid (name) "; T is stopped
		if !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Resume ends a Pause. Without a Pause it does nothing.
func (p *Process) Resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guard == nil {
		return nil
	}
	err := p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.guard.Close()
	p.guard = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
