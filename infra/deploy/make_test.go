package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakePassesOnWhatItIsGiven wants each command to get each variable unchanged.
func TestMakePassesOnWhatItIsGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"$@\"; env\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	variables := []string{
		"ISSUER=https://issuer.example/?a='b'&c", "AUDIENCE=https://api.example", "STACK=second", "REGION=eu-west-1", "ARCH=amd64", "YES=1",
		"TAGS=team=payments env=prod", "PARAMETERS=ClientIds=a,b RotationDays=0",
	}
	for target, command := range map[string]string{
		"deploy": "run ./infra/deploy\n", "undeploy": "run ./infra/deploy undeploy\n", "check-consumers": "run ./infra/deploy check-consumers\n",
	} {
		cmd := exec.Command("env", append([]string{"-u", "MAKEFLAGS", "-u", "MAKELEVEL", "PATH=" + dir + ":" + os.Getenv("PATH"), "make", "-s", target}, variables...)...)
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), command) {
			t.Errorf("make %s: %v\n%s", target, err, out)
		}
		for _, v := range variables {
			if !strings.Contains("\n"+string(out), "\n"+v+"\n") {
				t.Errorf("make %s passes no %s on", target, v)
			}
		}
	}
}
