package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"latchkey/infra/harness/lab/lambda"
)

// program is a program to measure, with its environment. It gets the same event a number of times.
type program struct {
	path  string
	env   []string
	event []byte
	calls int
	good  func(answer []byte) bool // reports whether an answer shows that the measured work was done
}

// instructionsOf runs a program with a Lambda Runtime API and counts its instructions with callgrind. A busy
// machine changes the count only a little: by the runtime's background work, which depends on the time that passes.
func instructionsOf(ctx context.Context, p program) (int64, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	counts := filepath.Join(dir, "counts")
	cmd := exec.CommandContext(ctx, "valgrind", "--tool=callgrind", "--fair-sched=yes", "--callgrind-out-file="+counts, p.path)
	cmd.Env = []string{"GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1"} // as little background work as possible
	if err := p.serve(cmd, func() {}); err != nil {
		return 0, err
	}
	return parse(counts)
}

// residentOf runs a program with a Lambda Runtime API, and returns the bytes of memory that the program uses
// after its last event.
func residentOf(ctx context.Context, p program) (bytes int64, err error) {
	cmd := exec.CommandContext(ctx, p.path)
	if err = p.serve(cmd, func() { bytes = lambda.Resident(cmd.Process.Pid) }); err == nil && bytes == 0 {
		err = fmt.Errorf("%s: the memory of its process cannot be read", p.path)
	}
	return bytes, err
}

// parse reads the sum of the instructions from a file of callgrind.
func parse(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "\nsummary: ")
	if !found {
		return 0, fmt.Errorf("%s has no summary", path)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

// serve runs a program with the part of the Lambda Runtime API that it needs. No other program uses this API, so requests come one
// by one. After the last event it calls ended, and answers an error, which ends a function. A program that requests no event ends
// by itself. serve returns an error if the program did not do its work.
func (p program) serve(cmd *exec.Cmd, ended func()) error {
	unsent, unanswered, hasRequested := p.calls, p.calls, false
	var errs error
	api := http.NewServeMux()
	api.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, _ *http.Request) {
		hasRequested = true
		if unsent == 0 || errs != nil {
			ended()
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		unsent--
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:bench")
		_, _ = w.Write(p.event) // if the function has ended, this event stays unanswered, which is an error below
	})
	api.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{result}", func(w http.ResponseWriter, r *http.Request) {
		answer, err := io.ReadAll(r.Body)
		if err != nil || r.PathValue("result") != "response" || !p.good(answer) {
			errs = errors.Join(errs, err, fmt.Errorf("the answer is not the expected one: %s %s", r.PathValue("result"), answer))
		}
		unanswered--
		w.WriteHeader(http.StatusAccepted)
	})
	server := httptest.NewServer(api)
	cmd.Env = append(cmd.Env,
		"AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(server.URL, "http://"), "PATH="+os.Getenv("PATH"),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_TRY_TIMEOUT_MS=60000",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512")
	cmd.Env = append(cmd.Env, p.env...)
	out, failed := cmd.CombinedOutput()
	server.Close()     // no handler runs any more
	if !hasRequested { // a program that requests events is ended by the API's error, so its failure is expected
		errs = failed
	}
	if hasRequested && unanswered > 0 {
		errs = errors.Join(errs, fmt.Errorf("%d events have no answer", unanswered))
	}
	if errs != nil {
		return fmt.Errorf("%s: %w\n%s", p.path, errors.Join(errs, failed), out)
	}
	return nil
}
