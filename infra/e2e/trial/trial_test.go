package main

import (
	"os"
	"strings"
	"testing"
)

// TestEachQuestionIsAnsweredSomewhere wants each question in infra/docs/deploy.md, and each part of the smoke test that answers one
// to be there.
func TestEachQuestionIsAnsweredSomewhere(t *testing.T) {
	t.Parallel()
	docs, errDocs := os.ReadFile("../../docs/deploy.md")
	smoke, errSmoke := os.ReadFile("../smoke_test.go")
	if errDocs != nil || errSmoke != nil {
		t.Fatal(errDocs, errSmoke)
	}
	for _, q := range questions {
		if !strings.Contains(string(docs), "\n- "+string(q)+"\n") {
			t.Errorf("infra/docs/deploy.md does not list: %s", q)
		}
		for _, part := range bySmoke[q] {
			if !strings.Contains(string(smoke), `t.Run("`+part+`"`) {
				t.Errorf("the smoke test has no part %s", part)
			}
		}
	}
}

// TestAPartThatDidNotRunIsNoAnswer reads what a smoke test prints.
func TestAPartThatDidNotRunIsNoAnswer(t *testing.T) {
	t.Parallel()
	tr := &trial{out: t.Output(), rows: map[question]row{}}
	tr.smoked("=== RUN\n    --- PASS: TestSmoke/AKeptAllowEnds (7.01s)\n    --- FAIL: TestSmoke/AUseIsNotedAtEachDoor (1.00s)\n    --- SKIP: TestSmoke/OldTLSIsRefused (0.00s)\n")
	for _, r := range tr.rows {
		if r.good != (r.question == qKept) {
			t.Errorf("%s: %s is %v", r.question, r.said, r.good)
		}
	}
	if len(tr.rows) != len(bySmoke) {
		t.Errorf("%d rows", len(tr.rows))
	}
}
