package e2e_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
)

// trial runs one block of commands of the runbook.
type trial struct {
	before func(r *rehearsal)                 // prepares the stack; may be nil
	fill   func(r *rehearsal) []string        // returns the values for each … in turn; nil: the block has no …
	may    string                             // a pattern for commands that may fail, by the runbook; "": none may
	after  func(r *rehearsal, printed string) // checks the result; may be nil
}

// rehearsal is a local stack that the test operates with the commands of the runbook.
type rehearsal struct {
	t     *testing.T
	s     *stack.Stack
	db    *dynamodb.Client
	tg    *target
	shell *session

	sections map[string]section // of the runbook, by title

	owner *server // has the keys, orgs and webhooks
	hook  *receiver
	past  restored

	rotated, ofDeleted apiKey // the keys that ended after the copy of the lost region

	// Values that a trial prepares for its check, and for later trials.
	key, keyID     string // an API key's text; an API key's id
	kid            string // of a signing key
	link, endpoint string // ids
	org            string // an id
	person         *person
	users, orgs    map[string]string // ids, by the users' names
	commands       string            // of the block, with its values
}

// mayFail matches the commands that write rows under a condition: it fails for a key that ended before, or that a restored table does not have.
const mayFail = `\bupdate\b`

// rehearsals are the sections with commands, in the order in which the test runs them. Every block has
// a trial, unless it begins with mark. A trial of {} only runs its block.
var rehearsals = []struct {
	title  string
	trials []trial
}{
	{"", []trial{{after: variablesAreSet}}},
	{"A leaked API key", []trial{
		{fill: leakedText, after: keyIsGone}, {fill: leakedLocator, after: keyIsShown}, {fill: shownIDs, after: endpointIsDisabled}, {after: tracesAreShown},
	}},
	{"All keys may have leaked", []trial{{before: agedKey, fill: serviceAndMoment, after: agedKeyIsCounted}, {after: agedKeyIsGone}}},
	{"A member who left", []trial{{before: formerMember, after: keysAreListed}, {after: theirKeyIsGone}}},
	{"A deleted org", []trial{{fill: deletedOrg, after: deletionIsShown}, {after: deletionIsFound}, {
		fill: unendedOrg, may: mayFail, after: orgIsEnded,
	}}},
	{"Revoking a webhook signing key", []trial{{before: forgetKeys, fill: activeKey, after: signingKeyIsGone}}},
	{"Who may sign", []trial{{after: onlyDeliverSigns}}},
	{"Deleting old signing keys", []trial{{before: secondSigningKey, after: oldKeysAreListed}, {fill: oldKey, after: oldKeyGoes}}},
	{"Webhooks are late", []trial{{after: queueIsCounted}}},
	{"A sweep that is stuck", []trial{{before: overdueLink, after: sweepRuns}}},
	{"Webhooks cannot be signed", []trial{{before: noActiveKey, after: keyIsActive}}},
	{"Dead letters", []trial{{before: deadLetter, after: lettersAreShown}, {after: lettersAreGone}}},
	{"Restoring the table", []trial{
		{before: damage, after: apiIsClosed}, {}, {after: tableIsRestored}, {after: auditIsShown},
		{fill: keptOrgs, may: mayFail, after: againIsExplained},
		{before: (*rehearsal).revokesByHand, after: signingKeysAreBack},
		{before: useRestored, may: mayFail, after: lateKeyIsGone},
		{after: apiIsOpen},
	}},
	{"A region is lost", []trial{{before: loseTheRegion, fill: revokedSinceTheCopy}, {fill: endedSinceTheCopy}, {after: regionIsLeft}}},
	{"Changing the issuer", []trial{{
		before: usersFile, fill: newIssuer, may: `transact-write-items`, after: usersKeepTheirOrgs, // it fails for a user who is not adopted
	}}},
}

