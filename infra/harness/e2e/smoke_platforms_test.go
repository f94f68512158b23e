package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/tools"
)

// localPlatform is the stack of `make run` on a port.
type localPlatform struct{ port string }

// change runs `make stack DO=…`.
func (p localPlatform) change(t *testing.T, do string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-s", "stack", "PORT=" + p.port}, strings.Fields("DO="+do)...)...)
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make stack DO=%s: %v\n%s", do, err, out)
	}
}

// concurrency returns the value that make run was started with.
func (localPlatform) concurrency(t *testing.T) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("CONCURRENCY"), "1000"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (p localPlatform) callScheduled(t *testing.T, logical string) {
	if logical == "CheckConsumersFunction" {
		t.Skip("the local stack has no alarms, and so no such function")
	}
	p.change(t, "schedule FUNCTION="+logical)
}

// breakAuthorizer stops the database, so the authorizer fails.
func (p localPlatform) breakAuthorizer(t *testing.T) func() {
	p.change(t, "stop-db")
	return func() { p.change(t, "start-db") }
}

func (p localPlatform) sign(t *testing.T, digest []byte) (der, public []byte) {
	t.Helper()
	port, err := strconv.Atoi(p.port)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/endpoints", lab.PortsFrom(port).Control))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var endpoints lab.Endpoints
	if err := json.NewDecoder(res.Body).Decode(&endpoints); err != nil {
		t.Fatal(err)
	}
	client := backing.NewKMSClient(endpoints.KMS)
	keys, err := client.ListKeys(t.Context(), &kms.ListKeysInput{})
	if err != nil || len(keys.Keys) == 0 {
		t.Fatalf("keys: %v", err)
	}
	return signBy(t, client, *keys.Keys[0].KeyArn)(digest)
}

func (localPlatform) refusals(t *testing.T) {
	t.Log("the local stack refuses what a role does not allow (infra/template/iam); only AWS shows what AWS refuses")
}

// awsPlatform is a deployed stack.
type awsPlatform struct {
	stack, region string
	aws           interface { // *cloud.Client
		Call(service, operation string, in cloud.Params, out any) error
		Later(service, operation string, in cloud.Params) (now func() error, err error)
	}
}

func newAWSPlatform(t *testing.T) awsPlatform {
	t.Helper()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := awsPlatform{stack: os.Getenv("STACK"), region: os.Getenv("AWS_REGION")}
	// Not t.Context, which ends before the functions of t.Cleanup call AWS.
	if p.aws, err = cloud.New(context.WithoutCancel(t.Context()), cloud.Python(sam), os.Environ(), p.region); err != nil {
		t.Fatal(err)
	}
	return p
}

// call calls AWS, and decodes the result into out, unless that is nil.
func (p awsPlatform) call(t *testing.T, service, operation string, in cloud.Params, out any) {
	t.Helper()
	if err := p.aws.Call(service, operation, in, out); err != nil {
		t.Fatalf("%s %s: %v", service, operation, err)
	}
}

// physical returns the physical id of a resource of the stack.
func (p awsPlatform) physical(t *testing.T, logical string) string {
	t.Helper()
	var out struct {
		StackResourceDetail struct{ PhysicalResourceID string }
	}
	p.call(t, "cloudformation", "describe_stack_resource", cloud.Params{"StackName": p.stack, "LogicalResourceId": logical}, &out)
	if out.StackResourceDetail.PhysicalResourceID == "" {
		t.Fatalf("%s has no id", logical)
	}
	return out.StackResourceDetail.PhysicalResourceID
}

// output returns a value of the stack's outputs.
func (p awsPlatform) output(t *testing.T, name string) string {
	t.Helper()
	value := p.find(t, name)
	if value == "" {
		t.Fatalf("the stack has no output %s", name)
	}
	return value
}

// described is the stack as CloudFormation describes it.
type described struct {
	Outputs    []struct{ OutputKey, OutputValue string }
	Parameters []struct{ ParameterKey, ParameterValue string }
	Tags       []struct{ Key, Value string }
}

func (p awsPlatform) describe(t *testing.T) described {
	t.Helper()
	var out struct{ Stacks []described }
	p.call(t, "cloudformation", "describe_stacks", cloud.Params{"StackName": p.stack}, &out)
	if len(out.Stacks) != 1 {
		t.Fatalf("%d stacks are named %s", len(out.Stacks), p.stack)
	}
	return out.Stacks[0]
}

// find returns an output of the stack, or "" if the stack has no output of this name.
func (p awsPlatform) find(t *testing.T, name string) string {
	t.Helper()
	for _, o := range p.describe(t).Outputs {
		if o.OutputKey == name {
			return o.OutputValue
		}
	}
	return ""
}

// parameter returns the value of a parameter of the stack, or "" if the stack has no parameter of this name.
func (p awsPlatform) parameter(t *testing.T, name string) string {
	t.Helper()
	for _, o := range p.describe(t).Parameters {
		if o.ParameterKey == name {
			return o.ParameterValue
		}
	}
	return ""
}

func (p awsPlatform) concurrency(t *testing.T) int {
	t.Helper()
	var out struct {
		AccountLimit struct{ UnreservedConcurrentExecutions int }
	}
	p.call(t, "lambda", "get_account_settings", cloud.Params{}, &out)
	return out.AccountLimit.UnreservedConcurrentExecutions
}

