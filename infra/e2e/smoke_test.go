package e2e_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
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
	"latchkey/infra/lab"
	"latchkey/infra/lab/backing"
	"latchkey/infra/tools"
)

// platform is what the smoke test runs on. It does what differs between AWS and the local stack.
type platform interface {
	// breakAuthorizer makes the authorizer fail until mend is called.
	breakAuthorizer(t *testing.T) (mend func())
	// sign signs a digest, and returns the signature and the key's SubjectPublicKeyInfo.
	sign(t *testing.T, digest []byte) (der, public []byte)
	// refusals checks that the roles refuse what the template does not allow, or logs that it cannot.
	refusals(t *testing.T)
	// doors returns by name the doors at which an owner's own API has an API key checked: each function checks a key.
	doors(t *testing.T) map[string]func(t *testing.T, key string)
	// credentialLimit returns the limit of the stack's own firewall for one credential, 0 without a firewall.
	credentialLimit(t *testing.T) int
	// throttled notes what the API answers when a function may not run.
	throttled(t *testing.T, tg *target)
	// metrics waits until CloudWatch has a metric that a function has logged.
	metrics(t *testing.T)
	// alarms notes the states of the stack's alarms.
	alarms(t *testing.T)
	// concurrency returns how many functions the account runs at once beside those with a reservation.
	concurrency(t *testing.T) int
	// callScheduled calls a function that a schedule calls, once, and wants no failure of it.
	callScheduled(t *testing.T, logical string)
	// keptAllows notes whether a kept Allow ends, where the stack has AllowForSeconds.
	keptAllows(t *testing.T, tg *target)
}

// TestSmoke checks, after a first deployment, what only AWS can prove. Run it by `make smoke
// BASE_URL=… TOKEN_CMD=… STACK=…`. With a BASE_URL on loopback it runs on the local stack.
func TestSmoke(t *testing.T) {
	if os.Getenv("SMOKE") == "" {
		t.Skip("it runs by `make smoke BASE_URL=… TOKEN_CMD=… STACK=…`, and TestLocal runs it here")
	}
	base, err := url.Parse(os.Getenv("BASE_URL"))
	if err != nil || base.Host == "" {
		t.Fatalf("BASE_URL %q: %v", os.Getenv("BASE_URL"), err)
	}
	tg := newTarget("deployed", base.String(), commandTokens(os.Getenv("TOKEN_CMD")))
	if os.Getenv("WALK") == "1" { // for an issuer that gives a token for any email
		t.Run("TheWalkOfTheREADME", func(t *testing.T) { readme(t, tg, "") })
	}
	if base.Hostname() == "127.0.0.1" {
		smoke(t, tg, localPlatform{port: cmp.Or(os.Getenv("LAB_PORT"), base.Port())}) // LAB_PORT: of a stack behind another server
		return
	}
	if os.Getenv("STACK") == "" || os.Getenv("AWS_REGION") == "" {
		t.Fatal("STACK, the name of the CloudFormation stack, or AWS_REGION is not set")
	}
	smoke(t, tg, newAWSPlatform(t))
	t.Run("OldTLSIsRefused", func(t *testing.T) {
		port := base.Port()
		if port == "" {
			port = "443"
		}
		if err := refusesOldTLS(t.Context(), net.JoinHostPort(base.Hostname(), port), nil); err != nil {
			t.Error(err)
		}
	})
}

// smoke runs a part of the suite, enough for one transaction through every function, and then
// besideTheSuite.
func smoke(t *testing.T, tg *target, p platform) {
	tg.clients = clientsFor(p.concurrency(t))
	t.Run("OneTransactionThroughEveryFunction", func(t *testing.T) {
		for _, c := range []func(t *testing.T, tg *target){
			wrongCredentials, unknownRoutes, anOrg, anInvite, roles, retries, expiryAndRotation, apps, verificationKey, linkClaim, aKey,
			unknownNames, plainText, challenges, publicReads, aDeletedOrg,
		} {
			c(t, tg)
		}
	})
	t.Run("ARevokedKeyIsRefusedAtOnce", func(t *testing.T) { revokedAtOnce(t, tg) })
	besideTheSuite(t, tg, p)
}

// clientsFor returns how many clients an account of so many functions serves at once: a request needs an authorizer and a function,
// and others run beside them.
func clientsFor(concurrency int) int { return max(1, min(16, concurrency/3)) }

