package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/tools"
)

// fakeDeploy replaces the program of make deploy. The replacement runs these shell lines; with the argument undeploy it removes the
// stack.
func fakeDeploy(t *testing.T, root, sam, lines string) {
	t.Helper()
	path := filepath.Join(root, ".local", "bin", "deploy")
	remove := `import os, urllib.request as u; u.urlopen(u.Request(os.environ["AWS_ENDPOINT_URL"] + "/?Action=DeleteStack&StackName=" + os.environ["STACK"],` +
		` headers={"Authorization": "Credential=a/20260101/eu-central-1/cloudformation/aws4_request"}))`
	text := "#!/bin/sh\nif [ \"$1\" = undeploy ]; then exec " + cloud.Python(sam) + " -c '" + remove + "'; fi\n" + lines + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestAnInterruptedTrialCleansUp interrupts a trial during its deployment, after its stack was made.
func TestAnInterruptedTrialCleansUp(t *testing.T) {
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h, root := newHost(t.Context()), t.TempDir()
	defer h.Close()
	h.Settle(true)
	for _, v := range h.env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value)
		}
	}
	begun := filepath.Join(root, "begun")
	fakeDeploy(t, root, sam, `echo "$STACK" > `+begun+`.new && mv `+begun+`.new `+begun+` && exec sleep 600`)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for {
			if name, err := os.ReadFile(begun); err == nil {
				stack := strings.TrimSpace(string(name))
				h.Put(stack, "CREATE_COMPLETE", map[string]string{"Issuer": issuer})
				h.Tag(stack, "latchkey-trial", stack)
				h.Leave("old", map[string]string{"latchkey-trial": stack})
				interrupt()
				return
			}
			if tools.Sleep(ctx, 10*time.Millisecond) != nil {
				return
			}
		}
	}()
	if err := try(ctx, root, true); err == nil || ctx.Err() == nil {
		t.Errorf("the trial was not interrupted: %v", err)
	}
	if left, harmed := h.Left(), h.Harmed(); left != nil || harmed != nil {
		t.Errorf("not removed: %q; changed, of others: %q", left, harmed)
	}
}

// TestATrialsQuestionEndsWithCtrlC interrupts a trial while no one answers its question.
func TestATrialsQuestionEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, " y \n": true, "n\n": false, "": false} {
		if got := isConfirmed(t.Context(), strings.NewReader(answer)); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	terminal, person := io.Pipe()
	defer func() { _ = person.Close() }()
	answered := make(chan bool, 1)
	go func() { answered <- isConfirmed(ctx, terminal) }()
	interrupt()
	select {
	case confirmed := <-answered:
		if confirmed {
			t.Error("the interrupted trial goes on")
		}
	case <-time.After(10 * time.Second):
		t.Error("the trial still waits for an answer")
	}
}

// TestTheKeysURLIsSignedBeforeTheDeployment also checks the settings that a deployment gets.
func TestTheKeysURLIsSignedBeforeTheDeployment(t *testing.T) {
	t.Parallel()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t.Context())
	defer h.Close()
	tr := &trial{root: t.TempDir(), dir: t.TempDir(), out: t.Output(), local: true, sam: sam, stack: "latchkey-trial-abc234", env: h.env, account: standin.Account, limit: 1000, rows: map[question]row{}}
	if tr.aws, err = cloud.New(t.Context(), cloud.Python(sam), h.env, "eu-central-1"); err != nil {
		t.Fatal(err)
	}
	if tr.running, err = lockFile(filepath.Join(tr.dir, "programs")); err != nil {
		t.Fatal(err)
	}
	defer tr.running.release()
	begun := filepath.Join(tr.root, "begun")
	fakeDeploy(t, tr.root, sam, `echo "$YES $PROTECT $TAGS $PARAMETERS" > `+begun+`; sleep 0.1; test ! -e `+begun+`.fails`)
	for _, fails := range []bool{false, true} {
		if fails {
			if err := os.WriteFile(begun+".fails", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := tr.deploy(t.Context(), "bucket"); (err != nil) != fails || (tr.rows[qIssuer].result == held) == fails {
			t.Errorf("%v, %+v", err, tr.rows[qIssuer])
		}
		given, err := os.ReadFile(begun)
		at, errAt := os.Stat(begun)
		if err != nil || errAt != nil {
			t.Fatal(err, errAt)
		}
		if tr.signed.After(at.ModTime()) {
			t.Errorf("signed at %s, but the deployment began at %s", tr.signed, at.ModTime())
		}
		for _, word := range []string{"1 0 latchkey-trial=latchkey-trial-abc234 JwksUrl=http", "/bucket/latchkey-trial-abc234/jwks.json?", "Expires=3600", " ForwardAuth=true"} {
			if !strings.Contains(string(given), word) {
				t.Errorf("no %q in %s", word, given)
			}
		}
	}
}
