// Package servicetest runs commands of the program infra/harness/local/testkit during tests. Some commands are services, such as
// DynamoDB Local. Others check answers against the contract, or calls against the roles of the template. The package also compares
// texts with files.
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

// Service is a running command of testkit.
type Service struct {
	args   string // the arguments of testkit
	cmd    *exec.Cmd
	stderr bytes.Buffer
	mu     sync.Mutex // held from a question to its answer
	input  io.WriteCloser
	output *json.Decoder
}

// Start starts testkit with these arguments: flags, then the command. The process ends when its input ends: at Stop, or when
// the test program ends or is killed.
func Start(args ...string) (*Service, error) {
	testkit, err := built()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(testkit.path, args...)
	cmd.Dir = testkit.root
	// testkit reads these files. Stat makes Go's test cache notice their changes, because it sees only files of the test program.
	for _, read := range []string{"template.yaml", "infra/openapi.yaml"} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, read)); err != nil {
			return nil, err
		}
	}
	s := &Service{args: strings.Join(args, " "), cmd: cmd}
	cmd.Stderr = io.MultiWriter(os.Stderr, &s.stderr)
	if s.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.output = json.NewDecoder(output)
	running.Lock()
	defer running.Unlock()
	running.services = append(running.services, s)
	return s, cmd.Start()
}

// Read decodes the next JSON value that the process prints. If the process prints none, Read stops it. The error then has the
// text that the process wrote to standard error.
func (s *Service) Read(answer any) error {
	err := s.output.Decode(answer)
	if err != nil {
		err = fmt.Errorf("testkit %s: %w\n%s", s.args, errors.Join(err, s.Stop()), s.stderr.Bytes())
	}
	return err
}

// Ask writes a question, and decodes the answer like Read.
func (s *Service) Ask(question, answer any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewEncoder(s.input).Encode(question); err != nil {
		return s.Read(&struct{}{}) // the process has ended, and this error has its text
	}
	return s.Read(answer)
}

// Stop ends the process and waits for its end.
func (s *Service) Stop() error { return errors.Join(s.input.Close(), s.cmd.Wait()) }

// Database is a running DynamoDB Local.
type Database struct {
	*Service
	Endpoint string
}

// DynamoDB starts a new DynamoDB Local without tables.
func DynamoDB() (*Database, error) {
	s, err := Start("serve-db")
	if err != nil {
		return nil, err
	}
	d := &Database{Service: s}
	return d, s.Read(&struct{ Endpoint *string }{&d.Endpoint}) // decodes into d
}

// sharedKMS starts the one KMS of the test program at its first call.
var sharedKMS = sync.OnceValues(startKMS)

// KMS returns a client for the KMS that all tests of the test program share. If the KMS does not start, for example without
// Python, KMS fails the test.
func KMS(t testing.TB) *kms.Client {
	t.Helper()
	k, err := sharedKMS()
	if err != nil {
		t.Fatal(err)
	}
	return k.client
}

// OwnKMS returns a client for a new KMS without keys. The KMS ends with the test.
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
