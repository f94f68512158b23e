package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheInstallationEndsAtACtrlC starts the installation as the recipe of make run does: with &, so that it ignores a Ctrl-C at first.
// The virtual environment of this test's python3 is never ready.
func TestTheInstallationEndsAtACtrlC(t *testing.T) {
	const isChild = "INSTALL_TEST_INSTALLS"
	if os.Getenv(isChild) != "" {
		main()
		os.Exit(0)
	}
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "samconfig.toml"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n[ \"$1\" != -m ] || exec /bin/sleep 60\n"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sh", "-c", `"$0" -test.run='^TestTheInstallationEndsAtACtrlC$' & wait`, os.Args[0])
	child.Dir, child.Env = dir, []string{"PATH=" + dir, isChild + "=1"}
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell starts make
	output, err := child.StderrPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	_, err = io.CopyN(&printed, output, int64(len("installing python (once)\n")))
	group := -child.Process.Pid
	late := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	errSignal := syscall.Kill(group, syscall.SIGINT)
	rest, errRest := io.ReadAll(output) // to the end of the last process
	isLate := !late.Stop()
	_ = child.Wait()
	if err := errors.Join(err, errSignal, errRest); err != nil || isLate || len(rest) > 0 {
		t.Errorf("it still runs: %t; it printed %q and %q, %v", isLate, printed.String(), rest, err)
	}
}
