// Package lab runs a SAM template on one machine. The gateway serves the template's API and calls the
// functions. The functions are compiled with the flags of a deployment, and use DynamoDB Local, a KMS and queues. Streams, queues
// and schedules call the functions that the template maps to them. The lab checks each call of a function to AWS against
// the function's role. In two lines:
//
//	s, err := lab.Start(ctx, lab.Options{Template: "template.yaml"})
//	defer s.Close()
//
// A function finds AWS at AWS_ENDPOINT_URL, as the SDKs do. A part of the template that the lab cannot serve is an
// error at the start.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"latchkey/infra/harness/lab/proxy"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/gateway"
	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/harness/lab/pump"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// Options are the options of a stack. Only Template is required.
type Options struct {
	Template    string
	Port        int                    // the port of the gateway; the other ports follow it (Ports). 0: free ports
	Site        *Site                  // the stack's addresses, if Listen was called before; nil: addresses by Port
	Dir         string                 // state and logs; "": a temporary folder
	InMemory    bool                   // tables in memory: faster for some minutes (backing.MemoryDir), and lost when the database stops
	Name        string                 // the stack's name; "": lab
	Parameters  map[string]string      // the template's parameters
	Names       map[string]string      // names of resources, by logical id; other names are made up
	Issuer      *backing.IssuerOptions // ID and kinds of the token issuer; nil: no issuer
	Requests    io.Writer              // gets one line for each request; nil: no lines
	Progress    tools.Progress         // nil: standard error
	MaxCopies   int                    // the most copies of one function; 0: lambda's default
	Concurrency int                    // the account's limit: calls of all functions at once; 0: lambda's default
	Reload      bool                   // build and replace a function when its code changes and compiles
	Minute      time.Duration          // the real length of a minute of a schedule; 0: a minute

	Buses map[string]func(event string) // event buses that the template does not have, by name. The function gets each event (JSON)

	Consumer           string            // a second template; the lab also serves its API. "": none
	ConsumerParameters map[string]string // the parameters of the second template

	Network  func(http.RoundTripper) http.RoundTripper // carries the functions' calls to the services, and can make them fail; nil: no failures
	Marker   string                                    // the name of a header that the gateway adds to gateway responses; "": none
	Control  map[string]http.Handler                   // more handlers of the control endpoint, by pattern
	Received func(pump.Message)                        // gets each message that a function receives from a queue; may be nil
}

// Stack is a running template: its addresses, its services, and the functions between them.
type Stack struct {
	*Site

	Template *translated.Template
	Lambda   *lambda.Service // calls and kills functions, by their logical ids
	Access   *iam.Authority  // allows or refuses the functions' calls by their roles
	Proxy    *proxy.Proxy    // between the functions and AWS; its Watch shows each call
	Failed   chan error      // gets an error when a part of the stack ends by itself. The stack cannot be used then: Close it
	LogDir   string          // the folder with a log file for each function and service

	DataPlane Endpoints
	DB        Service // a database in memory loses its data at Stop
	KMS       Service // loses its keys at Stop
	Queue     Service // the queues and the event buses; loses all messages at Stop

	options   Options
	root      string // the folder of this repository
	dir       string
	urls      []translated.FunctionURL // the function URLs to serve
	sources   sources
	consumer  consumer          // without a consumer, its api is nil
	built     map[string]bool   // whether a program is built, by the program's path
	keys      map[string]string // ids of the KMS keys, by their logical ids
	api       *translated.API
	issuer    Service
	buses     map[string]string  // the event buses, in the queue server: the URLs of their queues, by name of the bus
	requests  *log.Logger        // gets one line for each request and each call by a pump or a schedule
	once      sync.Once          // makes Close work once
	temporary bool               // Close removes dir
	stop      context.CancelFunc // ends the goroutines of feeding
	feeding   sync.WaitGroup     // the goroutines of pumps, schedules and reload
	streams   []*pump.Stream
	schedules []*serialSchedule
	stopped   map[string]bool // by function: Reserve has stopped it (true), or has ended that (false)
}

// Start starts a stack and returns when the stack serves requests. It fails when a port is in use, when the lab cannot
// serve the template, and with a *tools.MissingError when this machine lacks a program.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Progress == nil {
		o.Progress = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	o.Name = cmp.Or(o.Name, "lab")
	if o.Site == nil {
		var err error
		if o.Site, err = Listen(o.Port); err != nil {
			return nil, err
		}
	}
	s := &Stack{
		Site: o.Site, options: o, Failed: make(chan error, 1), stopped: make(map[string]bool), built: make(map[string]bool), keys: make(map[string]string),
		buses: make(map[string]string), requests: log.New(cmp.Or[io.Writer](o.Requests, io.Discard), "", log.Ltime), stop: func() {},
	}
	s.Site.fail = s.fail
	for _, step := range []func(context.Context) error{s.prepare, s.startServices, s.startFunctions, s.callAllSchedules, s.open} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// prepare sets the paths of the state and the logs, and checks that this machine has the needed programs.
