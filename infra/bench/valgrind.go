package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// program is a program to measure, with the environment and the events that it gets.
type program struct {
	path   string
	env    []string
	events [][]byte
	good   func(answer []byte) bool // reports whether an answer shows that the measured work was done
}

// instructionsOf runs a program behind a Lambda Runtime API and counts its instructions. callgrind counts, so
// another program on the same processor changes little: only the runtime's background work, which
// depends on the time that passes.
func instructionsOf(ctx context.Context, p program) (int64, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	api, err := newRuntimeAPI(p)
	if err != nil {
		return 0, err
	}
	defer func() { _ = api.Close() }()
	counts := filepath.Join(dir, "counts")
	cmd := exec.CommandContext(ctx, "valgrind", "--tool=callgrind", "--fair-sched=yes", "--callgrind-out-file="+counts, p.path)
	cmd.Env = append(api.env(p), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1")
	out, ended := cmd.CombinedOutput() // a function ends by the Runtime API's error
	if err := api.failed(); err != nil {
		return 0, fmt.Errorf("%s: %w (%w)\n%s", p.path, err, ended, out)
	}
	return parse(counts)
}

// residentOf runs a program behind a Lambda Runtime API, and returns the bytes of memory that it has after
// its last event.
func residentOf(ctx context.Context, p program) (int64, error) {
	api, err := newRuntimeAPI(p)
	if err != nil {
		return 0, err
	}
	defer func() { _ = api.Close() }()
	cmd := exec.CommandContext(ctx, p.path)
	cmd.Env = api.env(p)
	var status []byte
	var unread error
	api.ended = func() { status, unread = os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) }
	out, ended := cmd.CombinedOutput()
	if err := errors.Join(api.failed(), unread); err != nil {
		return 0, fmt.Errorf("%s: %w (%w)\n%s", p.path, err, ended, out)
	}
	found := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("%s: there is no memory in %s", p.path, status)
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kilobytes << 10, err
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

// runtimeAPI is the part of the Lambda Runtime API that a function needs. After the last event it
// answers an error, by which the function ends.
type runtimeAPI struct {
	http.Server
	address string
	good    func([]byte) bool
	ended   func() // is called after the last event, while the program waits; may be nil

	mu   sync.Mutex
	left [][]byte
	err  error
}

func newRuntimeAPI(p program) (*runtimeAPI, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &runtimeAPI{address: l.Addr().String(), left: p.events, good: p.good}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{result}", a.result)
	a.Handler = mux
	go func() { _ = a.Serve(l) }() // it ends by Close
	return a, nil
}

// env returns the environment of a program.
func (a *runtimeAPI) env(p program) []string {
	return append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + a.address, "PATH=" + os.Getenv("PATH"),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_TRY_TIMEOUT_MS=60000",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
	}, p.env...)
}

// failed returns why a program did not do its work.
func (a *runtimeAPI) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.left) > 0 {
		return errors.Join(a.err, fmt.Errorf("%d events are left", len(a.left)))
	}
	return a.err
}

func (a *runtimeAPI) next(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.left) == 0 && a.ended != nil {
		a.ended()
	}
	if len(a.left) == 0 || a.err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	event := a.left[0]
	a.left = a.left[1:]
	h := w.Header()
	h.Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:bench")
	_, _ = w.Write(event) // a function that has gone leaves events behind
}

func (a *runtimeAPI) result(w http.ResponseWriter, r *http.Request) {
	answer, err := io.ReadAll(r.Body)
	if err != nil || r.PathValue("result") != "response" || !a.good(answer) {
		a.mu.Lock()
		a.err = errors.Join(a.err, err, fmt.Errorf("the answer is not the expected one: %s %s", r.PathValue("result"), answer))
		a.mu.Unlock()
	}
	w.WriteHeader(http.StatusAccepted)
}
