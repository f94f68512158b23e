package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/template/translated"
)

// run deploys the stack and answers the questions. It stops at a failure that makes the remaining answers meaningless.
func (t *trial) run(ctx context.Context) error {
	begun := time.Now()
	t.answer(qImport, t.importDocument(ctx), time.Since(begun))
	jwks, err := makeKey(t.dir)
	if err != nil {
		return err
	}
	bucket, err := t.bucket(ctx)
	if err != nil {
		return err
	}
	if err := t.aws.Call("s3", "put_object", cloud.Params{"Bucket": bucket, "Key": t.stack + "/jwks.json", "Body": jwks}, nil); err != nil {
		return fmt.Errorf("the keys cannot be written to the bucket %s: %w", bucket, err)
	}
	if err := t.makeCompanion(ctx); err != nil {
		return err
	}
	if err := t.deploy(ctx, bucket); err != nil {
		return err
	}
	if time.Since(t.signed) > signedFor/2 { // the functions must read the keys until the end
		if err := t.deploy(ctx, bucket); err != nil {
			return err
		}
	}
	all, err := t.aws.Stacks(t.stack)
	if err != nil || len(all) != 1 {
		return fmt.Errorf("the stack %s: %w", t.stack, cmp.Or(err, errors.New("it does not exist")))
	}
	return t.smoke(ctx, all[0].Output("ApiUrl"))
}

// importDocument imports only the API's document into API Gateway, like the stack, and makes warnings errors.
func (t *trial) importDocument(ctx context.Context) error {
	tpl, err := translated.Translate(ctx, filepath.Join(t.root, "template.yaml"), translated.Options{Parameters: map[string]string{"Issuer": issuer}})
	if err != nil {
		return err
	}
	body, _ := tpl.Resources["Api"].Properties["Body"].(map[string]any)
	if body == nil {
		return errors.New("the template's API has no document")
	}
	info, _ := body["info"].(map[string]any)
	if info == nil {
		return errors.New("the API's document has no info")
	}
	info["title"] = t.stack // the API's name
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var api struct{ ID string }
	create := cloud.Params{"name": t.stack, "tags": cloud.Params{settings.TrialTag: t.stack}} // an import accepts no tags
	if err := t.aws.Call("apigateway", "create_rest_api", create, &api); err != nil {
		return err
	}
	return t.aws.Call("apigateway", "put_rest_api", cloud.Params{"restApiId": api.ID, "mode": "overwrite", "failOnWarnings": true, "body": string(text)}, nil)
}

// samStack is the stack of the SAM CLI; it has the SAM CLI's bucket.
const samStack = "aws-sam-cli-managed-default"

// bucket returns the SAM CLI's bucket. If it does not exist, the SAM CLI makes it now, and the trial removes it at the end.
func (t *trial) bucket(ctx context.Context) (string, error) {
	name, err := t.samBucket()
	if err != nil || name != "" {
		return name, err
	}
	if err := os.WriteFile(t.ownBucket(), nil, 0o600); err != nil {
		return "", err
	}
	empty := filepath.Join(t.dir, "empty.yaml")
	if err := os.WriteFile(empty, []byte("Resources: { Nothing: { Type: AWS::CloudFormation::WaitConditionHandle } }\n"), 0o600); err != nil {
		return "", err
	}
	if err := t.program(ctx, t.out, nil, t.sam, "package", "--resolve-s3", "--region", t.aws.Region, "--template-file", empty, "--output-template-file", empty+".packaged"); err != nil {
		return "", err
	}
	return t.samBucket()
}

// ownBucket returns the path of a file which shows that a trial made the SAM CLI's bucket.
func (t *trial) ownBucket() string {
	return filepath.Join(t.dir, "made-bucket-"+t.account+"-"+t.aws.Region)
}

// deploy runs the program of `make deploy`, with a newly signed address of the keys.
func (t *trial) deploy(ctx context.Context, bucket string) error {
	var address string
	t.signed = time.Now()
	err := t.aws.Call("s3", "generate_presigned_url", cloud.Params{
		"ClientMethod": "get_object", "Params": cloud.Params{"Bucket": bucket, "Key": t.stack + "/jwks.json"}, "ExpiresIn": int(signedFor.Seconds()),
	}, &address)
	if err != nil {
		return fmt.Errorf("the address of the keys cannot be signed: %w", err)
	}
	parameters := "JwksUrl=" + address + " AllowForSeconds=5 ConsoleClientId=trial"
	if t.limit >= spareConcurrency {
		parameters += " ForwardAuth=true ForwardAuthConcurrency=5"
	}
	for parameter, output := range map[string]string{"EventBusName": "Bus", "AlarmTopicArn": "Topic"} {
		if value := t.companion.Output(output); value != "" && !strings.Contains(os.Getenv("PARAMETERS"), parameter+"=") {
			parameters += " " + parameter + "=" + value
		}
	}
	var output bytes.Buffer
	begun := time.Now()
	err = t.program(ctx, io.MultiWriter(t.out, &output), []string{
		"YES=1", "PROTECT=0", "ISSUER=" + issuer, "AUDIENCE=" + audience, "TAGS=" + settings.TrialTag + "=" + t.stack, "ARCH=" + os.Getenv("ARCH"),
		"PARAMETERS=" + strings.TrimSpace(parameters+" "+os.Getenv("PARAMETERS")),
	}, t.built("deploy"))
	if err != nil && !strings.Contains(output.String(), "the deployed API is wrong") {
		t.note(qIssuer, "not tried: the deployment failed")
	} else {
		t.answer(qIssuer, err, time.Since(begun))
	}
	waits := strings.Count(output.String(), "may take five minutes")
	t.note(qTags, "the rotation was refused %d times, with 15 seconds between", waits)
	return err
}

