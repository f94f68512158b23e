package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/tools"
)

// rig runs the command in a temporary root folder, against a stand-in for AWS.
type rig struct {
	t    *testing.T
	aws  *standin.Standin
	root string
	cli  string // the program that the command runs as the SAM CLI
	real string // the path of the real SAM CLI
	warm string // the command that runs the loaded SAM CLI; see the variable warm
	env  map[string]string
	in   string // the text that a person types; "": there is no terminal

	issuer answers // every request to an issuer gets these

	patience time.Duration // see program
}

// newRig returns a rig whose SAM CLI only writes down its arguments.
func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	cli, errCLI := tools.SAM(t.Context(), nil)
	loaded, err := warm()
	if err := errors.Join(errCLI, err); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, aws: standin.Start(), root: t.TempDir(), real: cli, warm: loaded, env: map[string]string{}, issuer: goodIssuer("https://issuer.example"), patience: time.Minute}
	r.aws.Settle(true)
	t.Cleanup(func() {
		r.aws.Close()
		if harmed := r.aws.Harmed(); harmed != nil {
			t.Errorf("the deployment changed resources of others: %q", harmed)
		}
	})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": r.aws.URL, "AWS_ACCESS_KEY_ID": "AKIDLOCAL", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "eu-central-1",
		"AWS_EC2_METADATA_DISABLED": "true", "HOME": t.TempDir(), "SAM_CLI_POLL_DELAY": "0.05",
	} {
		r.env[name] = value
	}
	r.write("template.yaml", readFile(t, "../../template.yaml"))
	// Settings that a person saved for another stack: no deployment may use them.
	r.write("samconfig.toml", "version = 0.1\n[default.global.parameters]\nstack_name = \"other\"\n[default.deploy.parameters]\n"+
		"parameter_overrides = \"Issuer=\\\"https://saved.example\\\" EmailsAreVerified=\\\"true\\\"\"\n")
	r.script(`echo "$@" >> sam.log; echo '{"type": "result", "status": "no_changes"}'`)
	// The deployment calls AWS with this python, which uses boto3 in the loaded process.
	r.write("python", "#!/bin/sh\nexec "+loaded+` "$@"`+"\n")
	if err := os.Chmod(filepath.Join(r.root, "python"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

// smallTemplate returns a template with all parameters and two resources, because the SAM CLI needs three times as long for all
// resources. In template.yaml the section Conditions follows Parameters.
func smallTemplate(t *testing.T) string {
	t.Helper()
	head, _, ok := strings.Cut(readFile(t, "../../template.yaml"), "\nConditions:\n")
	if !ok {
		t.Fatal("the template has no conditions any more")
	}
	return head + `
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    DeletionPolicy: Retain
  RotateFunction:
    Type: AWS::Serverless::Function
    Properties: { CodeUri: rotate, Runtime: provided.al2023, Handler: bootstrap, Architectures: [!Ref Architecture] }
`
}

// warmEnd keeps the input of warm's process open until this process ends. Then warm's process ends too.
var warmEnd io.Closer

// warm starts a process that loads the SAM CLI once for all tests. It returns the command that runs
// the SAM CLI there.
var warm = sync.OnceValues(func() (string, error) {
	cli, err := tools.SAM(context.Background(), nil)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "latchkey-sam-")
	if err != nil {
		return "", err
	}
	python, at := filepath.Join(filepath.Dir(cli), "python"), filepath.Join(dir, "socket")
	cmd := exec.Command(python, "testdata/warm.py", at)
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	warmEnd = in
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		return "", err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
		return "", fmt.Errorf("the SAM CLI printed %q: %w", line, err)
	}
	// warm.py has written the program socket.py, which passes its arguments to the process. It needs only Python's standard library.
	return fmt.Sprintf("'%s' -I -S %s.py %s", python, at, at), nil
})

