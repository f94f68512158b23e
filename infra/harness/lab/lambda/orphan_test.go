package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"latchkey/infra/harness/lab/lambda"
)

// orphanEnv is an environment variable with the path of the toy function. With it, this test program is the parent
// process that TestNoCopyOutlivesAKilledParent kills.
const orphanEnv = "LOCAL_TEST_PARENT"

// parent calls a function, prints the answer (it has the copy's process id), and waits to be killed.
func parent(program string) error {
	logs, err := os.MkdirTemp("", "local-orphan-")
	if err != nil {
		return err
	}
	toy := lambda.Function{Name: "Toy", Path: program, Timeout: time.Second}
	s, err := lambda.Start(lambda.Options{Functions: []lambda.Function{toy}, LogDir: logs})
	if err != nil {
		return err
	}
	answer, err := s.Invoke(context.Background(), "Toy", []byte("{}"))
	_ = os.RemoveAll(logs)
	fmt.Printf("%s\n", answer)
	if err == nil {
		time.Sleep(time.Minute)
	}
	return err
}

// TestNoCopyOutlivesAKilledParent has a frozen copy, which cannot notice the death of its parent.
func TestNoCopyOutlivesAKilledParent(t *testing.T) {
	program, err := toy()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanEnv+"="+program)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Wait() }()
	defer func() { _ = parent.Process.Kill() }()
	var answer report
	if err := json.NewDecoder(out).Decode(&answer); err != nil || !alive(answer.PID) {
		t.Fatalf("no copy is alive: %+v, %v", answer, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return !alive(answer.PID) })
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil
}
