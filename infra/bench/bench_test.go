package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// counted is a file of callgrind, shortened: ten allocations from outside the allocator, and one
// inside it.
const counted = `# callgrind format
events: Ir
fl=(1) /a.go
fn=(1) main.main
10 5
cfn=(2) runtime.mallocgc
calls=7 10
10 70
fn=(3) fmt.Sprint
cfn=(2)
calls=3 12
12 30
fn=(2)
cfn=(4) runtime.mallocgcTiny
calls=1 20
20 4
cfn=(3)
calls=9 20
20 4
summary: 123456
`

func TestACallgrindFileIsReadWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(path, []byte(counted), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := parse(path); err != nil || got != (profile{123456, 10}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(counted, "summary", "totals")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := parse(path); err == nil {
		t.Errorf("a file without a summary is read: %+v", got)
	}
}

func TestAWorseFigureFailsTheGate(t *testing.T) {
	list := []figure{{Name: "ratio"}, {Name: "count"}}
	was := map[string]result{"ratio": {Value: 300, Base: 100, Ratio: 3}, "count": {Value: 1000}}
	for name, c := range map[string]struct {
		is   map[string]result
		want string // in the error; "": none
	}{
		"the same":                 {was, ""},
		"within five per cent":     {map[string]result{"ratio": {Value: 314, Base: 100, Ratio: 3.14}, "count": {Value: 1050}}, ""},
		"a ratio that is worse":    {map[string]result{"ratio": {Value: 316, Base: 100, Ratio: 3.16}, "count": {Value: 1000}}, "ratio is 3.160, and was 3.000"},
		"a count that is worse":    {map[string]result{"ratio": {Value: 300, Base: 100, Ratio: 3}, "count": {Value: 1051}}, "count is 1051"},
		"a slower machine's ratio": {map[string]result{"ratio": {Value: 600, Base: 200, Ratio: 3}, "count": {Value: 1000}}, ""},
		"better":                   {map[string]result{"ratio": {Value: 200, Base: 100, Ratio: 2}, "count": {Value: 10}}, ""},
	} {
		err := compare(was, c.is, list)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := compare(map[string]result{}, was, list); err == nil {
		t.Error("a figure that was never committed passes")
	}
}

func TestTheDocumentHasTheCommittedFigures(t *testing.T) {
	t.Chdir("../..")
	committed, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures() {
		if _, ok := committed.Figures[f.Name]; !ok {
			t.Errorf("%s is not in %s", f.Name, resultsFile)
		}
	}
	if len(committed.Figures) != len(figures()) {
		t.Errorf("%d figures are committed, and %d exist", len(committed.Figures), len(figures()))
	}
	doc, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), begin+table(committed, figures())+end) {
		t.Errorf("%s does not show the committed figures: run make bench", tableFile)
	}
}
