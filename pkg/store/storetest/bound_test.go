package storetest

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestALoopThatNeverEndsFailsItsTestInAMinute runs itself with a shorter time, and a database that never answers.
func TestALoopThatNeverEndsFailsItsTestInAMinute(t *testing.T) {
	if os.Getenv("STORETEST_ENDLESS") != "" {
		longest = 100 * time.Millisecond
		New(t)
		return
	}
	if longest > time.Minute {
		t.Errorf("a loop fails its test after %s", longest)
	}
	database, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=30s")
	child.Env = append(os.Environ(), "STORETEST_ENDLESS=1", "LATCHKEY_DYNAMODB=http://"+database.Addr().String())
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), t.Name()+" takes longer than 100ms") || !strings.Contains(string(out), "storetest.New") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestATestThatEndsIsNotBound(t *testing.T) {
	was := longest
	defer func() { longest = was }()
	longest = 50 * time.Millisecond
	t.Run("it ends", func(t *testing.T) { bound(t) })
	time.Sleep(2 * longest) // the program ends otherwise
}
