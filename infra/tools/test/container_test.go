package test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/tools"
)

// machine is a test machine: a folder with all its programs. The programs write their calls to the file calls.
type machine struct {
	t   *testing.T
	dir string
}

// newMachine returns a machine with these programs. Each is a script that ends with the given status; apt-get update succeeds.
func newMachine(t *testing.T, programs map[string]int) machine {
	t.Helper()
	m := machine{t: t, dir: t.TempDir()}
	for _, name := range []string{"sh", "sed", "dirname"} { // the real programs that the scripts use
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, status := range programs {
		text := "#!/bin/sh\necho \"" + name + " $*\" >>'" + m.dir + "/calls'\n[ \"$1\" = update ] || exit " + string(rune('0'+status)) + "\n"
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// run runs a shell on the machine. It returns the calls of apt-get install and of make, and the packages that would be installed.
func (m machine) run(shell string, args ...string) (calls string, installed []string) {
	m.t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + m.dir}
	out, _ := cmd.CombinedOutput() // the error is ignored: a failing apt-get ends the script
	text, err := os.ReadFile(filepath.Join(m.dir, "calls"))
	if err != nil {
		m.t.Fatalf("%v: no program was called\n%s", err, out)
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "apt-get install -yq --no-install-recommends "); ok {
			installed = append(installed, strings.Fields(list)...)
		}
	}
	slices.Sort(installed)
	return string(text), installed
}

// repositoryFile returns a file of the repository.
func repositoryFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listed returns the packages of .devcontainer/packages. Each has the command that checks for it.
func listed(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(repositoryFile(t, ".devcontainer/packages")) {
		if name, check, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			out[name] = check
		}
	}
	return out
}

// TestTheContainerAndTheGateInstallTheSamePackages runs the Dockerfile's installation command, and .ci/run, on machines without
// programs. Both must install the packages of the same list. The test builds no image, because it cannot download one.
func TestTheContainerAndTheGateInstallTheSamePackages(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	want := listed(t)
	_, command, _ := strings.Cut(repositoryFile(t, ".devcontainer/Dockerfile"), "\nRUN apt-get update")
	command, _, _ = strings.Cut("apt-get update"+command, "\n")
	command = strings.ReplaceAll(command, "/tmp/packages", root+"/.devcontainer/packages")
	_, container := newMachine(t, map[string]int{"apt-get": 0, "rm": 0}).run("sh", "-c", command)
	for name := range want {
		if !slices.Contains(container, name) {
			t.Errorf("the container has no %s", name)
		}
	}
	if len(container) != len(want) || len(want) < 5 {
		t.Errorf("the container has %q, want the %d packages of the list", container, len(want))
	}
	_, gate := newMachine(t, map[string]int{"apt-get": 1, "dpkg": 1}).run("bash", root+"/.ci/run")
	for name := range want {
		if !slices.Contains(gate, name) {
			t.Errorf(".ci/run does not install %s on a machine without programs: %q", name, gate)
		}
	}
}

// TestTheGateInstallsNothingTwice runs .ci/run on a machine that has all programs, some of them not from Debian's packages.
func TestTheGateInstallsNothingTwice(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]int{"dpkg": 0, "apt-get": 1, "docker": 0, "node": 0, "make": 0}
	for _, name := range []string{"git", "curl", "java", "javac", "mvn", "python3"} {
		has[name] = 0
	}
	calls, _ := newMachine(t, has).run("bash", root+"/.ci/run", "lint")
	if strings.Contains(calls, "apt-get") || !strings.HasSuffix(calls, "make lint\n") {
		t.Errorf(".ci/run called\n%s", calls)
	}
}

// TestTheGateKeepsOtherPrograms runs .ci/run on a machine that has Docker and Chromium, but not from Debian's packages.
func TestTheGateKeepsOtherPrograms(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]int{"dpkg": 1, "apt-get": 0, "docker": 0, "chromium": 0, "node": 0, "make": 0}
	calls, installed := newMachine(t, has).run("bash", root+"/.ci/run", "lint")
	if !slices.Contains(installed, "caddy") || slices.Contains(installed, "docker.io") || slices.Contains(installed, "chromium") {
		t.Errorf(".ci/run called\n%s", calls)
	}
}

// TestTheContainerRunsTheProduct compares the container with the programs that package tools checks for, the README and go.mod.
func TestTheContainerRunsTheProduct(t *testing.T) {
	checks := ""
	for _, check := range listed(t) {
		checks += check + "\n"
	}
	t.Run("ItHasThePrograms", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		var missing *tools.MissingError
		if err := tools.Missing(); !errors.As(err, &missing) || len(missing.Programs) < 4 {
			t.Fatalf("a machine without programs lacks %v", err)
		}
		for _, program := range missing.Programs {
			if name, _, _ := strings.Cut(program, " "); !strings.Contains(checks, "command -v "+name) {
				t.Errorf("no package of the list is for %s", program)
			}
		}
	})
	needs := regexp.MustCompile(`You need Go (\d+\.\d+), Java (\d+), Maven and Python 3`).FindStringSubmatch(repositoryFile(t, "README.md"))
	toolchain := regexp.MustCompile(`\ntoolchain go(\S+)\n`).FindStringSubmatch(repositoryFile(t, "go.mod"))
	image := regexp.MustCompile(`\nFROM golang:(\S+)-bookworm\n`).FindStringSubmatch(repositoryFile(t, ".devcontainer/Dockerfile"))
	if needs == nil || toolchain == nil || image == nil {
		t.Fatalf("the README needs %q, go.mod is for %q, the image has %q", needs, toolchain, image)
	}
	if image[1] != toolchain[1] || !strings.HasPrefix(toolchain[1]+".", needs[1]+".") {
		t.Errorf("Go: the README needs %s, go.mod is for %s, the image has %s", needs[1], toolchain[1], image[1])
	}
	if listed(t)["openjdk-"+needs[2]+"-jdk-headless"] == "" {
		t.Errorf("Java %s is not in the list", needs[2])
	}
	node := regexp.MustCompile(`\nFROM node:(\d+)-bookworm-slim AS node\n`).FindStringSubmatch(repositoryFile(t, ".devcontainer/Dockerfile"))
	if len(node) < 2 || node[1] < "20" { // package tools requires Node.js 20
		t.Errorf("Node.js %q", node)
	}
	for _, program := range []string{"COPY --from=node /usr/local/bin/node ", "COPY --from=node /usr/local/lib/node_modules ", "/npm/bin/npm-cli.js /usr/local/bin/npm\n"} {
		if !strings.Contains(repositoryFile(t, ".devcontainer/Dockerfile"), program) {
			t.Errorf("the container does not get %q", program)
		}
	}
	var settings struct {
		Build        struct{ Dockerfile string }
		RemoteUser   string
		ForwardPorts []int
	}
	if err := json.Unmarshal([]byte(repositoryFile(t, ".devcontainer/devcontainer.json")), &settings); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(settings.ForwardPorts, 3000) || !strings.Contains(repositoryFile(t, "Makefile"), "\nPORT ?= 3000\n") {
		t.Errorf("make run's port is not among %d", settings.ForwardPorts)
	}
	user := " " + settings.RemoteUser + "\n"
	if settings.Build.Dockerfile != "Dockerfile" || settings.RemoteUser == "" || !strings.Contains(repositoryFile(t, ".devcontainer/Dockerfile"), user) {
		t.Errorf("%+v", settings)
	}
}
