package lambda

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"latchkey/infra/harness/lab/backing"
)

// process is one copy of a function.
type process struct {
	pool     *pool
	id       int
	cmd      *exec.Cmd
	events   chan event    // from call to the copy's request for its next event
	ready    chan struct{} // closed when the copy first requests an event
	gone     chan struct{} // closed when the process has ended
	answered atomic.Int64

	first   sync.Once // closes ready once
	mu      sync.Mutex
	current *event // the running call; nil: none
}

// event is one call.
type event struct {
	id       string
	trace    string // the trace id of X-Ray
	payload  []byte
	deadline time.Time
	answer   chan answer // buffered, so that the first answer does not wait
}

type answer struct {
	payload []byte
	err     error
}

func startProcess(p *pool, id int) (*process, error) {
	c := &process{pool: p, id: id, events: make(chan event), ready: make(chan struct{}), gone: make(chan struct{})}
	c.cmd = exec.Command(p.function.Path, p.function.Args...)
	c.cmd.Dir = cmp.Or(p.function.Dir, filepath.Dir(p.function.Path))
	c.cmd.Env = c.environment()
	c.cmd.Stdout, c.cmd.Stderr = p.log, p.log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: p.service.group.leader.Process.Pid}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.gone)
		c.pool.forget(c)
	}()
	return c, nil
}

// environment returns the variables that Lambda gives a function. It has no variables of this process.
func (c *process) environment() []string {
	f := c.pool.function
	env := map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "en_US.UTF-8", "TZ": ":UTC",
		"AWS_LAMBDA_RUNTIME_API": fmt.Sprintf("%s/%s.%d", c.pool.service.listener.Addr(), f.Name, c.id),
		"AWS_REGION":             backing.Region, "AWS_DEFAULT_REGION": backing.Region,
		// The access key id is the name of the function, so that the proxy finds the function's role.
		"AWS_ACCESS_KEY_ID": f.Name, "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local",
		"AWS_LAMBDA_FUNCTION_NAME": f.Name, "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.Memory), "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/" + f.Name, "AWS_LAMBDA_LOG_STREAM_NAME": fmt.Sprintf("local/%d", c.id),
		"_HANDLER": cmp.Or(f.Handler, "bootstrap"), "LAMBDA_TASK_ROOT": c.cmd.Dir, "LAMBDA_RUNTIME_DIR": "/var/runtime",
		"AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR", "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000", // no program listens there
		"_AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1", "_AWS_XRAY_DAEMON_PORT": "2000",
	}
	maps.Copy(env, f.Env)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

func (c *process) dead() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// call sends the copy an event and waits for its answer. As on Lambda, the function's time-out begins
// after the start of a new copy.
func (c *process) call(trace string, payload []byte) ([]byte, error) {
	if err := c.awaitFirst(); err != nil {
		return nil, err
	}
	e := event{id: NewID(), trace: trace, payload: payload, deadline: time.Now().Add(c.pool.function.Timeout), answer: make(chan answer, 1)}
	timeout := time.NewTimer(c.pool.function.Timeout)
	defer timeout.Stop()
	c.setCurrent(&e)
	defer c.setCurrent(nil)
	for next := c.events; ; {
		select {
		case next <- e:
			next = nil // a nil channel is never ready, so the event is sent once
		case a := <-e.answer:
			c.answered.Add(1)
			return a.payload, a.err
		case <-c.gone:
			if len(e.answer) == 0 { // otherwise the copy answered before it ended
				return nil, ErrCrash
			}
		case <-timeout.C:
			c.kill()
			return nil, ErrTimeout
		}
	}
}

// awaitFirst waits until the copy has requested its first event.
func (c *process) awaitFirst() error {
	limit := time.NewTimer(initLimit)
	defer limit.Stop()
	select {
	case <-c.ready:
		return nil
	case <-c.gone:
		return fmt.Errorf("%w while it started: %s", ErrCrash, c.lastLine())
	case <-limit.C:
		c.kill()
		return fmt.Errorf("%w: it did not start in time", ErrCrash)
	}
}

// lastLine returns the last line of the function's log.
func (c *process) lastLine() string {
	text, _ := os.ReadFile(c.pool.log.Name()) // no line if the log was removed
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

func (c *process) setCurrent(e *event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = e
}

// settle answers the call with this id, if it is the running one.
func (c *process) settle(id string, a answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.current.id != id {
		return errors.New("this call is not running")
	}
	select {
	case c.current.answer <- a:
		return nil
	default:
		return errors.New("this call was answered already")
	}
}

// kill kills the copy and waits until it is gone, so that it is not used again.
func (c *process) kill() {
	_ = c.cmd.Process.Kill()
	<-c.gone
}

// freeze stops the copy between calls, as Lambda does. thaw resumes it.
func (c *process) freeze() { _ = c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *process) thaw()   { _ = c.cmd.Process.Signal(syscall.SIGCONT) }

// failure returns the *FunctionError in an error report of a function. If the body is not such a report, it becomes
// the error's message.
func failure(body []byte) error {
	var e FunctionError
	if json.Unmarshal(body, &e) != nil || e == (FunctionError{}) {
		e = FunctionError{Type: "Unknown", Message: string(body)}
	}
	return &e
}

// NewID returns a random UUID (RFC 9562, version 4).
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

type traceKey struct{}

// WithTrace returns a context with the trace id that Invoke gives the function.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

// Trace returns the trace id of WithTrace, or a new one.
func Trace(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return cmp.Or(id, NewTrace(time.Now()))
}

// NewTrace returns a new trace id in the form of X-Ray: the time in seconds, and random bytes.
func NewTrace(now time.Time) string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return fmt.Sprintf("Root=1-%08x-%x", now.Unix(), b)
}

var (
	//go:embed runtime.mjs
	nodeRuntime string
	//go:embed runtime.py
	pythonRuntime string
)

// Interpreted returns a function that Node.js or Python runs. The folder has its code and the packages that it
// imports. The handler is file.export or module.function. The interpreter must be on this machine; any version of Python 3 is
// accepted.
func Interpreted(f Function, python bool, folder, handler string) (Function, error) {
	// node and python3 may be scripts that start the interpreter (as in asdf and pyenv), and need variables that a function does not get.
	find := exec.Command("node", "-p", "process.execPath")
	f.Args, f.Handler = []string{"--input-type=module", "--eval", nodeRuntime}, handler
	if python {
		find, f.Args = exec.Command("python3", "-c", "import sys; print(sys.executable)"), []string{"-u", "-B", "-c", pythonRuntime}
	}
	path, err := find.Output()
	if err != nil {
		return f, fmt.Errorf("this machine does not have the interpreter of the function: %w", err)
	}
	f.Path = strings.TrimSpace(string(path))
	f.Dir, err = filepath.Abs(folder)
	return f, err
}
