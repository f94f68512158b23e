package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

//go:embed aws.py
var awsProgram string

// cloud calls AWS by the SAM CLI's own boto3. So both use the same credentials: variables, a
// profile or a sign-in.
type cloud struct {
	region string
	run    func(service, operation, parameters string) ([]byte, error)
}

// params are the parameters of a call, by boto3's names.
type params map[string]any

func newCloud(ctx context.Context, python string, env []string, region string) (*cloud, error) {
	c := &cloud{region: region}
	c.run = func(service, operation, parameters string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, python, "-c", awsProgram, c.region, service, operation, parameters)
		cmd.Env = env
		return cmd.Output()
	}
	return c, c.call("", "", nil, &c.region)
}

// call decodes the result into out, unless that is nil.
func (c *cloud) call(service, operation string, in params, out any) error {
	parameters, err := json.Marshal(in)
	if err != nil {
		return err
	}
	result, err := c.run(service, operation, string(parameters))
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s", strings.Join(strings.Fields(string(failed.Stderr)), " "))
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(result, out)
}
