package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// question is what only AWS can settle. README.md lists them.
type question string

const (
	qImport    question = "Does API Gateway import the API's document without a warning?"
	qIssuer    question = "Do the functions read the issuer's keys and the table?"
	qTags      question = "How long until a key's tag counts?"
	qRoles     question = "Do the roles allow each transaction, and refuse the rest?"
	qURL       question = "May a proxy call the function URL, and does each door note a use?"
	qAuthorize question = "What does the API answer when the authorizer fails?"
	qThrottled question = "What does the API answer when a function is throttled?"
	qRevoked   question = "Is a revoked key refused at once, by many requests?"
	qKept      question = "What does a kept Allow do?"
	qHead      question = "What Content-Length has the answer to HEAD?"
	qTwo       question = "What becomes of two Authorization lines?"
	qTLS       question = "Is old TLS refused?"
	qHeaders   question = "Are too many header bytes refused?"
	qBytes     question = "Are bytes that are not text refused?"
	qSignature question = "Does a signature of KMS verify?"
	qWebhook   question = "Does an event go all the way to an attempt?"
	qSweep     question = "Does the sweep run, and the search for consumers?"
	qBus       question = "Does the event bus get events?"
	qConsole   question = "Does the console have its files?"
	qWalk      question = "Does the README's walk print what the README shows?"
	qMetrics   question = "Do log lines become metrics?"
	qAlarms    question = "Do the alarms work?"
	qRemoved   question = "Is everything removed?"
)

// questions are all of them, in the order of the report.
var questions = []question{
	qImport, qIssuer, qTags, qRoles, qURL, qAuthorize, qThrottled, qRevoked, qKept, qHead, qTwo, qTLS, qHeaders, qBytes, qSignature, qWebhook, qSweep, qBus, qConsole, qWalk, qMetrics, qAlarms, qRemoved,
}

// bySmoke has the parts of the smoke test that answer a question.
var bySmoke = map[question][]string{
	qRoles: {"OneTransactionThroughEveryFunction", "TheRolesRefuseTheRest"}, qURL: {"AUseIsNotedAtEachDoor"}, qAuthorize: {"AnAuthorizerThatThrowsIsA503"},
	qRevoked: {"ARevokedKeyIsRefusedAtOnce"}, qTLS: {"OldTLSIsRefused"}, qHeaders: {"HeaderLinesOverTheLimitAreRefused"}, qBytes: {"BytesThatAreNotTextAreRefused"},
	qSignature: {"ASignatureOfKMSVerifiesWithTheLookup"}, qWebhook: {"AnEventGoesAllTheWayToAnAttempt"}, qSweep: {"TheSweepRuns", "TheSearchForConsumersRuns"},
	qBus: {"TheEventBusHasEvents"}, qConsole: {"TheConsoleHasItsFiles"}, qWalk: {"TheWalkOfTheREADME"}, qMetrics: {"LogLinesBecomeMetrics"},
}

// byNote has the questions that the smoke test answers by a note, by the note's name. Nothing is promised there, but for qRevoked.
var byNote = map[question]string{qThrottled: "Throttled", qAlarms: "Alarms", qKept: "KeptAllow", qHead: "HeadLength", qTwo: "TwoCredentials", qRevoked: "Storm"}

// result is what a trial saw of a promise. Only broken is a failure.
type result string

const (
	held   result = "held"
	noted  result = "noted" // nothing is promised, or it was not tried: the row has what AWS did, or why
	broken result = "broken"
)

// row is an answer.
type row struct {
	question
	result
	text string
}

// note adds an answer where nothing is promised.
func (t *trial) note(q question, format string, a ...any) {
	t.add(row{q, noted, fmt.Sprintf(format, a...)})
}

// refusals matches the errors of calls that AWS refused or did not answer, for reasons of the account or of the network.
var refusals = regexp.MustCompile(`(?i)AccessDenied|not authorized|Throttl|TooManyRequests|Rate exceeded|LimitExceeded|ConnectionError|TimeoutError|dial tcp|SSLError`)

