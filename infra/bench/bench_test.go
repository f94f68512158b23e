package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestACallgrindFileIsReadToItsSum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts")
	for text, want := range map[string]int64{"# callgrind format\nfn=(1) main.main\n10 5\nsummary: 123456\n": 123456, "# callgrind format\ntotals: 5\n": 0, "\nsummary: x\n": 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := parse(path); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestAWorseFigureFailsTheGate(t *testing.T) {
	list := []figure{{Name: "ratio", Goal: 3.15}, {Name: "count", Goal: 2000}}
	was := map[string]result{"ratio": {Value: 300, Base: 100, Ratio: 3}, "count": {Value: 1000}}
	for name, c := range map[string]struct {
		is   map[string]result
		want string // in the error; "": none
	}{
		"the same":                 {was, ""},
		"within five per cent":     {map[string]result{"ratio": {Value: 314, Base: 100, Ratio: 3.14}, "count": {Value: 1050}}, ""},
		"a ratio that is worse":    {map[string]result{"ratio": {Value: 316, Base: 100, Ratio: 3.16}, "count": {Value: 1000}}, "ratio is 3.160, and"},
		"a goal that is missed":    {map[string]result{"ratio": {Value: 3151, Base: 1000, Ratio: 3.151}, "count": {Value: 1000}}, "ratio is 3.151, and its goal is 3.15"},
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
