// Package servicetest runs verbs of the program infra/local/testkit beside tests: real services, and the
// checks of answers against the contract and of calls against the template's roles. It compares texts with
// files too.
package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// Service is a running verb.
type Service struct {
	verb   string
	cmd    *exec.Cmd
	said   bytes.Buffer // on standard error
	mu     sync.Mutex   // one question at a time
	input  io.WriteCloser
	output *json.Decoder
}

// Start starts a verb with its flags before it. The process ends with its input: at Stop, and at the
// latest when the test program ends, also when it is killed.
func Start(verb ...string) (*Service, error) {
	testkit, err := built()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(testkit.path, verb...)
	cmd.Dir = testkit.root
	// Go's test cache then knows that the tests depend on the documents that the verbs read.
	for _, read := range []string{"template.yaml", "infra/openapi.yaml"} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, read)); err != nil {
			return nil, err
		}
	}
	s := &Service{verb: strings.Join(verb, " "), cmd: cmd}
	cmd.Stderr = io.MultiWriter(os.Stderr, &s.said)
	if s.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.output = json.NewDecoder(output)
	return s, cmd.Start()
}

// Read decodes what the process prints next. Without an answer the error has the process's own text.
func (s *Service) Read(answer any) error {
	err := s.output.Decode(answer)
	if err != nil {
		err = fmt.Errorf("testkit %s: %w\n%s", s.verb, errors.Join(err, s.Stop()), s.said.Bytes())
	}
	return err
}

// Ask writes a question, and decodes the answer as Read does.
func (s *Service) Ask(question, answer any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewEncoder(s.input).Encode(question); err != nil {
		return s.Read(&struct{}{}) // the process has ended
	}
	return s.Read(answer)
}

// Stop ends the process.
func (s *Service) Stop() error { return errors.Join(s.input.Close(), s.cmd.Wait()) }

// Database is a running DynamoDB Local.
type Database struct {
	*Service
	Endpoint string
}

// DynamoDB starts a DynamoDB Local of its own, without tables.
func DynamoDB() (*Database, error) {
	s, err := Start("serve-db")
	if err != nil {
		return nil, err
	}
	d := &Database{Service: s}
	return d, s.Read(&struct{ Endpoint *string }{&d.Endpoint})
}

var shared = sync.OnceValues(startKMS)

// KMS returns a client for the one KMS of the test program. Without Python the test fails, and its
// text says so.
func KMS(t testing.TB) *kms.Client {
	t.Helper()
	k, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return k.client
}

// OwnKMS returns a client for a KMS without keys, which ends with the test.
func OwnKMS(t testing.TB) *kms.Client {
	t.Helper()
	k, err := startKMS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.service.Stop() })
	return k.client
}

type runningKMS struct {
	service *Service
	client  *kms.Client
}

func startKMS() (k runningKMS, err error) {
	if k.service, err = Start("serve-kms"); err != nil {
		return k, err
	}
	var at struct{ Endpoint string }
	if err := k.service.Read(&at); err != nil {
		return k, err
	}
	k.client = KMSClient(at.Endpoint)
	return k, nil
}

// KMSClient returns a client for the endpoint of a KMS.
func KMSClient(endpoint string) *kms.Client {
	local := aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}
	return kms.New(kms.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return local, nil }),
	})
}
