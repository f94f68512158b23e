package main

import (
	"bufio"
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

// profile is what a program did until its end.
type profile struct {
	instructions int64
	allocations  int64 // 0 for a program without symbols
}

// profileOf runs a program behind a Lambda Runtime API and counts what it does. callgrind counts, so
// another program on the same processor changes little: only the runtime's background work, which
// depends on the time that passes.
func profileOf(ctx context.Context, p program) (profile, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return profile{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	api, err := newRuntimeAPI(p)
	if err != nil {
		return profile{}, err
	}
	defer func() { _ = api.Close() }()
	counts := filepath.Join(dir, "counts")
	cmd := exec.CommandContext(ctx, "valgrind", "--tool=callgrind", "--fair-sched=yes", "--callgrind-out-file="+counts, p.path)
	cmd.Env = append(api.env(p), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1")
	out, ended := cmd.CombinedOutput() // a function ends by the Runtime API's error
	if err := api.failed(); err != nil {
		return profile{}, fmt.Errorf("%s: %w (%w)\n%s", p.path, err, ended, out)
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

// allocates begins the names of the runtime's functions for new memory. Each allocation calls one of
// them from outside of this list.
const allocates = "runtime.mallocgc"

// parse reads a file of callgrind: the sum of its instructions, and the calls of runtime.mallocgc.
func parse(path string) (profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return profile{}, err
	}
	defer func() { _ = f.Close() }()
	var p profile
	names := map[string]string{} // by number: the file has a name once
	caller, called := "", ""
	name := func(text string) string {
		number, rest, _ := strings.Cut(text, " ")
		if rest != "" {
			names[number] = rest
		}
		return names[number]
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		switch {
		case key == "fn":
			caller = name(value)
		case key == "cfn":
			called = name(value)
		case key == "calls" && strings.HasPrefix(called, allocates) && !strings.HasPrefix(caller, allocates):
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				return profile{}, err
			}
			p.allocations += n
		case strings.HasPrefix(key, "summary: "):
			p.instructions, err = strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(key, "summary: ")), 10, 64)
			if err != nil {
				return profile{}, err
			}
		}
	}
	if p.instructions == 0 {
		return profile{}, errors.Join(fmt.Errorf("%s has no summary", path), lines.Err())
	}
	return p, lines.Err()
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
