package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/servicetest"
)

// TestAWorseFigureFailsTheGate compares measured figures with committed ones. A figure may be 5 % worse, but must not miss its goal.
func TestAWorseFigureFailsTheGate(t *testing.T) {
	list := []figure{{Name: "ratio", Goal: 3.2}, {Name: "count", Goal: 2000}}
	before := map[string]result{"ratio": {Value: 300, Base: 100, Ratio: 3}, "count": {Value: 1000}}
	for name, c := range map[string]struct {
		now  map[string]result
		want string // a part of the error; "": no error
	}{
		"the same":                 {before, ""},
		"within five per cent":     {map[string]result{"ratio": {Value: 314, Base: 100, Ratio: 3.14}, "count": {Value: 1050}}, ""},
		"a ratio that is worse":    {map[string]result{"ratio": {Value: 316, Base: 100, Ratio: 3.16}, "count": {Value: 1000}}, "ratio is 3.16, and was"},
		"a goal that is missed":    {map[string]result{"ratio": {Value: 3201, Base: 1000, Ratio: 3.201}, "count": {Value: 1000}}, "ratio is 3.201, and its goal is 3.2"},
		"a count that is worse":    {map[string]result{"ratio": {Value: 300, Base: 100, Ratio: 3}, "count": {Value: 1051}}, "count is 1051"},
		"a slower machine's ratio": {map[string]result{"ratio": {Value: 600, Base: 200, Ratio: 3}, "count": {Value: 1000}}, ""},
		"better":                   {map[string]result{"ratio": {Value: 200, Base: 100, Ratio: 2}, "count": {Value: 10}}, ""},
	} {
		switch err := compare(before, c.now, list); {
		case c.want == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v", name, err)
		}
	}
	committed := map[string]result{}
	if err := compare(committed, before, list); err == nil {
		t.Error("a figure without a committed value passes")
	}
}

// TestMakeGenerateChangesNothing makes the table of infra/docs/speed.md from the committed figures.
func TestMakeGenerateChangesNothing(t *testing.T) {
	t.Chdir("../../../..")
	committed, err := readCommitted()
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
	servicetest.Generated(t, "infra/docs/speed.md", func(text string) (string, error) {
		return servicetest.Insert(text, "figures", table(committed))
	})
}

// ofFunction matches the description of a figure that is measured for each function.
var ofFunction = regexp.MustCompile(`^(start|bootstrap) of (\w+), (.+)$`)

// table returns the figures as speed.md shows them. Functions with the same goal share a row, which shows their largest figure.
func table(r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s.\n\n| Figure | Count | Against | Ratio | Goal |\n|---|---|---|---|---|\n", r.Date)
	all := slices.SortedFunc(slices.Values(figures()), func(x, y figure) int { return cmp.Compare(x.Name, y.Name) })
	for _, f := range all {
		got := r.Figures[f.Name]
		if m := ofFunction.FindStringSubmatch(f.What); m != nil {
			group := slices.DeleteFunc(slices.Clone(all), func(g figure) bool {
				n := ofFunction.FindStringSubmatch(g.What)
				return n == nil || n[1] != m[1] || g.Goal != f.Goal
			})
			largest := slices.MaxFunc(group, func(x, y figure) int { return cmp.Compare(r.Figures[x.Name].Value, r.Figures[y.Name].Value) })
			if largest.Name != f.Name {
				continue
			}
			if len(group) > 1 {
				f.What = fmt.Sprintf("%s of %d functions, the largest (%s), %s", m[1], len(group), m[2], m[3])
			}
		}
		ratio, goal := "", fmt.Sprintf("≤ %.0f", f.Goal)
		if got.Base != 0 {
			ratio, goal = fmt.Sprintf("%.2f ×", got.Ratio), fmt.Sprintf("≤ %g ×", f.Goal)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", f.What, got.Value, f.Base, ratio, goal)
	}
	return b.String()
}
