package tools

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestACommandEndsAtTheSignalsOfATerminal runs Main in a child, which prints two lines: at its start and when its context has ended.
func TestACommandEndsAtTheSignalsOfATerminal(t *testing.T) {
	const isChild = "TOOLS_TEST_RUNS_MAIN"
	if os.Getenv(isChild) != "" {
		Main("", func(ctx context.Context) error {
			fmt.Println("started")
			<-ctx.Done()
			fmt.Println("closed")
			return nil
		})
		os.Exit(0)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // so that the children do not inherit that it is ignored, as under nohup
	for name, c := range map[string]struct {
		before string // what the shell runs first
		sent   syscall.Signal
		want   string
		within time.Duration
	}{
		"a closed terminal":               {"", syscall.SIGHUP, "closed\n", time.Minute},
		"a closed terminal, under nohup":  {`trap "" HUP; `, syscall.SIGHUP, "", time.Second / 2},
		"a Ctrl-C after the shell's &":    {`trap "" INT; `, syscall.SIGINT, "closed\n", time.Minute},
		"the end that a supervisor sends": {"", syscall.SIGTERM, "closed\n", time.Minute},
	} {
		child := exec.Command("sh", "-c", c.before+`exec "$0" -test.run='^TestACommandEndsAtTheSignalsOfATerminal$'`, os.Args[0])
		child.Env = append(os.Environ(), isChild+"=1")
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(out, make([]byte, len("started\n")))
		_ = child.Process.Signal(c.sent)
		late := time.AfterFunc(c.within, func() { _ = child.Process.Kill() })
		rest, err := io.ReadAll(out)
		late.Stop()
		_ = child.Wait()
		if err != nil || string(rest) != c.want {
			t.Errorf("%s: the child printed %q, %v", name, rest, err)
		}
	}
}
