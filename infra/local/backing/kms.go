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

// KMSOptions says how a KMS runs. The zero value is one on a free port.
type KMSOptions struct {
	Port     int      // 0: a free one
	LogPath  string   // "": kept for error messages alone
	Progress Progress // nil: standard error
}

// StartKMS runs a KMS and returns when it has proved, to itself, that it signs a
// digest right. Its keys are gone when it ends. When Python is not there the
// error is a *MissingError.
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

// NewKMSClient returns a client for a KMS's endpoint.
func NewKMSClient(endpoint string) *kms.Client {
	return kms.New(kms.Options{
		Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(anyCredentials),
	})
}

// unpack writes an embedded file where a program can read it, under a name that
// changes with its text.
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