// withSAM uses the real SAM CLI, but copies a finished build instead of building.
func (r *rig) withSAM() *rig {
	r.script(`if [ "$1" = build ]; then mkdir -p "$5" && cp -r built/. "$5"; else exec ` + r.warm + ` "$@"; fi`)
	r.write("built/template.yaml", smallTemplate(r.t))
	r.write("built/rotate/bootstrap", "a program")
	return r
}

// folders returns the folders of the functions.
func (r *rig) folders() []string {
	var all []string
	for _, m := range regexp.MustCompile(`CodeUri: (functions/[a-z]+)`).FindAllStringSubmatch(readFile(r.t, "../../template.yaml"), -1) {
		all = append(all, m[1])
	}
	return all
}

// withBuild uses the real SAM CLI, and functions that do nothing.
func (r *rig) withBuild() *rig {
	r.cli = r.real
	r.write("go.mod", "module latchkey\n\ngo 1.26\n")
	for _, folder := range r.folders() {
		r.write(folder+"/main.go", "package main\n\nfunc main() {}\n")
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			r.t.Fatal(err)
		}
		r.env[name] = strings.TrimSpace(string(out))
	}
	return r
}

// script makes a shell script of these lines the SAM CLI.
func (r *rig) script(lines string) {
	r.write("sam", "#!/bin/sh\n"+lines+"\n")
	r.cli = filepath.Join(r.root, "sam")
	if err := os.Chmod(r.cli, 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(name, text string) {
	path := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// calls returns the arguments of each call of the SAM CLI.
func (r *rig) calls() []string {
	text, err := os.ReadFile(filepath.Join(r.root, "sam.log"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// deploy runs make deploy with these variables. It returns the output.
func (r *rig) deploy(variables ...string) (string, error) { return r.run((*program).deploy, variables) }

func (r *rig) undeploy(variables ...string) (string, error) {
	return r.run(func(p *program, ctx context.Context) error { return p.onStack(ctx, p.undeploy) }, variables)
}

// run runs a command as make does: with the rig's environment and the variables, which are Name=value.
func (r *rig) run(command func(*program, context.Context) error, variables []string) (string, error) {
	r.t.Helper()
	env := map[string]string{}
	for name, value := range r.env {
		env[name] = value
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	g, err := settings.Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		return "", err
	}
	r.write("typed", r.in) // a file, because the SAM CLI reads the input too
	typed, err := os.Open(filepath.Join(r.root, "typed"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = typed.Close() }()
	var out bytes.Buffer
	p := &program{
		Settings: g, root: r.root, sam: r.cli, python: filepath.Join(r.root, "python"), environment: withoutAWS(tools.SAMBuildEnvironment()),
		in: typed, out: &out, terminal: r.in != "",
		pause: 20 * time.Millisecond, patience: r.patience, firstAnswer: r.patience, issuer: &http.Client{Transport: r.issuer},
	}
	for name, value := range env {
		p.environment = append(p.environment, name+"="+value)
	}
	err = command(p, r.t.Context())
	return out.String(), err
}

// withoutAWS removes AWS's variables, such as credentials, from an environment.
func withoutAWS(env []string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, "AWS_") {
			out = append(out, v)
		}
	}
	return out
}

// refused checks that the error is one line with these words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("the command succeeded, want an error with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}

func succeeded(t *testing.T, out string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployedWith returns the parameters of a stack that was deployed with an issuer, an audience and these
// (Name=value). All others have their defaults.
func deployedWith(t *testing.T, more ...string) map[string]string {
	t.Helper()
	template, err := settings.ReadTemplate("../..")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"Issuer": "https://issuer.example", "Audience": "https://api.example"}
	for name, d := range template.Parameters {
		if d.Default != nil && out[name] == "" {
			out[name] = *d.Default
		}
	}
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		out[name] = value
	}
	return out
}

// has checks that a text has these words. name is the name of the text in the failure.
func has(t *testing.T, name, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in\n%s", name, w, text)
		}
	}
}
