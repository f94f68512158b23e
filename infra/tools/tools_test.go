package tools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestTheSAMCLIIsInstalledByHash wants a hash of each package in sam.txt, also of those that the CLI itself needs: they run
// with an operator's credentials.
func TestTheSAMCLIIsInstalledByHash(t *testing.T) {
	requirements := strings.ReplaceAll(samRequirements, "\\\n", " ")
	n := 0
	for line := range strings.Lines(requirements) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if n++; !strings.Contains(line, "==") || !strings.Contains(line, "--hash=sha256:") {
			t.Errorf("%.60s… has no version or no hash", line)
		}
	}
	if n < 20 { // the CLI alone needs more
		t.Errorf("%d packages: those that the CLI needs are missing", n)
	}
}

// TestToolsKnowTheirOwnFolder wants Dir to resolve the link by which a copy of the repository (infra/mutants/copied) has
// the tools. A Python program works only at the path where it was installed.
func TestToolsKnowTheirOwnFolder(t *testing.T) {
	own, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("go.mod", []byte("module copy\n"), 0o600); err != nil {
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

// TestAFreePortStaysFree wants ports that no outgoing connection of this machine takes, and none twice, while several ask at
// once: the child process that shall listen is only started later.
func TestAFreePortStaysFree(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	given := make(map[int]bool)
	for range 8 {
		wg.Go(func() {
			for range 20 {
				one, errOne := FreePort(0)
				first, errFirst := FreePorts(16)
				if err := errors.Join(errOne, errFirst); err != nil {
					t.Error(err)
				}
				mu.Lock()
				for port := first; port < first+16; port++ {
					given[port] = true
				}
				given[one] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(given) != 8*20*17 {
		t.Errorf("%d different ports", len(given))
	}
	for port := range given {
		if port < 1024 || port >= 32768 { // Linux's net.ipv4.ip_local_port_range
			t.Errorf("port %d can be that of an outgoing connection", port)
		}
	}
}
