package main

import (
	"cmp"
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

// TestAQuestionOfTwoPartsIsGoodWhenBothPassed has each pair of outcomes, in both orders of printing.
func TestAQuestionOfTwoPartsIsGoodWhenBothPassed(t *testing.T) {
	t.Parallel()
	parts := bySmoke[qRoles]
	for n, one := range []string{"PASS", "FAIL", "SKIP", ""} {
		for m, two := range []string{"PASS", "FAIL", "SKIP", ""} {
			printed := ""
			for i, how := range []string{one, two} {
				if how != "" {
					printed += "    --- " + how + ": TestSmoke/" + parts[i] + " (1.00s)\n"
				}
			}
			for _, printed := range []string{printed, printed + "    --- PASS: TestSmoke/AKeptAllowEnds (1.00s)\n"} {
				tr := &trial{out: t.Output(), rows: map[question]row{}}
				tr.smoked(printed)
				if r := tr.rows[qRoles]; r.good != (n == 0 && m == 0) || !strings.Contains(r.said, parts[0]+" "+cmp.Or(one, "did not run")) || !strings.Contains(r.said, parts[1]+" "+cmp.Or(two, "did not run")) {
					t.Errorf("%q, %q: %+v", one, two, r)
				}
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
