// Package rehearsal_test applies the translated template to moto, an emulator of CloudFormation,
// whose resources do not work. It tests that two stacks share nothing, change by their parameters,
// and leave what must stay when they are deleted. It also lints the roles' policies. lists_test.go
// lists what moto does not do, and the tests compare the list with moto.
package rehearsal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"latchkey/infra/lab/translated"
	"latchkey/infra/tools"
)

// account is an emulated account of AWS, in a process of its own.
type account struct {
	t     *testing.T
	calls *json.Encoder
	lines *bufio.Reader
}

// process starts the process of all tests: moto takes seconds to start. The process ends with its input.
var process = sync.OnceValues(func() (*account, error) {
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		return nil, err
	}
	python, err := tools.VirtualEnv(context.Background(), "rehearsal", string(requirements), nil)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, "-B", "rehearsal.py")
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return nil, err
	}
	return &account{nil, json.NewEncoder(in), bufio.NewReader(out)}, cmd.Start()
})

// newAccount returns an empty account.
func newAccount(t *testing.T) *account {
	t.Helper()
	p, err := process()
	if err != nil {
		t.Fatal(err)
	}
	a := &account{t, p.calls, p.lines}
	a.call(nil, map[string]any{"do": "forget"})
	return a
}

func (a *account) call(out any, call map[string]any) {
	a.t.Helper()
	if err := a.calls.Encode(call); err != nil {
		a.t.Fatal(err)
	}
	line, err := a.lines.ReadBytes('\n')
	if err != nil {
		a.t.Fatal(err)
	}
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Error != "" {
		a.t.Fatalf("%v: %v\n%s", call["do"], err, answer.Error)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		a.t.Fatal(err)
	}
}

// applied is a stack after a deployment.
type applied struct {
	Status    string
	Outputs   map[string]string
	Resources map[string]struct{ Type, ID string }

	// What moto has left out of all stacks so far: types that it does not know, properties that it
	// did not read, by type, and types that it cannot update.
	Unknown, Unchanged []string
	Unread             map[string][]string
}

func (a *account) apply(stack string, parameters map[string]string) (out applied) {
	a.t.Helper()
	a.call(&out, map[string]any{"do": "apply", "stack": stack, "template": template(a.t).Raw, "parameters": parameters})
	return out
}

// delete returns the types of resource that moto cannot delete.
func (a *account) delete(stack string) []string {
	a.t.Helper()
	var out struct{ Kept []string }
	a.call(&out, map[string]any{"do": "delete", "stack": stack})
	return out.Kept
}

// everything returns the content of all resources of the account as text, by kind and name.
func (a *account) everything() (out map[string]string) {
	a.t.Helper()
	a.call(&out, map[string]any{"do": "account"})
	return out
}

var repository = sync.OnceValues(func() (*translated.Template, error) {
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	return translated.Translate(context.Background(), filepath.Join(root, "template.yaml"), translated.Options{Parameters: parametersOf("any")})
})

func template(t *testing.T) *translated.Template {
	t.Helper()
	tpl, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}
