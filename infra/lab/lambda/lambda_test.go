package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"latchkey/infra/lab/build"
	"latchkey/infra/lab/lambda"
	"latchkey/infra/tools"
)

const toyFolder = "infra/lab/lambda/testdata/toy"

var toy = sync.OnceValues(func() (string, error) {
	root, err := tools.Root()
	if err != nil {
		return "", err
	}
	out, err := os.MkdirTemp("", "local-toy-")
	if err != nil {
		return "", err
	}
	programs, err := build.Functions(context.Background(), build.Options{Root: root, Folders: []string{toyFolder}, Out: out})
	return programs[toyFolder], err
})

func TestMain(m *testing.M) {
	if program := os.Getenv(orphanEnv); program != "" {
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
	o.Functions = []lambda.Function{
		{Name: "Toy", Path: path, Timeout: time.Second, Memory: 128, Env: map[string]string{"OWN": "value"}},
		{Name: "Patient", Path: path, Timeout: time.Minute},
		{Name: "Reserved", Path: path, Timeout: time.Second, Reserved: new(2)},
		{Name: "Closed", Path: path, Timeout: time.Second, Reserved: new(0)},
		{Name: "NoStart", Path: path, Timeout: time.Second, Memory: 128, Env: map[string]string{"FAIL_INIT": "1"}},
		{Name: "NoProgram", Path: path + "-is-not-there", Timeout: time.Second},
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
	return callTo(t, s, "Toy", order)
}

func callTo(t *testing.T, s *lambda.Service, function, order string) report {
	t.Helper()
	answer, err := s.Invoke(context.Background(), function, []byte(order))
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

func TestCopiesAreAsManyAsCallsAtOnce(t *testing.T) {
	s, _ := start(t, lambda.Options{MaxCopies: 3})
	first, second := call(t, s, `{}`), call(t, s, `{}`)
	if first.PID != second.PID {
		t.Error("one call after the other took two copies")
	}
	pids := make(chan int, 4)
	for range 4 { // one more than the limit, which waits
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
	if len(seen) != 3 || len(copies) != 3 || answered != 6 {
		t.Errorf("calls by process %v, copies %+v", seen, copies)
	}
}

// TestReservedConcurrencyRefusesTheCallOverIt has room for more copies than the function reserves.
func TestReservedConcurrencyRefusesTheCallOverIt(t *testing.T) {
	s, _ := start(t, lambda.Options{MaxCopies: 3})
	call := func(done chan<- error) {
		_, err := s.Invoke(context.Background(), "Reserved", []byte(`{"Seconds":0.8}`))
		done <- err
	}
	for range 2 { // the room is free again after the calls
		done := make(chan error, 2)
		go call(done)
		go call(done)
		until(t, func() bool { return len(s.Copies("Reserved")) == 2 })
		time.Sleep(200 * time.Millisecond)
		if _, err := s.Invoke(context.Background(), "Reserved", []byte(`{}`)); !errors.Is(err, lambda.ErrThrottled) {
			t.Errorf("a third call: %v", err)
		}
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	}
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it does not come")
		}
	}
}

func TestIdleCopiesAreFrozen(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	before := call(t, s, `{}`)
	time.Sleep(500 * time.Millisecond)
	idle := call(t, s, `{}`)
	if ticks := idle.Ticks - before.Ticks; ticks > 10 {
		t.Errorf("a frozen copy's clock ran %d times", ticks)
	}
	if ticks := call(t, s, `{"Seconds":0.5}`).Ticks - idle.Ticks; ticks < 20 {
		t.Errorf("during a call the clock ran %d times: the test proves nothing", ticks)
	}
}

func TestCrashCostsOneCall(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	before := call(t, s, `{}`)
	if _, err := s.Invoke(context.Background(), "Toy", []byte(`{"Do":"crash"}`)); !errors.Is(err, lambda.ErrCrash) {
		t.Fatalf("error %v", err)
	}
	if after := call(t, s, `{}`); after.PID == before.PID {
		t.Error("the crashed copy answered")
	}
}

// TestDeadIdleCopyIsReplaced wants no call to fail when an idle copy is killed.
func TestDeadIdleCopyIsReplaced(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	before := call(t, s, `{}`)
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(s.Copies("Toy")) == 0 })
	call(t, s, `{}`)
}

func TestKilledFunctionFailsItsCallsAndStartsAgain(t *testing.T) {
	const function = "Patient" // both calls last until it is killed, however long a copy takes to start
	s, _ := start(t, lambda.Options{})
	idle := callTo(t, s, function, `{}`)
	failed := make(chan error)
	for range 2 {
		go func() {
			_, err := s.Invoke(context.Background(), function, []byte(`{"Seconds":50}`))
			failed <- err
		}()
	}
	until(t, func() bool { return len(s.Copies(function)) == 2 })
	if err := s.Kill(function); err != nil {
		t.Fatal(err)
	}
	if c := s.Copies(function); len(c) != 0 {
		t.Errorf("copies are left: %+v", c)
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, lambda.ErrCrash) {
			t.Errorf("a call of a killed copy: %v", err)
		}
	}
	if after := callTo(t, s, function, `{}`); after.PID == idle.PID {
		t.Error("a killed copy answered")
	}
	if err := s.Kill("Unknown"); !errors.Is(err, lambda.ErrNoFunction) {
		t.Errorf("%v", err)
	}
}

func TestRenewedFunctionEndsItsCallsAndStartsAgain(t *testing.T) {
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
		t.Errorf("the call that ran: %v", err)
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

func TestStoppedFunctionIsNotCalled(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	if _, err := s.Invoke(t.Context(), "Closed", []byte(`{}`)); !errors.Is(err, lambda.ErrThrottled) {
		t.Errorf("a reserve of 0: %v", err)
	}
	for _, stopped := range []bool{true, false} {
		if err := s.SetStopped("Toy", stopped); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Invoke(t.Context(), "Toy", []byte(`{}`)); errors.Is(err, lambda.ErrThrottled) != stopped {
			t.Errorf("stopped %v: %v", stopped, err)
		}
	}
	if err := s.SetStopped("None", true); !errors.Is(err, lambda.ErrNoFunction) {
		t.Errorf("no function: %v", err)
	}
}

func TestTimeoutIsTheFunctions(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	begun := time.Now()
	_, err := s.Invoke(context.Background(), "Toy", []byte(`{"Seconds":30}`))
	if took := time.Since(begun); !errors.Is(err, lambda.ErrTimeout) || took > 3*time.Second {
		t.Fatalf("error %v after %s", err, took)
	}
	call(t, s, `{}`)
}

func TestFunctionsErrorIsAFunctionError(t *testing.T) {
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

func TestNoCopyOutlivesTheService(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	pid := call(t, s, `{}`).PID // frozen by now
	s.Close()
	for limit := time.Now().Add(5 * time.Second); alive(pid); {
		if time.Now().After(limit) {
			t.Fatalf("process %d lives", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := s.Invoke(context.Background(), "Toy", []byte("{}")); !errors.Is(err, lambda.ErrCrash) {
		t.Errorf("a closed service: %v", err)
	}
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil
}
