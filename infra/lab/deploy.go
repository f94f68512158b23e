package lab

import (
	"context"
	"errors"
	"maps"
	"strings"
)

// Deploy changes the running stack as CloudFormation does when it gets other parameters: these are all. Nil
// keeps them. Requests fail meanwhile. The services go on, and Reserve stays in effect. Access begins anew. After
// an error the stack cannot be used: Close it.
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
	for _, step := range []func(context.Context) error{s.translate, s.remake, s.build, s.startFunctions} {
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

// remake creates the queues and keys that are new in the template.
func (s *Stack) remake(ctx context.Context) error {
	return errors.Join(s.makeQueues(ctx, s.template), s.makeKeys(ctx))
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
