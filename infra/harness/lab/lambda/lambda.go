// Package lambda runs functions on this machine as AWS Lambda does. Each copy of a function is a
// process of its bootstrap, which gets one event at a time from the Runtime API. There are as many
// copies as calls at the same time, up to a limit. An idle copy is frozen (SIGSTOP), so that work
// between calls stops here as on AWS. A copy that crashes or exceeds its time is replaced.
// The package is generic: it runs any function.
package lambda

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"latchkey/infra/tools"
)

// Function is a function and the settings of its copies.
type Function struct {
	Name    string
	Path    string // of the bootstrap
	Timeout time.Duration
	Memory  int // megabytes; only a variable for the copies, not a limit
	Env     map[string]string

	Args    []string // of the bootstrap
	Dir     string   // of the code; "": the bootstrap's folder
	Handler string   // "": bootstrap

	// Reserved is the reserved concurrency, a part of the account's: a call over it fails with ErrThrottled. nil: none is
	// reserved. Of a number over Options.MaxCopies, MaxCopies run.
	Reserved *int
}

// Options are the options of a Service.
type Options struct {
	Functions   []Function
	Port        int    // of the Runtime API; 0: a free one
	LogDir      string // has a file for each function
	MaxCopies   int    // of one function; 0: 32. A call over it waits, unlike on AWS, for this machine's sake
	Concurrency int    // the account's: calls of all functions at once; a call over it fails with ErrThrottled. 0: 1,000
}

const (
	defaultMaxCopies   = 32
	defaultConcurrency = 1000
	initLimit          = 10 * time.Second // until a copy first requests an event
)

// Service runs functions. Close ends every copy.
type Service struct {
	options  Options
	listener net.Listener
	server   *http.Server
	group    *group
	pools    map[string]*pool
	account  chan struct{} // one token for each running call of the functions that reserve no concurrency
	logs     []*os.File
}

// Start starts the Runtime API; Invoke starts the copies. Copies are killed when this process dies,
// frozen ones too.
func Start(o Options) (*Service, error) {
	o.MaxCopies, o.Concurrency = cmp.Or(o.MaxCopies, defaultMaxCopies), cmp.Or(o.Concurrency, defaultConcurrency)
	left := o.Concurrency
	for _, f := range o.Functions {
		if f.Reserved != nil {
			left -= *f.Reserved
		}
	}
	if left < 1 { // AWS wants 100 left, or all of an account with fewer; here a small account can be tried with a reserve
		return nil, fmt.Errorf("the functions reserve all of the %d calls that the account runs at once", o.Concurrency)
	}
	l, err := tools.Listen(o.Port)
	if err != nil {
		return nil, err
	}
	g, err := newGroup()
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	s := &Service{options: o, listener: l, group: g, pools: make(map[string]*pool), account: make(chan struct{}, left)}
	for _, f := range o.Functions {
		log, err := os.OpenFile(filepath.Join(o.LogDir, f.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.logs = append(s.logs, log)
		s.pools[f.Name] = newPool(s, f, log)
	}
	s.server = &http.Server{Handler: s.runtimeAPI(), ReadHeaderTimeout: 0} // no limit: a copy may be frozen in a request
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// Close ends every copy at once.
func (s *Service) Close() {
	for _, p := range s.pools {
		p.close()
	}
	s.group.kill()
	if s.server != nil {
		_ = s.server.Close()
	}
	_ = s.listener.Close()
	for _, log := range s.logs {
		_ = log.Close()
	}
}

// Errors of Invoke.
var (
	// ErrNoFunction means that there is no function of that name.
	ErrNoFunction = errors.New("no such function")
	// ErrTimeout means that the function exceeded its time. Its copy was killed.
	ErrTimeout = errors.New("the function timed out")
	// ErrCrash means that the copy ended, or did not start in time.
	ErrCrash = errors.New("the function's process ended")
	// ErrThrottled means that no more calls may run at once: of the function, or of the account. The text is AWS's, with the
	// reason behind it.
	ErrThrottled = errors.New("TooManyRequestsException: Rate Exceeded")
	errReserved  = fmt.Errorf("%w. ReservedFunctionConcurrentInvocationLimitExceeded", ErrThrottled)
	errAccount   = fmt.Errorf("%w. ConcurrentInvocationLimitExceeded", ErrThrottled)
)

// FunctionError is the answer of a function whose handler failed.
type FunctionError struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

func (e *FunctionError) Error() string { return "the function failed: " + e.Type + ": " + e.Message }

// pool returns the copies of a function. Error: ErrNoFunction.
func (s *Service) pool(name string) (*pool, error) {
	p, ok := s.pools[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoFunction, name)
	}
	return p, nil
}

// Invoke calls a function with a JSON payload and returns its JSON answer. The context only ends
// the wait for a copy. Errors: ErrNoFunction, ErrThrottled, ErrTimeout, ErrCrash, *FunctionError,
// or the context's.
func (s *Service) Invoke(ctx context.Context, name string, payload []byte) ([]byte, error) {
	p, err := s.pool(name)
	if err != nil {
		return nil, err
	}
	c, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := c.call(Trace(ctx), payload)
	p.giveBack(c)
	return answer, err
}

// Copy describes a process of a function.
type Copy struct {
	ID       int `json:"id"`
	PID      int `json:"pid"`
	Answered int `json:"answered"` // calls
}

// Copies returns the living copies of a function.
func (s *Service) Copies(name string) []Copy {
	p, ok := s.pools[name]
	if !ok {
		return nil
	}
	return p.list()
}

// SetStopped stops a function: every new call fails with ErrThrottled, as with a reserved concurrency of 0. With
// false the function accepts calls again. Error: ErrNoFunction.
func (s *Service) SetStopped(name string, stopped bool) error {
	return s.on(name, func(p *pool) { p.stopped.Store(stopped) })
}

// Kill kills every copy of a function (SIGKILL), also during calls, and waits until they are gone.
// The next call starts a new copy. Error: ErrNoFunction.
func (s *Service) Kill(name string) error { return s.on(name, (*pool).killAll) }

// Renew makes every call that begins from now on run the program that is now at the function's path.
// Calls that run already end in their old copies. Error: ErrNoFunction.
func (s *Service) Renew(name string) error { return s.on(name, (*pool).renew) }

func (s *Service) on(name string, do func(*pool)) error {
	p, err := s.pool(name)
	if err == nil {
		do(p)
	}
	return err
}

// group is a process group whose members are killed when this process ends in any way. Its leader
// kills the group at the end of its input, which only this process can write.
type group struct {
	leader *exec.Cmd
	stdin  io.Closer
	once   sync.Once
}

func newGroup() (*group, error) {
	// The leader prints a line when it runs. No process can join its group before.
	cmd := exec.Command("/bin/sh", "-c", "echo; cat >/dev/null; kill -KILL 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, errIn := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	err := errors.Join(errIn, errOut, cmd.Start())
	if err == nil {
		_, err = bufio.NewReader(stdout).ReadByte()
	}
	if err != nil {
		return nil, fmt.Errorf("a process group for the functions: %w", err)
	}
	return &group{leader: cmd, stdin: stdin}, nil
}

func (g *group) kill() {
	g.once.Do(func() {
		_ = g.stdin.Close()
		_ = g.leader.Wait() // the leader kills itself with the others
	})
}
