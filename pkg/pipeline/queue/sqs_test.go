package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/boot"
	"latchkey/pkg/id"
	"latchkey/pkg/pipeline/queue"
	"latchkey/pkg/webhook"
)

type entry struct {
	ID             string `json:"Id"`
	MessageBody    string
	DelaySeconds   int
	MessageGroupID string `json:"MessageGroupId"`
}

// service starts a server that answers SendMessageBatch as SQS does. It returns a queue on it, and the batches that
// the server gets. The server refuses messages with the text refuse in their body; "": none.
func service(t *testing.T, refuse string) (q *queue.Queue, batches *[][]entry) {
	t.Helper()
	q, batches, _ = served(t, refuse)
	return q, batches
}

// served does the same as service, and also returns the address of the server.
func served(t *testing.T, refuse string) (q *queue.Queue, batches *[][]entry, address string) {
	t.Helper()
	batches = &[][]entry{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in struct{ Entries []entry }
		if err != nil || json.Unmarshal(body, &in) != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" {
			t.Errorf("%s: %s, %v", r.Header.Get("X-Amz-Target"), body, err)
		}
		*batches = append(*batches, in.Entries)
		var failed []map[string]any
		for _, e := range in.Entries {
			if refuse != "" && strings.Contains(e.MessageBody, refuse) {
				failed = append(failed, map[string]any{"Id": e.ID, "Code": "InternalError", "Message": "not now", "SenderFault": false})
			}
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_ = json.NewEncoder(w).Encode(map[string]any{"Failed": failed})
	}))
	t.Cleanup(server.Close)
	cfg := boot.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, boot.NewHTTPClient())
	cfg.BaseEndpoint = &server.URL
	return queue.New(cfg, server.URL+"/000000000000/deliveries"), batches, server.URL
}

// messages returns n messages with different events, of two orgs and three endpoints.
func messages(n int) (out []webhook.Message) {
	for i := range n {
		delivery := webhook.DeliveryID{
			App: "app_1", Endpoint: id.Endpoint(fmt.Sprint("whe_", i%3)), Event: id.Event(fmt.Sprint("evt_", i)),
		}
		out = append(out, webhook.Message{Org: id.Org(fmt.Sprint("org_", i%2)), DeliveryID: delivery})
	}
	return out
}

func TestMessagesAreSentInTensInTheGroupOfTheirOrg(t *testing.T) {
	q, batches := service(t, "")
	if err := q.Send(context.Background(), 0, messages(23)...); err != nil {
		t.Fatal(err)
	}
	sizes, events := []int{}, map[id.Event]bool{}
	for _, b := range *batches {
		sizes = append(sizes, len(b))
		ids := map[string]bool{}
		for _, e := range b {
			m, err := webhook.ParseMessage(e.MessageBody)
			if err != nil || e.MessageGroupID != string(m.Org) || e.DelaySeconds != 0 || ids[e.ID] {
				t.Errorf("%+v, %v", e, err)
			}
			ids[e.ID], events[m.Event] = true, true
		}
	}
	if fmt.Sprint(sizes) != "[10 10 3]" || len(events) != 23 {
		t.Errorf("batches of %v with %d deliveries", sizes, len(events))
	}
}

func TestADelayIsRoundedUpToSecondsAndAtMost15Minutes(t *testing.T) {
	q, batches := service(t, "")
	for delay, want := range map[time.Duration]int{
		-time.Second: 0, 0: 0, time.Millisecond: 1, time.Second: 1, 4001 * time.Millisecond: 5, 15 * time.Minute: 900, time.Hour: 900,
	} {
		*batches = nil
		if err := q.Send(context.Background(), delay, messages(1)...); err != nil {
			t.Fatal(err)
		}
		if got := (*batches)[0][0].DelaySeconds; got != want {
			t.Errorf("%s: %d s, want %d", delay, got, want)
		}
	}
}

func TestARefusedMessageStopsNoOtherMessage(t *testing.T) {
	q, batches := service(t, "evt_3")
	if err := q.Send(context.Background(), 0, messages(15)...); err == nil || !strings.Contains(err.Error(), "1 messages") {
		t.Errorf("%v", err)
	}
	if len(*batches) != 2 {
		t.Errorf("%d batches", len(*batches))
	}
	if err := q.Send(context.Background(), 0); err != nil {
		t.Errorf("nothing to send: %v", err)
	}
}

// losing is a transport that makes each call, but loses the first answers.
type losing struct{ left int }

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || l.left == 0 {
		return out, err
	}
	l.left--
	return nil, errors.Join(errors.New("the answer is lost"), out.Body.Close())
}

// TestALostAnswerIsTriedAgain: a message may come twice, and a batch that fails does not stop the other batch.
func TestALostAnswerIsTriedAgain(t *testing.T) {
	for lost, want := range map[int]struct {
		batches int  // calls of SendMessageBatch
		fails   bool // whether Send returns an error
	}{0: {2, false}, 1: {3, false}, 2: {4, false}, 3: {4, true}} {
		_, batches, address := served(t, "")
		cfg := boot.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, &http.Client{Transport: &losing{lost}})
		cfg.BaseEndpoint = &address
		err := queue.New(cfg, address+"/000000000000/deliveries").Send(context.Background(), 0, messages(15)...)
		events := map[string]bool{}
		for _, b := range *batches {
			for _, e := range b {
				events[e.MessageBody] = true
			}
		}
		if (err != nil) != want.fails || len(*batches) != want.batches || len(events) != 15 {
			t.Errorf("%d answers are lost: %v, %d batches of %d messages", lost, err, len(*batches), len(events))
		}
	}
}
