package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/lab/translated"
)

// run deploys the stack and answers the questions. It stops at a failure without which the others mean nothing.
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
		return fmt.Errorf("the keys cannot be put into %s: %w", bucket, err)
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
		return fmt.Errorf("the stack %s: %w", t.stack, cmp.Or(err, errors.New("it is not there")))
	}
	api := all[0].Output("ApiUrl")
	if err := t.smoke(ctx, api); err != nil {
		return err
	}
	t.throttled(ctx, api)
	t.metrics(ctx)
	t.alarms()
	return ctx.Err()
}

// importDocument has API Gateway import the API's document alone, as the stack will, with warnings as failures.
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
	create := cloud.Params{"name": t.stack, "tags": cloud.Params{settings.TrialTag: t.stack}} // an import takes no tags
	if err := t.aws.Call("apigateway", "create_rest_api", create, &api); err != nil {
		return err
	}
	return t.aws.Call("apigateway", "put_rest_api", cloud.Params{"restApiId": api.ID, "mode": "overwrite", "failOnWarnings": true, "body": string(text)}, nil)
}

// samStack is the SAM CLI's own stack, which has its bucket.
const samStack = "aws-sam-cli-managed-default"

// bucket returns the SAM CLI's bucket. When there is none, the SAM CLI makes it, and the trial removes it.
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

// ownBucket returns the file that says that a trial has made the SAM CLI's bucket.
func (t *trial) ownBucket() string {
	return filepath.Join(t.dir, "made-bucket-"+t.account+"-"+t.aws.Region)
}

// deploy deploys by `make deploy`'s program, with a new address of the keys.
func (t *trial) deploy(ctx context.Context, bucket string) error {
	var address string
	t.signed = time.Now()
	err := t.aws.Call("s3", "generate_presigned_url", cloud.Params{
		"ClientMethod": "get_object", "Params": cloud.Params{"Bucket": bucket, "Key": t.stack + "/jwks.json"}, "ExpiresIn": int(signedFor.Seconds()),
	}, &address)
	if err != nil {
		return fmt.Errorf("the address of the keys cannot be signed: %w", err)
	}
	parameters := "JwksUrl=" + address + " AllowForSeconds=5"
	if t.roomy() {
		parameters += " ForwardAuth=true ForwardAuthConcurrency=5"
	}
	var said bytes.Buffer
	begun := time.Now()
	err = t.program(ctx, io.MultiWriter(t.out, &said), []string{
		"YES=1", "PROTECT=0", "ISSUER=" + issuer, "AUDIENCE=" + audience, "TAGS=" + settings.TrialTag + "=" + t.stack, "ARCH=" + os.Getenv("ARCH"),
		"PARAMETERS=" + strings.TrimSpace(parameters+" "+os.Getenv("PARAMETERS")),
	}, t.built("deploy"))
	t.answer(qIssuer, err, time.Since(begun))
	waits := strings.Count(said.String(), "may take five minutes")
	t.note(qTags, fmt.Sprintf("the rotation was refused %d times, with 15 seconds between", waits))
	return err
}

// roomy reports whether the account has concurrency that a function URL can reserve.
func (t *trial) roomy() bool {
	var out struct {
		AccountLimit struct{ UnreservedConcurrentExecutions int }
	}
	err := t.aws.Call("lambda", "get_account_settings", cloud.Params{}, &out)
	return err == nil && out.AccountLimit.UnreservedConcurrentExecutions >= 200
}

// built returns the path of one of our programs.
func (t *trial) built(name string) string { return filepath.Join(t.root, ".local", "bin", name) }

// program runs a program in the repository to its end. It ends with ctx, and holds t.running.
func (t *trial) program(ctx context.Context, out io.Writer, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = t.root, append(append([]string(nil), t.env...), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Minute
	return t.running.run(cmd)
}

// samBucket returns the name of the SAM CLI's bucket, or "" when there is none.
func (t *trial) samBucket() (string, error) {
	all, err := t.aws.Stacks(samStack)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].Output("SourceBucket"), nil
}

