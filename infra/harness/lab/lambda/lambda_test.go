package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"latchkey/infra/harness/lab/build"
	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/tools"
)

const toyFolder = "lab/lambda/testdata/toy"

// toy builds the toy function once, and returns the path of its program.
var toy = sync.OnceValues(func() (string, error) {
	root, err := tools.Root()
	if err != nil {
		return "", err
	}
	out, err := os.MkdirTemp("", "local-toy-")
	if err != nil {
		return "", err
	}
	err = build.Functions(context.Background(), build.Options{
		Root: filepath.Join(root, "infra", "harness"), Folders: []string{toyFolder}, Out: out, Kept: filepath.Join(root, ".local", "built"),
	})
	return filepath.Join(out, "toy"), err
})

func TestMain(m *testing.M) {
	if program := os.Getenv(orphanEnv); program != "" { // this process is the parent in TestNoCopyOutlivesAKilledParent
		if err := parent(program); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	code := m.Run()
	if path, err := toy(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// report is the answer of the toy function; see testdata/toy.
type report struct {
	Text     string
	PID      int
	Ticks    int64
	LeftMs   int64
	ARN, ID  string
	Env      map[string]string
	HomeSeen bool
}

func start(t *testing.T, o lambda.Options) (*lambda.Service, string) {
	t.Helper()
	path, err := toy()
	if err != nil {
		t.Fatal(err)
	}
	o.LogDir = t.TempDir()
	one := 1
	o.Functions = []lambda.Function{
		{Name: "Toy", Path: path, Timeout: time.Second, Memory: 128, Env: map[string]string{"OWN": "value"}},
		{Name: "NoStart", Path: path, Timeout: time.Second, Memory: 128, Env: map[string]string{"FAIL_INIT": "1"}},
		{Name: "NoProgram", Path: path + "-missing", Timeout: time.Second},
		{Name: "Slow", Path: path, Timeout: time.Minute},
		{Name: "Kept", Path: path, Timeout: time.Minute, Reserved: &one},
	}
	s, err := lambda.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, o.LogDir
}

func call(t *testing.T, s *lambda.Service, order string) report {
	t.Helper()
	answer, err := s.Invoke(context.Background(), "Toy", []byte(order))
	if err != nil {
		t.Fatalf("%s: %v", order, err)
	}
	var r report
	if err := json.Unmarshal(answer, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFunctionSeesOnlyLambdasEnvironment(t *testing.T) {
	s, logs := start(t, lambda.Options{})
	r := call(t, s, `{"Do":"log","Text":"hello"}`)
	if r.Text != "hello" || r.Env["OWN"] != "value" || r.Env["AWS_REGION"] != "us-east-1" || r.Env["NAME"] != "Toy" || r.HomeSeen {
		t.Errorf("%+v", r)
	}
	if r.ARN != "arn:aws:lambda:us-east-1:000000000000:function:Toy" || len(r.ID) != 36 || r.LeftMs < 500 || r.LeftMs > 1000 {
		t.Errorf("%+v", r)
	}
	if log, err := os.ReadFile(filepath.Join(logs, "Toy.log")); err != nil || string(log) != "hello\n" {
		t.Errorf("log %q %v", log, err)
	}
}

func TestEachSimultaneousCallHasACopy(t *testing.T) {
	s, _ := start(t, lambda.Options{MaxCopies: 3})
	first, second := call(t, s, `{}`), call(t, s, `{}`)
	if first.PID != second.PID {
		t.Error("two calls after each other used two copies")
	}
	pids := make(chan int, 4)
	for range 4 { // one more than the limit: the last call waits
		go func() { pids <- call(t, s, `{"Seconds":0.3}`).PID }()
	}
	seen := make(map[int]int)
	for range 4 {
		seen[<-pids]++
	}
	copies, answered := s.Copies("Toy"), 0
	for _, c := range copies {
		answered += c.Answered
	}
	if len(seen) != 3 || len(copies) != 3 || answered != 2+4 {
		t.Errorf("calls by process %v, copies %+v", seen, copies)
	}
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the condition does not become true")
		}
	}
}

// TestIdleCopiesAreFrozen counts the ticks of the copy's clock, which has a tick every 10 ms.
func TestIdleCopiesAreFrozen(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	before := call(t, s, `{}`)
	time.Sleep(500 * time.Millisecond)
	after := call(t, s, `{}`)
	if ticks := after.Ticks - before.Ticks; ticks > 10 {
		t.Errorf("a frozen copy's clock ran %d times", ticks)
	}
	// The clock must run during calls (slower on a busy machine). Otherwise the check above would prove nothing.
	until(t, func() bool { return call(t, s, `{"Seconds":0.5}`).Ticks-after.Ticks >= 20 })
}

func TestACrashFailsOneCallOnly(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	before := call(t, s, `{}`)
	if _, err := s.Invoke(context.Background(), "Toy", []byte(`{"Do":"crash"}`)); !errors.Is(err, lambda.ErrCrash) {
		t.Fatalf("error %v", err)
	}
	if after := call(t, s, `{}`); after.PID == before.PID {
		t.Error("the crashed copy answered")
	}
}

// TestDeadIdleCopyIsReplaced kills an idle copy, and checks that the next call succeeds.
func TestDeadIdleCopyIsReplaced(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	before := call(t, s, `{}`)
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(s.Copies("Toy")) == 0 })
	call(t, s, `{}`)
}

func TestRenewLetsRunningCallsEndInOldCopies(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	answered := make(chan error)
	var during report
	go func() {
		text, err := s.Invoke(context.Background(), "Toy", []byte(`{"Seconds":0.5}`))
		answered <- errors.Join(err, json.Unmarshal(text, &during))
	}()
	until(t, func() bool { return len(s.Copies("Toy")) == 1 })
	idle := call(t, s, `{}`) // by a second copy
	if err := s.Renew("Toy"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the running call: %v", err)
	}
	for range 2 {
		if after := call(t, s, `{}`); after.PID == idle.PID || after.PID == during.PID {
			t.Error("an old copy answered")
		}
	}
	until(t, func() bool { return len(s.Copies("Toy")) == 1 })
	if err := s.Renew("Unknown"); !errors.Is(err, lambda.ErrNoFunction) {
		t.Errorf("an unknown function: %v", err)
	}
}

func TestACallEndsAtTheFunctionsTimeout(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	begun := time.Now()
	_, err := s.Invoke(context.Background(), "Toy", []byte(`{"Seconds":30}`))
	if took := time.Since(begun); !errors.Is(err, lambda.ErrTimeout) || took > 3*time.Second {
		t.Fatalf("error %v after %s", err, took)
	}
	call(t, s, `{}`) // by a new copy
}

func TestInvokeReturnsTheKindOfFailure(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	_, err := s.Invoke(context.Background(), "Toy", []byte(`{"Do":"fail","Text":"boom"}`))
	var failed *lambda.FunctionError
	if !errors.As(err, &failed) || failed.Message != "boom" || failed.Type != "errorString" {
		t.Errorf("%v", err)
	}
	if _, err := s.Invoke(context.Background(), "Unknown", nil); !errors.Is(err, lambda.ErrNoFunction) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"NoStart", "NoProgram"} {
		if _, err := s.Invoke(context.Background(), name, []byte("{}")); !errors.Is(err, lambda.ErrCrash) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheAccountLimitsSimultaneousCalls has an account with a limit of three calls at once. The function Kept reserves one of them. The
// end of a call, in any way, makes room for another.
func TestTheAccountLimitsSimultaneousCalls(t *testing.T) {
	s, _ := start(t, lambda.Options{Concurrency: 3})
	file := filepath.Join(t.TempDir(), "continue")
	ended := make(chan error, 3)
	begin := func(function string) {
		t.Helper()
		before := len(s.Copies(function))
		go func() {
			_, err := s.Invoke(context.Background(), function, fmt.Appendf(nil, `{"Do":"wait","Text":%q}`, file))
			ended <- err
		}()
		until(t, func() bool { return len(s.Copies(function)) > before })
	}
	checkThrottled := func(function, reason string) {
		t.Helper()
		_, err := s.Invoke(context.Background(), function, []byte(`{}`))
		if !errors.Is(err, lambda.ErrThrottled) || !strings.HasSuffix(fmt.Sprint(err), " "+reason) {
			t.Errorf("%s: %v", function, err)
		}
	}
	begin("Slow")
	begin("Slow")
	checkThrottled("Toy", "ConcurrentInvocationLimitExceeded")
	checkThrottled("Slow", "ConcurrentInvocationLimitExceeded")
	begin("Kept")
	checkThrottled("Kept", "ReservedFunctionConcurrentInvocationLimitExceeded")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, failing := range []struct{ function, order string }{
		{"Toy", `{"Do":"crash"}`}, {"Toy", `{"Seconds":30}`}, {"Toy", `{"Do":"fail"}`}, {"NoStart", "{}"}, {"NoProgram", "{}"}, {"Toy", `{"Do":"crash"}`},
	} {
		if _, err := s.Invoke(context.Background(), failing.function, []byte(failing.order)); err == nil || errors.Is(err, lambda.ErrThrottled) {
			t.Errorf("%v: %v", failing, err)
		}
	}
	call(t, s, `{}`)
}

func TestFunctionsCannotReserveTheWholeLimit(t *testing.T) {
	reserved := func(n int) []lambda.Function {
		return []lambda.Function{{Name: "A", Reserved: &n}, {Name: "B", Reserved: &n}, {Name: "C"}}
	}
	for _, c := range []struct {
		o  lambda.Options
		ok bool
	}{
		{lambda.Options{Concurrency: 10, Functions: reserved(5)}, false},
		{lambda.Options{Concurrency: 11, Functions: reserved(5)}, true},
		{lambda.Options{Functions: reserved(500)}, false},
		{lambda.Options{Functions: reserved(499)}, true},
	} {
		c.o.LogDir = t.TempDir()
		s, err := lambda.Start(c.o)
		if (err == nil) != c.ok {
			t.Errorf("%d of %d: %v", *c.o.Functions[0].Reserved, c.o.Concurrency, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
