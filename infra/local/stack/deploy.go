package stack

import (
	"context"
	"errors"
	"maps"
	"strings"
)

// Deploy changes the running stack as CloudFormation does when it gets other parameters. Parameters
// that are not given keep their values. Requests fail meanwhile. The database, the KMS, the queues
// and the issuer go on, and Reserve stays in effect. Access begins anew. After an error the stack
// cannot be used: Close it.
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
	for _, step := range []func(context.Context) error{s.translate, s.makeQueues, s.makeKeys, s.build, s.startFunctions} {
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

// DeployConsumer is Deploy for another template of the consumer.
func (s *Stack) DeployConsumer(ctx context.Context, template string) error {
	s.options.Consumer = template
	return s.Deploy(ctx, nil)
}

// Reserve sets a function's reserved concurrency. Only 0 has an effect here: the function is not
// called. Less than 0 reserves none.
func (s *Stack) Reserve(function string, copies int) error {
	s.stopped[function] = copies == 0
	return s.lambda.Stop(function, copies == 0)
}

// Outputs returns the stack's outputs, with the API's URL on this machine.
func (s *Stack) Outputs() map[string]string {
	out := maps.Clone(s.template.Outputs)
	for name := range out {
		if strings.HasSuffix(name, "ApiUrl") {
			out[name] = s.URL
		}
	}
	return out
}
