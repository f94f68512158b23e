package backing

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"latchkey/infra/lab/parts"
	"latchkey/infra/tools"
)

// DynamoDBOptions are the options of a DynamoDB Local. The zero value keeps the data in memory and
// uses a free port.
type DynamoDBOptions struct {
	Port     int            // 0: a free one
	DataDir  string         // the folder of rows and streams; "": in memory, gone at Stop
	LogPath  string         // "": the log is only for error messages
	Progress tools.Progress // nil: standard error
}

// StartDynamoDB starts a DynamoDB Local and returns when it answers. All regions and credentials
// see the same tables. Without Java or Maven the error is a *tools.MissingError.
func StartDynamoDB(ctx context.Context, o DynamoDBOptions) (*Process, error) {
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
	return start(ctx, child{
		name: "dynamodb", port: o.Port, logPath: o.LogPath,
		command: func(port int) (*exec.Cmd, error) {
			args := append([]string{"-sharedDb", "-disableTelemetry", "-port", fmt.Sprint(port)}, store...)
			return java(dir, "Loopback", args...)
		},
	})
}

// java returns the command of a JVM that runs a class of the tool in dir, with options for a small
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
