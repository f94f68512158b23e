package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// report is one thing that a tool found.
type report struct {
	tool, rule, where string
	example           string // a request that shows the fault; "": none
}

// listed is a report that is expected, with the reason.
type listed struct {
	tool, rule string
	where      *regexp.Regexp // matches the whole of report.where
	reason     string
}

//go:embed listed.txt
var listedText string

// readListed reads a list: a line "tool rule where", in which where is a regular
// expression, and the reason in indented lines below it.
func readListed(text string) ([]listed, error) {
	var all []listed
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, " "):
			if len(all) == 0 {
				return nil, fmt.Errorf("line %d: a reason without a report", i+1)
			}
			all[len(all)-1].reason += strings.TrimSpace(line) + " "
		default:
			words := strings.SplitN(line, " ", 3)
			if len(words) != 3 {
				return nil, fmt.Errorf("line %d: want tool, rule and where", i+1)
			}
			where, err := regexp.Compile("^(?:" + words[2] + ")$")
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			all = append(all, listed{tool: words[0], rule: words[1], where: where})
		}
	}
	for _, l := range all {
		if l.reason == "" {
			return nil, fmt.Errorf("%s %s %s: no reason", l.tool, l.rule, l.where)
		}
	}
	return all, nil
}

// against compares the reports of a tool with listed.txt.
func against(tool string, found []report) error {
	list, err := readListed(listedText)
	if err != nil {
		return err
	}
	return compare(tool, found, list)
}

// compare returns an error for each report that the list lacks, and for each entry of the
// tool that was not reported. Entries of Schemathesis need not be reported: its requests
// depend on the API's answers.
func compare(tool string, found []report, list []listed) error {
	used := map[int]bool{}
	var errs []error
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.rule+" "+f.where] {
			continue
		}
		seen[f.rule+" "+f.where] = true
		i := slices.IndexFunc(list, func(l listed) bool {
			return l.tool == tool && l.rule == f.rule && l.where.MatchString(f.where)
		})
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s %s %s\n    %.500s", tool, f.rule, f.where, f.example))
		}
		used[i] = true
	}
	for i, l := range list {
		if l.tool == tool && !used[i] && tool != "schemathesis" {
			errs = append(errs, fmt.Errorf("%s: listed and not reported: %s %s", tool, l.rule, l.where))
		}
	}
	return errors.Join(errs...)
}
