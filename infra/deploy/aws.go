package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

//go:embed aws.py
var awsProgram string

// cloud calls AWS by the SAM CLI's own boto3. So both use the same credentials: variables, a
// profile or a sign-in.
type cloud struct {
	region  string
	cmd     *exec.Cmd
	calls   io.WriteCloser
	answers *json.Decoder
}

// awsError is an error answer of AWS, or the reason why there was no answer.
type awsError struct{ Code, Message string }

func (e *awsError) Error() string {
	return e.Code + ": " + strings.Join(strings.Fields(e.Message), " ")
}

// params are the parameters of a call, by boto3's names.
type params map[string]any

func newCloud(ctx context.Context, python string, env []string, region string) (*cloud, error) {
	c := &cloud{cmd: exec.CommandContext(ctx, python, "-c", awsProgram, region)}
	c.cmd.Env, c.cmd.Stderr = env, os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.calls, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.answers = json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := c.answer(&c.region); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// call decodes the result into out, unless that is nil. Error: *awsError.
func (c *cloud) call(service, operation string, in params, out any) error {
	if err := json.NewEncoder(c.calls).Encode(params{"service": service, "operation": operation, "parameters": in}); err != nil {
		return fmt.Errorf("the call %s of %s: %w", operation, service, err)
	}
	return c.answer(out)
}

func (c *cloud) answer(out any) error {
	var a struct {
		Result json.RawMessage
		Error  *awsError
	}
	if err := c.answers.Decode(&a); err != nil {
		return fmt.Errorf("the program that calls AWS ended: %w", err)
	}
	if a.Error != nil {
		return a.Error
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Result, out)
}

// close ends the program by the end of its input.
func (c *cloud) close() {
	_ = c.calls.Close()
	_ = c.cmd.Wait()
}