func (s *Stack) prepare(context.Context) error {
	_, errTemplate := os.Stat(s.options.Template)
	_, errConsumer := os.Stat(cmp.Or(s.options.Consumer, ".")) // checked now, because it is read late; "": there is none
	root, errRoot := tools.Root()
	if err := errors.Join(tools.Missing(), errTemplate, errConsumer, errRoot); err != nil {
		return err
	}
	s.root, s.dir = root, s.options.Dir
	if s.dir == "" {
		var err error
		if s.dir, err = os.MkdirTemp("", s.options.Name+"-"); err != nil {
			return err
		}
		s.temporary = true
	}
	s.LogDir = filepath.Join(s.dir, "logs")
	return os.MkdirAll(s.LogDir, 0o755)
}

// startServices starts the services. At the same time it reads the template and builds the functions. Then it creates the
// tables, queues, buses and keys.
func (s *Stack) startServices(ctx context.Context) error {
	readAndBuild := func(ctx context.Context) error {
		if err := s.translate(ctx); err != nil {
			return err
		}
		return s.build(ctx)
	}
	if err := tools.AtOnce(ctx, append(s.serviceSteps(), readAndBuild)); err != nil {
		return err
	}
	return s.makeStores(ctx)
}

// makeStores creates the tables, queues, buses and keys that do not exist yet.
func (s *Stack) makeStores(ctx context.Context) error {
	return errors.Join(s.makeTables(ctx), s.makeQueues(ctx), s.makeBuses(ctx), s.makeKeys(ctx))
}

// open starts to serve the API and the control endpoint, and to call the functions from schedules,
// streams and queues.
func (s *Stack) open(ctx context.Context) error {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx)) // lasts until halt; ctx is only for the start
	s.stop = cancel
	g, err := gateway.New(s.api, s.Lambda, s.requests, s.options.Marker)
	if err != nil {
		return err
	}
	if err := s.startPumps(ctx, background); err != nil {
		return err
	}
	s.serve(g, s.Ports.Gateway)
	for _, u := range s.urls {
		s.serve(gateway.FunctionURL(u.Function, s.Lambda, s.requests), s.urlPorts[u.ID])
	}
	if err := s.openConsumer(); err != nil {
		return err
	}
	s.serve(s.controlHandler(), s.Ports.Control)
	if s.options.Reload {
		s.feeding.Go(func() { s.reload(background) })
	}
	return nil
}

// fail stores the error that makes the stack unusable. Only the first one counts.
func (s *Stack) fail(err error) {
	select {
	case s.Failed <- err:
	default:
	}
}

// halt ends the functions and everything that calls them: requests, pumps and schedules. The services continue.
func (s *Stack) halt() {
	s.stop()
	_ = s.Site.Close()
	if s.Lambda != nil {
		s.Lambda.Close()
	}
	s.feeding.Wait()
	s.Lambda, s.streams, s.schedules = nil, nil, nil
}

// Close ends every process of the stack. Then all acknowledged writes are on disk.
func (s *Stack) Close() error {
	var err error
	s.once.Do(func() {
		s.halt()
		err = s.stopServices()
		if s.temporary {
			_ = os.RemoveAll(s.dir)
		}
	})
	return err
}

// Deploy changes the running stack like a CloudFormation update with other parameters. The parameters replace all
// earlier ones; nil keeps the earlier ones. During Deploy, requests fail. The services continue, and Reserve stays in effect, but
// Access forgets the earlier calls. After an error the stack cannot be used: Close it.
func (s *Stack) Deploy(ctx context.Context, parameters map[string]string) error {
	s.halt()
	if parameters != nil {
		s.options.Parameters = parameters
	}
	if err := s.Site.open(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.translate, s.makeStores, s.build, s.startFunctions} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for function, stopped := range s.stopped {
		errs = append(errs, s.Lambda.SetStopped(function, stopped))
	}
	return errors.Join(append(errs, s.open(ctx))...)
}

// DeployConsumer replaces the consumer's template. Otherwise it is like Deploy.
func (s *Stack) DeployConsumer(ctx context.Context, template string) error {
	s.options.Consumer = template
	return s.Deploy(ctx, nil)
}

// Reserve sets a function's reserved concurrency in the running stack. 0 stops the function: it gets no calls. Any other
// number only ends this.
func (s *Stack) Reserve(function string, copies int) error {
	s.stopped[function] = copies == 0
	return s.Lambda.SetStopped(function, copies == 0)
}

// Outputs returns the stack's outputs. An output whose name ends in ApiUrl is the API's URL on this machine.
func (s *Stack) Outputs() map[string]string {
	out := maps.Clone(s.Template.Outputs)
	for name := range out {
		if strings.HasSuffix(name, "ApiUrl") {
			out[name] = s.URL
		}
	}
	return out
}
