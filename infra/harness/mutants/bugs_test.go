package main

import (
	"strings"
	"testing"
)

const list = `# The first bug.
test ./pkg/a TestA
short
file pkg/a/a.go
-	if x {
-		return
+	if !x {
+		return
file pkg/a/b.go
-gone

# The second bug.
test ./pkg/b TestB/case
file pkg/b/b.go
-old
+new
`

func TestAListOfBugsIsRead(t *testing.T) {
	bugs, err := parse("list.txt", list)
	if err != nil || len(bugs) != 2 {
		t.Fatalf("%+v, %v", bugs, err)
	}
	first, second := bugs[0], bugs[1]
	if first.name != "The first bug." || !first.short || first.pkg != "./pkg/a" || first.pattern != "TestA" || len(first.edits) != 2 ||
		first.edits[0] != (edit{"pkg/a/a.go", "\tif x {\n\t\treturn", "\tif !x {\n\t\treturn"}) || first.edits[1] != (edit{"pkg/a/b.go", "gone", ""}) {
		t.Errorf("%+v", first)
	}
	if second.source != "list.txt:12" || second.short || second.pattern != "TestB/case" {
		t.Errorf("%+v", second)
	}
	for fault, text := range map[string]string{
		"no test":   "# A bug.\nfile a\n-old",
		"no file":   "# A bug.\ntest ./a TestA",
		"no name":   "test ./a TestA\nfile a\n-old",
		"no old":    "# A bug.\ntest ./a TestA\nfile a\n+new",
		"no change": "# A bug.\ntest ./a TestA\nfile a\n-old\n+old",
		"nonsense":  "# A bug.\ntest ./a TestA\nfile a\n-old\nnonsense",
	} {
		if _, err := parse("list.txt", text); err == nil {
			t.Errorf("%s: parse returned no error", fault)
		}
	}
}

func TestABugMustFitTheCodeOnce(t *testing.T) {
	e := edit{"a.go", "old", "new"}
	if got, err := e.apply("one old line"); err != nil || got != "one new line" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"nothing", "old and old"} {
		if got, err := e.apply(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestAPatternNamesWholeTests(t *testing.T) {
	if got, want := exactly("TestA|TestB/case"), "^TestA$|^TestB$/^case$"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got := testsOf([]bug{{pkg: "./a", pattern: "TestA"}, {pkg: "./b", pattern: "TestB"}, {pkg: "./a", pattern: "TestC"}, {pkg: "./a", pattern: "TestA"}})
	if len(got) != 2 || got[0].pattern != "TestA|TestC" || !strings.HasSuffix(got[1].pkg, "b") {
		t.Errorf("%+v", got)
	}
}
