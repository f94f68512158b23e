package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// question is what only AWS can settle. infra/docs/deploy.md lists them.
type question string

const (
	qImport    question = "Does API Gateway import the API's document without a warning?"
	qIssuer    question = "Do the functions read the issuer's keys and the table?"
	qTags      question = "How long until a key's tag counts?"
	qRoles     question = "Do the roles allow each transaction, and refuse the rest?"
	qURL       question = "May a proxy call the function URL, and does each door note a use?"
	qAuthorize question = "What does the API answer when the authorizer fails?"
	qThrottled question = "What does the API answer when a function is throttled?"
	qKept      question = "What does a kept Allow do?"
	qTLS       question = "Is old TLS refused?"
	qHeaders   question = "Are too many header bytes refused?"
	qBytes     question = "Are bytes that are not text refused?"
	qSignature question = "Does a signature of KMS verify?"
	qWebhook   question = "Does an event go all the way to an attempt?"
	qWalk      question = "Does the README's walk print what the README shows?"
	qMetrics   question = "Do log lines become metrics?"
	qAlarms    question = "Do the alarms work?"
	qRemoved   question = "Is everything removed?"
)

// questions are all of them, in the order of the report.
var questions = []question{
	qImport, qIssuer, qTags, qRoles, qURL, qAuthorize, qThrottled, qKept, qTLS, qHeaders, qBytes, qSignature, qWebhook, qWalk, qMetrics, qAlarms, qRemoved,
}

// bySmoke has the parts of the smoke test that answer a question.
var bySmoke = map[question][]string{
	qRoles: {"OneTransactionThroughEveryFunction", "TheRolesRefuseTheRest"}, qURL: {"AUseIsNotedAtEachDoor"}, qAuthorize: {"AnAuthorizerThatThrowsIsA503"},
	qKept: {"AKeptAllowEnds"}, qTLS: {"OldTLSIsRefused"}, qHeaders: {"HeaderLinesOverTheLimitAreRefused"},
	qBytes: {"BytesThatAreNotTextAreRefused"}, qSignature: {"ASignatureOfKMSVerifiesWithTheLookup"}, qWebhook: {"AnEventGoesAllTheWayToAnAttempt"}, qWalk: {"TheWalkOfTheREADME"},
}

// row is an answer.
type row struct {
	question
	said string
	good bool
}

// note adds an answer that is neither good nor bad, or says so itself: NO at its beginning is bad.
func (t *trial) note(q question, said string) { t.add(row{q, said, !strings.HasPrefix(said, "NO")}) }

// answer adds the answer yes, or the error.
func (t *trial) answer(q question, err error, took time.Duration) {
	if err != nil {
		t.add(row{q, "NO: " + strings.Join(strings.Fields(err.Error()), " "), false})
		return
	}
	t.add(row{q, fmt.Sprintf("yes (%s)", took.Round(time.Second)), true})
}

// add adds an answer, or replaces the earlier one to its question. On the local stack it says so.
func (t *trial) add(r row) {
	if t.local {
		r.said = "local: " + r.said
	}
	t.say("%s %s", r.question, r.said)
	t.rows[r.question] = r
}

// result matches the outcome of a part of the smoke test.
var result = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL|SKIP): TestSmoke/(\w+) \(([0-9.]+s)\)$`)

// smoked answers by what the smoke test printed. A part that did not run is no good answer.
func (t *trial) smoked(printed string) {
	outcome := map[string]string{}
	for _, m := range result.FindAllStringSubmatch(printed, -1) {
		outcome[m[2]] = m[1] + " (" + m[3] + ")"
	}
	for _, q := range questions {
		parts := bySmoke[q]
		if parts == nil {
			continue
		}
		good, said := true, ""
		for _, part := range parts {
			how := outcome[part]
			if how == "" {
				how = "did not run"
			}
			good = good && strings.HasPrefix(how, "PASS")
			said += part + " " + how + "; "
		}
		if t.local && q == qTLS {
			good, said = true, "only AWS speaks TLS here; "
		}
		t.add(row{q, strings.TrimSuffix(said, "; "), good})
	}
}

// report writes the table, and returns an error unless each question has a good answer.
func (t *trial) report() error {
	text := fmt.Sprintf("# A trial of Latchkey\n\n%s, in %s, deployed from %s/%s.\n\n| Question | Answer |\n|---|---|\n",
		time.Now().UTC().Format(time.DateOnly), t.aws.Region, runtime.GOOS, runtime.GOARCH)
	bad := 0
	for _, q := range questions {
		r, asked := t.rows[q]
		if !asked {
			r.said = "NO: not asked, because an earlier step failed"
		}
		if !r.good {
			bad++
		}
		text += fmt.Sprintf("| %s | %s |\n", q, strings.ReplaceAll(strings.ReplaceAll(r.said, t.account, "…"), "|", "/"))
	}
	path := filepath.Join(t.dir, t.stack+".md")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	t.say("\n%s\nThe table is in %s, for a report.", text, path)
	if bad > 0 {
		return errors.New("not every question has a good answer")
	}
	return nil
}
