package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"latchkey/infra/tools"
	"latchkey/infra/tools/copied"
)

// git runs git in a folder, with a made-up user.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// clone returns another folder with a commit of the files of this repository.
func clone(t *testing.T, name string) string {
	t.Helper()
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := copied.Tree(t.Context(), root, dir); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "Copy the repository")
	return dir
}

// makeRelease makes a release for this machine's processor. Go's cache then has compiled packages from other tests.
func makeRelease(t *testing.T, root string) []byte {
	t.Helper()
	r, err := read(root, "1.2.3", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := pack(r.name(), files)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTwoFoldersMakeOneRelease makes a release in two folders, and deploys it from a third. The third folder has only the zip's files.
func TestTwoFoldersMakeOneRelease(t *testing.T) {
	one, other := makeRelease(t, clone(t, "one")), makeRelease(t, clone(t, "a/longer path"))
	if !bytes.Equal(one, other) {
		t.Fatalf("%d and %d bytes, which differ", len(one), len(other))
	}
	dir := unzipped(t, one)
	t.Run("ItsSumsAreRight", func(t *testing.T) {
		check := exec.Command("sha256sum", "--check", "--quiet", "SHA256SUMS")
		check.Dir = dir
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("ItHasAProgramForEveryFunction", func(t *testing.T) { checkPrograms(t, dir) })
	t.Run("ItListsTheModulesOfThePrograms", func(t *testing.T) { checkComponents(t, dir) })
	t.Run("SAMDeploysItWithoutGo", func(t *testing.T) { deployRelease(t, dir) })
}

func TestAReleaseHasASemanticVersionAndAProcessor(t *testing.T) {
	for _, wrong := range []string{"", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+arm", "1.2.3 ", "1.2.3/../x"} {
		if r, err := read("", wrong, ""); err == nil {
			t.Errorf("%q is accepted as a version: %+v", wrong, r)
		}
	}
	for _, right := range []string{"0.1.0", "1.2.3", "10.20.30-rc.1", "1.0.0-0.a-b"} {
		if r, err := read("", right, ""); err != nil || r.name() != "latchkey-"+right+"-arm64" {
			t.Errorf("%q: %+v, %v", right, r, err)
		}
	}
	if r, err := read("", "1.2.3", "x86_64"); err != nil || r.arch != "amd64" || tools.Architecture(r.arch) != "x86_64" {
		t.Errorf("x86_64: %+v, %v", r, err)
	}
	if _, err := read("", "1.2.3", "riscv64"); err == nil {
		t.Error("riscv64 is accepted as a processor")
	}
}

// TestAReleaseIsMadeFromACommit tries a folder without git, a commit, a changed file and a new file.
func TestAReleaseIsMadeFromACommit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := release{root: dir, version: "1.2.3", arch: "arm64"}
	exported := func() (string, error) {
		to := t.TempDir()
		err := r.export(t.Context(), to)
		text, _ := os.ReadFile(filepath.Join(to, "pkg/a.go"))
		return string(text), err
	}
	write("pkg/a.go", "package a\n")
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	if _, err := exported(); err == nil {
		t.Error("a release was made from a folder without a repository")
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "Begin")
	if text, err := exported(); err != nil || text != "package a\n" {
		t.Errorf("%q, %v", text, err)
	}
	write("pkg/a.go", "package b\n")
	if _, err := exported(); err == nil || !strings.Contains(err.Error(), "pkg/a.go") {
		t.Errorf("a change that is not committed: %v", err)
	}
	git(t, dir, "checkout", "-q", "pkg/a.go")
	write("pkg/b.go", "package a\n")
	if _, err := exported(); err == nil || !strings.Contains(err.Error(), "pkg/b.go") {
		t.Errorf("a file that is not committed: %v", err)
	}
}

// TestAReleaseNeedsTheKnownTemplate removes each text that a release replaces or needs from template.yaml.
func TestAReleaseNeedsTheKnownTemplate(t *testing.T) {
	text, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := build{release: release{arch: "arm64"}, files: map[string][]byte{"functions/keys/bootstrap": nil}}
	if out, err := b.template(string(text)); err != nil || bytes.Contains(out, []byte("BuildMethod")) {
		t.Errorf("the template as it is: %v", err)
	}
	for _, part := range []string{"    Metadata: { BuildMethod: go1.x }\n", "      CodeUri: functions/keys/\n", "    AllowedValues: [arm64, x86_64]\n"} {
		if _, err := b.template(strings.Replace(string(text), part, "", 1)); err == nil {
			t.Errorf("a release was made without %q", part)
		}
	}
}
