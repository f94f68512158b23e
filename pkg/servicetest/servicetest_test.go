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

// childEnv is set for the child process. The child runs the same test, and is killed by the parent.
const childEnv = "SERVICETEST_CHILD"

// TestAServiceEndsWithAKilledProgram kills a test program that has started a KMS.
func TestAServiceEndsWithAKilledProgram(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		k, err := startKMS()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(*k.client.Options().BaseEndpoint)
		time.Sleep(time.Minute) // until the parent kills it
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
	endpoint, errURL := url.Parse(strings.TrimSpace(line))
	if err != nil || errURL != nil || endpoint.Port() == "" {
		t.Fatalf("%q, %v, %v", line, err, errURL)
	}
	answers := func() bool {
		c, err := net.Dial("tcp", endpoint.Host)
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

// TestTestkitIsLinkedOnce: several test programs build testkit at the same time. They do not link it again if nothing has
// changed.
func TestTestkitIsLinkedOnce(t *testing.T) {
	first, err := build()
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(first.path)
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
			now, err := os.Stat(again.path)
			if err != nil || !os.SameFile(before, now) { // the linker writes a new file
				t.Errorf("%s was linked again, %v", again.path, err)
			}
		})
	}
	all.Wait()
}

// TestAMissingProgramIsNamed: PATH has only Go and the C compiler, so Maven is missing. Without the C compiler, Go would
// compile everything again.
func TestAMissingProgramIsNamed(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"go", "gcc"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", bin)
	s, err := Start("serve-db")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Read(&struct{}{}); err == nil || !strings.Contains(err.Error(), "mvn (Maven)") {
		t.Errorf("error %v, want Maven named", err)
	}
}
