// Package sam serves the functions in containers with `sam local start-api`. A local stack runs at the same time,
// and the functions use its database, KMS, queues and issuer. Package sam needs a Docker engine.
package sam

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// ErrNoEngine means that no Docker engine answers.
var ErrNoEngine = errors.New("sam local needs a Docker engine, but no engine answers (docker info)")

const (
	host = "host.docker.internal" // a container's name for this machine

	tryTimeout   = "4000" // the parameter TryTimeout, in milliseconds: high, because a container may be slow
	buildTimeout = 5 * time.Minute
	startTimeout = 2 * time.Minute
	stopGrace    = 30 * time.Second // time for sam local to remove its containers

	// BehindPort is the difference between the port of the local stack and the port of sam local.
	BehindPort = 10
)

// SAM is a running `sam local start-api`.
type SAM struct {
	URL   string
	Stack *stack.Stack  // the local stack whose services the functions use
	Done  chan struct{} // closed when sam local has ended

	root     string
	image    []string // see ensureImage
	cmd      *exec.Cmd
	logPath  string
	services *httptest.Server // passes calls on to the local stack's services
	proxies  []*http.Server   // see forward
}

// Start starts a local stack, builds the functions and serves them. It returns when a request succeeds. With port 0 it
// uses free ports. The error is ErrNoEngine when no Docker engine answers.
func Start(ctx context.Context, port int, progress tools.Progress) (*SAM, error) {
	if err := exec.CommandContext(ctx, "docker", "info").Run(); err != nil {
		return nil, ErrNoEngine
	}
	cli, err := tools.SAM(ctx, progress)
	if err != nil {
		return nil, err
	}
	s := &SAM{Done: make(chan struct{})}
	if s.image, err = ensureImage(ctx, progress); err != nil {
		return nil, err
	}
	if err := s.start(ctx, cli, port, progress); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *SAM) start(ctx context.Context, cli string, port int, progress tools.Progress) error {
	var err error
	if s.root, err = tools.Root(); err != nil {
		return err
	}
	options := stack.Options{Progress: progress}
	if port != 0 {
		options.Port = port + BehindPort
	}
	if s.Stack, err = stack.Start(ctx, options); err != nil {
		return err
	}
	address, err := bridge()
	if err != nil {
		return err
	}
	s.services = httptest.NewServer(services(s.Stack.DataPlane))
	if err := s.forward(address, s.services.URL, s.Stack.Issuer, s.Stack.Control); err != nil {
		return err
	}
	built, err := s.build(ctx, cli, progress)
	if err != nil {
		return err
	}
	if port, err = tools.FreePort(port); err != nil {
		return err
	}
	if err := s.serve(cli, built, port); err != nil {
		return err
	}
	return s.await(ctx)
}

// build compiles the functions for this machine's processor, and returns the path of the built template. It does not use --cached,
// because sam build then misses changes under pkg.
func (s *SAM) build(ctx context.Context, cli string, progress tools.Progress) (template string, err error) {
	progress("building the functions with sam build")
	dir := filepath.Join(s.root, ".local", "sam", "build")
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	_, err = tools.Output(ctx, s.root, tools.SAMEnvironment(), cli, "build", "--template-file", filepath.Join(s.root, "template.yaml"),
		"--build-dir", dir, "--config-file", s.config(), "--config-env", "local",
		"--parameter-overrides", "ParameterKey=Architecture,ParameterValue="+tools.Architecture(runtime.GOARCH))
	return filepath.Join(dir, "template.yaml"), err
}

func (s *SAM) config() string { return filepath.Join(s.root, "samconfig.toml") }

// serve starts sam local. Its containers reach this machine's services under the name host. Only the parameter Issuer keeps
// 127.0.0.1, because it must equal the iss of the tokens.
func (s *SAM) serve(cli, template string, port int) error {
	vars := filepath.Join(s.Stack.LogDir, "sam-env.json")
	queue, errQueue := s.Stack.QueueURL("DeliveryQueue")
	// sam local has no table and no queue, so it does not know these two values. It gives each function only the variables that the
	// function has in the template.
	text, err := json.Marshal(map[string]any{"Parameters": map[string]string{"TABLE": s.Stack.TableName, "QUEUE_URL": fromContainer(queue)}})
	if err := errors.Join(errQueue, err); err != nil {
		return err
	}
	if err := os.WriteFile(vars, text, 0o600); err != nil {
		return err
	}
	args := []string{
		"local", "start-api", "--template-file", template, "--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--config-file", s.config(), "--config-env", "local",
		"--skip-pull-image", "--warm-containers", "LAZY", "--add-host", host + ":host-gateway", "--env-vars", vars,
	}
	args = append(append(args, s.image...), "--parameter-overrides")
	for name, value := range map[string]string{
		"Issuer": s.Stack.Issuer, "Audience": stack.Audience, "JwksUrl": fromContainer(s.Stack.Issuer) + "/jwks", "UserinfoUrl": fromContainer(s.Stack.Control) + "/userinfo",
		"AwsEndpoint": fromContainer(s.services.URL), "Architecture": tools.Architecture(runtime.GOARCH), "TryTimeout": tryTimeout, "WebhookAllowCidrs": "127.0.0.0/8", "WebhookIssuer": "http://127.0.0.1:" + strconv.Itoa(port),
	} {
		args = append(args, "ParameterKey="+name+",ParameterValue="+value)
	}
	s.logPath = filepath.Join(s.Stack.LogDir, "sam.log")
	log, err := os.Create(s.logPath)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.Command(cli, args...)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = tools.SAMEnvironment(), log, log
	// A separate process group, so that a Ctrl-C in the terminal does not end sam local before Close does.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.Done)
	}()
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
	return nil
}

// services passes each call on to the service that the call's signature names.
func services(at lab.Endpoints) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		scope := append(strings.Split(r.In.Header.Get("Authorization"), "/"), "", "", "", "") // Credential=KEY/DATE/REGION/SERVICE/…
		to, _ := url.Parse(cmp.Or(map[string]string{"kms": at.KMS, "sqs": at.SQS}[scope[3]], at.DynamoDB))
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
}

// fromContainer returns the URL that a container uses for a URL on loopback.
func fromContainer(loopback string) string { return strings.Replace(loopback, "127.0.0.1", host, 1) }

// await sends requests until a public route answers. The first answer is slow, because sam local first builds a container.
func (s *SAM) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/.well-known/jwks.json", nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.Done:
			return fmt.Errorf("sam local ended by itself:\n%s", s.log())
		case <-ctx.Done():
			return fmt.Errorf("sam local was not ready in %s:\n%s", startTimeout, s.log())
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *SAM) log() string {
	text, err := os.ReadFile(s.logPath)
	if err != nil {
		return err.Error()
	}
	return tools.Tail(text)
}

// Close ends sam local, its containers and the local stack behind it.
func (s *SAM) Close() error {
	var errs []error
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // ignore the error of an ended process
		select {
		case <-s.Done:
		case <-time.After(stopGrace):
			errs = append(errs, errors.New("sam local did not end by itself"), s.cmd.Process.Kill())
			<-s.Done
		}
	}
	for _, p := range s.proxies {
		_ = p.Close()
	}
	if s.services != nil {
		s.services.Close()
	}
	if s.Stack != nil {
		errs = append(errs, s.Stack.Close())
	}
	return errors.Join(errs...)
}
