package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey/infra/harness/lab/lambda"
)

func TestNodeRunsAFunction(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("this machine has no node")
	}
	checkInterpreted(t, false, "testdata/node", "old.handler")
}

// TestAScriptThatStartsNodeIsResolved has a node on PATH as asdf makes it: it needs HOME, which a function does not get.
func TestAScriptThatStartsNodeIsResolved(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("this machine has no node")
	}
	folder := t.TempDir()
	script := "#!/bin/sh\n[ -n \"$HOME\" ] && exec '" + node + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "node"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	checkInterpreted(t, false, "testdata/node", "old.handler")
}

func TestPythonRunsAFunction(t *testing.T) {
	checkInterpreted(t, true, "testdata/python", "sub/old.handler")
}

// checkInterpreted calls good and bad handlers of the module app in a folder, and textHandler, which answers with the text of its event.
func checkInterpreted(t *testing.T, python bool, folder, textHandler string) {
	t.Helper()
	var run []lambda.Function
	for name, handler := range map[string]string{"Module": "app.handler", "Text": textHandler, "Misspelt": "app.handle", "Missing": "none.handler"} {
		f, err := lambda.Interpreted(lambda.Function{Name: name, Timeout: 5 * time.Second, Env: map[string]string{"OWN": "value"}}, python, folder, handler)
		if err != nil {
			t.Fatal(err)
		}
		run = append(run, f)
	}
	s, err := lambda.Start(lambda.Options{Functions: run, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, text := range []string{"one", "two"} { // the second call resumes the frozen copy
		answer, err := s.Invoke(lambda.WithTrace(context.Background(), "Root="+text), "Module", []byte(`{"Text":"`+text+`"}`))
		var r struct {
			Text, ID, ARN, Own, Trace string
			Left                      int
			Home                      bool // whether the function sees HOME, a variable of this process
		}
		if err := errors.Join(err, json.Unmarshal(answer, &r)); err != nil || r.Text != text || len(r.ID) != 36 || r.Own != "value" || r.Home ||
			r.ARN != "arn:aws:lambda:us-east-1:000000000000:function:Module" || r.Left < 4000 || r.Left > 5000 || r.Trace != "Root="+text {
			t.Errorf("%+v, %v", r, err)
		}
	}
	_, err = s.Invoke(context.Background(), "Module", []byte(`{"Do":"fail","Text":"boom"}`))
	var failed *lambda.FunctionError
	if !errors.As(err, &failed) || failed.Message != "boom" || failed.Type != "TypeError" {
		t.Errorf("%v", err)
	}
	if answer, err := s.Invoke(context.Background(), "Text", []byte(`{"Text":"old"}`)); err != nil || string(answer) != `"old"` {
		t.Errorf("%s, %v", answer, err)
	}
	for name, word := range map[string]string{"Misspelt": "handle", "Missing": "none"} {
		if _, err := s.Invoke(context.Background(), name, []byte(`{}`)); !errors.Is(err, lambda.ErrCrash) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
