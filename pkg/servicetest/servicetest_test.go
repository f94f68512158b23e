package servicetest

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// childEnv tells this test that it is the program to be killed.
const childEnv = "SERVICETEST_CHILD"

// TestAServiceEndsWithAKilledProgram kills a program that has started a KMS.
func TestAServiceEndsWithAKilledProgram(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		k, err := startKMS()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(*k.client.Options().BaseEndpoint)
		time.Sleep(time.Minute)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), childEnv+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	at, wrong := url.Parse(strings.TrimSpace(line))
	if err != nil || wrong != nil || at.Port() == "" {
		t.Fatalf("%q, %v, %v", line, err, wrong)
	}
	answers := func() bool {
		c, err := net.Dial("tcp", at.Host)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if !answers() {
		t.Error("the KMS does not answer")
	}
	child.Process.Kill()
	for end := time.Now().Add(10 * time.Second); answers(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the KMS outlives the program that started it")
		}
	}
	child.Wait()
}

// TestCtlIsLinkedOnce: however many test programs need it at once.
func TestCtlIsLinkedOnce(t *testing.T) {
	first, err := build()
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(first.path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			again, err := build()
			if err != nil {
				t.Error(err)
				return
			}
			if is, err := os.Stat(again.path); err != nil || !os.SameFile(was, is) {
				t.Errorf("%s was linked again, %v", again.path, err)
			}
		})
	}
	all.Wait()
}

// TestWhatIsMissingIsNamed leaves only Go, and the C compiler without which Go would build all anew.
func TestWhatIsMissingIsNamed(t *testing.T) {
	only := t.TempDir()
	for _, name := range []string{"go", "gcc"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(only, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", only)
	s, err := Start("serve-db")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Read(&struct{}{}); err == nil || !strings.Contains(err.Error(), "mvn (Maven)") {
		t.Errorf("error %v, want Maven named", err)
	}
}
