// Package stack runs all of Latchkey on this machine. The gateway serves the template's API, and
// calls the functions, which are compiled as deployed and use DynamoDB Local, a KMS, queues and a
// token issuer. Streams, queues and schedules call the functions that the template maps to them.
// `make run` is a small program around this package, and tests start stacks too.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/gateway"
	"latchkey/infra/lab/iam"
	"latchkey/infra/lab/lambda"
	"latchkey/infra/lab/pump"
	"latchkey/infra/lab/translated"
	"latchkey/infra/tools"
)

// StackName is the name of the local stack, and the path of its issuer's URL.
const StackName = "latchkey"

// TableName is the name of the local table.
const TableName = "latchkey"

// Options are the options of a stack. The zero value uses free ports, and its state is gone when it ends.
type Options struct {
	Port       int               // of the gateway; the others follow it (Ports). 0: free ones
	Template   string            // "": template.yaml of the repository
	Dir        string            // state and logs; "": .local/<port>, or a temporary folder when Port is 0
	Parameters map[string]string // over the local stack's own; with an Issuer, the stack has none of its own
	Requests   io.Writer         // gets one line a request; nil: no lines
	Progress   tools.Progress    // nil: standard error
	MaxCopies  int               // of one function; 0: lambda's default
	Emulator   []string          // settings of the queues' emulator, NAME=value; tests use its other services
	Throttle   bool              // requests over the templates' limits are refused
	Reload     bool              // functions whose code changes are built anew, and served when they compile
	Minute     time.Duration     // the length of a schedule's minute; 0: a minute

	Consumer           string            // a second template, whose API is served beside this one's; "": none
	ConsumerParameters map[string]string // of that template

	Received func(pump.Message) // gets each message that a function is fed from a queue; may be nil
}

// Stack is a running stack.
type Stack struct {
	URL       string // base URL of the API
	Consumer  string // base URL of the consumer's API; "": there is no consumer
	Control   string // base URL of the control endpoint
	AWS       string // base URL of the endpoint where the functions call AWS
	Issuer    string // iss of its tokens
	TableName string
	DataPlane Endpoints
	LogDir    string // has a file for each function and service

	FunctionURLs map[string]string // base URL of each function URL, by its function's logical id

	options  Options
	root     string
	dir      string
	ports    Ports
	urls     []translated.FunctionURL
	urlPorts map[string]int // of the function URLs, by their logical ids
	sources  sources
	consumer consumer        // its api is nil: there is none
	built    map[string]bool // programs, by their paths
	template *translated.Template
	api      *translated.API
	issuer   *backing.Process // nil: the stack does not have its own
	lambda   *lambda.Service
	access   *iam.Authority
	proxy    *iam.Proxy
	servers  []*http.Server
	listens  map[int]net.Listener
	closers  []func()

	takesIssuer bool // the template has a parameter Issuer

	requests *log.Logger // nil: no lines

	mu        sync.Mutex // guards db, kms and queue
	db        *backing.Process
	kms       *backing.Process
	queue     *backing.Process
	failed    chan error
	once      sync.Once
	stop      context.CancelFunc
	pumps     sync.WaitGroup
	streams   []*pump.Stream
	schedules []*scheduled
	stopped   map[string]bool // functions whose reserved concurrency is 0
}

// Endpoints are the base URLs of the services behind the functions.
type Endpoints struct {
	DynamoDB string `json:"dynamodb"`
	KMS      string `json:"kms"`
	SQS      string `json:"sqs"`
}

