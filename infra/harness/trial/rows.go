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

// question is a question that only AWS can settle. README.md lists the questions.
type question string

const (
	qImport    question = "Does API Gateway import the API's document without a warning?"
	qIssuer    question = "Do the functions read the issuer's keys and the table?"
	qTags      question = "How long until a key's tag has an effect?"
	qRoles     question = "Do the roles allow each transaction, and refuse the rest?"
	qURL       question = "May a proxy call the function URL, and does each door note a use?"
	qAuthorize question = "What does the API answer when the authorizer fails?"
	qThrottled question = "What does the API answer when a function is throttled?"
	qRevoked   question = "Is a revoked key refused at once, by many requests?"
	qKept      question = "When does a cached Allow end?"
	qHead      question = "What is the Content-Length of an answer to HEAD?"
	qTwo       question = "How are two Authorization lines answered?"
	qTLS       question = "Is old TLS refused?"
	qHeaders   question = "Are too many header bytes refused?"
	qBytes     question = "Are bytes that are not text refused?"
	qSignature question = "Is a signature of KMS valid?"
	qWebhook   question = "Does an event lead to an attempt?"
	qSweep     question = "Do the sweep and the search for consumers run?"
	qBus       question = "Does the event bus get events?"
	qConsole   question = "Does the console have its files?"
	qWalk      question = "Does the README's walk print what the README shows?"
	qMetrics   question = "Do log lines become metrics?"
	qAlarms    question = "Do the alarms work?"
	qRemoved   question = "Is everything removed?"
)

// questions are all questions, in the order of the report.
var questions = []question{
	qImport, qIssuer, qTags, qRoles, qURL, qAuthorize, qThrottled, qRevoked, qKept, qHead, qTwo, qTLS, qHeaders, qBytes, qSignature, qWebhook, qSweep, qBus, qConsole, qWalk, qMetrics, qAlarms, qRemoved,
}

// bySmoke has the parts of the smoke test that answer a question.
var bySmoke = map[question][]string{
	qRoles: {"OneTransactionThroughEveryFunction", "TheRolesRefuseOtherActions"}, qURL: {"EachDoorWritesTheLastUse"}, qAuthorize: {"AnAuthorizerThatThrowsIsA503"},
	qRevoked: {"ARevokedKeyIsRefusedAtOnce"}, qTLS: {"OldTLSIsRefused"}, qHeaders: {"HeaderLinesOverTheLimitAreRefused"}, qBytes: {"BytesThatAreNotTextAreRefused"},
	qSignature: {"ASignatureOfKMSVerifiesWithTheLookup"}, qWebhook: {"AnEventGoesAllTheWayToAnAttempt"}, qSweep: {"TheSweepRuns", "TheSearchForConsumersRuns"},
	qBus: {"TheEventBusHasEvents"}, qConsole: {"TheConsoleHasItsFiles"}, qWalk: {"TheWalkThroughOfTheREADMEWorks"}, qMetrics: {"LogLinesBecomeMetrics"},
}

// byNote has the name of the note with which the smoke test answers a question. Of these questions only qRevoked is about a promise.
var byNote = map[question]string{qThrottled: "Throttled", qAlarms: "Alarms", qKept: "KeptAllow", qHead: "HeadLength", qTwo: "TwoCredentials", qRevoked: "Storm"}

// result is the result of a question: whether AWS lets Latchkey keep its promise. Only broken is a failure.
type result string

const (
	held   result = "held"
	noted  result = "noted" // Latchkey promises nothing here, or the trial could not try: the row says what AWS did, or the reason
	broken result = "broken"
)

// row is the answer to a question.
type row struct {
	question
	result
	text string
}

// note adds an answer with the result noted.
func (t *trial) note(q question, format string, a ...any) {
	t.add(row{q, noted, fmt.Sprintf(format, a...)})
}

// refusals matches errors that show nothing about a promise: AWS refused the call because of the account, or the network failed.
var refusals = regexp.MustCompile(`(?i)AccessDenied|not authorized|Throttl|TooManyRequests|Rate exceeded|LimitExceeded|ConnectionError|TimeoutError|dial tcp|SSLError`)

// answer adds the answer "yes" with the time that it took, or the error.
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

// add stores an answer; it replaces an earlier answer to the same question. On the local stack, the text begins with "local: ".
func (t *trial) add(r row) {
	if reason := t.leftOut[r.question]; reason != "" && r.result == held {
		r.result, r.text = noted, r.text+"; left out: "+reason
	}
	if t.local {
		r.text = "local: " + r.text
	}
	t.say("%s %s: %s", r.question, r.result, r.text)
	t.rows[r.question] = r
}

// These match the output of the smoke test: the outcomes of its parts, its notes, and its recordings.
var (
	outcomes   = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL|SKIP): TestSmoke/(\w+) \(([0-9.]+s)\)$`)
	notes      = regexp.MustCompile(`NOTED (\w+): (.*)`)
	recordings = regexp.MustCompile(`RECORDED (.*\n)`)
)

// readSmoke answers questions from the output of the smoke test. A part that did not run gives the result noted.
func (t *trial) readSmoke(printed string) {
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
			partOutcome := cmp.Or(outcome[part], "did not run")
			if strings.HasPrefix(partOutcome, "FAIL") {
				r.result = broken
			} else if !strings.HasPrefix(partOutcome, "PASS") && r.result == held {
				r.result = noted
			}
			r.text += part + " " + partOutcome + "; "
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
		r, isAnswered := t.rows[q]
		if !isAnswered {
			r = row{q, noted, "not tried, because an earlier step failed"}
		}
		if r.result == broken {
			bad++
		}
		text += fmt.Sprintf("| %s | %s | %s |\n", q, r.result, strings.ReplaceAll(strings.ReplaceAll(r.text, t.account, "…"), "|", "/"))
	}
	if t.recorded != "" {
		text += "\nFor `infra/harness/lab/testdata/recorded-….yaml`; a test compares these with the lab:\n\n```yaml\ngateway:\n" + t.recorded + "```\n"
	}
	path := filepath.Join(t.dir, t.stack+".md")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	t.say("\n%s\nThe table is also in %s.", text, path)
	if bad > 0 {
		return fmt.Errorf("%d promises are broken", bad)
	}
	return nil
}
