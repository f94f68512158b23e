package tools

import "os"

// SAMBuildEnvironment returns the environment in which the SAM CLI builds and deploys: the flags of the
// functions, and no telemetry.
func SAMBuildEnvironment() []string {
	return append(os.Environ(), "SAM_CLI_TELEMETRY=0", "CGO_ENABLED=0",
		"GOFLAGS=-buildvcs=false -trimpath -tags=lambda.norpc -ldflags=-s")
}

// SAMEnvironment returns the environment of the SAM CLI on this machine: SAMBuildEnvironment, with made-up
// credentials and a region when there are none.
func SAMEnvironment() []string {
	env := SAMBuildEnvironment()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
	} {
		if os.Getenv(name) == "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
