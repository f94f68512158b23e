package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2" //nolint:depguard // only for the moment at which a trial is killed
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/harness/local/stack"
)

// host is a stand-in for AWS. It runs each deployed stack of the template on this machine.
type host struct {
	*standin.Standin
	env     []string      // the environment of programs that use the host as AWS
	options stack.Options // for the stacks, except Dir and Parameters

	mu      sync.Mutex
	running map[string]running
}

// running is a running stack, with the folder of its state.
type running struct {
	*stack.Stack
	dir string
}

// newHost starts a stand-in.
func newHost(ctx context.Context) *host {
	h := &host{Standin: standin.Start(), running: map[string]running{}}
	h.env = append(without(os.Environ(), "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "REGION"),
		"AWS_ENDPOINT_URL="+h.URL, "AWS_ACCESS_KEY_ID=AKIDLOCAL", "AWS_SECRET_ACCESS_KEY=local", "AWS_DEFAULT_REGION=eu-central-1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "SAM_CLI_POLL_DELAY=0.05",
		"ARCH="+runtime.GOARCH)
	h.Deployed = func(name string, parameters map[string]string) (*standin.Live, error) {
		return h.start(ctx, name, parameters)
	}
	h.Deleted = func(name string) error { return h.stop(name) }
	h.Settle(false)
	return h
}

// start starts a stack with the parameters of its deployment.
func (h *host) start(ctx context.Context, name string, parameters map[string]string) (*standin.Live, error) {
	if err := h.stop(name); err != nil { // the stack may run from an earlier deployment
		return nil, err
	}
	given := maps.Clone(parameters)
	delete(given, "Architecture")
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return nil, err
	}
	o := h.options
	o.Dir, o.Parameters, o.Buses = dir, given, map[string]func(string){given["EventBusName"]: h.Publish}
	delete(o.Buses, "") // the name without the parameter EventBusName
	s, err := stack.Start(ctx, o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[name] = running{s, dir}
	outputs := func() map[string]string {
		out := s.Outputs()
		delete(out, "GuardPolicyArn") // the local stack does not make this policy
		return out
	}
	return &standin.Live{
		Outputs: outputs, Reserve: s.Reserve,
		Invoke: func(function string, payload []byte) ([]byte, error) { return s.Lambda.Invoke(ctx, function, payload) },
	}, nil
}

func (h *host) stop(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.running[name]
	if !ok {
		return nil
	}
	delete(h.running, name)
	return errors.Join(s.Close(), os.RemoveAll(s.dir))
}

// close stops all stacks. It returns an error if a trial has left resources in the account, or has changed resources of others.
func (h *host) close() error {
	left := h.Left()
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.running))
	h.mu.Unlock()
	var err error
	for _, name := range names {
		left = append(left, "the running stack "+name)
		err = errors.Join(err, h.stop(name))
	}
	h.Close()
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("the trial has left %q", left))
	}
	if harmed := h.Harmed(); harmed != nil {
		err = errors.Join(err, fmt.Errorf("the trial has changed resources of others: %q", harmed))
	}
	return err
}

// onStandIn is the argument that makes a trial use a host as AWS.
const onStandIn = "on-stand-in"

// rehearse runs a trial on a host, in a separate process, and checks that the trial leaves no resources. With KILLS=n it first kills n
// trials, each at a random moment; the next trial must remove their resources.
func rehearse(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("KILLS"), "0"))
	if err != nil {
		return fmt.Errorf("KILLS=%s is not a number", os.Getenv("KILLS"))
	}
	h := newHost(context.WithoutCancel(ctx))
	for range kills {
		at := time.Duration(rand.Int64N(int64(time.Minute)))
		err := h.trial(ctx, program, at)
		fmt.Printf("Killed after %s (%v), with %d resources in the account\n", at.Round(time.Millisecond), err, len(h.Left()))
	}
	return errors.Join(h.trial(ctx, program, 0), h.close())
}

// trial runs a trial. It kills the trial after a time; 0: it waits for the trial's end.
func (h *host) trial(ctx context.Context, program string, after time.Duration) error {
	cmd := exec.CommandContext(ctx, program, onStandIn)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // after an interrupt, a trial cleans up
	if err := cmd.Start(); err != nil {
		return err
	}
	if after > 0 {
		defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop() // ignore the error of an ended process
	}
	return cmd.Wait()
}
