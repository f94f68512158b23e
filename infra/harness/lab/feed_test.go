package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/lambda"
)

func TestStreamsAndQueuesCallTheirFunctions(t *testing.T) {
	t.Parallel()
	s := start(t, lab.Options{Template: feed})
	for _, c := range []struct {
		name string
		test func(*testing.T, *lab.Stack)
	}{
		{"matching records come in order", inOrder},
		{"a poison record is given up and blocks no other", poisonGivenUp},
		{"a failing message is repeated and then dead-lettered", deadLetters},
		{"a throttled function loses no record", throttled},
		{"a restarted KMS answers", kmsRestarted},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

func inOrder(t *testing.T, s *lab.Stack) {
	put(t, s, "OTHER#1", "order-other") // the filter accepts only INSERTs of EVTS#…
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("order-%02d", i)
		want = append(want, name)
		put(t, s, "EVTS#1", name)
	}
	put(t, s, "EVTS#1", want[0]+"=changed") // a MODIFY
	until(t, "all records", func() bool { _, done := received(t, s, "StreamFunction", "order-"); return len(done) >= len(want) })
	time.Sleep(300 * time.Millisecond) // so that a record that must not come would come
	overBatchSize := func(batch []string) bool { return len(batch) > 5 }
	if came, done := received(t, s, "StreamFunction", "order-"); !slices.Equal(done, want) || slices.ContainsFunc(came, overBatchSize) {
		t.Errorf("came %v, done %v", came, done)
	}
}

func poisonGivenUp(t *testing.T, s *lab.Stack) {
	before := depth(t, s, "GivenUp")
	put(t, s, "EVTS#1", "poison-1", "poison-2=poison", "poison-3", "poison-4")
	until(t, "the other records", func() bool {
		_, done := received(t, s, "StreamFunction", "poison-")
		for _, name := range []string{"poison-1", "poison-3", "poison-4"} {
			if !slices.Contains(done, name) {
				return false
			}
		}
		return !slices.Contains(done, "poison-2")
	})
	until(t, "a message about the poison record", func() bool { return depth(t, s, "GivenUp") == before+1 })
	url, err := s.QueueURL("GivenUp")
	if err != nil {
		t.Fatal(err)
	}
	out, err := backing.NewSQSClient(s.DataPlane.SQS).ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &url, VisibilityTimeout: 1})
	if err != nil || len(out.Messages) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	var message struct {
		RequestContext     struct{ Condition, FunctionArn string }
		DDBStreamBatchInfo struct {
			StartSequenceNumber, EndSequenceNumber, StreamArn string
			BatchSize                                         int
		}
	}
	body := aws.ToString(out.Messages[0].Body)
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		t.Fatal(err)
	}
	var id string // sequence number of poison-2
	for _, c := range calls(t, s, "StreamFunction") {
		for _, i := range c.Items {
			if i.Name == "poison-2" {
				id = i.ID
			}
		}
	}
	b := message.DDBStreamBatchInfo
	if message.RequestContext.Condition != "RetryAttemptsExhausted" || b.BatchSize != 1 || b.StartSequenceNumber != id || b.EndSequenceNumber != id || id == "" {
		t.Errorf("%s, sequence number %s", body, id)
	}
	if strings.Contains(body, "poison-2") {
		t.Errorf("the message contains the record: %s", body)
	}
}

func deadLetters(t *testing.T, s *lab.Stack) {
	before := depth(t, s, "DeadJobs")
	send(t, s, "dead-once", "once")
	send(t, s, "dead-poison", "poison")
	until(t, "a dead letter", func() bool { return depth(t, s, "DeadJobs") == before+1 })
	// maxReceiveCount is 2.
	if came, done := received(t, s, "QueueFunction", "dead-once"); len(came) != 2 || len(done) != 1 {
		t.Errorf("the message that failed once came %v, done %v", came, done)
	}
	if came, done := received(t, s, "QueueFunction", "dead-poison"); len(came) != 2 || len(done) != 0 {
		t.Errorf("the message that always fails came %v, done %v", came, done)
	}
	if d := depth(t, s, "Jobs"); d != 0 {
		t.Errorf("the queue still has %d messages", d)
	}
}

// throttled stops the functions for longer than the stream's two retries take, but shorter than the queue hides a
// message. The message fails once, and may be received twice.
func throttled(t *testing.T, s *lab.Stack) {
	gaveUp, dead := depth(t, s, "GivenUp"), depth(t, s, "DeadJobs")
	reserve := func(copies int) {
		t.Helper()
		for _, function := range []string{"StreamFunction", "QueueFunction", "TickFunction"} {
			if err := s.Reserve(function, copies); err != nil {
				t.Fatal(err)
			}
		}
	}
	reserve(0)
	put(t, s, "EVTS#1", "full-1")
	send(t, s, "full-2", "once")
	ticked := make(chan error)
	go func() { ticked <- s.RunSchedule(t.Context(), "TickFunction") }()
	if _, err := s.Lambda.Invoke(t.Context(), "TickFunction", []byte("{}")); !errors.Is(err, lambda.ErrThrottled) {
		t.Error(err)
	}
	time.Sleep(600 * time.Millisecond)
	reserve(1)
	for function, want := range map[string]struct{ calls, done int }{"StreamFunction": {1, 1}, "QueueFunction": {2, 1}} {
		until(t, function, func() bool { _, done := received(t, s, function, "full-"); return len(done) == want.done })
		if came, _ := received(t, s, function, "full-"); len(came) != want.calls {
			t.Errorf("%s got %v", function, came)
		}
	}
	if err := <-ticked; err != nil {
		t.Errorf("the schedule's call: %v", err)
	}
	if depth(t, s, "GivenUp") != gaveUp || depth(t, s, "DeadJobs") != dead {
		t.Error("a throttled call was counted as a failed call")
	}
}

func kmsRestarted(t *testing.T, s *lab.Stack) {
	if err := s.KMS.Stop(); err != nil {
		t.Fatal(err)
	}
	keys := backing.NewKMSClient(s.DataPlane.KMS)
	if _, err := keys.ListKeys(t.Context(), nil); err == nil {
		t.Error("a stopped KMS answers")
	}
	if err := s.KMS.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.ListKeys(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