// spareConcurrency is the account's concurrency from which the trial reserves some for the function URL.
const spareConcurrency = 200

//go:embed companion.yaml
var companion string

// makeCompanion makes the stack of companion.yaml. If that fails, the trial leaves out the questions that need this stack.
func (t *trial) makeCompanion(ctx context.Context) error {
	name := prefix + strings.ToLower(rand.Text()[:6])
	in := cloud.Params{"StackName": name, "TemplateBody": companion, "Capabilities": []string{"CAPABILITY_IAM"}, "Tags": []cloud.Params{{"Key": settings.TrialTag, "Value": name}}}
	err := t.aws.Call("cloudformation", "create_stack", in, nil)
	for err == nil && ctx.Err() == nil {
		var all []cloud.Stack
		if all, err = t.aws.Stacks(name); err == nil && len(all) == 1 && !strings.HasSuffix(all[0].StackStatus, "_IN_PROGRESS") {
			if t.companion = all[0]; all[0].StackStatus != "CREATE_COMPLETE" {
				t.companion, err = cloud.Stack{}, errors.New(all[0].StackStatus)
			}
			break
		}
		time.Sleep(t.pause())
	}
	if err != nil {
		t.say("Left out: the event bus, the alarms and the recordings, because their stack cannot be made: %v", err)
		for _, q := range []question{qBus, qSweep} {
			t.leftOut[q] = "the part that needs the companion stack, which could not be made"
		}
	}
	return ctx.Err()
}

// built returns the path of a program of this repository.
func (t *trial) built(name string) string { return filepath.Join(t.root, ".local", "bin", name) }

// program runs a program in the repository's folder to its end. The program ends with ctx, and holds the lock t.running.
func (t *trial) program(ctx context.Context, out io.Writer, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = t.root, append(append([]string(nil), t.env...), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Minute
	return t.running.run(cmd)
}

// samBucket returns the name of the SAM CLI's bucket, or "" if it does not exist.
func (t *trial) samBucket() (string, error) {
	all, err := t.aws.Stacks(samStack)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].Output("SourceBucket"), nil
}

// smoke runs `make smoke` with the README's walk, and reads answers from its output.
func (t *trial) smoke(ctx context.Context, api string) error {
	log, err := os.Create(filepath.Join(t.dir, t.stack+".smoke.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	var output bytes.Buffer
	err = t.program(ctx, io.MultiWriter(log, &output), []string{
		"SMOKE=1", "WALK=1", "BASE_URL=" + api, "TOKEN_CMD=" + t.built("trial") + " token", fmt.Sprint("CONCURRENCY=", t.limit),
		"BUS_QUEUE=" + t.companion.Output("Queue"), "ECHO_URL=" + t.companion.Output("Echo"),
	}, "go", "-C", "infra/harness", "test", "-count=1", "-v", "-timeout", "50m", "-run", "^TestSmoke$", "./e2e")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.readSmoke(output.String())
	if err != nil {
		return fmt.Errorf("the smoke test failed: %s", log.Name())
	}
	return nil
}

// lock is a lock on a file. It ends when the last process that has the file open ends.
type lock struct{ file *os.File }

// lockFile locks a file, or fails at once.
func lockFile(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lock{f}, nil
}

// lockAfterAll ends programs that a killed trial has left running, and then gets the lock that they held.
func lockAfterAll(path string) (*lock, error) {
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		l, err := lockFile(path)
		if err == nil {
			return l, nil
		}
		if time.Since(begun) > time.Minute {
			return nil, fmt.Errorf("programs of an earlier trial do not end: %w", err)
		}
		var group int
		text, _ := os.ReadFile(path) // after an error no program is ended, and the loop ends by its time limit
		if _, err := fmt.Sscan(string(text), &group); err == nil && group > 1 {
			_ = syscall.Kill(-group, syscall.SIGKILL) // a process holds the lock, so the group still belongs to the trial
		}
	}
}

// run runs a program in a separate process group, which holds the lock. It writes the group's id into the lock's file.
func (l *lock) run(cmd *exec.Cmd) error {
	cmd.ExtraFiles = []*os.File{l.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err := l.file.WriteAt(fmt.Appendf(nil, "%-12d\n", cmd.Process.Pid), 0)
	return errors.Join(err, cmd.Wait())
}

func (l *lock) release() { _ = l.file.Close() }
