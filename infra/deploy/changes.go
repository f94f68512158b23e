package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/tools"
)

// change makes a change set and shows it. When the change set is confirmed, change executes it. An empty change set needs no
// confirmation. With p.Dry the change set is only shown.
func (p *program) change(ctx context.Context) error {
	set, err := p.makeChangeSet(ctx)
	if err != nil {
		return err
	}
	if set != "" {
		if err := p.decide(ctx, set); err != nil {
			return err
		}
	}
	if p.Dry {
		p.say("Nothing was deployed: DRY=1.")
		return nil
	}
	if p.deployed, err = p.describe(); err == nil && p.deployed == nil {
		err = fmt.Errorf("there is no stack %s after its deployment", p.Stack)
	}
	return err
}

// makeChangeSet lets the SAM CLI upload the build and make a change set. It returns the change set's ARN, or "" when nothing
// changes. The ARN comes from the SAM CLI's output, not from the stack's list of change sets: other programs may make change
// sets at the same time.
func (p *program) makeChangeSet(ctx context.Context) (string, error) {
	args := []string{
		"deploy", "--template-file", filepath.Join(p.buildDir(), "template.yaml"), "--stack-name", p.Stack, "--region", p.aws.Region,
		"--resolve-s3", "--s3-prefix", p.Stack, "--capabilities", "CAPABILITY_IAM", "--no-execute-changeset", "--no-fail-on-empty-changeset",
		"--output", "json", "--parameter-overrides", override("Architecture", p.Architecture),
	}
	for _, name := range slices.Sorted(maps.Keys(p.Parameters)) {
		args = append(args, override(name, p.Parameters[name]))
	}
	args = append(args, tagArguments(p.stackTags())...)
	p.say("The SAM CLI uploads the build, and makes a change set.")
	var result bytes.Buffer
	if err := p.run(ctx, &result, args...); err != nil {
		return "", err
	}
	return p.readResult(result.String())
}

// readResult reads the SAM CLI's output about a change set: one JSON object in each line, and the result in the last line. It
// returns the change set's ARN, or "" when nothing changes.
func (p *program) readResult(lines string) (string, error) {
	lines = strings.TrimSpace(lines)
	var last struct {
		Type, Status, Message string
		ID                    string `json:"changeset_id"`
	}
	err := json.Unmarshal([]byte(lines[strings.LastIndex(lines, "\n")+1:]), &last)
	switch {
	case err == nil && last.Type == "result" && last.Status == "no_changes":
		p.say("%s", last.Message)
		return "", nil
	case err == nil && last.Type == "result" && last.Status == "changeset_created" && strings.HasPrefix(last.ID, "arn:"):
		p.say("Change set %s", last.ID)
		return last.ID, nil
	}
	return "", fmt.Errorf("the SAM CLI did not report its change set: %s", shortened(lines))
}

// decide shows a change set. It executes the change set if that is safe and confirmed. Otherwise it removes the change set, and
// returns the reason. A dry run only removes the change set.
func (p *program) decide(ctx context.Context, set string) error {
	changes, err := p.changes(set)
	if err == nil {
		p.show(changes)
		err = p.checkKept(changes)
	}
	if err == nil && p.Dry {
		return p.remove(set)
	}
	if err == nil {
		err = p.confirm("Deploy this change set?", "nothing was deployed: the change set was declined")
	}
	if err != nil {
		return join(err, p.remove(set))
	}
	return p.withoutPolicy(func() error { return p.execute(ctx, set) })
}

// remove removes a change set that was not executed. It also removes the stack, if no deployment has ever finished and no other
// change set exists.
func (p *program) remove(set string) error {
	err := p.aws.Call("cloudformation", "delete_change_set", cloud.Params{"ChangeSetName": set, "StackName": p.Stack}, nil)
	if now, errNow := p.describe(); errNow == nil && now != nil && now.StackStatus == cloud.InReview {
		if others, errOthers := p.aws.ChangeSets(p.Stack); errOthers == nil && len(others) == 0 {
			return join(err, p.aws.Call("cloudformation", "delete_stack", cloud.Params{"StackName": p.Stack}, nil))
		}
	}
	return err
}

// join returns both errors in one line.
func join(err, also error) error {
	if err == nil || also == nil {
		return errors.Join(err, also)
	}
	return fmt.Errorf("%w; and %w", err, also)
}

// change is the change of one resource in a change set, with CloudFormation's names.
type change struct {
	Action, LogicalResourceID, ResourceType string
	Replacement                             string // True, Conditional, False or ""
	Details                                 []detail
}

type detail struct {
	Target        struct{ Attribute, Name, Path, BeforeValue, AfterValue string }
	CausingEntity string // such as a parameter
}

// changes reads a change set.
func (p *program) changes(set string) ([]change, error) {
	var out struct {
		Changes []struct{ ResourceChange change }
	}
	in := cloud.Params{"ChangeSetName": set, "StackName": p.Stack, "IncludePropertyValues": true}
	if err := p.aws.Call("cloudformation", "describe_change_set", in, &out); err != nil {
		return nil, fmt.Errorf("the change set cannot be read: %w", err)
	}
	var all []change
	for _, c := range out.Changes {
		all = append(all, c.ResourceChange)
	}
	return all, nil
}

