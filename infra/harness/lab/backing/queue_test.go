package backing_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"latchkey/infra/template/translated"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/harness/lab/backing"
)

// TestMessageGroupsTakeTurns sends 50 messages of group a, then two of group b. Like a fair queue of SQS, the queue
// returns b's messages in the first batch. Messages of the new group c come before those of a, because many messages of a are in
// flight (received and not deleted).
func TestMessageGroupsTakeTurns(t *testing.T) {
	ctx := context.Background()
	p, err := backing.StartQueue(ctx, backing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	c := backing.NewSQSClient(p.Endpoint)
	if err := backing.CreateQueues(ctx, c, []translated.Queue{{Name: "jobs"}}); err != nil {
		t.Fatal(err)
	}
	url := p.Endpoint + "/000000000000/jobs"
	send := func(group string, n int) {
		t.Helper()
		for i := range n {
			body := group + strconv.Itoa(i)
			if _, err := c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageGroupId: &group}); err != nil {
				t.Fatal(err)
			}
		}
	}
	receive := func() (bodies []string) {
		t.Helper()
		out, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			bodies = append(bodies, aws.ToString(m.Body))
		}
		return bodies
	}
	send("a", 50)
	send("b", 2)
	for _, want := range [][]string{{"a0", "b0", "a1", "b1", "a2"}, {"a3", "a4", "a5", "a6", "a7"}} {
		if got := receive(); !slices.Equal(got, want) {
			t.Errorf("received %v, want %v", got, want)
		}
	}
	send("c", 2)
	if got, want := receive(), []string{"c0", "c1", "a8", "a9", "a10"}; !slices.Equal(got, want) {
		t.Errorf("with many of a in flight: received %v, want %v", got, want)
	}
}