// Start starts a stack and returns when a request succeeds. It fails when a port is taken, when the
// local stack cannot serve the template, and with a *tools.MissingError when a program is not on
// this machine.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Progress == nil {
		o.Progress = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	if err := tools.Missing(); err != nil {
		return nil, err
	}
	s := &Stack{options: o, TableName: TableName, failed: make(chan error, 1), stopped: make(map[string]bool), urlPorts: make(map[string]int), built: make(map[string]bool)}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = cancel
	for _, step := range []func(context.Context) error{s.place, s.listen, s.translate, s.startBacking, s.startFunctions} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.callSchedules(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.open(ctx, background); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.probe(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// place sets the paths of the template, the state and the logs.
func (s *Stack) place(context.Context) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	s.root = root
	if s.options.Template == "" {
		s.options.Template = filepath.Join(root, "template.yaml")
	}
	if _, err := os.Stat(s.options.Template); err != nil {
		return err
	}
	switch {
	case s.options.Dir != "":
		s.dir = s.options.Dir
	case s.options.Port != 0:
		s.dir = Dir(root, s.options.Port)
	default:
		if s.dir, err = os.MkdirTemp("", "latchkey-"); err != nil {
			return err
		}
		s.closers = append(s.closers, func() { _ = os.RemoveAll(s.dir) })
	}
	s.LogDir = filepath.Join(s.dir, "logs")
	return os.MkdirAll(s.LogDir, 0o755)
}

// Dir returns the folder of the state of the stack on a port.
func Dir(root string, port int) string { return filepath.Join(root, ".local", strconv.Itoa(port)) }

// DataDir returns the folder of the table's data of the stack on a port.
func DataDir(root string, port int) string { return filepath.Join(Dir(root, port), "data") }

// OwnIssuer reports whether the stack starts an issuer of its own. It does when the template has a
// parameter Issuer that is not given.
func (s *Stack) OwnIssuer() bool { return s.takesIssuer && s.options.Parameters["Issuer"] == "" }

// open starts to serve the API and the control endpoint, and to call the functions from schedules,
// streams and queues.
func (s *Stack) open(ctx, background context.Context) error {
	if s.options.Requests != nil {
		s.requests = log.New(s.options.Requests, "", log.Ltime)
	}
	g, err := s.gatewayOf(s.api)
	if err != nil {
		return err
	}
	if s.options.Throttle {
		g.Throttle()
	}
	if err := s.startSchedules(background); err != nil {
		return err
	}
	if err := s.startPumps(ctx, background); err != nil {
		return err
	}
	s.serve(gateway.NewServer(g), gateway.Mend(s.listens[s.ports.Gateway]))
	for _, u := range s.urls {
		s.serve(gateway.NewServer(gateway.NewFunctionURL(u.Function, s.lambda, s.requests)), gateway.Mend(s.listens[s.urlPorts[u.ID]]))
	}
	if err := s.openConsumer(); err != nil {
		return err
	}
	s.serve(&http.Server{Handler: s.controlHandler(), ReadHeaderTimeout: 5 * time.Second}, s.listens[s.ports.Control])
	if s.options.Reload {
		s.pumps.Go(func() { s.reload(background) })
	}
	return nil
}

func (s *Stack) serve(server *http.Server, l net.Listener) {
	s.servers = append(s.servers, server)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.fail(err)
		}
	}()
}

// fail keeps the reason why the stack cannot go on. Only the first one counts.
func (s *Stack) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// Failed returns a channel that gets the reason when a part of the stack ended by itself. The stack
// cannot be used then: Close it.
func (s *Stack) Failed() <-chan error { return s.failed }

// halt ends the functions and all that calls them. The services behind them go on.
func (s *Stack) halt() {
	s.stop()
	for _, server := range s.servers {
		_ = server.Close()
	}
	for _, l := range s.listens {
		_ = l.Close()
	}
	if s.lambda != nil {
		s.lambda.Close()
	}
	s.pumps.Wait()
	s.servers, s.listens, s.lambda, s.streams, s.schedules = nil, nil, nil, nil, nil
}

// Close ends every process of the stack. Afterwards all that was acknowledged is on disk.
func (s *Stack) Close() error {
	var wrong []error
	s.once.Do(func() {
		s.halt()
		wrong = s.stopBacking()
		for _, c := range s.closers {
			c()
		}
	})
	return errors.Join(wrong...)
}
