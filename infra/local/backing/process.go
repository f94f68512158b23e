package backing

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the wait for a child's READY. A JVM on a busy machine
	// is slow.
	startTimeout = 3 * time.Minute

	// stopGrace is what a child gets to end after its input has; then it is killed.
	stopGrace = 5 * time.Second

	// mostWords is how much of a child's log an error carries, in bytes.
	mostWords = 4000

	// portTries is how often a child that was given no port tries another free one.
	portTries = 3
)

// Process is a child that answers on a loopback port. It ends when the process
// that started it does.
type Process struct {
	// Endpoint is its base URL, such as http://127.0.0.1:3001, without a slash at
	// the end.
	Endpoint string
	// Port is the port of Endpoint.
	Port int

	name  string
	log   *os.File // what the child printed
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	err   error // read after done

	mu      sync.Mutex
	stopped bool
	guard   io.Closer // open while paused
}

// child says how a process is started.
type child struct {
	name    string
	port    int    // 0: a free one
	logPath string // "": kept for error messages alone
	command func(port int) (*exec.Cmd, error)
}

// start runs the child and waits until it says READY. Its own word counts: an
// answer on the port could come from a stranger.
func start(ctx context.Context, c child) (*Process, error) {
	for try := 1; ; try++ {
		port, err := pickPort(c)
		if err != nil {
			return nil, err
		}
		p, err := startOn(ctx, c, port)
		if err == nil {
			return p, nil
		}
		if c.port != 0 || try == portTries || ctx.Err() != nil {
			return nil, err
		}
	}
}

// pickPort returns the port that is asked for, or a free one.
func pickPort(c child) (int, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.port))
	if err != nil {
		return 0, fmt.Errorf("%s: port %d is taken: %w", c.name, c.port, err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func startOn(ctx context.Context, c child, port int) (*Process, error) {
	cmd, err := c.command(port)
	if err != nil {
		return nil, err
	}
	log, err := openLog(c)
	if err != nil {
		return nil, err
	}
	stdin, out, err := launch(cmd, log)
	if err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	p := &Process{
		Endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), Port: port,
		name: c.name, log: log, cmd: cmd, stdin: stdin, done: make(chan struct{}),
	}
	ready := make(chan struct{})
	go p.watch(out, ready)
	return p, p.await(ctx, ready)
}

// launch starts the command and gives its input and its output.
func launch(cmd *exec.Cmd, log *os.File) (stdin io.Closer, out *os.File, err error) {
	// A group of its own keeps a terminal's Ctrl-C from it: it is stopped in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = log
	if stdin, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = in.Close() }()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return nil, nil, err
	}
	return stdin, out, nil
}

// openLog opens the child's log. One that nobody named has no name: it is gone
// with this process.
func openLog(c child) (*os.File, error) {
	if c.logPath != "" {
		return os.OpenFile(c.logPath, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_RDWR, 0o644)
	}
	log, err := os.CreateTemp("", "latchkey-"+c.name+"-*.log")
	if err != nil {
		return nil, err
	}
	return log, os.Remove(log.Name())
}

// watch copies what the child prints to its log, sees READY, and waits for its
// end.
func (p *Process) watch(out *os.File, ready chan<- struct{}) {
	defer func() { _ = out.Close() }()
	lines := bufio.NewReader(out)
	said := false
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(p.log, line)
		if !said && strings.TrimSpace(line) == "READY" {
			said = true
			close(ready)
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
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
		return fmt.Errorf("%s was not ready after %s: %s", p.name, startTimeout, p.lastWords())
	}
}

// Done is closed when the child has ended, by Stop or by itself.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says why the child ended by itself, with the end of its log; nil while it
// runs and after Stop.
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
	return fmt.Errorf("%s ended by itself (%w): %s", p.name, p.endedWith(), p.lastWords())
}

// endedWith is how the child ended.
func (p *Process) endedWith() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

func (p *Process) lastWords() string {
	size, err := p.log.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	b := make([]byte, min(size, mostWords))
	if _, err := p.log.ReadAt(b, size-int64(len(b))); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// Stop ends the child and waits for its end. What it acknowledged is on disk
// afterwards. Stopping twice is no error.
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

// Pause makes the child hang: connections open, nothing answers. Resume lets it
// go on, and so does the end of this process.
func (p *Process) Pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guard != nil || p.stopped {
		return nil
	}
	// A stopped child would not see that its input has ended, so someone must wake
	// it when this process dies.
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
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

// Resume ends a Pause; without one it does nothing.
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
