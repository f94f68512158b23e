package api

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNoCellIsAFormula(t *testing.T) {
	for cell, want := range map[string]string{
		`=HYPERLINK("https://evil.example","Acme")`: `"'=HYPERLINK(""https://evil.example"",""Acme"")"`,
		"+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\tx": "'\tx", "\rx": `"'x"`,
		"": "", "Acme": "Acme", "a=b": "a=b", "'x": "'x", "a,b": `"a,b"`, `"=1"`: `"""'=1"""`, " =1": `" '=1"`, "7": "7",
		"=-1": "'=-1", "＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠1": "'＠1", "a＝b": "a＝b", "Zoë": "Zoë", "\nx": "\"'\r\nx\"",
		"a;=1": "a;'=1", "a; =1": "a; '=1", `a;"=1"`: `"a;""'=1"""`, "a;b;＝1": "a;b;'＝1", "a;b": "a;b", "a;b=1": "a;b=1", "a\t@b": "a\t'@b", "a\n-b": "\"a\r\n'-b\"",
	} { // a spreadsheet of some countries begins a new cell after each semicolon, also between the quotes of RFC 4180
		if got := csvOf([]string{"name", "n"}, [][]string{{cell, "1"}}); string(got.text) != "name,n\r\n"+want+",1\r\n" || got.mediaType != "text/csv" {
			t.Errorf("%q: %q", cell, got.text)
		}
	}
}

// TestOnePlaceWritesCSV looks for "csv" in every file of the product, the console and the examples, except in tests.
func TestOnePlaceWritesCSV(t *testing.T) {
	named := regexp.MustCompile(`(?i)csv`)
	places := map[string][]string{}
	for _, root := range []string{"pkg", "functions", "infra/console", "infra/examples"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "dist" || d.Name() == "node_modules" || d.Name() == "npm") {
				return filepath.SkipDir
			}
			code := slices.Contains([]string{".go", ".ts", ".js", ".mjs", ".py", ".html"}, filepath.Ext(path))
			if !code || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			for _, line := range strings.Split(string(text), "\n") {
				if line = strings.TrimSpace(line); named.MatchString(line) && !strings.HasPrefix(line, "//") {
					name, _ := filepath.Rel("../..", path)
					places[name] = append(places[name], line)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	writers := []string{}
	for name, lines := range places {
		for _, line := range lines {
			if strings.Contains(line, "csvOf(") && name != "pkg/api/csv.go" {
				writers = append(writers, name+": "+line)
			}
			isClient := name == "infra/console/src/api.ts" || name == "infra/console/src/ui.ts" || strings.HasPrefix(name, "infra/examples/cli/") // requests CSV and saves it
			if name != "pkg/api/csv.go" && !isClient && regexp.MustCompile(`"encoding/csv"|text/csv|(?i)\.csv"`).MatchString(line) {
				t.Errorf("%s: writes CSV without csvOf: %s", name, line)
			}
		}
	}
	slices.Sort(writers)
	if want := []string{
		`pkg/api/audit.go: table := csvOf([]string{"id", "at", "action", "actor", "target", "changes", "source", "reason", "operator", "requestId"}, rows)`,
		`pkg/api/usage.go: return ok(csvOf([]string{"date", "keyId", "requests", "atMost"}, rows)), nil`,
		`pkg/api/usage.go: return ok(csvOf([]string{"orgId", "name", "externalId", "plan", "state", "requests", "atMost", "more"}, rows)), nil`,
	}; !slices.Equal(writers, want) {
		t.Errorf("the tables that are written as CSV:\n%s", strings.Join(writers, "\n"))
	}
	if want := []string{
		"infra/console/src/api.ts", "infra/console/src/audit.ts", "infra/console/src/texts.ts", "infra/console/src/ui.ts", "infra/console/src/usage.ts",
		"infra/examples/cli/client.go", "infra/examples/cli/main.go", "pkg/api/audit.go", "pkg/api/csv.go", "pkg/api/usage.go",
	}; !slices.Equal(slices.Sorted(maps.Keys(places)), want) {
		t.Errorf("files in which CSV is named: %v", places)
	}
}
