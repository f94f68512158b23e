package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/lab"
	"latchkey/infra/lab/backing"
)

func TestFunctionsAreFed(t *testing.T) {
	t.Parallel()
	requests := &lines{}
	s := start(t, lab.Options{Template: feed, Requests: requests})
	for _, c := range []struct {
		name string
		test func(*testing.T, *lab.Stack)
	}{
		{"records come in order and only those that fit", inOrder},
		{"records and messages come soon", soon},
		{"partial failure repeats only the tail", tailOnly},
		{"poison record is given up and blocks nothing", poisonGivenUp},
		{"failed call is split down to the poison record", thrownGivenUp},
		{"what is skipped is never delivered", skipped},
		{"database away for a while loses nothing", dbAway},
		{"message is delivered and deleted", message},
		{"failed message comes again and ends in the dead letters", deadLetters},
		{"killed function's messages come again", killed},
		{"restarted queues are empty and work", queueRestarted},
		{"KMS comes back", kmsBack},
		{"schedule is called when asked", scheduleNow},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
	if !strings.Contains(requests.String(), "StreamFunctionFeed 1 records") {
		t.Errorf("no line of a stream's call: %s", requests)
	}
}

func inOrder(t *testing.T, s *lab.Stack) {
	put(t, s, "OTHER#1", "order-other")
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("order-%02d", i)
		want = append(want, name)
		put(t, s, "EVTS#1", name)
	}
	put(t, s, "EVTS#1", want[0]+"=changed") // MODIFY does not fit
	until(t, "all records", func() bool { _, done := got(t, s, "StreamFunction", "order-"); return len(done) >= len(want) })
	time.Sleep(300 * time.Millisecond)
	if came, done := got(t, s, "StreamFunction", "order-"); !slices.Equal(done, want) || slices.ContainsFunc(came, func(b []string) bool { return len(b) > 5 }) {
		t.Errorf("came %v, done %v", came, done)
	}
}

// soon writes records and messages one by one, and measures the time until each reaches its function.
func soon(t *testing.T, s *lab.Stack) {
	const n = 40
	for what, one := range map[string]struct {
		function string
		put      func(name string)
	}{
		"record":  {"StreamFunction", func(name string) { put(t, s, "EVTS#1", name) }},
		"message": {"QueueFunction", func(name string) { send(t, s, name, "") }},
	} {
		at := make(map[string]time.Time)
		for i := range n {
			name := fmt.Sprintf("soon-%02d", i)
			one.put(name)
			at[name] = time.Now() // the write is acknowledged
			time.Sleep(time.Duration(20+i) * time.Millisecond)
		}
		until(t, "all", func() bool { _, done := got(t, s, one.function, "soon-"); return len(done) >= n })
		var took []time.Duration
		for _, c := range calls(t, s, one.function) {
			for _, i := range c.Items {
				if begun, ok := at[i.Name]; ok {
					took = append(took, time.Unix(0, c.At).Sub(begun))
				}
			}
		}
		slices.Sort(took)
		t.Logf("%s to function: p50 %s, p95 %s, most %s", what, took[n/2], took[n*95/100], took[len(took)-1])
		if len(took) != n || took[n/2] > time.Second {
			t.Errorf("%s to function: %d came, p50 %s", what, len(took), took[n/2])
		}
	}
}

func tailOnly(t *testing.T, s *lab.Stack) {
	put(t, s, "EVTS#1", "tail-1", "tail-2=once", "tail-3")
	until(t, "all records", func() bool { _, done := got(t, s, "StreamFunction", "tail-"); return len(done) >= 4 })
	// tail-3 was done in both calls: the function may handle records behind a failed one.
	if came, _ := got(t, s, "StreamFunction", "tail-"); !slices.EqualFunc(came, [][]string{{"tail-1", "tail-2", "tail-3"}, {"tail-2", "tail-3"}}, slices.Equal) {
		t.Errorf("came %v", came)
	}
}

func poisonGivenUp(t *testing.T, s *lab.Stack) {
	given := depth(t, s, "GivenUp").Visible
	put(t, s, "EVTS#1", "poison-1", "poison-2=poison", "poison-3", "poison-4")
	until(t, "the others", func() bool {
		_, done := got(t, s, "StreamFunction", "poison-")
		for _, name := range []string{"poison-1", "poison-3", "poison-4"} {
			if !slices.Contains(done, name) {
				return false
			}
		}
		return !slices.Contains(done, "poison-2")
	})
	until(t, "a message about it", func() bool { return depth(t, s, "GivenUp").Visible == given+1 })
	url, err := s.QueueURL("GivenUp")
	if err != nil {
		t.Fatal(err)
	}
	out, err := backing.NewSQSClient(s.DataPlane.SQS).ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &url, VisibilityTimeout: 1})
	if err != nil || len(out.Messages) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	var said struct {
		RequestContext     struct{ Condition, FunctionArn string }
		DDBStreamBatchInfo struct {
			StartSequenceNumber, EndSequenceNumber, StreamArn string
			BatchSize                                         int
		}
	}
	body := aws.ToString(out.Messages[0].Body)
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		t.Fatal(err)
	}
	var id string
	for _, c := range calls(t, s, "StreamFunction") {
		for _, i := range c.Items {
			if i.Name == "poison-2" {
				id = i.ID
			}
		}
	}
	b := said.DDBStreamBatchInfo
	if said.RequestContext.Condition != "RetryAttemptsExhausted" || b.BatchSize != 1 || b.StartSequenceNumber != id || b.EndSequenceNumber != id || id == "" {
		t.Errorf("%s, sequence number %s", body, id)
	}
	if strings.Contains(body, "poison-2") {
		t.Errorf("the message holds the record: %s", body)
	}
}

func thrownGivenUp(t *testing.T, s *lab.Stack) {
	given := depth(t, s, "GivenUp")
	put(t, s, "EVTS#1", "throw-1", "throw-2", "throw-3=throw", "throw-4", "throw-5")
	until(t, "the others", func() bool { _, done := got(t, s, "StreamFunction", "throw-"); return len(done) >= 4 })
	now := depth(t, s, "GivenUp")
	if now.Visible+now.InFlight != given.Visible+given.InFlight+1 {
		t.Errorf("given up: %+v, before %+v", now, given)
	}
	came, _ := got(t, s, "StreamFunction", "throw-3")
	if single := slices.DeleteFunc(came, func(b []string) bool { return len(b) > 1 }); len(single) < 3 {
		t.Errorf("the record was tried %d times", len(single))
	}
}

func skipped(t *testing.T, s *lab.Stack) {
	put(t, s, "EVTS#1", "skip-first=slow")
	until(t, "the slow call", func() bool { came, _ := got(t, s, "StreamFunction", "skip-first"); return len(came) > 0 })
	put(t, s, "EVTS#1", "skip-lost")
	if err := s.SkipStream(context.Background()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "EVTS#1", "skip-after")
	until(t, "what came after", func() bool { _, done := got(t, s, "StreamFunction", "skip-after"); return len(done) > 0 })
	if came, done := got(t, s, "StreamFunction", "skip-"); len(came) != 2 || !slices.Equal(done, []string{"skip-first", "skip-after"}) {
		t.Errorf("came %v, done %v", came, done)
	}
}

func dbAway(t *testing.T, s *lab.Stack) {
	put(t, s, "EVTS#1", "away-1")
	if err := s.StopDB(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if err := s.StartDB(context.Background()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "EVTS#1", "away-2")
	until(t, "both records", func() bool {
		_, done := got(t, s, "StreamFunction", "away-")
		return slices.Contains(done, "away-1") && slices.Contains(done, "away-2")
	})
}
