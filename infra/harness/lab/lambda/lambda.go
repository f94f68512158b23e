// Package lambda runs functions on this machine like AWS Lambda. Each copy of a function is a
// process of its bootstrap, and gets one event at a time from the Runtime API. Each call that runs at the same time
// has a copy, up to a limit. An idle copy is frozen (SIGSTOP), so that work between calls stops, as on AWS. A copy that crashes
// or times out is replaced. The package is generic: it runs any function.
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
	Path    string // path of the bootstrap
	Timeout time.Duration
	Memory  int // megabytes; only a variable in the environment, not a limit
	Env     map[string]string

	Args    []string // arguments of the bootstrap
	Dir     string   // folder of the code; "": the bootstrap's folder
	Handler string   // "": bootstrap

	// Reserved is the reserved concurrency, a part of the account's limit; nil: none is reserved. A call over it fails with
	// ErrThrottled. If it is greater than Options.MaxCopies, a call over MaxCopies waits.
	Reserved *int
}

// Options are the options of a Service.
type Options struct {
	Functions   []Function
	Port        int    // the port of the Runtime API; 0: a free one
	LogDir      string // the folder for the functions' log files
	MaxCopies   int    // the most copies of one function; 0: 32. To spare this machine, a call over it waits, unlike on AWS
	Concurrency int    // the account's limit: calls of all functions at once; a call over it fails with ErrThrottled. 0: 1,000
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
	account  chan struct{} // one token for each running call of the functions without reserved concurrency
}

// Start starts the Runtime API; Invoke starts the copies. When this process dies, all copies are killed, also
// frozen ones.
func Start(o Options) (*Service, error) {
	o.MaxCopies, o.Concurrency = cmp.Or(o.MaxCopies, defaultMaxCopies), cmp.Or(o.Concurrency, defaultConcurrency)
	left := o.Concurrency
	for _, f := range o.Functions {
		if f.Reserved != nil {
			left -= *f.Reserved
		}
	}
	if left < 1 { // AWS requires 100 calls without reservation; here one is enough, so that tests can use a small account
		return nil, fmt.Errorf("the functions reserve all %d calls that the account can run at once", o.Concurrency)
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
	for _, p := range s.pools {
		_ = p.log.Close()
	}
}

// Errors of Invoke.
var (
	// ErrNoFunction means that there is no function of that name.
	ErrNoFunction = errors.New("no such function")
	// ErrTimeout means that the call ran longer than the function's time-out. The copy was killed.
	ErrTimeout = errors.New("the function timed out")
	// ErrCrash means that the copy ended, or did not start in time.
	ErrCrash = errors.New("the function's process ended")
	// ErrThrottled means that the function or the account has reached its limit of calls at once. The text is AWS's; AWS's reason
	// follows it.
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

// Invoke calls a function with a JSON payload and returns its JSON answer. The end of ctx only ends
// the wait for a copy. Errors: ErrNoFunction, ErrThrottled, ErrTimeout, ErrCrash, *FunctionError,
// or the error of ctx.
func (s *Service) Invoke(ctx context.Context, name string, payload []byte) ([]byte, error) {
	p, err := s.pool(name)
	if err != nil {
		return nil, err
	}
	c, err := p.takeCopy(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := c.call(Trace(ctx), payload)
	p.giveBack(c)
	return answer, err
}

// Copy describes a process of a function.
type Copy struct {
	ID       int
	PID      int
	Answered int // the number of answered calls
}

// Copies returns the running copies of a function.
func (s *Service) Copies(name string) []Copy {
	p, ok := s.pools[name]
	if !ok {
		return nil
	}
	return p.list()
}

// Resident returns the bytes of a process that are in memory. It returns 0 if the process has ended, or the system has no /proc.
func Resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var all, pages int64
	_, _ = fmt.Sscan(string(text), &all, &pages)
	return pages * int64(os.Getpagesize())
}

// SetStopped stops a function: every new call fails with ErrThrottled, as with a reserved concurrency of 0. With
// false the function accepts calls again. Error: ErrNoFunction.
func (s *Service) SetStopped(name string, stopped bool) error {
	return s.withPool(name, func(p *pool) { p.stopped.Store(stopped) })
}

// Kill kills every copy of a function (SIGKILL), also during calls, and waits until they are gone.
// The next call starts a new copy. Error: ErrNoFunction.
func (s *Service) Kill(name string) error { return s.withPool(name, (*pool).killAll) }

// Renew makes all later calls use the program that is now at the function's path.
// Running calls end in their old copies. Error: ErrNoFunction.
func (s *Service) Renew(name string) error { return s.withPool(name, (*pool).renew) }

func (s *Service) withPool(name string, do func(*pool)) error {
	p, err := s.pool(name)
	if err == nil {
		do(p)
	}
	return err
}

// group is a process group. When this process ends in any way, all members are killed: the leader
// kills the group at the end of its input, and only this process can write this input.
type group struct {
	leader *exec.Cmd
	stdin  io.Closer
	once   sync.Once
}

func newGroup() (*group, error) {
	// The leader prints a line when it runs. Only then can processes join the group.
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
