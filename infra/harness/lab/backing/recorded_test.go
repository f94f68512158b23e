package backing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/harness/lab/backing"
)

// recorded is a fact of testdata/recorded.yaml about a service.
type recorded struct {
	Of      string         `yaml:"of"`
	Call    string         `yaml:"call"`
	In      map[string]any `yaml:"in"`
	Out     map[string]any `yaml:"out"`
	Error   string         `yaml:"error"`
	Message *string        `yaml:"message"`
}

// service is a service of AWS: the name that signatures have, and the endpoint.
type service struct{ name, endpoint string }

// TestTheServicesAnswerAsAWSDid sends each recorded request to the database, the KMS, the queues and the event buses.
func TestTheServicesAnswerAsAWSDid(t *testing.T) {
	ctx := t.Context()
	db, errDB := backing.StartDynamoDB(ctx, backing.Options{})
	keys, errKMS := backing.StartKMS(ctx, backing.Options{})
	queues, errQueues := backing.StartQueue(ctx, backing.Options{})
	for _, err := range []error{errDB, errKMS, errQueues} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*backing.Process{db, keys, queues} {
		t.Cleanup(func() { _ = p.Stop() })
	}
	services := map[string]service{
		"DynamoDB_20120810": {"dynamodb", db.Endpoint}, "DynamoDBStreams_20120810": {"dynamodb", db.Endpoint}, "TrentService": {"kms", keys.Endpoint},
		"AmazonSQS": {"sqs", queues.Endpoint}, "AWSEvents": {"events", queues.Endpoint},
	}
	call := func(target string, in any) (int, map[string]any) {
		t.Helper()
		prefix, _, _ := strings.Cut(target, ".")
		return services[prefix].call(t, target, in)
	}
	call("DynamoDB_20120810.CreateTable", map[string]any{
		"TableName": "rows", "BillingMode": "PAY_PER_REQUEST", "KeySchema": []any{map[string]any{"AttributeName": "id", "KeyType": "HASH"}},
		"AttributeDefinitions": []any{map[string]any{"AttributeName": "id", "AttributeType": "S"}},
	})
	variables := strings.NewReplacer(makeVariables(call)...)
	facts := factsOf(t)
	for _, fact := range facts {
		text, err := json.Marshal(fact)
		if err != nil || json.Unmarshal([]byte(variables.Replace(string(text))), &fact) != nil {
			t.Fatal(err)
		}
		status, got := call(fact.Call, fact.In)
		what := fmt.Sprintf("%s, %s: %d %.300v", fact.Of, fact.Call, status, got)
		kind, _ := got["__type"].(string)
		if _, after, ok := strings.Cut(kind, "#"); ok {
			kind = after
		}
		if kind != fact.Error || (status == http.StatusOK) != (fact.Error == "") {
			t.Errorf("%s; AWS answered %q", what, fact.Error)
		}
		message, _ := got["message"].(string)
		if m, ok := got["Message"].(string); ok {
			message = m
		}
		if fact.Message != nil && message != *fact.Message {
			t.Errorf("%s; AWS's message was %q", what, *fact.Message)
		}
		if fact.Out != nil && !covers(got, fact.Out) {
			t.Errorf("%s; AWS answered %v", what, fact.Out)
		}
	}
}

func factsOf(t *testing.T) []recorded {
	t.Helper()
	text, err := os.ReadFile("../testdata/recorded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		Services []recorded `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &facts); err != nil || len(facts.Services) < 30 {
		t.Fatalf("%d facts were read: %v", len(facts.Services), err)
	}
	return facts.Services
}

// makeVariables makes the keys and the queue that facts refer to by a variable. It returns each variable, followed by its value.
func makeVariables(call func(string, any) (int, map[string]any)) []string {
	key := func(spec, usage string) string {
		_, made := call("TrentService.CreateKey", map[string]any{"KeySpec": spec, "KeyUsage": usage})
		metadata, _ := made["KeyMetadata"].(map[string]any)
		return fmt.Sprint(metadata["KeyId"])
	}
	sign := key("ECC_NIST_P256", "SIGN_VERIFY")
	_, signed := call("TrentService.Sign", map[string]any{"KeyId": sign, "SigningAlgorithm": "ECDSA_SHA_256", "Message": "YmFk"})
	_, queue := call("AmazonSQS.CreateQueue", map[string]any{"QueueName": "jobs"})
	return []string{
		"$SIGNED", fmt.Sprint(signed["Signature"]), "$SIGN", sign, "$MAC", key("HMAC_224", "GENERATE_VERIFY_MAC"),
		"$QUEUE", fmt.Sprint(queue["QueueUrl"]), "$BIG", strings.Repeat("p", 256<<10-17),
	}
}

// call makes one call and returns the status and the answer.
func (s service) call(t *testing.T, target string, in any) (int, map[string]any) {
	t.Helper()
	body, errIn := json.Marshal(in)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint, bytes.NewReader(body))
	if errIn != nil || err != nil {
		t.Fatal(errIn, err)
	}
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20200101/"+backing.Region+"/"+s.name+"/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	out := map[string]any{}
	if err != nil || len(text) > 0 && json.Unmarshal(text, &out) != nil {
		t.Fatalf("%s: %s %v", target, text, err)
	}
	return res.StatusCode, out
}

// covers reports whether got has all members and elements of want.
func covers(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for name := range maps.Keys(w) {
			ok = ok && covers(g[name], w[name])
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && covers(g[i], w[i])
		}
		return ok
	}
	return want == "<any>" && got != nil || reflect.DeepEqual(got, want)
}