// answer adds the answer yes, or the error.
func (t *trial) answer(q question, err error, took time.Duration) {
	switch {
	case err == nil:
		t.add(row{q, held, fmt.Sprintf("yes (%s)", took.Round(time.Second))})
	case refusals.MatchString(err.Error()):
		t.note(q, "not tried: %s", strings.Join(strings.Fields(err.Error()), " "))
	default:
		t.add(row{q, broken, "NO: " + strings.Join(strings.Fields(err.Error()), " ")})
	}
}

// add adds an answer, or replaces the earlier one to its question. On the local stack, the answer says so.
func (t *trial) add(r row) {
	if why := t.leftOut[r.question]; why != "" && r.result == held {
		r.result, r.text = noted, r.text+"; left out: "+why
	}
	if t.local {
		r.text = "local: " + r.text
	}
	t.say("%s %s: %s", r.question, r.result, r.text)
	t.rows[r.question] = r
}

// What the smoke test prints: the outcomes of its parts, its notes, and its recordings.
var (
	outcomes   = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL|SKIP): TestSmoke/(\w+) \(([0-9.]+s)\)$`)
	notes      = regexp.MustCompile(`NOTED (\w+): (.*)`)
	recordings = regexp.MustCompile(`RECORDED (.*\n)`)
)

// smoked answers by what the smoke test printed. A part that did not run shows nothing.
func (t *trial) smoked(printed string) {
	outcome, noteOf := map[string]string{}, map[string]string{}
	for _, m := range outcomes.FindAllStringSubmatch(printed, -1) {
		outcome[m[2]] = m[1] + " (" + m[3] + ")"
	}
	for _, m := range notes.FindAllStringSubmatch(printed, -1) {
		noteOf[m[1]] += m[2] + "; "
	}
	for _, m := range recordings.FindAllStringSubmatch(printed, -1) {
		t.recorded += m[1]
	}
	for _, q := range questions {
		parts, name := bySmoke[q], byNote[q]
		if parts == nil && name == "" {
			continue
		}
		r := row{q, held, noteOf[name]}
		if parts == nil {
			r = row{q, noted, cmp.Or(r.text, "not tried; ")}
		}
		for _, part := range parts {
			how := cmp.Or(outcome[part], "did not run")
			if strings.HasPrefix(how, "FAIL") {
				r.result = broken
			} else if !strings.HasPrefix(how, "PASS") && r.result == held {
				r.result = noted
			}
			r.text += part + " " + how + "; "
		}
		r.text = strings.TrimSuffix(r.text, "; ")
		t.add(r)
	}
}

// report writes the table and the recordings, and returns an error if a promise is broken.
func (t *trial) report() error {
	text := fmt.Sprintf("# A trial of Latchkey\n\n%s, in %s, deployed from %s/%s. Lambda runs %d functions at once in the account.\n\n| Question | Result | Answer |\n|---|---|---|\n",
		time.Now().UTC().Format(time.DateOnly), t.aws.Region, runtime.GOOS, runtime.GOARCH, t.limit)
	bad := 0
	for _, q := range questions {
		r, asked := t.rows[q]
		if !asked {
			r = row{q, noted, "not asked, because an earlier step failed"}
		}
		if r.result == broken {
			bad++
		}
		text += fmt.Sprintf("| %s | %s | %s |\n", q, r.result, strings.ReplaceAll(strings.ReplaceAll(r.text, t.account, "…"), "|", "/"))
	}
	if t.recorded != "" {
		text += "\nFor `infra/harness/lab/testdata/recorded-….yaml`, which a test then compares with the lab:\n\n```yaml\ngateway:\n" + t.recorded + "```\n"
	}
	path := filepath.Join(t.dir, t.stack+".md")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	t.say("\n%s\nThe table is in %s, for a report.", text, path)
	if bad > 0 {
		return fmt.Errorf("%d promises are broken", bad)
	}
	return nil
}