// TestSmokeAsksNoMoreOfAnAccountThanItRuns has the limits of new and of older accounts.
func TestSmokeAsksNoMoreOfAnAccountThanItRuns(t *testing.T) {
	t.Parallel()
	for concurrency, want := range map[int]int{0: 1, 2: 1, 10: 3, 47: 15, 48: 16, 1000: 16} {
		if got := clientsFor(concurrency); got != want {
			t.Errorf("%d: %d clients, want %d", concurrency, got, want)
		}
	}
}

// besideTheSuite runs the checks of the smoke test that the suite does not have.
func besideTheSuite(t *testing.T, tg *target, p platform) {
	t.Run("AnAuthorizerThatThrowsIsA503", func(t *testing.T) { authorizerThrows(t, tg, p) })
	t.Run("BytesThatAreNotTextAreRefused", func(t *testing.T) { spoiledBytes(t, tg) })
	t.Run("AThrottledFunction", func(t *testing.T) { p.throttled(t, tg) })
	t.Run("HeaderLinesOverTheLimitAreRefused", func(t *testing.T) { headerLimit(t, tg) })
	t.Run("ASignatureOfKMSVerifiesWithTheLookup", func(t *testing.T) { signatureVerifies(t, tg, p) })
	t.Run("AnEventGoesAllTheWayToAnAttempt", func(t *testing.T) { webhookAttempt(t, tg) })
	t.Run("TheRolesRefuseTheRest", p.refusals)
	t.Run("TheSweepRuns", func(t *testing.T) { p.callScheduled(t, "SweepFunction") })
	t.Run("TheSearchForConsumersRuns", func(t *testing.T) { p.callScheduled(t, "CheckConsumersFunction") })
	t.Run("TheEventBusHasEvents", func(t *testing.T) { busHasEvents(t, os.Getenv("BUS_QUEUE")) })
	t.Run("TheConsoleHasItsFiles", func(t *testing.T) { consoleServes(t, tg) })
	t.Run("AUseIsNotedAtEachDoor", func(t *testing.T) { lastUsesAreNoted(t, tg, p) })
	t.Run("LogLinesBecomeMetrics", p.metrics)
	t.Run("TheAlarms", p.alarms)
	t.Run("TheGatewayIsRecorded", func(t *testing.T) { record(t, os.Getenv("ECHO_URL")) })
	t.Run("AKeptAllowEnds", func(t *testing.T) { p.keptAllows(t, tg) })
	t.Run("TheFirewallCountsByCredential", func(t *testing.T) { firewall(t, tg, p) })
}

func authorizerThrows(t *testing.T, tg *target, p platform) {
	ada := tg.person(t, "ada")
	ada.want(t, "GET", "/v1/orgs", "", 200, "")
	mend := p.breakAuthorizer(t)
	ada.want(t, "GET", "/v1/orgs", "", 503, "unavailable")
	mend()
	for begun := time.Now(); ada.do(t, "GET", "/v1/orgs", "").status != 200; time.Sleep(time.Second) {
		if time.Since(begun) > time.Minute {
			t.Fatal("no 200 within a minute of the mending")
		}
	}
}