// smoke runs `make smoke` with the README's walk, and takes its rows from what it prints.
func (t *trial) smoke(ctx context.Context, api string) error {
	log, err := os.Create(filepath.Join(t.dir, t.stack+".smoke.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	var said bytes.Buffer
	err = t.program(ctx, io.MultiWriter(log, &said), []string{
		"SMOKE=1", "WALK=1", "BASE_URL=" + api, "TOKEN_CMD=" + t.built("trial") + " token",
	}, "go", "test", "-count=1", "-v", "-timeout", "50m", "-run", "^TestSmoke$", "./infra/e2e")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.smoked(said.String())
	if err != nil {
		t.say("The smoke test failed: %s", log.Name())
	}
	return nil
}

// throttled has a function that may not run answer a request.
func (t *trial) throttled(ctx context.Context, api string) {
	if t.local {
		t.note(qThrottled, "the gateway of this repository answers 503; only AWS shows what AWS answers")
		return
	}
	status, after, err := t.whileThrottled(ctx, api)
	if err != nil {
		t.answer(qThrottled, err, 0)
		return
	}
	t.note(qThrottled, fmt.Sprintf("%d, Retry-After %q (wanted: 503, and one)", status, after))
}

func (t *trial) whileThrottled(ctx context.Context, api string) (status int, after string, err error) {
	text, err := token(t.dir, "throttled@example.com", "Throttled", time.Now())
	if err != nil {
		return 0, "", err
	}
	var function struct {
		StackResourceDetail struct{ PhysicalResourceID string }
	}
	if err := t.aws.Call("cloudformation", "describe_stack_resource", cloud.Params{"StackName": t.stack, "LogicalResourceId": "OrgsFunction"}, &function); err != nil {
		return 0, "", err
	}
	named := cloud.Params{"FunctionName": function.StackResourceDetail.PhysicalResourceID}
	mend, err := t.aws.Later("lambda", "delete_function_concurrency", named)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, mend()) }()
	off := cloud.Params{"FunctionName": named["FunctionName"], "ReservedConcurrentExecutions": 0}
	if err := t.aws.Call("lambda", "put_function_concurrency", off, nil); err != nil {
		return 0, "", err
	}
	time.Sleep(5 * time.Second) // until the setting works everywhere
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/v1/orgs", nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+text)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	return res.StatusCode, res.Header.Get("Retry-After"), res.Body.Close()
}

// metrics waits until CloudWatch has a metric that a function has logged.
func (t *trial) metrics(ctx context.Context) {
	if t.local {
		t.note(qMetrics, "only AWS makes metrics of log lines")
		return
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Minute && ctx.Err() == nil; time.Sleep(20 * time.Second) {
		var out struct{ Datapoints []struct{ Sum float64 } }
		err := t.aws.Call("cloudwatch", "get_metric_statistics", cloud.Params{
			"Namespace": "Latchkey", "MetricName": "ColdStarts", "Dimensions": []cloud.Params{{"Name": "service", "Value": t.stack}},
			"StartTime": time.Now().Add(-2 * time.Hour).Format(time.RFC3339), "EndTime": time.Now().Add(time.Minute).Format(time.RFC3339),
			"Period": 7200, "Statistics": []string{"Sum"},
		}, &out)
		if err != nil {
			t.answer(qMetrics, err, 0)
			return
		}
		if len(out.Datapoints) > 0 {
			t.note(qMetrics, fmt.Sprintf("yes: %v cold starts, %s after the smoke test", out.Datapoints[0].Sum, time.Since(begun).Round(time.Second)))
			return
		}
	}
	t.note(qMetrics, "NO: not within ten minutes")
}

// alarms counts the stack's alarms by their state.
func (t *trial) alarms() {
	if t.local {
		t.note(qAlarms, "only AWS has alarms")
		return
	}
	var out struct{ MetricAlarms []struct{ StateValue string } }
	if err := t.aws.Call("cloudwatch", "describe_alarms", cloud.Params{"AlarmNamePrefix": t.stack}, &out); err != nil {
		t.answer(qAlarms, err, 0)
		return
	}
	states := map[string]int{}
	for _, a := range out.MetricAlarms {
		states[a.StateValue]++
	}
	if len(states) == 0 {
		t.note(qAlarms, "not asked: give PARAMETERS='AlarmTopicArn=…'")
		return
	}
	t.note(qAlarms, fmt.Sprintf("by state: %v. The topic should have sent an ALARM and an OK of OldestDue", states))
}

// lock is a lock on a file, which ends with the last process that has it open.
type lock struct{ file *os.File }

// lockFile takes a lock, or fails at once.
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

// lockAfterAll ends the programs that a killed trial has left, and takes the lock that they hold.
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
		text, _ := os.ReadFile(path) // an error: nothing is ended, and the time runs out
		if _, err := fmt.Sscan(string(text), &group); err == nil && group > 1 {
			_ = syscall.Kill(-group, syscall.SIGKILL) // the lock is held, so the group is still the trial's
		}
	}
}

// run runs a program in a process group of its own, which holds the lock and whose id is in its file.
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
