package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"latchkey/infra/tools"
)

// slowest503 limits the 99th percentile of the time after which a check of a key is answered 503.
const slowest503 = 3 * time.Second

// table returns the table of a run, and the number of violations.
func (p *proof) table() (text string, found int) {
	rows := [][3]string{}
	add := func(promise, tried string, violations int) {
		rows = append(rows, [3]string{promise, tried, fmt.Sprint(violations)})
		found += violations
	}
	for _, k := range kinds() {
		tried := fmt.Sprintf("%d histories", p.tried[k.name])
		if k.name == "inputs" {
			tried += fmt.Sprintf(", %d requests", p.tried[k.name]*inputs)
		}
		if p.tried[k.name] > 0 {
			add(k.promise, tried, p.violations[k.name])
		}
	}
	if n := p.tried["webhooks"]; n > 0 {
		add("Each receiver gets and verifies an event at least once, or its delivery is shown as failed", fmt.Sprintf("%d deliveries", n), p.violations["webhooks"])
	}
	add("Each success has one audit entry, and counters equal rows (violations count above)", fmt.Sprintf("%d orgs", p.tried["audited"]), 0)
	add("A client gets only documented answers, within ten seconds", fmt.Sprintf("%d answers", p.tally.answers), len(p.tally.faults))
	for _, fault := range p.tally.faults[:min(len(p.tally.faults), 20)] {
		fmt.Println("VIOLATION, an answer:", fault)
	}
	c := &p.checks
	p99, slow := time.Duration(0), 0
	if n := len(c.refused); n > 0 {
		slices.Sort(c.refused)
		p99 = c.refused[n*99/100]
	}
	if p99 > slowest503 {
		slow = 1
	}
	add(fmt.Sprintf("Checks of keys: %d began after the key's end, %d under faults. 99 of 100 refusals with 503 came within %s (limit: %s)",
		c.after, c.faulty, p99.Round(time.Millisecond), slowest503), fmt.Sprintf("%d checks", c.all), slow)
	if p.soak {
		add("Counters equal rows in the whole table at the end", fmt.Sprintf("%d orgs", p.tried["whole table"]), p.violations["whole table"])
		processes, grown := p.memory.grown()
		for _, g := range grown {
			p.found = time.Now()
			fmt.Println("VIOLATION, memory:", g)
		}
		add("The memory of each process that answered 300 calls early enough is flat", fmt.Sprintf("%d processes", processes), len(grown))
	}
	var b strings.Builder
	b.WriteString("| Promise | Tried | Violations |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r[0], r[1], r[2])
	}
	if p.tally.stalled > 0 {
		fmt.Fprintf(&b, "\nThe machine stood still %d times for more than %s: %d failed answers are not counted.\n", len(p.tally.stalls), stallAfter, p.tally.stalled)
	}
	calls, made := p.network.Made()
	fmt.Fprintf(&b, "\nOf %d calls of AWS these got a fault: %s.\n", calls, listNumbers(made))
	return b.String(), found
}

// listNumbers returns names with their numbers, in one line.
func listNumbers(numbers map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, fmt.Sprintf("%s %d", name, numbers[name]))
	}
	return strings.Join(all, ", ")
}

// publish writes infra/docs/proof.md, with the table of this run and the time to find each planted fault.
func (p *proof) publish(ctx context.Context, table string) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	commit, errCommit := tools.Output(ctx, root, nil, "git", "describe", "--always", "--dirty")
	machine, errMachine := tools.Output(ctx, root, nil, "uname", "-srm")
	planted, errPlanted := tools.Output(ctx, root, nil, "go", "-C", "infra/harness", "run", "./mutants", "-lists", "infra/harness/e2e/prove/planted")
	if err := errors.Join(errCommit, errMachine, errPlanted); err != nil {
		return err
	}
	var b strings.Builder
	if err := page.Execute(&b, map[string]any{
		"Date": p.begun.Format(time.DateOnly), "Commit": strings.TrimSpace(commit), "Processors": runtime.NumCPU(), "Machine": strings.TrimSpace(machine),
		"For": p.during, "Seed": p.seed, "Table": table, "Planted": foundIn.FindAllStringSubmatch(planted, -1),
	}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "infra", "docs", "proof.md"), []byte(b.String()), 0o644)
}

//go:embed proof.md.tmpl
var pageText string

var page = template.Must(template.New("proof").Parse(pageText))

var foundIn = regexp.MustCompile(`(?m)^found in +([0-9.]+) s  \S+ (.+)$`)