// TestRunbook runs every block of commands of infra/docs/runbook.md that has no mark.
func TestRunbook(t *testing.T) {
	t.Parallel()
	cli, err := tools.AWS(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &rehearsal{t: t}
	r.s, r.tg = startLocal(t, stack.Options{Dir: memoryDir(t), Parameters: patient})
	r.db = backing.NewDynamoDBClient(r.s.DataPlane.DynamoDB)
	issuer := r.s.Issuer // kept because the last section changes the stack's issuer, and r.s.Token fails from then on
	r.tg.token = func(ctx context.Context, _, email, name string) (string, error) {
		return stack.IssueToken(ctx, issuer, stack.User, "", email, name)
	}
	r.shell = newSession(t, filepath.Join(filepath.Dir(cli), "python"), startStandIn(t, r.s))
	r.owner = r.tg.server(t)
	r.hook = r.owner.receiver(t, nil)

	r.sections = map[string]section{}
	for _, s := range readRunbook(t) {
		r.sections[s.title] = s
	}
	tried := map[string]bool{}
	for _, each := range rehearsals {
		tried[each.title] = true
		t.Run(each.title, func(t *testing.T) { r.section(t, r.sections[each.title], each.trials) })
		if t.Failed() {
			return // later sections need this one
		}
	}
	for title, s := range r.sections {
		if len(s.commands) > 0 && !tried[title] {
			t.Errorf("section %q has commands that the test did not run", title)
		}
	}
}

// startStandIn starts a stand-in for AWS that passes the AWS CLI's calls on to a local stack, and returns its URL.
func startStandIn(t *testing.T, s *stack.Stack) string {
	t.Helper()
	front := standin.Start()
	t.Cleanup(front.Close)
	front.Lead("latchkey", standin.Live{
		Outputs: s.Outputs, Reserve: s.Reserve,
		Services: map[string]string{"dynamodb": s.DataPlane.DynamoDB, "kms": s.DataPlane.KMS, "sqs": s.DataPlane.SQS},
		Invoke: func(function string, payload []byte) ([]byte, error) {
			return s.Lambda.Invoke(t.Context(), function, payload)
		},
	})
	return front.URL
}

// section runs the blocks of a section in turn. A block may need earlier blocks, so the first failure ends the test.
func (r *rehearsal) section(t *testing.T, s section, trials []trial) {
	if len(trials) != len(s.commands) {
		t.Fatalf("section %q has %d blocks of commands, and rehearsals has %d trials of them", s.title, len(s.commands), len(trials))
	}
	before := r.t
	r.t = t
	defer func() { r.t = before }()
	for i, c := range trials {
		r.try(s.commands[i], c)
		if t.Failed() {
			t.Fatalf("in block %d", i+1)
		}
	}
}

// try runs a block with its values filled in.
func (r *rehearsal) try(commands string, c trial) {
	r.t.Helper()
	if c.before != nil {
		c.before(r)
	}
	var values []string
	if c.fill != nil {
		values = c.fill(r)
	}
	if n := strings.Count(commands, "…"); n != len(values) {
		r.t.Fatalf("%d values for %d … in\n%s", len(values), n, commands)
	}
	for _, v := range values {
		commands = strings.Replace(commands, "…", v, 1)
	}
	commands = strings.ReplaceAll(commands, "2026-01-31T12:00:00Z", r.past.since) // the runbook's restore point
	r.commands = commands
	printed, failed := r.shell.run(r.t, commands)
	if c.may != "" {
		failed = slices.DeleteFunc(failed, regexp.MustCompile(c.may).MatchString)
	}
	if len(failed) > 0 {
		r.t.Errorf("commands failed:\n%s", strings.Join(failed, ""))
	}
	r.t.Logf("%s\nprinted\n%s", commands, printed)
	if c.after != nil {
		c.after(r, printed)
	}
}

// needsAWS matches commands that the local stack does not support.
var needsAWS = regexp.MustCompile(`(?m)\baws (acm|apigateway|cloudwatch|events|iam|logs|service-quotas|sns) |list-event-source-mappings|continue-update-rollback|cloudformation deploy|restore-table-to-point-in-time|update-continuous-backups|^ *make deploy\b`)

// TestMarkedBlocksNeedAWS checks that each marked block needs AWS, and that no other block does: the mark must not hide a block that the
// local stack can run. It also checks the syntax of marked blocks.
func TestMarkedBlocksNeedAWS(t *testing.T) {
	t.Parallel()
	for _, s := range readRunbook(t) {
		for _, block := range s.notRun {
			if !needsAWS.MatchString(block) {
				t.Errorf("section %q: the local stack can run\n%s", s.title, block)
			}
			if out, err := exec.Command("bash", "-n", "-c", block).CombinedOutput(); err != nil {
				t.Errorf("section %q: %v: %s", s.title, err, out)
			}
		}
		for _, block := range s.commands {
			if found := needsAWS.FindString(block); found != "" {
				t.Errorf("section %q: %q needs AWS, in a block without the mark", s.title, found)
			}
		}
	}
}
