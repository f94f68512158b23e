// Package docs_test checks the documents: their links, and the headings, tests, commands, files and
// parameters that they name.
package docs_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository is the root of the repository, seen from this package.
const repository = "../.."

// texts returns the files of the repository whose names end in one of the
// endings, by their paths from the root.
func texts(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && slices.Contains([]string{".git", ".local", ".aws-sam", "node_modules"}, name) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(repository, path)
		out[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documents returns every Markdown file.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := texts(t, ".md")
	for _, must := range []string{"README.md", ".github/SECURITY.md", "infra/docs/runbook.md", "infra/docs/design.md"} {
		if out[must] == "" {
			t.Fatalf("%s was not read", must)
		}
	}
	return out
}

func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(repository, path))
	return err == nil
}

// mention matches a comment that names a heading, such as runbook, "Who may sign". In a string of Go the quotes are escaped.
var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	code     = regexp.MustCompile("`[^`\n]+`")
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	link     = regexp.MustCompile(`(?:\]\(|src(?:set)?=")([^)"\s]+)[)"]`)
	mention  = regexp.MustCompile(`(README|runbook|infra/[\w./-]+\.md),\s+\\?"([^"\\]+)\\?"`)
	markdown = regexp.MustCompile(`\binfra/[\w./-]+\.md\b`)
)

// headings returns the headings of a document.
func headings(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out = append(out, m[1])
	}
	return out
}

// anchors returns the fragments that GitHub gives the headings of a document.
func anchors(text string) []string {
	var out []string
	for _, h := range headings(text) {
		h = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h), "")
		out = append(out, strings.ReplaceAll(h, " ", "-"))
	}
	return out
}

// TestEveryLinkLeadsToAFileAndAHeading follows the links to files of the repository. It ignores links to the web.
func TestEveryLinkLeadsToAFileAndAHeading(t *testing.T) {
	all, seen := documents(t), 0
	for path, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			seen++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
			}
			if !exists(target) {
				t.Errorf("%s: %s does not exist", path, m[1])
			} else if fragment != "" && !slices.Contains(anchors(all[target]), fragment) {
				t.Errorf("%s: %s has no heading #%s", path, target, fragment)
			}
		}
	}
	if seen < 50 { // otherwise the pattern is wrong: the documents have more
		t.Errorf("%d links were read", seen)
	}
}

// TestCommentsPointAtDocumentsAndHeadings reads mentions such as `runbook, "Who may sign"` in
// every kind of text. The document and the heading must exist.
func TestCommentsPointAtDocumentsAndHeadings(t *testing.T) {
	all, seen := documents(t), 0
	for path, text := range texts(t, ".go", ".md", ".yaml", ".yml", ".py", ".mjs", ".sh", "Makefile", "run") {
		if strings.HasPrefix(path, "infra/docs/") && strings.HasSuffix(path, ".go") {
			continue // the comments of these tests have made-up mentions
		}
		for _, file := range markdown.FindAllString(text, -1) {
			if !exists(file) {
				t.Errorf("%s: %s does not exist", path, file)
			}
		}
		for _, m := range mention.FindAllStringSubmatch(text, -1) {
			seen++
			file := cmp.Or(map[string]string{"README": "README.md", "runbook": "infra/docs/runbook.md"}[m[1]], m[1])
			if !slices.Contains(headings(all[file]), m[2]) {
				t.Errorf("%s: %s has no heading %q", path, file, m[2])
			}
		}
	}
	if seen < 15 { // otherwise the pattern is wrong: there are more
		t.Errorf("%d mentions of headings were read", seen)
	}
}

// parameter matches Name= in a command of make deploy. Upper-case names such as YES are variables of make.
var (
	deployed  = regexp.MustCompile("make deploy.*")
	parameter = regexp.MustCompile(`\b([A-Z][a-z]\w*)=`)
)

// TestTheTemplateHasEachDocumentedParameter reads the runbook's commands of make deploy.
func TestTheTemplateHasEachDocumentedParameter(t *testing.T) {
	_, parameters, _ := strings.Cut(document(t, "template.yaml"), "\nParameters:\n")
	var names []string
	given := strings.Join(deployed.FindAllString(document(t, "infra/docs/runbook.md"), -1), "\n")
	for _, m := range parameter.FindAllStringSubmatch(given, -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		if !strings.Contains("\n"+parameters, "\n  "+name+":\n    Type: ") {
			t.Errorf("the template has no parameter %s", name)
		}
	}
	if len(names) < 10 { // it has more
		t.Errorf("%d parameters were read", len(names))
	}
}
