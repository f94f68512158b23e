// Package backing runs the services that functions need on this machine: DynamoDB Local, a KMS, a
// server of queues and a token issuer. Each is a child process on a loopback port. Tests get a real
// database in two lines:
//
//	db, err := backing.StartDynamoDB(ctx, backing.Options{})
//	defer db.Stop()
//
// The package is generic: it serves any template. Nothing here is for production.
package backing

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"latchkey/infra/template/translated"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/tools"
	"latchkey/infra/tools/parts"
)

// Region is the region of all local services.
const Region = translated.Region

var (
	//go:embed kms.py
	kmsScript string
	//go:embed sqs.py
	sqsScript string
)

// Options are the options of a service. The zero value uses a free port, and keeps all data in memory.
type Options struct {
	Port     int            // 0: a free one
	DataDir  string         // the folder for DynamoDB's rows and streams; "": in memory, lost at Stop
	LogPath  string         // "": a temporary file, which only error messages quote
	Progress tools.Progress // nil: standard error
}

// StartDynamoDB starts a DynamoDB Local and returns when it answers. All regions and credentials
// see the same tables. Without Java or Maven the error is a *tools.MissingError.
func StartDynamoDB(ctx context.Context, o Options) (*Process, error) {
	dir, err := parts.DynamoDB(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	store := []string{"-inMemory"}
	if o.DataDir != "" {
		if err := os.MkdirAll(o.DataDir, 0o755); err != nil {
			return nil, err
		}
		store = []string{"-dbPath", o.DataDir}
	}
	return start(ctx, "dynamodb", o, func(port int) (*exec.Cmd, error) {
		args := append([]string{"-sharedDb", "-disableTelemetry", "-port", fmt.Sprint(port)}, store...)
		return java(dir, "Loopback", args...)
	})
}

// MemoryDir returns a new folder for DynamoDB's data. The folder is in memory if /dev/shm has 2 GiB free (36 minutes of the proof
// need 0.9 GiB), and a temporary folder otherwise. On a busy disk DynamoDB Local's writes take seconds. Without any folder, writes
// get slow after some minutes: for each write that it rolls back, SQLite then walks all its data in memory.
func MemoryDir(pattern string) (string, error) {
	const shared = "/dev/shm"
	var f syscall.Statfs_t
	if err := syscall.Statfs(shared, &f); err != nil || f.Bavail*uint64(f.Bsize) < 2<<30 {
		return os.MkdirTemp("", pattern)
	}
	return os.MkdirTemp(shared, pattern)
}

// java returns the command that runs a class of the tool in dir. The JVM's options are for a small
// memory and a quick start.
func java(dir, class string, args ...string) (*exec.Cmd, error) {
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	flags := []string{
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.io.tmpdir=" + tmp,
		"-Djava.library.path=" + dir, "-cp", filepath.Join(dir, "*") + string(os.PathListSeparator) + dir, class,
	}
	return exec.Command("java", append(flags, args...)...), nil
}

// StartKMS starts a KMS. It returns after the KMS has checked that it signs a digest correctly. The
// keys are lost when the KMS ends. Without Python the error is a *tools.MissingError.
func StartKMS(ctx context.Context, o Options) (*Process, error) {
	return startPython(ctx, "kms", kmsScript, o)
}

// StartQueue starts a server of queues. It returns after the server has checked that it delivers a message.
// CreateQueues creates the queues. Queues and messages are lost when the server ends. Without Python the
// error is a *tools.MissingError.
func StartQueue(ctx context.Context, o Options) (*Process, error) {
	return startPython(ctx, "sqs", sqsScript, o)
}

func startPython(ctx context.Context, name, script string, o Options) (*Process, error) {
	python, err := parts.Python(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	return start(ctx, name, o, func(port int) (*exec.Cmd, error) { return exec.Command(python, "-c", script, fmt.Sprint(port)), nil })
}

// credentials are arbitrary: the services check none, but the SDK must sign with some.
var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
})

// NewDynamoDBClient returns a client for a DynamoDB Local's endpoint.
func NewDynamoDBClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: Region, BaseEndpoint: &endpoint, Credentials: credentials})
}

// NewKMSClient returns a client for the endpoint of a KMS.
func NewKMSClient(endpoint string) *kms.Client {
	return kms.New(kms.Options{Region: Region, BaseEndpoint: &endpoint, Credentials: credentials})
}

// NewSQSClient returns a client for the endpoint of a server of queues.
func NewSQSClient(endpoint string) *sqs.Client {
	return sqs.New(sqs.Options{Region: Region, BaseEndpoint: &endpoint, Credentials: credentials})
}

// CallError is the error in a service's answer.
type CallError struct {
	Type    string `json:"__type"` // such as com.amazonaws.dynamodb.v20120810#ValidationException
	Message string
}

func (e *CallError) Error() string { return e.Type + ": " + e.Message }

// Call makes one call of a service, such as dynamodb. The target, such as DynamoDB_20120810.Scan, names the operation. body
// and answer are JSON in the form of the HTTP API. Error: a *CallError when the service refuses.
func Call(ctx context.Context, endpoint, service, target string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	// The local services do not check the signature.
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20200101/"+Region+"/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusOK {
		return answer, err
	}
	refused := &CallError{}
	return nil, errors.Join(refused, json.Unmarshal(answer, refused))
}