// checkKept returns an error when a protected resource would be replaced or removed, unless REPLACE names it.
func (p *program) checkKept(changes []change) error {
	var lost settings.Faults
	for _, c := range changes {
		if (c.Replacement == "True" && c.Action != "Add" || c.Action == "Remove") && slices.Contains(settings.Protected, c.LogicalResourceID) && !slices.Contains(p.Replace, c.LogicalResourceID) {
			how := "removed"
			if c.Action != "Remove" {
				how = "replaced by a new one"
			}
			lost.Note(fmt.Errorf("%s would be %s, and the stack would lose its content: if you want this, give REPLACE=%[1]s", c.LogicalResourceID, how))
		}
	}
	return lost.Err()
}

// stackEvent is an event of a stack, by CloudFormation's names.
type stackEvent struct {
	EventID, StackID, LogicalResourceID, PhysicalResourceID, ResourceType string
	ResourceStatus, ResourceStatusReason, ClientRequestToken              string
}

// ofStack reports whether the event is of the stack itself.
func (e stackEvent) ofStack() bool { return e.PhysicalResourceID == e.StackID }

// latestEvents covers a whole deployment: three events for each of 160 resources, and three more for each when CloudFormation
// rolls back.
const latestEvents = 1000

// events returns the latest events, newest first.
func (p *program) events() ([]stackEvent, error) {
	var out struct{ StackEvents []stackEvent }
	in := cloud.Params{"StackName": p.Stack, "PaginationConfig": cloud.Params{"MaxItems": latestEvents}}
	if err := p.aws.Call("cloudformation", "describe_stack_events", in, &out); err != nil {
		return nil, fmt.Errorf("the events of %s cannot be read: %w", p.Stack, err)
	}
	for i := range out.StackEvents {
		out.StackEvents[i].ResourceStatusReason = p.withoutSecrets(out.StackEvents[i].ResourceStatusReason)
	}
	return out.StackEvents, nil
}

// execute executes a change set, and prints the events of the stack until the deployment ends.
func (p *program) execute(ctx context.Context, set string) error {
	token := rand.Text() // CloudFormation puts it on each event of this execution
	in := cloud.Params{"ChangeSetName": set, "StackName": p.Stack, "ClientRequestToken": token}
	if err := p.aws.Call("cloudformation", "execute_change_set", in, nil); err != nil {
		return join(fmt.Errorf("the change set cannot be executed: %w", err), p.remove(set))
	}
	p.say("CloudFormation deploys, which takes some minutes the first time.")
	for f, pause := (follower{token: token, seen: map[string]bool{}}), min(betweenTries, p.pause); ; {
		var events []stackEvent
		err := p.until(ctx, p.firstAnswer, pause, func() (again bool, err error) {
			events, err = p.events()
			return true, err
		})
		for _, e := range slices.Backward(events) {
			if f.follow(e, p.say) {
				return p.outcome(e.ResourceStatus, f.failed)
			}
		}
		if err = cmp.Or(err, tools.Sleep(ctx, pause)); err != nil {
			return fmt.Errorf("%w. CloudFormation goes on without this command: aws cloudformation describe-stack-events --region %s --stack-name %s shows its progress. At its end run make deploy again, which protects and proves the stack",
				err, p.aws.Region, p.Stack)
		}
	}
}

// follower follows the events of a deployment.
type follower struct {
	token  string          // ClientRequestToken of the deployment
	seen   map[string]bool // ids of events
	failed *stackEvent     // the first failure of a resource
}

// follow prints an event that is new and final for its resource. It reports whether the event ends the deployment.
func (f *follower) follow(e stackEvent, say func(format string, a ...any)) (over bool) {
	if e.ClientRequestToken != f.token || f.seen[e.EventID] {
		return false
	}
	f.seen[e.EventID] = true
	failed := strings.HasSuffix(e.ResourceStatus, "_FAILED")
	if failed || strings.HasSuffix(e.ResourceStatus, "_COMPLETE") || strings.HasSuffix(e.ResourceStatus, "_SKIPPED") {
		say("  %s %s %s", e.ResourceStatus, e.LogicalResourceID, e.ResourceStatusReason)
	}
	if failed && f.failed == nil && !e.ofStack() {
		f.failed = &e
	}
	return e.ofStack() && !strings.HasSuffix(e.ResourceStatus, "_IN_PROGRESS")
}

// outcome returns an error unless the stack's last status is a success. first is the first failure of a resource, or nil.
func (p *program) outcome(status string, first *stackEvent) error {
	if status == "CREATE_COMPLETE" || status == "UPDATE_COMPLETE" {
		return nil
	}
	why := ""
	if first != nil {
		why = fmt.Sprintf(": %s (%s): %s", first.LogicalResourceID, first.ResourceType, first.ResourceStatusReason)
	}
	next := "the stack is as it was; correct the fault, and make deploy again"
	if refused := checkDeployable(p.Stack, status); refused != nil {
		next = refused.Error()
	}
	return fmt.Errorf("CloudFormation undid the deployment%s. Next: %s", why, next)
}
