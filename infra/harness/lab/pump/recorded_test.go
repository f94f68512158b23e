package pump

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.yaml.in/yaml/v3"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/template/translated"
)

// recorded is a fact of testdata/recorded.yaml about a mapping. If Answers is empty, the function fails.
type recorded struct {
	Of         string               `yaml:"of"`
	Answers    string               `yaml:"answers"`
	Attributes map[string][2]string `yaml:"attributes"` // type and value
	Calls      int                  `yaml:"calls"`
	Message    map[string]any       `yaml:"message"`
	Deleted    bool                 `yaml:"deleted"`
	Event      map[string]any       `yaml:"event"`
}

func (r recorded) answer() ([]byte, error) {
	if r.Answers == "" {
		return nil, errors.New("the handler failed")
	}
	return []byte(r.Answers), nil
}

// TestMappingsBehaveAsRecordedOnAWS gives each recorded answer to a batch of a stream or a queue.
func TestMappingsBehaveAsRecordedOnAWS(t *testing.T) {
	text, err := os.ReadFile("../testdata/recorded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var facts struct{ Stream, Queue []recorded }
	if err := yaml.Unmarshal(text, &facts); err != nil || len(facts.Stream) < 10 || len(facts.Queue) < 3 {
		t.Fatal(err, "too few facts were read")
	}
	for _, fact := range facts.Stream {
		t.Run(fact.Of, func(t *testing.T) { t.Parallel(); fact.ofStream(t) })
	}
	for _, fact := range facts.Queue {
		t.Run(fact.Of, func(t *testing.T) { fact.ofQueue(t) })
	}
}

// queueServer returns a client of SQS, and a function that returns the client's requests for an operation.
func queueServer(t *testing.T) (client *sqs.Client, requests func(operation string) []map[string]any) {
	t.Helper()
	got := make(chan map[string]any, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := map[string]any{"operation": r.Header.Get("X-Amz-Target")}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		got <- in
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	var all []map[string]any
	return backing.NewSQSClient(s.URL), func(operation string) []map[string]any {
		for len(got) > 0 {
			all = append(all, <-got)
		}
		return slices.DeleteFunc(slices.Clone(all), func(in map[string]any) bool { return in["operation"] != "AmazonSQS."+operation })
	}
}

func (r recorded) ofStream(t *testing.T) {
	client, requests := queueServer(t)
	e := &recorder{answer: func([]string) ([]byte, error) { return r.answer() }}
	database := httptest.NewServer(&fakeDatabase{shards: []fakeShard{{id: "a", records: []string{"1"}, closed: true}}})
	t.Cleanup(database.Close)
	s, err := NewStream(t.Context(), StreamOptions{
		Dir: t.TempDir(), Database: database.URL, Queues: client, Invoke: e.invoke,
		Source: translated.EventSource{Name: "Feed", Table: "rows", BatchSize: 3, Partial: true, Retries: 3, OnFailure: "http://127.0.0.1:9/q"},
	})
	if err != nil {
		t.Fatal(err)
	}
	(&shard{stream: s, id: "a"}).run(t.Context()) // reads to the end of the shard
	if calls := len(e.calls()); calls != r.Calls {
		t.Errorf("%d calls, on AWS %d", calls, r.Calls)
	}
	messages := requests("SendMessage")
	if len(messages) > 1 || (len(messages) == 1) != (r.Message != nil) {
		t.Fatalf("messages %v, on AWS %v", messages, r.Message)
	}
	if r.Message != nil {
		var message map[string]any
		body, _ := messages[0]["MessageBody"].(string)
		if err := json.Unmarshal([]byte(body), &message); err != nil {
			t.Fatal(err)
		}
		covers(t, "message", message, r.Message)
	}
}

func (r recorded) ofQueue(t *testing.T) {
	client, requests := queueServer(t)
	var event struct{ Records []map[string]any }
	q := NewQueue(translated.EventSource{Partial: true}, client, func(_ context.Context, _ string, payload []byte) ([]byte, error) {
		if err := json.Unmarshal(payload, &event); err != nil {
			t.Error(err)
		}
		return r.answer()
	}, Watcher{})
	m := types.Message{MessageId: aws.String("m"), ReceiptHandle: aws.String("r"), Body: aws.String("{}"), Attributes: map[string]string{"ApproximateReceiveCount": "1"}}
	for name, a := range r.Attributes {
		if m.MessageAttributes == nil {
			m.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		m.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a[0], StringValue: &a[1]}
		m.MD5OfMessageAttributes = aws.String("d25a6aea97eb8f585bfa92d314504a92") // in the form that SQS computes
	}
	q.deliver(t.Context(), []types.Message{m})
	if deleted := len(requests("DeleteMessageBatch")) > 0; deleted != r.Deleted {
		t.Errorf("deleted: %t, on AWS %t", deleted, r.Deleted)
	}
	covers(t, "record", event.Records[0], r.Event)
	if _, has := event.Records[0]["md5OfMessageAttributes"]; has && r.Attributes == nil {
		t.Error("md5OfMessageAttributes without attributes")
	}
}

// covers checks that got has each member of want. Numbers from JSON and YAML have different types.
func covers(t *testing.T, what string, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		has, ok := got[name]
		if inner, isObject := value.(map[string]any); isObject {
			part, _ := has.(map[string]any)
			covers(t, what+"."+name, part, inner)
			continue
		}
		if n, isNumber := value.(int); isNumber {
			value = float64(n)
		}
		if !ok || !reflect.DeepEqual(has, value) {
			t.Errorf("%s.%s is %v (present: %t), on AWS %v", what, name, has, ok, value)
		}
	}
}
