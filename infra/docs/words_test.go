package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// refused are words that plain international English does without.
var refused = regexp.MustCompile(`(?i)\b(nobody|whoever|told|stands|for\s+ever)\b`)

// plain reports each refused word in a text that begins at a line of a file.
func plain(t *testing.T, file string, line int, text string) {
	t.Helper()
	for _, at := range refused.FindAllStringIndex(text, -1) {
		t.Errorf("%s:%d: %q is refused: use a plain word", file, line+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]])
	}
}

func TestCommentsAreInPlainWords(t *testing.T) {
	seen := 0
	for file, source := range texts(t, ".go") {
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range parsed.Comments {
			seen++
			plain(t, file, files.Position(group.Pos()).Line, textOf(group))
		}
	}
	if seen < 2000 {
		t.Errorf("%d comments were read", seen)
	}
}

// textOf returns a comment without its slashes, one line for each of its lines.
func textOf(group *ast.CommentGroup) string {
	var lines []string
	for _, comment := range group.List {
		lines = append(lines, strings.TrimPrefix(comment.Text, "//"))
	}
	return strings.Join(lines, "\n")
}

// TestDocumentsAreInPlainWords leaves out blocks of code.
func TestDocumentsAreInPlainWords(t *testing.T) {
	for file, text := range documents(t) {
		prose := fenced.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
		plain(t, file, 1, prose)
	}
}
