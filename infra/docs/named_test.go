package docs_test

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"latchkey/pkg/secret"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	guarantee = regexp.MustCompile("(?m)^\\| .+ \\| `([\\w/]+)` \\| `(Test[\\w/]+)` \\|$")
	testName  = regexp.MustCompile(`\b(Test[A-Z0-9]\w+)`)
	ownPath   = regexp.MustCompile("`((?:pkg|infra|functions|\\.github)(?:/[\\w.-]+)+)`")
	target    = regexp.MustCompile("(?:`|^|; |&& )make ([a-z][a-z0-9-]*)")
)

// testsOf returns, by package, the names of the top-level tests and the text of the test files.
func testsOf(t *testing.T) (tests map[string][]string, text map[string]string) {
	t.Helper()
	tests, text = map[string][]string{}, map[string]string{}
	for file, body := range texts(t, "_test.go") {
		pkg := path.Dir(file)
		text[pkg] += body
		for _, m := range testFunc.FindAllStringSubmatch(body, -1) {
			tests[pkg] = append(tests[pkg], m[1])
		}
	}
	return tests, text
}

// TestEachGuaranteeNamesItsTest reads the table of guarantees in infra/docs/proof.md. The package must
// have the test, and the case when one follows a slash.
func TestEachGuaranteeNamesItsTest(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "infra/docs/proof.md"), "\n## Each guarantee and its test\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, rows, _ := strings.Cut(section, "|---|---|---|\n")
	tests, text := testsOf(t)
	found := guarantee.FindAllStringSubmatch(rows, -1) // groups: the package and the test
	// A row that the pattern does not match would not be checked.
	if lines := strings.Count(rows, "\n| ") + 1; len(found) != lines || lines < 15 {
		t.Fatalf("%d of %d guarantees name a package and a test", len(found), lines)
	}
	for _, m := range found {
		name, cases, _ := strings.Cut(m[2], "/")
		if !slices.Contains(tests[m[1]], name) {
			t.Errorf("%s has no test %s", m[1], name)
		}
		for _, c := range strings.FieldsFunc(cases, func(r rune) bool { return r == '/' }) {
			if !strings.Contains(text[m[1]], `"`+c+`"`) {
				t.Errorf("%s has no case %s", m[1], m[2])
			}
		}
	}
}

// checkNames finds names in the documents with the first group of a pattern. Each name must exist.
func checkNames(t *testing.T, pattern *regexp.Regexp, exists func(name string) bool) {
	t.Helper()
	seen := 0
	for file, text := range documents(t) {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			seen++
			if !exists(m[1]) {
				t.Errorf("%s: %s does not exist", file, m[1])
			}
		}
	}
	if seen < 30 { // otherwise the pattern is wrong: the documents have more
		t.Errorf("%d names were read", seen)
	}
}

func TestEveryTestThatADocumentNamesExists(t *testing.T) {
	tests, _ := testsOf(t)
	all := slices.Concat(slices.Collect(maps.Values(tests))...)
	checkNames(t, testName, func(name string) bool { return slices.Contains(all, name) })
}

func TestEveryCommandOfMakeIsATarget(t *testing.T) {
	makefile := document(t, "Makefile")
	checkNames(t, target, func(name string) bool { return strings.Contains(makefile, "\n"+name+":") })
}

func TestEveryFileThatADocumentNamesExists(t *testing.T) { checkNames(t, ownPath, exists) }

// TestTheLayoutListsEveryFolder reads the section "Where things are" of the design.
func TestTheLayoutListsEveryFolder(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "infra/docs/design.md"), "\n## Where things are\n")
	_, section, _ = strings.Cut(section, "```\n")
	section, _, _ = strings.Cut(section, "```")
	var listed []string
	for line := range strings.Lines(section) {
		if line == "\n" { // between the product and the harness
			continue
		}
		file := strings.TrimSuffix(strings.Fields(line)[0], "/<group>/")
		listed = append(listed, file)
		if !exists(file) {
			t.Errorf("%s does not exist", file)
		}
	}
	for _, parent := range []string{"infra", "infra/harness"} { // pkg/README.md is generated, with each package
		entries, err := os.ReadDir(filepath.Join(repository, parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() && !slices.Contains(listed, parent+"/"+e.Name()) {
				t.Errorf("%s/%s is not in the layout", parent, e.Name())
			}
		}
	}
}

