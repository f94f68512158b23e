package e2e_test

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// section is a section of the runbook, with the text of its blocks of commands.
type section struct {
	title    string
	text     string // with its blocks
	commands []string
	notRun   []string // the blocks that begin with the mark
}

// mark begins a block of commands that no test runs.
const mark = "# By AWS's documentation\n"

// fenced matches a block of code, also an indented one in a list.
var fenced = regexp.MustCompile("(?ms)^( *)```(\\w+)\n(.*?)^ *```$")

// readRunbook returns the runbook's sections. The text before the first one has no title.
func readRunbook(t *testing.T) []section {
	t.Helper()
	text, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []section
	for i, part := range strings.Split(string(text), "\n## ") {
		title, _, _ := strings.Cut(part, "\n")
		s := section{title: title, text: part}
		if i == 0 {
			s.title = ""
		}
		for _, m := range fenced.FindAllStringSubmatch(part, -1) {
			switch m[2] {
			case "sh":
				commands := regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[3], "")
				if strings.HasPrefix(commands, mark) {
					s.notRun = append(s.notRun, commands)
				} else {
					s.commands = append(s.commands, commands)
				}
			case "json": // a policy
			default:
				t.Errorf("%s: a block of an unknown language %s", title, m[2])
			}
		}
		all = append(all, s)
	}
	return all
}

// session is a shell of an operator: later blocks can use the variables of earlier blocks.
type session struct {
	dir      string         // the shell's folder
	blocks   io.WriteCloser // gets the name of each file of commands
	done     *bufio.Reader  // gets a line after the shell has run a file
	failures string         // a file: a line for each command that failed
}

// interactive runs each file whose name it reads. A failure does not end it.
const interactive = `set -E
line=$'\n'
trap 'code=$?; printf "%s: %s\n" "$code" "${BASH_COMMAND//$line/ }" >> failures' ERR
while read -r block; do source "./$block" > out 2>&1 < /dev/null; echo; done`

// awsServer is the AWS CLI in one long-running process, because each start of the CLI takes long. The command aws of a session is
// awsShim, which passes its arguments on to awsServer.
var (
	//go:embed testdata/awscli.py
	awsServer string
	//go:embed testdata/awsshim.py
	awsShim string
)

// startCLI starts awsServer, which listens on a socket with this path.
func startCLI(t *testing.T, python, path string) {
	t.Helper()
	cmd := exec.Command(python, "-c", awsServer, path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			t.Errorf("the AWS CLI: %v", err)
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "READY\n" {
		t.Fatalf("the AWS CLI printed %q: %v", line, err)
	}
}

// newSession starts a shell whose command aws calls the URL aws. python has the AWS CLI.
func newSession(t *testing.T, python, aws string) *session {
	t.Helper()
	s := &session{dir: memoryDir(t)} // a socket's path must be short
	cli := filepath.Join(s.dir, "cli")
	startCLI(t, python, cli)
	s.failures = filepath.Join(s.dir, "failures")
	s.write(t, "bin/aws", "#!/bin/sh\nexec '"+python+"' -SE '"+filepath.Join(s.dir, "aws.py")+"' \"$@\"\n")
	s.write(t, "aws.py", awsShim)
	cmd := exec.Command("bash", "-c", interactive)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + s.dir, "FAILURES=" + s.failures, "AWS_CLI=" + cli,
		"AWS_ENDPOINT_URL=" + aws, "AWS_ACCESS_KEY_ID=AKIDLOCAL", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true", "AWS_MAX_ATTEMPTS=1",
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.blocks, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	s.done = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.blocks.Close(), cmd.Wait()); err != nil {
			t.Errorf("bash: %v", err)
		}
	})
	return s
}

func (s *session) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// run runs commands in the shell, and returns their output and a line for each command that failed.
func (s *session) run(t *testing.T, commands string) (printed string, failed []string) {
	t.Helper()
	s.write(t, "failures", "")
	s.write(t, "block", commands)
	if _, err := fmt.Fprintln(s.blocks, "block"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.done.ReadString('\n'); err != nil {
		out, _ := os.ReadFile(filepath.Join(s.dir, "out"))
		t.Fatalf("the shell ended (%v) in\n%s\nwhich printed\n%s", err, commands, out)
	}
	out, errOut := os.ReadFile(filepath.Join(s.dir, "out"))
	lines, errLines := os.ReadFile(s.failures)
	if err := errors.Join(errOut, errLines); err != nil {
		t.Fatal(err)
	}
	for f := range strings.Lines(string(lines)) {
		if !strings.Contains(f, `source "./$block"`) { // bash reports a failed last command again for its file
			failed = append(failed, f)
		}
	}
	return string(out), failed
}
