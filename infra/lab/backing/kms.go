package backing

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"latchkey/infra/lab/parts"
	"latchkey/infra/tools"
)

//go:embed kms.py
var kmsScript string

// KMSOptions are the options of a KMS. The zero value uses a free port.
type KMSOptions struct {
	Port     int            // 0: a free one
	LogPath  string         // "": the log is only for error messages
	Progress tools.Progress // nil: standard error
}

// StartKMS starts a KMS and returns when the KMS has tested that it signs a digest correctly. Its
// keys are gone when it ends. Without Python the error is a *tools.MissingError.
func StartKMS(ctx context.Context, o KMSOptions) (*Process, error) {
	python, err := parts.Python(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	script, err := tools.File("kms.py", kmsScript)
	if err != nil {
		return nil, err
	}
	return start(ctx, child{
		name: "kms", port: o.Port, logPath: o.LogPath,
		command: func(port int) (*exec.Cmd, error) { return exec.Command(python, script, fmt.Sprint(port)), nil },
	})
}

// NewKMSClient returns a client for the endpoint of a KMS.
func NewKMSClient(endpoint string) *kms.Client {
	return kms.New(kms.Options{
		Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(anyCredentials),
	})
}
