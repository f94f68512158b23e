package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/build"
	"latchkey/infra/local/gateway"
	"latchkey/infra/local/lambda"
	"latchkey/infra/local/translated"
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
	s.folders, err = s.foldersOf(functions)
	return err
}

func (s *Stack) build(ctx context.Context) error {
	s.options.Progress("building the functions")
	_, err := build.Functions(ctx, build.Options{Root: s.root, Folders: slices.Collect(maps.Values(s.folders)), Out: s.buildDir()})
	return err
}

// Template returns the translated template.
func (s *Stack) Template() *translated.Template { return s.template }

// resolveOptions returns the options by which the template's references are resolved here.
func (s *Stack) resolveOptions(parameters map[string]string) translated.Options {
	return translated.Options{
		StackName: StackName, Parameters: parameters, Physical: map[string]string{"Table": TableName}, Attributes: map[string]string{},
		QueueEndpoint: loopback(s.ports.Queue), Progress: s.options.Progress,
	}
}

func loopback(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

func (s *Stack) buildDir() string { return filepath.Join(s.dir, "build") }

// foldersOf returns the folder of each function, relative to the module. A CodeUri is relative to
// its template.
func (s *Stack) foldersOf(functions map[string]translated.Function) (map[string]string, error) {
	out := make(map[string]string)
	base, err := filepath.Abs(filepath.Dir(s.options.Template))
	if err != nil {
		return nil, err
	}
	for name, f := range functions {
		folder, err := filepath.Rel(s.root, filepath.Join(base, f.CodeURI))
		if err != nil || strings.HasPrefix(folder, "..") {
			return nil, fmt.Errorf("function %s: its code %s is not in the repository", name, f.CodeURI)
		}
		if _, err := os.Stat(filepath.Join(s.root, folder)); err != nil {
			return nil, fmt.Errorf("function %s: its code: %w", name, err)
		}
		out[name] = folder
	}
	return out, nil
}

// parameters returns the values of parameters: the local stack's own, as far as the template
// declares them, and over them the caller's.
func (s *Stack) parameters() (map[string]string, error) {
	text, err := os.ReadFile(s.options.Template)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Parameters map[string]yaml.Node `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", s.options.Template, err)
	}
	own := map[string]string{
		"Architecture": map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH],
		// The functions call AWS through the proxy that decides by their roles.
		"EndpointDynamoDB": loopback(s.ports.AWS), "EndpointKMS": loopback(s.ports.AWS), "EndpointSQS": loopback(s.ports.AWS),
		// Receivers on this machine get webhooks too.
		"WebhookAllowCidrs": "127.0.0.0/8", "WebhookIssuer": s.URL,
	}
	if _, s.takesIssuer = doc.Parameters["Issuer"]; !s.takesIssuer {
		s.Issuer = ""
	}
	if s.OwnIssuer() {
		own["Issuer"], own["JwksUrl"], own["UserinfoUrl"], own["Audience"] = s.Issuer, s.Issuer+"/jwks", s.Control+"/userinfo", Audience
	}
	maps.DeleteFunc(own, func(name, _ string) bool { _, declared := doc.Parameters[name]; return !declared })
	maps.Copy(own, s.options.Parameters)
	return own, nil
}

// startFunctions makes the functions ready to be called. Copies start with the calls.
func (s *Stack) startFunctions(context.Context) error {
	if err := s.startAccess(); err != nil {
		return fmt.Errorf("the roles of %s: %w", s.options.Template, err)
	}
	functions, err := s.template.Functions()
	if err != nil {
		return err
	}
	var run []lambda.Function
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := functions[name]
		program := filepath.Join(s.buildDir(), filepath.Base(s.folders[name]))
		run = append(run, lambda.Function{Name: name, Path: program, Timeout: f.Timeout, Memory: f.Memory, Env: f.Env})
	}
	s.lambda, err = lambda.Start(lambda.Options{
		Functions: run, Port: s.ports.Runtime, LogDir: s.LogDir, Region: backing.Region, AccountID: translated.AccountID, MaxCopies: s.options.MaxCopies,
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
