// Command trial is `make trial`. It deploys a stack with a new name to the present AWS account, without an identity provider. It runs
// `make smoke` and the README's walk on the stack, answers the questions that only AWS can settle, and removes everything again.
// All its resources have the tag latchkey-trial, and it removes no resource without this tag.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/tools"
)

// prefix begins the names of trials' stacks. make deploy refuses such a name without the trial's tag.
const prefix = settings.TrialTag + "-"

// signedFor is the lifetime of the signed address of the trial's keys. A trial that takes longer signs a new address.
const signedFor = time.Hour

func main() {
	tools.Main("latchkey: ", start)
}

func start(ctx context.Context) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	args := os.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "token":
		text, err := token(filepath.Join(root, ".local", "trial"), os.Getenv("EMAIL"), os.Getenv("NAME"), time.Now())
		fmt.Println(text)
		return err
	case len(args) == 1 && args[0] == onStandIn:
		return try(ctx, root, true)
	case len(args) != 0:
		return fmt.Errorf("unknown command %q", args)
	case os.Getenv("LOCAL") == "1":
		return rehearse(ctx)
	}
	return try(ctx, root, false)
}

// trial is one run of make trial.
type trial struct {
	root, dir string   // the folders of the repository and of the trial's files
	env       []string // the environment of the programs that it runs
	sam       string
	stack     string
	local     bool // AWS is a host (a stand-in with a local stack)
	out       io.Writer
	rows      map[question]row
	leftOut   map[question]string // the part of an answer that is left out, with the reason
	recorded  string              // facts in the form of infra/harness/lab/testdata/recorded.yaml
	signed    time.Time           // when the address of the keys was signed
	limit     int                 // the number of function calls that the account runs at once
	companion cloud.Stack         // the stack of companion.yaml; it has no outputs if it could not be made

	account string
	aws     *cloud.Client
	running *lock // the programs that it runs also hold this lock
}

// try runs the whole trial. It cleans up before and after.
func try(ctx context.Context, root string, local bool) (err error) {
	t := &trial{
		root: root, dir: filepath.Join(root, ".local", "trial"), local: local, out: os.Stdout, rows: map[question]row{}, leftOut: map[question]string{},
		stack: prefix + strings.ToLower(rand.Text()[:6]), env: without(os.Environ(), "STACK", "ISSUER", "AUDIENCE", "TAGS", "DRY", "REPLACE", "PROTECT", "YES", "PARAMETERS", "REGION"),
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	only, err := lockFile(filepath.Join(t.dir, "lock"))
	if err != nil {
		return errors.New("another trial is running in this folder")
	}
	defer only.release()
	if t.running, err = lockAfterAll(filepath.Join(t.dir, "programs")); err != nil {
		return err
	}
	defer t.running.release()
	if err := t.connect(ctx); err != nil {
		return err
	}
	if err := t.clean(ctx); err != nil {
		return fmt.Errorf("resources of an earlier trial cannot be removed: %w", err)
	}
	// The trial also cleans up after a Ctrl-C, which ends ctx.
	defer func() {
		after := context.WithoutCancel(ctx)
		begun := time.Now()
		errClean := t.clean(after)
		if err == nil {
			t.answer(qRemoved, errClean, time.Since(begun))
		}
		err = errors.Join(err, errClean, t.report())
	}()
	return t.run(ctx)
}

// connect finds the region and the account, and asks the person to confirm them.
func (t *trial) connect(ctx context.Context) (err error) {
	if t.sam, err = tools.SAM(ctx, func(line string) { t.say("%s", line) }); err != nil {
		return err
	}
	if t.aws, err = cloud.New(context.WithoutCancel(ctx), cloud.Python(t.sam), t.env, os.Getenv("REGION")); err != nil {
		return fmt.Errorf("no AWS credentials: %w", err)
	}
	if t.aws.Region == "" || !t.aws.HasCredentials {
		return errors.New("a region (REGION=us-east-1) and AWS credentials (AWS_PROFILE, or aws sso login) are needed")
	}
	if left := time.Until(t.aws.Expires); !t.aws.Expires.IsZero() && left < signedFor {
		return fmt.Errorf("the credentials end in %s, and a trial may take an hour: sign in again first", left.Round(time.Minute))
	}
	var who struct{ Account string }
	if err := t.aws.Call("sts", "get_caller_identity", cloud.Params{}, &who); err != nil {
		return fmt.Errorf("AWS does not answer: %w", err)
	}
	t.account = who.Account
	var lambda struct {
		AccountLimit struct{ UnreservedConcurrentExecutions int }
	}
	if err := t.aws.Call("lambda", "get_account_settings", cloud.Params{}, &lambda); err != nil {
		return fmt.Errorf("the account's Lambda concurrency cannot be read: %w", err)
	}
	t.limit = lambda.AccountLimit.UnreservedConcurrentExecutions
	t.env = append(t.env, "STACK="+t.stack, "REGION="+t.aws.Region, "AWS_REGION="+t.aws.Region)
	t.say("Trial %s in %s of account %s: about 15 minutes, under a dollar. It removes only what has the tag %s.", t.stack, t.aws.Region, t.account, settings.TrialTag)
	t.say("Lambda runs %d functions at once here. So the test of a revoked key sends %d requests at once.", t.limit, max(1, min(16, t.limit/3)))
	if t.limit < spareConcurrency {
		t.leftOut[qURL] = fmt.Sprintf("the function URL, because AWS lets no function reserve concurrency from a limit of %d", t.limit)
		t.say("Left out: %s.", t.leftOut[qURL])
	}
	if os.Getenv("YES") == "1" || t.local {
		return nil
	}
	fmt.Fprint(t.out, "Continue? [y/N] ")
	if !isConfirmed(ctx, os.Stdin) {
		return errors.New("nothing was done")
	}
	return nil
}

// isConfirmed reports whether the next line of in is y. A Ctrl-C, which ends ctx, is a no.
func isConfirmed(ctx context.Context, in io.Reader) bool {
	answer := make(chan string, 1)
	go func() { // a Ctrl-C does not end a read: this one ends with the program
		line, _ := bufio.NewReader(in).ReadString('\n') // after an error the line is not y
		answer <- line
	}()
	select {
	case <-ctx.Done():
		return false
	case line := <-answer:
		return strings.TrimSpace(line) == "y"
	}
}

func (t *trial) say(format string, a ...any) { fmt.Fprintf(t.out, format+"\n", a...) }

// without removes variables from an environment.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}
