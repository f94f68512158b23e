package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/deploy/cloud"
)

// TestEachQuestionIsListedAndAnswered checks that README.md has each question, and that the smoke test has each part that answers
// a question.
func TestEachQuestionIsListedAndAnswered(t *testing.T) {
	t.Parallel()
	docs, errDocs := os.ReadFile("README.md")
	smoke, errSmoke := os.ReadFile("../e2e/smoke_test.go")
	if errDocs != nil || errSmoke != nil {
		t.Fatal(errDocs, errSmoke)
	}
	for _, q := range questions {
		if !strings.Contains(string(docs), "\n- "+string(q)+"\n") {
			t.Errorf("README.md does not list: %s", q)
		}
		for _, part := range bySmoke[q] {
			if !strings.Contains(string(smoke), `t.Run("`+part+`"`) {
				t.Errorf("the smoke test has no part %s", part)
			}
		}
	}
}

// TestAQuestionIsHeldOnlyIfBothPartsPass has each pair of outcomes of two parts.
func TestAQuestionIsHeldOnlyIfBothPartsPass(t *testing.T) {
	t.Parallel()
	parts := bySmoke[qRoles]
	for n, one := range []string{"PASS", "FAIL", "SKIP", ""} {
		for m, two := range []string{"PASS", "FAIL", "SKIP", ""} {
			printed := ""
			for i, outcome := range []string{one, two} {
				if outcome != "" {
					printed += "    --- " + outcome + ": TestSmoke/" + parts[i] + " (1.00s)\n"
				}
			}
			for _, printed := range []string{printed, printed + "    --- PASS: TestSmoke/ACachedAllowEnds (1.00s)\n"} {
				tr := &trial{out: t.Output(), rows: map[question]row{}}
				tr.readSmoke(printed)
				want := noted
				if n == 0 && m == 0 {
					want = held
				} else if n == 1 || m == 1 {
					want = broken
				}
				if r := tr.rows[qRoles]; r.result != want || !strings.Contains(r.text, parts[0]+" "+cmp.Or(one, "did not run")) || !strings.Contains(r.text, parts[1]+" "+cmp.Or(two, "did not run")) {
					t.Errorf("%q, %q: %+v", one, two, r)
				}
			}
		}
	}
}

// TestOnlyAFailedPartBreaksAPromise reads the output of a smoke test: parts and notes.
func TestOnlyAFailedPartBreaksAPromise(t *testing.T) {
	t.Parallel()
	tr := &trial{out: t.Output(), rows: map[question]row{}, leftOut: map[question]string{qConsole: "the sky is grey"}}
	tr.readSmoke(`=== RUN
    --- PASS: TestSmoke/ACachedAllowEnds (7.01s)
        smoke_kept_test.go:30: NOTED KeptAllow: it outlives AllowForSeconds=5
        credentials_test.go:91: NOTED Storm: 3 clients, 200 requests
        requests_test.go:98: NOTED HeadLength: "0" where GET has 10 bytes
        requests_test.go:98: NOTED HeadLength: "1" where GET has 20 bytes
        smoke_record_test.go:70: RECORDED   - {"of":"a"}
    --- PASS: TestSmoke/ARevokedKeyIsRefusedAtOnce (7.01s)
    --- FAIL: TestSmoke/EachDoorWritesTheLastUse (1.00s)
    --- PASS: TestSmoke/TheSweepRuns (1.00s)
    --- SKIP: TestSmoke/TheSearchForConsumersRuns (0.00s)
    --- PASS: TestSmoke/TheConsoleHasItsFiles (0.00s)
`)
	for q, want := range map[question]row{
		qKept: {qKept, noted, "it outlives"}, qHead: {qHead, noted, "10 bytes; \"1\" where"}, qTwo: {qTwo, noted, "not tried"}, qRevoked: {qRevoked, held, "3 clients, 200 requests; ARevoked"},
		qURL: {qURL, broken, "FAIL"}, qSweep: {qSweep, noted, "SKIP"}, qBus: {qBus, noted, "did not run"}, qConsole: {qConsole, noted, "left out: the sky is grey"},
	} {
		if r := tr.rows[q]; r.result != want.result || !strings.Contains(r.text, want.text) {
			t.Errorf("%s: %+v", q, r)
		}
	}
	if tr.recorded != "  - {\"of\":\"a\"}\n" {
		t.Errorf("recorded: %q", tr.recorded)
	}
}

// TestACallThatAWSRefusesBreaksNoPromise has errors in the form of boto3.
func TestACallThatAWSRefusesBreaksNoPromise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]result{
		"": held,
		"ClientError: An error occurred (AccessDeniedException) when calling the PutRestApi operation: no right":  noted,
		"ClientError: An error occurred (TooManyRequestsException) when calling CreateRestApi: Too Many Requests": noted,
		"EndpointConnectionError: Could not connect to the endpoint URL":                                          noted,
		"ClientError: An error occurred (BadRequestException) when calling PutRestApi: Warnings found: a":         broken,
		"ClientError: An error occurred (ValidationException) when calling the DeleteTable operation: a":          broken,
	} {
		tr := &trial{out: t.Output(), rows: map[question]row{}}
		var err error
		if text != "" {
			err = errors.New(text)
		}
		if tr.answer(qImport, err, 0); tr.rows[qImport].result != want {
			t.Errorf("%s: %+v", text, tr.rows[qImport])
		}
	}
}

// TestOnlyABrokenPromiseFailsATrial writes reports with one row.
func TestOnlyABrokenPromiseFailsATrial(t *testing.T) {
	t.Parallel()
	for _, result := range []result{held, noted, broken} {
		tr := &trial{out: t.Output(), dir: t.TempDir(), stack: "s", account: "1", aws: &cloud.Client{}, recorded: "  - a\n", limit: 10, rows: map[question]row{qImport: {qImport, result, "a|b"}}}
		err := tr.report()
		text, errRead := os.ReadFile(filepath.Join(tr.dir, "s.md"))
		if (err != nil) != (result == broken) || errRead != nil || !strings.Contains(string(text), "| "+string(result)+" | a/b |") || !strings.Contains(string(text), "gateway:\n  - a\n") {
			t.Errorf("%s: %v, %v\n%s", result, err, errRead, text)
		}
	}
}
