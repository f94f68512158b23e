package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"latchkey/infra/tools"
)

// unreadable lists the reads that the last release must refuse with 503 when this code has written the rows, each with its reason.
// Old code does not know a new state in which a credential is refused, so it must not be able to read such a row. Every other read
// of the last release must succeed. The names are from pkg/store/testdata/releases.jsonl.
var unreadable = map[string]string{}

// readsReleases is the test that reads the rows of all releases. With the variable RELEASE it writes the rows of a new release. Earlier
// releases have it under this name.
const readsReleases = "TestEachReleaseIsReadByThisOne"

// line is a line of pkg/store/testdata/releases.jsonl: a row, or a read with its result.
type line map[string]json.RawMessage

// read returns the name of the read; "" if the line is a row.
func (l line) read() string { return strings.Trim(string(l["read"]), `"`) }

// TestTheLastReleaseReadsWhatThisOneWrites checks that an owner can go back to the last release. The store's test of the last release
// reads the rows that this code writes, and must get the same values as this code, except for members that the last release does
// not have. The last release is the newest tag. Until there is a tag, it is the commit in testdata/back.txt.
func TestTheLastReleaseReadsWhatThisOneWrites(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(t.TempDir(), "last")
	git(t, root, "clone", "-q", "--no-checkout", ".", last)
	git(t, last, "checkout", "-q", lastRelease(t, root))
	known := map[string]map[string]bool{} // by read, the members that the last release has
	for _, l := range writeNext(t, last) {
		if l.read() != "" {
			known[l.read()] = membersIn(decoded(t, l["value"]))
		}
	}
	var out bytes.Buffer
	for _, l := range writeNext(t, clone(t, "this")) {
		if l.read() != "" {
			if known[l.read()] == nil {
				continue // the last release does not have this read
			}
			value, err := json.Marshal(keepMembers(decoded(t, l["value"]), known[l.read()]))
			if err != nil {
				t.Fatal(err)
			}
			l["value"] = value
		}
		if err := json.NewEncoder(&out).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(last, "pkg/store/testdata/releases.jsonl"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := runReadsReleases(last)
	refused := map[string]bool{}
	for _, found := range regexp.MustCompile(`releases_test\.go:\d+: ([^:,]+)[:,].*`).FindAllStringSubmatch(text, -1) {
		if refused[found[1]] = true; unreadable[found[1]] == "" || !strings.Contains(found[0], `"unavailable"`) {
			t.Errorf("the last release cannot read: %s", found[0])
		}
	}
	if (err != nil) != (len(refused) > 0) {
		t.Errorf("%v\n%s", err, text)
	}
	for name := range unreadable {
		if !refused[name] {
			t.Errorf("%s: the last release must refuse this read, but succeeds", name)
		}
	}
}

func lastRelease(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^")
	cmd.Dir = root
	if tag, err := cmd.Output(); err == nil {
		return strings.TrimSpace(string(tag))
	}
	text, err := os.ReadFile("testdata/back.txt")
	if err != nil {
		t.Fatal(err)
	}
	return needCommit(t, root, strings.TrimSpace(string(text)))
}

// needCommit returns the commit. If this copy of the repository does not have it, the test is skipped.
func needCommit(t *testing.T, root, commit string) string {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "-e", commit+"^{commit}")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil && os.Getenv("GITHUB_ACTIONS") != "true" { // the workflow fetches all commits, so there the test fails
		t.Skipf("this copy of the repository lacks the commit %s (git fetch --unshallow): %s", commit, out)
	}
	return commit
}

// runReadsReleases runs the test readsReleases in a folder.
func runReadsReleases(root string, env ...string) (text string, err error) {
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-run=^"+readsReleases+"$", "./pkg/store")
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// writeNext returns the lines that the code in a folder writes as the release "next".
func writeNext(t *testing.T, root string) (lines []line) {
	t.Helper()
	dir, err := tools.Dir()
	if err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(root, ".local")
	if err := os.MkdirAll(local, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(local, "tools")); err != nil && !os.IsExist(err) { // copied.Tree makes the link too
		t.Fatal(err)
	}
	if text, err := runReadsReleases(root, "RELEASE=next"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file, err := os.ReadFile(filepath.Join(root, "pkg/store/testdata/releases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(file) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		if string(l["release"]) == `"next"` {
			lines = append(lines, l)
		}
	}
	if len(lines) < 100 {
		t.Fatalf("only %d lines are written", len(lines))
	}
	return lines
}

func decoded(t *testing.T, text json.RawMessage) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// membersIn returns the names of all members of the objects in a value.
func membersIn(v any) map[string]bool {
	names := map[string]bool{}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			names[name] = true
			maps.Copy(names, membersIn(member))
		}
	case []any:
		for _, element := range v {
			maps.Copy(names, membersIn(element))
		}
	}
	return names
}

// keepMembers removes every member whose name is not in names from the objects of a value.
func keepMembers(v any, names map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if v[name] = keepMembers(member, names); !names[name] {
				delete(v, name)
			}
		}
	case []any:
		for i, element := range v {
			v[i] = keepMembers(element, names)
		}
	}
	return v
}