func (p awsPlatform) callScheduled(t *testing.T, logical string) {
	if logical == "CheckConsumersFunction" && p.parameter(t, "AlarmTopicArn") == "" {
		t.Skip("the stack has no AlarmTopicArn, and so no such function")
	}
	var out struct{ FunctionError, Payload string }
	p.call(t, "lambda", "invoke", cloud.Params{"FunctionName": p.physical(t, logical), "Payload": "{}"}, &out)
	if out.FunctionError != "" {
		t.Errorf("%s: %s %s", logical, out.FunctionError, out.Payload)
	}
}

// breakAuthorizer makes API Gateway's calls of the authorizer fail.
func (p awsPlatform) breakAuthorizer(t *testing.T) func() { return p.stop(t, "AuthorizerFunction") }

// stop sets a function's reserved concurrency to 0. The returned function restores the earlier value. If the test is killed, a program
// that continues to run restores it.
func (p awsPlatform) stop(t *testing.T, logical string) func() {
	t.Helper()
	named := cloud.Params{"FunctionName": p.physical(t, logical)}
	var was struct{ ReservedConcurrentExecutions *int }
	p.call(t, "lambda", "get_function_concurrency", named, &was)
	operation, in := "delete_function_concurrency", named
	if was.ReservedConcurrentExecutions != nil {
		operation, in = "put_function_concurrency", cloud.Params{"ReservedConcurrentExecutions": *was.ReservedConcurrentExecutions}
		maps.Copy(in, named)
	}
	restoreNow, err := p.aws.Later("lambda", operation, in)
	if err != nil {
		t.Fatal(err)
	}
	restore := sync.OnceFunc(func() {
		if err := restoreNow(); err != nil {
			t.Errorf("the concurrency of %s was not restored: %v", logical, err)
		}
	})
	t.Cleanup(restore)
	off := cloud.Params{"ReservedConcurrentExecutions": 0}
	maps.Copy(off, named)
	p.call(t, "lambda", "put_function_concurrency", off, nil)
	time.Sleep(5 * time.Second) // until the setting works everywhere
	return restore
}

func (p awsPlatform) metrics(t *testing.T) {
	for begun := time.Now(); time.Since(begun) < 10*time.Minute; time.Sleep(20 * time.Second) {
		var out struct{ Datapoints []struct{ Sum float64 } }
		p.call(t, "cloudwatch", "get_metric_statistics", cloud.Params{
			"Namespace": "Latchkey", "MetricName": "ColdStarts", "Dimensions": []cloud.Params{{"Name": "service", "Value": p.stack}},
			"StartTime": time.Now().Add(-2 * time.Hour).Format(time.RFC3339), "EndTime": time.Now().Add(time.Minute).Format(time.RFC3339),
			"Period": 7200, "Statistics": []string{"Sum"},
		}, &out)
		if len(out.Datapoints) > 0 {
			return
		}
	}
	t.Error("no metric within ten minutes")
}

func (localPlatform) metrics(t *testing.T) { t.Skip("only AWS makes metrics of log lines") }

func (p awsPlatform) alarms(t *testing.T) {
	var out struct{ MetricAlarms []struct{ StateValue string } }
	p.call(t, "cloudwatch", "describe_alarms", cloud.Params{"AlarmNamePrefix": p.stack}, &out)
	states := map[string]int{}
	for _, a := range out.MetricAlarms {
		states[a.StateValue]++
	}
	note(t, "Alarms", "by state: %v (none without AlarmTopicArn). The topic should have sent an ALARM and an OK of OldestDue", states)
}

func (localPlatform) alarms(t *testing.T) { note(t, "Alarms", "only AWS has alarms") }

func (p awsPlatform) throttled(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	restore := p.stop(t, "OrgsFunction")
	r, err := tg.try(t.Context(), call{method: "GET", path: "/v1/orgs", bearer: ada.token})
	restore()
	note(t, "Throttled", "%s, Retry-After %q (expected: 503 with Retry-After)", shortly(r, err), r.header.Get("Retry-After"))
}

func (localPlatform) throttled(t *testing.T, _ *target) {
	note(t, "Throttled", "the gateway of this repository answers 503; only AWS shows what AWS answers")
}

func (p awsPlatform) sign(t *testing.T, digest []byte) (der, public []byte) {
	t.Helper()
	var found struct {
		URL string
		aws.Credentials
	}
	p.call(t, "kms", "", nil, &found) // a call without an operation returns the URL and the credentials
	client := kms.New(kms.Options{
		Region: p.region, BaseEndpoint: &found.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return found.Credentials, nil }),
	})
	return signBy(t, client, p.physical(t, "SigningKey"))(digest)
}

// signBy returns a function that signs a digest with a key. It returns the signature and the key's SubjectPublicKeyInfo.
func signBy(t *testing.T, client *kms.Client, key string) func(digest []byte) (der, public []byte) {
	return func(digest []byte) (der, public []byte) {
		t.Helper()
		signed, err := client.Sign(t.Context(), &kms.SignInput{
			KeyId: &key, Message: digest, MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
		})
		if err != nil {
			t.Fatal(err)
		}
		publicKey, err := client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: &key})
		if err != nil {
			t.Fatal(err)
		}
		return signed.Signature, publicKey.PublicKey
	}
}
