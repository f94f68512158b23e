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

// cloud calls AWS by the SAM CLI's own boto3, so that whatever credentials the
// one finds (variables, a profile, a sign-in) the other finds too.
type cloud struct {
	region  string
	cmd     *exec.Cmd
	calls   io.WriteCloser
	answers *json.Decoder
}

// awsError is AWS's answer to a call, or why there was none.
type awsError struct{ Code, Message string }

func (e *awsError) Error() string {
	return e.Code + ": " + strings.Join(strings.Fields(e.Message), " ")
}

// params are the parameters of a call, as boto3 names them.
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

// close ends the program, which ends with its input. What it says then is of no
// use any more.
func (c *cloud) close() {
	_ = c.calls.Close()
	_ = c.cmd.Wait()
}
