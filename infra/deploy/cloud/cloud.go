// Package cloud calls AWS with the SAM CLI's boto3. It uses the SAM CLI's credentials, and needs no other program.
package cloud

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed aws.py
var program string

// Params are the parameters of a call, by boto3's names.
type Params map[string]any

// Client calls AWS in a region.
type Client struct {
	Region         string // "": none is configured
	HasCredentials bool
	Expires        time.Time // when the credentials expire; zero: unknown, or never

	command func(in Params, arguments ...string) (*exec.Cmd, error)
}

// Python returns the path of the Python that runs a SAM CLI.
func Python(sam string) string { return filepath.Join(filepath.Dir(sam), "python") }

// New returns a client that runs a Python with boto3, with these environment variables. Region "" is the configured region.
// Error: boto3 cannot use the configuration, for example because the profile does not exist.
func New(ctx context.Context, python string, env []string, region string) (*Client, error) {
	c := &Client{Region: region}
	c.command = func(in Params, arguments ...string) (*exec.Cmd, error) {
		parameters, err := json.Marshal(in)
		cmd := exec.CommandContext(ctx, python, append([]string{"-c", program, c.Region}, arguments...)...)
		cmd.Env = append(slices.Clone(env), "PARAMETERS_OF_CALL="+string(parameters))
		return cmd, err
	}
	var found struct {
		Region      string
		Credentials bool
		Expires     time.Time
	}
	err := c.Call("", "", nil, &found) // without a service, aws.py returns the configuration
	c.Region, c.HasCredentials, c.Expires = found.Region, found.Credentials, found.Expires
	return c, err
}

// Call makes a call, and decodes the result into out, unless out is nil. A list is read to its last page. The error is one line
// that begins with the name of botocore's exception.
func (c *Client) Call(service, operation string, in Params, out any) error {
	cmd, err := c.command(in, service, operation)
	if err != nil {
		return err
	}
	result, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s", strings.Join(strings.Fields(string(failed.Stderr)), " "))
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(result, out)
}

// Later starts a program that waits and then makes a call: when the returned function is called, or when this process ends for
// any reason. The returned function returns after the call.
func (c *Client) Later(service, operation string, in Params) (now func() error, err error) {
	cmd, err := c.command(in, service, operation, "wait")
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C at the terminal does not stop the program
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	return func() error { return errors.Join(input.Close(), cmd.Wait()) }, err
}
