package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestPythonPackagesAreInstalledByHash checks that each package in each list has a version and a hash. least is the smallest
// number of packages of a list, dependencies included.
func TestPythonPackagesAreInstalledByHash(t *testing.T) {
	least := map[string]int{
		"tools/sam.txt": 20, "tools/aws.txt": 10, "tools/parts/requirements.txt": 30, "harness/e2e/walk/requirements.txt": 2, "harness/e2e/clients/pins/requirements.txt": 40,
		"examples/receivers/python/requirements.txt": 15, "examples/consumer/python/requirements.txt": 25,
	}
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, "../")
		if strings.HasPrefix(filepath.Base(path), "requirements") && least[name] == 0 {
			t.Errorf("%s is not in the list of this test", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range least {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			if n++; !strings.Contains(line, "==") || !strings.Contains(line, "--hash=sha256:") {
				t.Errorf("%s: %.60s… has no version or no hash", name, line)
			}
		}
		if n < least {
			t.Errorf("%s: only %d packages: dependencies are missing", name, n)
		}
	}
}

// TestDirResolvesTheLinkToTheTools checks a copy of the repository (infra/tools/copied), which has a link to the tools. A Python
// program works only at the path of its installation.
func TestDirResolvesTheLinkToTheTools(t *testing.T) {
	own, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("samconfig.toml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(".local", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, ".local/tools"); err != nil {
		t.Fatal(err)
	}
	if got, err := Dir(); err != nil || got != own {
		t.Errorf("%s, %v; want %s", got, err, own)
	}
}

// fakes makes the working directory a repository, and writes scripts that run in place of programs.
func fakes(t *testing.T, scripts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Chdir(dir)
	err := errors.Join(os.WriteFile("samconfig.toml", nil, 0o600), os.Mkdir("bin", 0o700))
	for name, script := range scripts {
		err = errors.Join(err, os.WriteFile("bin/"+name, []byte("#!/bin/sh\n"+script), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	return dir
}

// TestAVirtualEnvironmentIsOfOneInterpreterAndPath has a python3 that says that it is the interpreter in INTERPRETER.
func TestAVirtualEnvironmentIsOfOneInterpreterAndPath(t *testing.T) {
	dir := fakes(t, map[string]string{"python3": `case "$1 $2" in
"-m venv") mkdir -p "$3/lib/python3/site-packages" ;;
"-c import ensurepip"*) echo "$INTERPRETER" ;;
esac
`})
	for _, step := range []struct {
		name, interpreter string
		change            func() error
		installs          bool
	}{
		{"the first use", "(3, 11) /usr/bin/python3.11", nil, true},
		{"the second use", "(3, 11) /usr/bin/python3.11", nil, false},
		{"another version", "(3, 12) /usr/bin/python3.12", nil, true},
		{"another path", "(3, 12) /usr/local/bin/python3.12", nil, true},
		{"a moved clone", "(3, 12) /usr/local/bin/python3.12", func() error {
			t.Setenv("PATH", filepath.Join(dir+"-moved", "bin")+":"+os.Getenv("PATH"))
			return os.Rename(dir, dir+"-moved")
		}, true},
	} {
		t.Setenv("INTERPRETER", step.interpreter)
		if step.change != nil {
			if err := step.change(); err != nil {
				t.Fatal(err)
			}
		}
		said := ""
		_, err := program(t.Context(), "sam", "requirements", "sam", func(line string) { said += line })
		if installs := strings.Contains(said, "installing sam"); err != nil || installs != step.installs {
			t.Errorf("%s: it said %q, %v", step.name, said, err)
		}
	}
}

// TestAJavaProgramRunsOnTheLeastJava has a newer Java, whose javac prints its arguments and fails.
func TestAJavaProgramRunsOnTheLeastJava(t *testing.T) {
	fakes(t, map[string]string{"java": `echo 'openjdk version "25"'`, "mvn": "", "javac": `echo "$*"; exit 1`})
	_, err := JavaProgram(t.Context(), "program", "pom", "Program.java", "source", func(string) {})
	if err == nil || !strings.Contains(err.Error(), " --release 17 ") {
		t.Error(err)
	}
}

// TestAFreePortIsFreeWhileProcessesStart listens on free ports while other goroutines start processes, which get a copy of
// each open socket.
func TestAFreePortIsFreeWhileProcessesStart(t *testing.T) {
	var starting sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for range 4 {
		starting.Go(func() {
			for ctx.Err() == nil {
				_ = exec.Command("true").Run()
			}
		})
	}
	for range 500 {
		port, errFree := FreePort(0)
		l, errListen := Listen(port)
		if err := errors.Join(errFree, errListen); err != nil {
			t.Error(err)
			break
		}
		_ = l.Close()
	}
	stop()
	starting.Wait()
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := FreePort(l.Addr().(*net.TCPAddr).Port); err == nil {
		t.Error("FreePort returns a port on which a program listens")
	}
}

// TestAFreePortStaysFree calls FreePort and FreePorts in several processes at once. No port may be returned twice, and no outgoing
// connection of this machine may use one: the child process that listens on the port starts later.
func TestAFreePortStaysFree(t *testing.T) {
	const isChild = "TOOLS_TEST_ASKS_FOR_PORTS"
	if os.Getenv(isChild) != "" {
		for range 10 {
			one, errOne := FreePort(0)
			first, errFirst := FreePorts(16)
			fmt.Println(one, first, errors.Join(errOne, errFirst))
		}
		_, _ = os.Stdin.Read(make([]byte, 1)) // waits until all processes have their ports
		os.Exit(0)
	}
	given, lines := make(map[int]bool), make(chan string)
	for range 4 {
		c := exec.Command(os.Args[0], "-test.run=^TestAFreePortStaysFree$")
		c.Env = append(os.Environ(), isChild+"=1")
		in, errIn := c.StdinPipe()
		out, errOut := c.StdoutPipe()
		if err := errors.Join(errIn, errOut, c.Start()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = errors.Join(in.Close(), c.Wait()) }()
		go func() {
			for s := bufio.NewScanner(out); s.Scan(); {
				lines <- s.Text()
			}
		}()
	}
	for range 4 * 10 {
		var one, first int
		line := <-lines
		if _, err := fmt.Sscanf(line, "%d %d <nil>", &one, &first); err != nil {
			t.Fatal(line)
		}
		for _, port := range []int{one, first, first + 15} {
			if given[port] || port < 1024 || port >= 32768 { // Linux's net.ipv4.ip_local_port_range
				t.Errorf("port %d is given twice, or the system may use it for outgoing connections", port)
			}
		}
		given[one] = true
		for port := first; port < first+16; port++ {
			given[port] = true
		}
	}
}
