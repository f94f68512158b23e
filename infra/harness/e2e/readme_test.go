package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey/infra/harness/local/stack"
)

// step is a block of commands in a document.
type step struct {
	commands string
	answer   string // the output that the document shows; "": none
	terminal string // the output that the document shows for another terminal; "": none
}

var block = regexp.MustCompile("(?s)```(sh|json|text)\n(.*?)```")

// makeToken matches a call of make token in a shell. Its group is the variables of the call.
var makeToken = regexp.MustCompile(`\$\(make -s token ([^)]+)\)`)

// ofREADME returns a section of the README, without its title.
func ofREADME(t *testing.T, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(repositoryFile(t, "README.md"), "\n## "+name+"\n")
	section, _, more := strings.Cut(rest, "\n## ")
	if !ok || !more {
		t.Fatalf("the README has no section %q, or nothing after it", name)
	}
	return section
}

// stepsOf returns the steps of a document. The document must have at least a number of steps, and exactly a number of outputs
// of another terminal.
func stepsOf(t *testing.T, document string, least, terminals int) (steps []step) {
	t.Helper()
	for _, m := range block.FindAllStringSubmatch(document, -1) {
		last := len(steps) - 1
		switch {
		case m[1] == "sh":
			steps = append(steps, step{commands: m[2]})
		case last >= 0 && m[1] == "text":
			steps[last].terminal = m[2]
			terminals--
		case last >= 0 && steps[last].answer == "":
			steps[last].answer = m[2]
		default:
			t.Fatal("an answer without commands before it")
		}
	}
	if len(steps) < least || terminals != 0 {
		t.Fatalf("%d steps; %d outputs of another terminal are missing", len(steps), terminals)
	}
	return steps
}

// changing are the parts of an output that differ from run to run, such as ids, times and keys, and the text that replaces them.
var changing = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\b(org|usr|app|key|aud|lnk|whe|evt)_[0-9a-z]{26}\b`), "${1}_*"},
	{regexp.MustCompile(`\b(lkt?)_([0-9A-Za-z_]+|…)`), "${1}_*"},
	{regexp.MustCompile(`\b\d{13}\b`), "*"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "*"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:*"},
	{regexp.MustCompile(`"(requestId|kid|x|y)":"[^"]+"`), `"$1":"*"`},
}

// normal replaces the parts of a text that change, and writes each word on its own line.
func normal(s string) string {
	for _, c := range changing {
		s = c.form.ReplaceAllString(s, c.as)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "}{", "}\n{")), "\n")
}

const (
	between = "-- next step --"

	// elsewhere runs the command that a step printed. A reader runs it in another terminal; here it runs in the background until
	// the script ends. %[1]s is the file of its output. The file is made first, because an error of grep about a missing file would be in
	// the compared output. Later steps use the KEY of that command.
	elsewhere = `eval "KEY=${paste#*KEY=}"
: >%[1]s
$paste >>%[1]s 2>&1 &
receiver=$!
trap 'kill $receiver; wait $receiver || true' EXIT
for i in $(seq 100); do grep -q Receiving %[1]s && break; sleep 0.2; done`

	// arrived waits until the other terminal shows a webhook of a type.
	arrived = "for i in $(seq 100); do grep -q %s %s && break; sleep 0.1; done\n"
)

// readme runs the README's walk through.
func readme(t *testing.T, tg *target, port string) {
	runSteps(t, tg, port, stepsOf(t, ofREADME(t, "A walk through"), 5, 0))
}

// servicesPage runs the commands of infra/docs/services.md for the local stack.
func servicesPage(t *testing.T, s *stack.Stack, tg *target, port string) {
	_, local, _ := strings.Cut(repositoryFile(t, "infra/docs/services.md"), "Start `make run`")
	local = strings.ReplaceAll(local, stack.IssuerURL(3004), s.Issuer)
	runSteps(t, tg, port, stepsOf(t, local, 11, 2))
}

// movingPage runs the commands of infra/docs/moving.md, on a stack that accepts imported keys.
func movingPage(t *testing.T, tg *target, port string) {
	runSteps(t, tg, port, stepsOf(t, repositoryFile(t, "infra/docs/moving.md"), 3, 0))
}

// runSteps runs the steps in a shell, with the base URL of the target, and compares the output with the document.
func runSteps(t *testing.T, tg *target, port string, steps []step) {
	second, terminal := filepath.Join(t.TempDir(), "terminal"), ""
	script := "set -e\n"
	for _, s := range steps {
		if strings.HasPrefix(s.answer, "make receiver ") { // the printed command is for the other terminal
			s.commands = "paste=$(" + s.commands + ")\necho \"$paste\"\n" + fmt.Sprintf(elsewhere, second)
		}
		script += s.commands + "\necho; echo '" + between + "'\n"
		if s.terminal != "" {
			terminal = s.terminal
			lines := strings.Split(strings.TrimSpace(terminal), "\n")
			script += fmt.Sprintf(arrived, strings.Fields(lines[len(lines)-1])[1], second)
		}
	}
	script = strings.ReplaceAll(script, "http://127.0.0.1:3000", tg.url)
	if tg.name == "deployed" {
		script = makeToken.ReplaceAllString(script, `$$($1 sh -c "$$TOKEN_CMD")`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	// Without these two variables, make thinks that another make has started it, and prints the folder that it enters.
	shell.Dir, shell.Env = "../../..", append(os.Environ(), "PORT="+port, "MAKELEVEL=", "MAKEFLAGS=")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if terminal != "" {
		received, err := os.ReadFile(second)
		if err != nil {
			t.Fatal(err)
		}
		// Without the line that the receiver prints at its end, which depends on whether its org still exists.
		seen, _, _ := strings.Cut(string(received), "Endpoint whe_")
		seen, _, _ = strings.Cut(seen, "deleting endpoint whe_")
		if got, want := normal(seen), normal(terminal); got != want {
			t.Errorf("the other terminal printed\n%s\nbut the document shows\n%s", received, terminal)
		}
	}
	printed := strings.Split(string(out), between)
	for i, s := range steps {
		if got, want := normal(printed[i]), normal(s.answer); got != want {
			t.Errorf("%s\nprinted\n%s\nbut the document shows\n%s", s.commands, printed[i], s.answer)
		}
	}
}
