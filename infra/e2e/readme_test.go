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
)

// step is a block of commands of a walk through, and the answer shown under it, or "".
type step struct{ commands, answer string }

var (
	block         = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")
	otherTerminal = regexp.MustCompile("(?s)```text\n(.*?)```") // the output in a second terminal
)

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

// stepsOf returns the steps of a walk through, and the output of the other terminal as it is shown, or "".
func stepsOf(t *testing.T, walk string) (steps []step, terminal string) {
	t.Helper()
	for _, m := range block.FindAllStringSubmatch(walk, -1) {
		if m[1] == "sh" {
			steps = append(steps, step{commands: m[2]})
			continue
		}
		if len(steps) == 0 || steps[len(steps)-1].answer != "" {
			t.Fatal("an answer without commands before it")
		}
		steps[len(steps)-1].answer = m[2]
	}
	switch m := otherTerminal.FindAllStringSubmatch(walk, -1); len(m) {
	case 0:
		return steps, ""
	case 1:
		return steps, m[0][1]
	default:
		t.Fatalf("%d blocks of the other terminal", len(m))
		return nil, ""
	}
}

// changing are the parts of an output that differ from run to run: ids, times, keys, request ids.
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

// normal returns a text without the parts that change, and with each word on a line.
func normal(s string) string {
	for _, c := range changing {
		s = c.form.ReplaceAllString(s, c.as)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "}{", "}\n{")), "\n")
}

const (
	between = "-- next step --"

	// elsewhere runs the command that a step printed, as the reader runs it in the other terminal: in the background, until
	// the script ends. Both %s are the file of that terminal's output. Later steps use the KEY of that command.
	elsewhere = `eval "KEY=${paste#*KEY=}"
$paste >%s 2>&1 &
receiver=$!
trap 'kill $receiver; wait $receiver || true' EXIT
for i in $(seq 100); do grep -q Receiving %s && break; sleep 0.2; done`

	// arrived waits until the other terminal shows the webhook.
	arrived = "for i in $(seq 100); do grep -q link.claimed %s && break; sleep 0.1; done\n"
)

// readme runs the README's walk through, which has no other terminal.
func readme(t *testing.T, tg *target, port string) {
	steps, terminal := stepsOf(t, ofREADME(t, "A walk through"))
	if len(steps) < 5 || terminal != "" {
		t.Fatalf("%d steps; the other terminal: %q", len(steps), terminal)
	}
	pasted(t, tg, port, steps, terminal)
}

// longWalk runs infra/docs/walkthrough.md.
func longWalk(t *testing.T, tg *target, port string) {
	steps, terminal := stepsOf(t, repositoryFile(t, "infra/docs/walkthrough.md"))
	if len(steps) < 8 || terminal == "" {
		t.Fatalf("%d steps; the other terminal: %q", len(steps), terminal)
	}
	pasted(t, tg, port, steps, terminal)
}

// fromYourServer runs the commands of infra/docs/services.md for the local stack.
func fromYourServer(t *testing.T, tg *target, port string) {
	_, local, _ := strings.Cut(repositoryFile(t, "infra/docs/services.md"), "Start `make run`")
	steps, terminal := stepsOf(t, local)
	if len(steps) < 3 || terminal != "" {
		t.Fatalf("%d steps; the other terminal: %q", len(steps), terminal)
	}
	pasted(t, tg, port, steps, terminal)
}

// movingIn runs the commands of infra/docs/moving.md, on a stack that takes imported keys.
func movingIn(t *testing.T, tg *target, port string) {
	steps, terminal := stepsOf(t, repositoryFile(t, "infra/docs/moving.md"))
	if len(steps) < 3 || terminal != "" {
		t.Fatalf("%d steps; the other terminal: %q", len(steps), terminal)
	}
	pasted(t, tg, port, steps, terminal)
}

// pasted runs the steps in a shell, with only the base URL changed, and compares the output with the document.
func pasted(t *testing.T, tg *target, port string, steps []step, terminal string) {
	second := filepath.Join(t.TempDir(), "terminal")
	script := "set -e\n"
	for _, s := range steps {
		if strings.HasPrefix(s.answer, "make receiver ") { // the printed command is for the other terminal
			s.commands = "paste=$(" + s.commands + ")\necho \"$paste\"\n" + fmt.Sprintf(elsewhere, second, second)
		}
		script += s.commands + "\necho; echo '" + between + "'\n"
	}
	if terminal != "" {
		script += fmt.Sprintf(arrived, second)
	}
	script = strings.ReplaceAll(script, "http://127.0.0.1:3000", tg.url)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	// A make that another make has started prints the folder that it enters.
	shell.Dir, shell.Env = "../..", append(os.Environ(), "PORT="+port, "MAKELEVEL=", "MAKEFLAGS=")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if terminal != "" {
		received, err := os.ReadFile(second)
		if err != nil {
			t.Fatal(err)
		}
		seen, _, _ := strings.Cut(string(received), "Endpoint whe_") // without the line that it prints at its end
		if got, want := normal(seen), normal(terminal); got != want {
			t.Errorf("the other terminal printed\n%s\nwhere the document shows\n%s", received, terminal)
		}
	}
	printed := strings.Split(string(out), between)
	for i, s := range steps {
		if got, want := normal(printed[i]), normal(s.answer); got != want {
			t.Errorf("%s\nprinted\n%s\nwhere the document shows\n%s", s.commands, printed[i], s.answer)
		}
	}
}
