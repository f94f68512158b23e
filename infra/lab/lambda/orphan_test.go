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

	"latchkey/infra/lab/lambda"
)

// orphanEnv is a variable that makes this program the parent that TestNoCopyOutlivesAKilledParent kills.
const orphanEnv = "LOCAL_TEST_PARENT"

// parent calls a function, prints the answer, which has the copy's process id, and waits to be killed.
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

// TestNoCopyOutlivesAKilledParent wants a frozen copy to be killed: it does not notice its parent's death.
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
	var said report
	if err := json.NewDecoder(out).Decode(&said); err != nil || !alive(said.PID) {
		t.Fatalf("no copy to look at: %+v, %v", said, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return !alive(said.PID) })
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil
}
