package backing_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/tools"
	"latchkey/infra/tools/parts"
)

// TestServicesListenOnlyOnLoopback checks that no other machine can reach the services.
func TestServicesListenOnlyOnLoopback(t *testing.T) {
	for _, start := range []func(context.Context, backing.Options) (*backing.Process, error){backing.StartDynamoDB, backing.StartKMS, backing.StartQueue} {
		p, err := start(t.Context(), backing.Options{LogPath: filepath.Join(t.TempDir(), "log")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Stop() })
		assertOnlyLoopback(t, p.Port)
	}
}

// assertOnlyLoopback listens on the same port of 127.0.0.2. That works when the service listens on 127.0.0.1
// only, and fails when the service listens on all interfaces.
func assertOnlyLoopback(t *testing.T, port int) {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: port})
	if err != nil {
		t.Fatalf("the service listens on port %d of other addresses than 127.0.0.1: %v", port, err)
	}
	_ = l.Close()
}

func TestTheErrorNamesMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := backing.StartDynamoDB(context.Background(), backing.Options{})
	var m *tools.MissingError
	if !errors.As(err, &m) || len(m.Programs) != 3 {
		t.Fatalf("error %v, want java, javac and mvn named", err)
	}
}

// TestPythonPackagesAreCompiled forbids Python to write compiled files, as many images do. Without compiled files each start would
// take four times as long.
func TestPythonPackagesAreCompiled(t *testing.T) {
	python, err := parts.Python(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tools.Output(t.Context(), "", []string{"PYTHONDONTWRITEBYTECODE=1"}, python, "-c", "import moto; print(moto.__cached__)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(out)); err != nil {
		t.Error(err)
	}
}
