package backing

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// KMSOptions are the options of a KMS. The zero value uses a free port.
type KMSOptions struct {
	Port     int      // 0: a free one
	LogPath  string   // "": the log is only for error messages
	Progress Progress // nil: standard error
}

// StartKMS starts a KMS and returns when the KMS has tested that it signs a digest correctly. Its
// keys are gone when it ends. Without Python the error is a *MissingError.
func StartKMS(ctx context.Context, o KMSOptions) (*Process, error) {
	python, err := Python(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	script, err := unpack("python/kms.py")
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

// unpack writes an embedded file to a path that depends on its text, for programs to read, and
// returns the path.
func unpack(name string) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	text := embedded(name)
	path := filepath.Join(tools, digest([]string{text})+"-"+filepath.Base(name))
	if exists(path) {
		return path, nil
	}
	tmp, err := os.CreateTemp(tools, "unpack-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.WriteString(text)
	if closing := tmp.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "", err
	}
	return path, os.Rename(tmp.Name(), path)
}
