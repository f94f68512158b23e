package stack

import (
	"context"
	"errors"
	"maps"
	"strings"
)

// Deploy changes the running stack, as CloudFormation does when it gets other
// parameters: those that are given, and the others as they are. Requests fail
// meanwhile. The database, the KMS, the queues and the issuer go on, and a function
// whose reserved concurrency is 0 keeps that. Access begins anew. After an error the
// stack is of no use: Close it.
func (s *Stack) Deploy(ctx context.Context, parameters map[string]string) error {
	s.halt()
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = cancel
	all := maps.Clone(s.options.Parameters)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, parameters)
	s.options.Parameters = all
	if err := s.takePorts(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.translate, s.makeQueues, s.makeKeys, s.startFunctions} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	var wrong []error
	for function, stopped := range s.stopped {
		wrong = append(wrong, s.lambda.Stop(function, stopped))
	}
	return errors.Join(append(wrong, s.open(ctx, background))...)
}

// Reserve sets a function's reserved concurrency, of which only 0 means something
// here: the function is not called. Less than 0 reserves none.
func (s *Stack) Reserve(function string, copies int) error {
	s.stopped[function] = copies == 0
	return s.lambda.Stop(function, copies == 0)
}

// Outputs are the stack's, with the API's URL on this machine.
func (s *Stack) Outputs() map[string]string {
	out := maps.Clone(s.template.Outputs)
	for name := range out {
		if strings.HasSuffix(name, "ApiUrl") {
			out[name] = s.URL
		}
	}
	return out
}