func signatureVerifies(t *testing.T, tg *target, p platform) {
	digest := sha256.Sum256([]byte("smoke " + tg.run))
	der, public := p.sign(t, digest[:])
	parsed, err := x509.ParsePKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		t.Fatalf("the key is a %T", parsed)
	}
	point, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding
	// The kid is the key's thumbprint (RFC 7638). point is the byte 4, then x and y of 32 bytes each.
	kid := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + b64.EncodeToString(point[1:33]) + `","y":"` + b64.EncodeToString(point[33:]) + `"}`))
	found := tg.want(t, call{
		method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"` + b64.EncodeToString(kid[:]) + `"}`,
	}, 200, "")
	x, errX := b64.DecodeString(found.str("x"))
	y, errY := b64.DecodeString(found.str("y"))
	if errX != nil || errY != nil {
		t.Fatalf("the lookup's key: %s", found.text)
	}
	verify, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	if err != nil {
		t.Fatal(err)
	}
	var n struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &n); err != nil {
		t.Fatal(err)
	}
	if !ecdsa.Verify(verify, digest[:], n.R, n.S) {
		t.Error("the signature does not verify with the key of the lookup")
	}
}

// webhookAttempt has a webhook sent to the API's own public key lookup, which answers 415 to a token. The 415 shows that
// stream, fan-out, queue, signature and sending work together, and the webhook goes to no one else.
func webhookAttempt(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	_, key := ada.key(t, ada.org(t), `{}`)
	ask := func(path, body string, status int) reply {
		return tg.want(t, call{method: "POST", path: path, body: body, bearer: key}, status, "")
	}
	endpoint := ask("/webhook_endpoint/create", `{"url":"`+tg.url+`/webhook_verification_key/get"}`, 201).str("id")
	event := ask("/webhook_endpoint/test", `{"endpointId":"`+endpoint+`"}`, 200).str("eventId")
	defer ask("/webhook_endpoint/delete", `{"endpointId":"`+endpoint+`"}`, 200)
	for begun := time.Now(); ; time.Sleep(time.Second) {
		for _, d := range ask("/webhook_delivery/list", `{"eventId":"`+event+`"}`, 200).list("deliveries") {
			last, tried := d["lastAttempt"].(map[string]any)
			if tried && fmt.Sprint(last["status"]) != "415" {
				t.Fatalf("the attempt: %v", last)
			}
			if tried {
				return
			}
		}
		if time.Since(begun) > 3*time.Minute {
			t.Fatal("no attempt within three minutes")
		}
	}
}

// localPlatform is the stack of `make run` on a port.
type localPlatform struct{ port string }

// change does what `make stack DO=…` does.
func (p localPlatform) change(t *testing.T, do string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-s", "stack", "PORT=" + p.port}, strings.Fields("DO="+do)...)...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make stack DO=%s: %v\n%s", do, err, out)
	}
}

// concurrency is that of make run.
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

// breakAuthorizer stops the database, without which the authorizer fails.
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
	res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/info", lab.PortsFrom(port).Control))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var info lab.Info
	if err := json.NewDecoder(res.Body).Decode(&info); err != nil {
		t.Fatal(err)
	}
	client := backing.NewKMSClient(info.Endpoints.KMS)
	keys, err := client.ListKeys(t.Context(), &kms.ListKeysInput{})
	if err != nil || len(keys.Keys) == 0 {
		t.Fatalf("keys: %v", err)
	}
	return signBy(t, client, *keys.Keys[0].KeyArn)(digest)
}

func (localPlatform) refusals(t *testing.T) {
	t.Log("the local stack refuses what a role does not allow (infra/lab/iam); only AWS shows what AWS refuses")
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
	// A t.Cleanup also calls AWS, when t.Context has ended.
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

// find returns an output of the stack, or "" when the stack has none of this name.
func (p awsPlatform) find(t *testing.T, name string) string {
	t.Helper()
	for _, o := range p.describe(t).Outputs {
		if o.OutputKey == name {
			return o.OutputValue
		}
	}
	return ""
}

// parameter returns the value of a parameter of the stack, "" when the stack has none of this name.
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

// breakAuthorizer has API Gateway's calls of the authorizer fail.
func (p awsPlatform) breakAuthorizer(t *testing.T) func() { return p.stop(t, "AuthorizerFunction") }

// stop sets a function's reserved concurrency to 0. A program that outlives this one puts back what was, also when the test is killed.
func (p awsPlatform) stop(t *testing.T, logical string) func() {
	t.Helper()
	named := cloud.Params{"FunctionName": p.physical(t, logical)}
	var was struct{ ReservedConcurrentExecutions *int }
	p.call(t, "lambda", "get_function_concurrency", named, &was)
	restore, in := "delete_function_concurrency", named
	if was.ReservedConcurrentExecutions != nil {
		restore, in = "put_function_concurrency", cloud.Params{"ReservedConcurrentExecutions": *was.ReservedConcurrentExecutions}
		maps.Copy(in, named)
	}
	now, err := p.aws.Later("lambda", restore, in)
	if err != nil {
		t.Fatal(err)
	}
	mend := sync.OnceFunc(func() {
		if err := now(); err != nil {
			t.Errorf("the concurrency of %s was not put back: %v", logical, err)
		}
	})
	t.Cleanup(mend)
	off := cloud.Params{"ReservedConcurrentExecutions": 0}
	maps.Copy(off, named)
	p.call(t, "lambda", "put_function_concurrency", off, nil)
	time.Sleep(5 * time.Second) // until the setting works everywhere
	return mend
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
	mend := p.stop(t, "OrgsFunction")
	r, err := tg.try(t.Context(), call{method: "GET", path: "/v1/orgs", bearer: ada.token})
	mend()
	note(t, "Throttled", "%s, Retry-After %q (wanted: 503, and one)", shortly(r, err), r.header.Get("Retry-After"))
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
	p.call(t, "kms", "", nil, &found) // without an operation: the credentials
	client := kms.New(kms.Options{
		Region: p.region, BaseEndpoint: &found.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return found.Credentials, nil }),
	})
	return signBy(t, client, p.physical(t, "SigningKey"))(digest)
}

// signBy returns a function that signs a digest with a key, and returns the signature and the key's SubjectPublicKeyInfo.
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
