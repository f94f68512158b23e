// Command deploy is run by `make deploy`, `make undeploy` and `make check-consumers`. For `make lint` it validates the template.
// A deployment first checks whether it can succeed. Then it builds and deploys with the SAM CLI, activates a signing key, and
// checks the API from outside.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/tools"
)

func main() {
	tools.Exit("latchkey: ", start(context.Background(), os.Args[1:]))
}

func start(ctx context.Context, args []string) error {
	given, errGiven := settings.Read(os.LookupEnv)
	root, errRoot := tools.Root()
	if err := errors.Join(errGiven, errRoot); err != nil {
		return err
	}
	cli, err := tools.SAM(ctx, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	p := &program{
		Settings: given, root: root, sam: cli, python: cloud.Python(cli), environment: tools.SAMBuildEnvironment(),
		in: os.Stdin, out: os.Stdout, terminal: isTerminal(os.Stdin),
		pause: 15 * time.Second, patience: 5 * time.Minute, firstAnswer: 5 * time.Minute,
		issuer: &http.Client{Timeout: requestTimeout},
	}
	switch {
	case slices.Equal(args, []string{"undeploy"}):
		return p.onStack(ctx, p.undeploy)
	case slices.Equal(args, []string{"check-consumers"}):
		return p.onStack(ctx, p.checkConsumers)
	case slices.Equal(args, []string{"validate"}):
		p.environment = tools.SAMEnvironment() // made-up credentials: validating needs no account
		return p.run(ctx, p.out, "validate", "--lint", "--template-file", "template.yaml")
	case len(args) == 0:
		return p.deploy(ctx)
	default:
		return fmt.Errorf("there is no command %q: give undeploy, check-consumers, validate, or nothing to deploy", args)
	}
}

// program is one run of the command.
type program struct {
	settings.Settings
	root, sam, python string
	environment       []string // of the SAM CLI and of the program that calls AWS
	in                io.Reader
	out               io.Writer
	terminal          bool // a person can answer

	pause       time.Duration // between two tries
	patience    time.Duration // how long the rotation is tried while KMS denies it
	firstAnswer time.Duration // how long a new API is tried until its answers are right

	issuer   *http.Client // reaches the issuer of access tokens
	aws      *cloud.Client
	account  string
	template settings.Template
	deployed *cloud.Stack // nil: no stack is deployed
}

func (p *program) deploy(ctx context.Context) error {
	if err := p.readTemplate(); err != nil {
		return err
	}
	if err := p.connect(ctx); err != nil {
		if p.Parameters["Issuer"] == "" {
			err = fmt.Errorf("%w (a new stack needs ISSUER= and AUDIENCE= too)", err)
		}
		return err
	}
	steps := []func(context.Context) error{p.preflight, p.build, p.change, p.protect, p.rotate, p.check}
	if p.Dry {
		steps = steps[:3]
	}
	if p.Compare {
		steps[2] = p.compare
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if !p.Dry {
		p.sayNext()
	}
	return nil
}

// sayNext prints the next steps after a deployment.
func (p *program) sayNext() {
	api := p.deployed.Output("ApiUrl")
	if target := p.deployed.Output("DomainTarget"); target != "" {
		name, zone, _ := strings.Cut(target, " ")
		p.say("DNS: point %s to %s (a CNAME, or an alias in the zone %s).", p.value("DomainName"), name, zone)
		if execute := p.deployed.Output("ExecuteApiUrl"); execute != "" {
			p.say("Until DNS answers, the API is at %s.", execute)
			api = execute
		}
	}
	p.say("Deployed. Next: make smoke STACK=%s AWS_REGION=%s BASE_URL=%s TOKEN_CMD=…", p.Stack, p.aws.Region, api)
}

func (p *program) say(format string, a ...any) { fmt.Fprintf(p.out, format+"\n", a...) }

// isTerminal reports whether a file is a terminal, at which a person can answer.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // also a character device, but not a terminal
	return err == nil && !os.SameFile(info, null)
}
