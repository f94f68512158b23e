package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/gateway"
	"latchkey/infra/lab/lambda"
	"latchkey/infra/lab/translated"
)

// translate reads the template. It fails, before anything is built or started, when the local stack
// cannot serve a part of it.
func (s *Stack) translate(ctx context.Context) error {
	parameters, err := s.parameters()
	if err != nil {
		return err
	}
	s.template, err = translated.Translate(ctx, s.options.Template, s.resolveOptions(parameters))
	if err != nil {
		return err
	}
	api, errAPI := s.template.API()
	if errAPI == nil {
		_, errAPI = gateway.New(api, nil, nil)
	}
	s.TableName = cmp.Or(s.template.Outputs["TableName"], TableName)
	_, errSources := s.template.EventSources()
	_, errQueues := s.template.Queues()
	_, errSchedules := s.template.Schedules()
	functions, err := s.template.Functions()
	if err := errors.Join(err, errAPI, errSources, errQueues, errSchedules); err != nil {
		return fmt.Errorf("%s: %w", s.options.Template, err)
	}
	s.api = api
	if err := s.takeURLs(); err != nil {
		return fmt.Errorf("%s: %w", s.options.Template, err)
	}
	if s.sources, err = sourcesOf(s.options.Template, filepath.Join(s.dir, "build"), functions); err != nil {
		return err
	}
	return s.translateConsumer(ctx)
}

// Template returns the translated template.
func (s *Stack) Template() *translated.Template { return s.template }

// resolveOptions returns the options by which the template's references are resolved here.
func (s *Stack) resolveOptions(parameters map[string]string) translated.Options {
	urls := make(map[string]string)
	for id, port := range s.urlPorts {
		urls[id+".FunctionUrl"] = loopback(port) + "/"
	}
	return translated.Options{
		StackName: StackName, Parameters: parameters, Physical: map[string]string{"Table": TableName}, Attributes: urls,
		QueueEndpoint: loopback(s.ports.Queue), Progress: s.options.Progress,
	}
}

// parameters returns the values of parameters: the local stack's own, as far as the template
// declares them, and over them the caller's.
func (s *Stack) parameters() (map[string]string, error) {
	declared, err := translated.ReadParameters(s.options.Template)
	if err != nil {
		return nil, err
	}
	own := map[string]string{
		"Architecture": map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH],
		// The functions call AWS through the proxy that decides by their roles.
		"EndpointDynamoDB": loopback(s.ports.AWS), "EndpointKMS": loopback(s.ports.AWS), "EndpointSQS": loopback(s.ports.AWS),
		// Receivers on this machine get webhooks too.
		"WebhookAllowCidrs": "127.0.0.0/8", "WebhookIssuer": s.URL,
	}
	if _, s.takesIssuer = declared["Issuer"]; !s.takesIssuer {
		s.Issuer = ""
	}
	if s.OwnIssuer() {
		own["Issuer"], own["JwksUrl"], own["UserinfoUrl"], own["Audience"] = s.Issuer, s.Issuer+"/jwks", s.Control+"/userinfo", Audience
	}
	maps.DeleteFunc(own, func(name, _ string) bool { _, ok := declared[name]; return !ok })
	maps.Copy(own, s.options.Parameters)
	delete(own, "AlarmTopicArn") // nothing here raises an alarm, and what comes with alarms would ask AWS about other APIs
	return own, nil
}

// startFunctions makes the functions ready to be called. Copies start with the calls.
func (s *Stack) startFunctions(context.Context) error {
	if err := s.startAccess(); err != nil {
		return fmt.Errorf("the roles of %s: %w", s.options.Template, err)
	}
	var err error
	if s.sources.functions, err = s.template.Functions(); err != nil {
		return err
	}
	own, errOwn := s.sources.run(nil)
	// The proxy knows no role of a consumer's function, so it refuses its calls.
	consumers, errConsumer := s.consumer.run(map[string]string{"AWS_ENDPOINT_URL": loopback(s.ports.AWS)})
	if err := errors.Join(errOwn, errConsumer); err != nil {
		return err
	}
	s.lambda, err = lambda.Start(lambda.Options{
		Functions: append(own, consumers...), Port: s.ports.Runtime, LogDir: s.LogDir, Region: backing.Region, AccountID: translated.AccountID, MaxCopies: s.options.MaxCopies,
	})
	return errors.Join(err)
}

// Copies returns the living copies of a function, by its logical id.
func (s *Stack) Copies(function string) []lambda.Copy { return s.lambda.Copies(function) }

// Invoke calls a function directly, with a JSON payload.
func (s *Stack) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	return s.lambda.Invoke(ctx, function, payload)
}

// Gateway returns a gateway for the API of another template, with the functions of this stack.
func (s *Stack) Gateway(ctx context.Context, template string) (http.Handler, error) {
	t, err := translated.Translate(ctx, template, s.resolveOptions(s.template.Parameters))
	if err != nil {
		return nil, err
	}
	api, err := t.API()
	if err != nil {
		return nil, err
	}
	return s.gatewayOf(api)
}

// gatewayOf returns a gateway for an API, which marks its own responses.
func (s *Stack) gatewayOf(api *translated.API) (*gateway.Gateway, error) {
	g, err := gateway.New(api, s.lambda, s.requests)
	if err == nil {
		g.Mark("X-Latchkey-Local-Response")
	}
	return g, err
}