// TestScannersFindEveryKeyByThePublishedPattern mints keys, and looks for them in texts of different forms. The page has the pattern
// alone and in the rules of two scanners: all three must be the same. The test computes the checksum by the page's rule.
func TestScannersFindEveryKeyByThePublishedPattern(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "infra/docs/contract.md"), "### Finding a leaked key")
	section, _, _ = strings.Cut(section, "\n## ")
	found := regexp.MustCompile(`(?m)^(?:regex = '''|      key: '|)(\\b\[.*\\b)(?:'''|'|)$`).FindAllStringSubmatch(section, -1)
	if len(found) != 3 || found[0][1] != found[1][1] || found[0][1] != found[2][1] {
		t.Fatalf("the patterns are %q", found)
	}
	pattern := regexp.MustCompile(found[0][1])
	for n, prefix := range []string{"lk", "lkt", "a", "acme2live", "abcdefghijklmnop"} {
		for range 100 {
			minted, err := secret.Mint(prefix, [16]byte{byte(n)}, [16]byte{1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			key := minted.Text.Reveal()
			for _, in := range []string{"%s", "KEY=%s\n", `{"key":"%s"}`, "curl -H 'Authorization: Bearer %s' x", "https://x.example/?k=%s&a", "key: %s."} {
				if got := pattern.FindString(fmt.Sprintf(in, key)); got != key {
					t.Errorf(in+": %q", key, got)
				}
			}
			if body, check := key[:len(key)-6], key[len(key)-6:]; inBase62(crc32.ChecksumIEEE([]byte(body))) != check {
				t.Errorf("%s has another checksum than the page computes", key)
			}
		}
	}
	family := "lk[a-z0-9]{0,14}"
	familyPattern := regexp.MustCompile(strings.Replace(found[0][1], "[a-z][a-z0-9]{0,15}", family, 1))
	for prefix, want := range map[string]bool{"lk": true, "lktest": true, "lk34567890123456": true, "lkt": true, "acme": false} {
		minted, err := secret.Mint(prefix, [16]byte{}, [16]byte{1}, nil)
		if err != nil || familyPattern.MatchString(minted.Text.Reveal()) != want || !strings.Contains(section, "`"+family+"`") {
			t.Errorf("%s, %v: the page's pattern for a family of keys must match: %t", prefix, err, want)
		}
	}
	// The beginning of a key, a prefix in upper case, a part that is too long, a part that is too short, and other base64.
	for _, other := range []string{
		"lk_9mXpQ2Lk", "LK_" + strings.Repeat("a", 43) + "_" + strings.Repeat("a", 49), "lk_" + strings.Repeat("a", 43) + "_" + strings.Repeat("a", 50),
		"lk_" + strings.Repeat("a", 42) + "_" + strings.Repeat("a", 49), base64.StdEncoding.EncodeToString(make([]byte, 300)),
	} {
		if got := pattern.FindString(other); got != "" {
			t.Errorf("%q is found in %q", got, other)
		}
	}
}

// TestThePatternForGitHubFindsTheFamilyOfKeys puts the prefix of a deployment into the runbook's pattern, by the runbook's rule.
func TestThePatternForGitHubFindsTheFamilyOfKeys(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "infra/docs/runbook.md"), "### Keys that GitHub finds")
	written := regexp.MustCompile("- the pattern: `(.*)`, with").FindStringSubmatch(section)
	if written == nil || strings.Count(written[1], "lk") != 1 || strings.Count(written[1], "14") != 1 {
		t.Fatalf("the pattern is %q", written)
	}
	for keyPrefix, begins := range map[string][]string{
		"lk":               {"lk", "lktest", "lk34567890123456", "lkt"}, // link tokens begin with lkt
		"acme":             {"acme", "acmetest", "acme567890123456"},
		"a":                {"a", "a234567890123456"},
		"abcdefghijklmnop": {"abcdefghijklmnop"},
	} {
		pattern := regexp.MustCompile(strings.NewReplacer("lk", keyPrefix, "14", strconv.Itoa(16-len(keyPrefix))).Replace(written[1]))
		for _, prefix := range begins {
			minted, err := secret.Mint(prefix, [16]byte{1}, [16]byte{2}, nil)
			if err != nil {
				t.Fatal(err)
			}
			key := minted.Text.Reveal()
			if got := pattern.FindString("KEY=" + key + "\n"); got != key {
				t.Errorf("%s: the pattern finds %q of %q", keyPrefix, got, key)
			}
			rest := key[len(prefix):]
			for _, other := range []string{key[:len(key)-1], key + "0", "other" + rest, prefix + strings.Repeat("0", 17-len(prefix)) + rest} {
				if got := pattern.FindString(other); got != "" {
					t.Errorf("%s: the pattern finds %q", keyPrefix, got)
				}
			}
		}
	}
}

// inBase62 returns the six digits of a checksum.
func inBase62(n uint32) string {
	out := ""
	for range 6 {
		out = string("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[n%62]) + out
		n /= 62
	}
	return out
}
