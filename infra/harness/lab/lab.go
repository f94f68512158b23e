// Package lab runs a SAM template on one machine: the gateway serves the template's API and calls the
// functions, which are compiled as deployed and use DynamoDB Local, a KMS and queues. Streams, queues and
// schedules call the functions that the template maps to them, and each call of a function to AWS is held to
// its role. In two lines:
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

// Options are the options of a stack. All but Template may be missing.
type Options struct {
	Template    string
	Port        int                    // of the gateway; the others follow it (Ports). 0: free ones
	Site        *Site                  // the stack's addresses, if Listen was called before; nil: addresses by Port
	Dir         string                 // state and logs; "": a temporary folder
	InMemory    bool                   // the tables are in memory: faster for some minutes (backing.MemoryDir), and gone when the database stops
	Name        string                 // the stack's name; "": lab
	Parameters  map[string]string      // of the template
	Names       map[string]string      // names of resources, by logical id; other names are made up
	Issuer      *backing.IssuerOptions // ID and kinds of the token issuer; nil: there is none
	Requests    io.Writer              // gets one line a request; nil: no lines
	Progress    tools.Progress         // nil: standard error
	MaxCopies   int                    // of one function; 0: lambda's default
	Concurrency int                    // the account's: calls of all functions at once; 0: lambda's default
	Reload      bool                   // functions whose code changes are built anew, and served when they compile
	Minute      time.Duration          // how long a minute of a schedule lasts; 0: a minute

	Buses map[string]func(event string) // event buses beside the template, by name, with the function that gets each of their events (JSON)

	Consumer           string            // a second template, whose API is served beside this one's; "": none
	ConsumerParameters map[string]string // of that template

	Network  func(http.RoundTripper) http.RoundTripper // carries the functions' calls to the services, and can lose them; nil: all arrive
	Marker   string                                    // a header of the answers that the gateway itself gives; "": none
	Control  map[string]http.Handler                   // more handlers of the control endpoint, by pattern
	Received func(pump.Message)                        // gets each message that a function is fed from a queue; may be nil
}

// Stack is a running template: its addresses, its services, and the functions between them.
type Stack struct {
	*Site
	*Services

	options   Options
	root      string // the folder of this repository
	dir       string
	urls      []translated.FunctionURL // those to serve
	sources   sources
	consumer  consumer          // its api is nil: there is none
	built     map[string]bool   // which programs are built, by their paths
	keys      map[string]string // ids of the KMS keys, by their logical ids
	template  *translated.Template
	api       *translated.API
	lambda    *lambda.Service
	access    *iam.Authority
	proxy     *proxy.Proxy
	requests  *log.Logger        // nil: no lines
	failed    chan error         // see Failed
	once      sync.Once          // for Close
	temporary bool               // Close removes dir
	stop      context.CancelFunc // ends feeding
	feeding   sync.WaitGroup     // the goroutines of pumps, schedules and reload
	streams   []*pump.Stream
	schedules []*serialSchedule
	stopped   map[string]bool // functions that Reserve has stopped (true) or freed (false)
}

// Start starts a stack and returns when it serves. It fails when a port is taken, when the lab cannot serve the
// template, and with a *tools.MissingError when a program is not on this machine.
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
		Site: o.Site, options: o, failed: make(chan error, 1), stopped: make(map[string]bool), built: make(map[string]bool), keys: make(map[string]string),
	}
	s.Site.fail = s.fail
	background, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until Close: ctx is only for the start
	s.stop = cancel
	for _, step := range []func(context.Context) error{s.place, s.startServices, s.startFunctions, s.callAllSchedules} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.open(ctx, background); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// place sets the paths of the state and the logs, and checks what the start needs of this machine.
func (s *Stack) place(context.Context) error {
	_, errTemplate := os.Stat(s.options.Template)
	root, errRoot := tools.Root()
	if err := errors.Join(tools.Missing(), errTemplate, errRoot); err != nil {
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
	o := s.options
	s.Services = &Services{
		LogDir: filepath.Join(s.dir, "logs"), dir: s.dir, inMemory: o.InMemory, ports: s.Ports, issuerOptions: o.Issuer, progress: o.Progress, fail: s.fail,
		buses: map[string]string{},
	}
	for name := range o.Buses {
		s.buses[name] = ""
	}
	return os.MkdirAll(s.LogDir, 0o755)
}

// startServices starts the services. Meanwhile it reads the template, and builds its functions. It then creates what they
// store.
func (s *Stack) startServices(ctx context.Context) error {
	readAndBuild := func(ctx context.Context) error {
		if err := s.translate(ctx); err != nil {
			return err
		}
		return s.build(ctx)
	}
	if err := tools.AtOnce(ctx, append(s.steps(), readAndBuild)); err != nil {
		return err
	}
	return s.makeStores(ctx)
}

// makeStores creates the tables, queues and keys of the template that are not there yet.
func (s *Stack) makeStores(ctx context.Context) error {
	return errors.Join(s.makeTables(ctx, s.template), s.makeQueues(ctx, s.template), s.makeBuses(ctx), s.makeKeys(ctx))
}

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
	if err := s.startPumps(ctx, background); err != nil {
		return err
	}
	s.serve(g, s.Ports.Gateway)
	for _, u := range s.urls {
		s.serve(gateway.FunctionURL(u.Function, s.lambda, s.requests), s.urlPorts[u.ID])
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

// halt ends the functions and everything that calls them: requests, pumps and schedules. The services go on.
func (s *Stack) halt() {
	s.stop()
	_ = s.Site.Close()
	if s.lambda != nil {
		s.lambda.Close()
	}
	s.feeding.Wait()
	s.lambda, s.streams, s.schedules = nil, nil, nil
}

// Close ends every process of the stack. Afterwards all that was acknowledged is on disk.
func (s *Stack) Close() error {
	var err error
	s.once.Do(func() {
		s.halt()
		if s.Services != nil {
			err = s.Services.stop()
		}
		if s.temporary {
			_ = os.RemoveAll(s.dir)
		}
	})
	return err
}

// Deploy changes the running stack as CloudFormation does when it gets other parameters. The parameters replace all
// earlier ones; nil keeps those. Requests fail meanwhile. The services go on, and Reserve stays in effect, but Access
// forgets the calls before. After an error the stack cannot be used: Close it.
func (s *Stack) Deploy(ctx context.Context, parameters map[string]string) error {
	s.halt()
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = cancel
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
		errs = append(errs, s.lambda.SetStopped(function, stopped))
	}
	return errors.Join(append(errs, s.open(ctx, background))...)
}

// DeployConsumer replaces the consumer's template. Otherwise it is like Deploy.
func (s *Stack) DeployConsumer(ctx context.Context, template string) error {
	s.options.Consumer = template
	return s.Deploy(ctx, nil)
}

// Reserve sets a function's reserved concurrency in the running stack. Only 0 has an effect: the function gets no
// call. Any other number ends that.
func (s *Stack) Reserve(function string, copies int) error {
	s.stopped[function] = copies == 0
	return s.lambda.SetStopped(function, copies == 0)
}

// Outputs returns the stack's outputs, with the API's URL on this machine for those that end in ApiUrl.
func (s *Stack) Outputs() map[string]string {
	out := maps.Clone(s.template.Outputs)
	for name := range out {
		if strings.HasSuffix(name, "ApiUrl") {
			out[name] = s.URL
		}
	}
	return out
}
