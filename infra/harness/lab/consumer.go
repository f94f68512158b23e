package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"latchkey/infra/harness/lab/gateway"
	"latchkey/infra/template/translated"
)

// ConsumerPrefix begins the names of the consumer's functions in the lab, so that they differ from the functions of the
// stack's template.
const ConsumerPrefix = "consumer-"

// consumer is a second template. The lab serves its API and nothing else of it. As in one AWS account, the authorizers of this
// API may be functions of the stack's template.
type consumer struct {
	sources
	api *translated.API
}

// unserved are types of resources that call functions, and that the lab cannot serve for a consumer.
var unserved = []string{"AWS::Lambda::EventSourceMapping", "AWS::Events::Rule", "AWS::Scheduler::Schedule", translated.URLType}

// translateConsumer reads the consumer's template, if there is one. The AWS::SSM::Parameter resources of the stack's template give
// the values of its parameters of type AWS::SSM::Parameter::Value<String>.
func (s *Stack) translateConsumer(ctx context.Context) error {
	s.consumer = consumer{}
	path := s.options.Consumer
	if path == "" {
		return nil
	}
	t, err := translated.Translate(ctx, path, translated.Options{
		StackName: "consumer", Parameters: s.options.ConsumerParameters, FunctionPrefix: ConsumerPrefix,
		SSM: s.Template.SSMParameters(), Progress: s.options.Progress,
	})
	if err != nil {
		return err
	}
	if s.consumer, err = s.readConsumer(t); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *Stack) readConsumer(t *translated.Template) (consumer, error) {
	var errs []error
	for _, typ := range unserved {
		for _, name := range t.Named(typ) {
			errs = append(errs, fmt.Errorf("%s: the lab cannot serve %s for a consumer", name, typ))
		}
	}
	api, errAPI := t.API()
	functions, errFunctions := t.Functions()
	if err := errors.Join(append(errs, errAPI, errFunctions)...); err != nil {
		return consumer{}, err
	}
	for name, a := range api.Authorizers {
		_, own := functions[a.Function]
		_, shared := s.sources.functions[a.Function]
		switch {
		case !own && !shared:
			errs = append(errs, fmt.Errorf("authorizer %s: there is no function %s, here or in %s", name, a.Function, s.options.Template))
		// The template with the function must permit the call: the consumer's template for its API (""), the stack's for any other API.
		case !t.LetsAuthorize(a.Function, "") && !s.Template.LetsAuthorize(a.Function, "any-other"):
			errs = append(errs, fmt.Errorf("authorizer %s: AWS would answer 500: no permission lets API Gateway call %s as an authorizer of this API", name, a.Function))
		case shared && a.TTL > 0:
			s.options.Progress(fmt.Sprintf("authorizer %s keeps answers for %s: a revoked credential is accepted until then, as on AWS", name, a.TTL))
		}
	}
	_, errGateway := gateway.New(api, nil, nil, "") // only checks whether the gateway can serve the API
	code, errCode := sourcesOf(s.options.Consumer, filepath.Join(s.dir, "consumer"), functions)
	return consumer{code, api}, errors.Join(append(errs, errGateway, errCode)...)
}

// openConsumer starts to serve the consumer's API, if there is one.
func (s *Stack) openConsumer() error {
	if s.consumer.api == nil {
		return nil
	}
	g, err := gateway.New(s.consumer.api, s.Lambda, s.requests, s.options.Marker)
	if err != nil {
		return err
	}
	if err := s.listen(s.Ports.Consumer); err != nil {
		return err
	}
	s.Consumer = loopback(s.Ports.Consumer)
	s.serve(g, s.Ports.Consumer)
	return nil
}
