package backing_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"latchkey/infra/local/backing"
)

func TestQueuesAreAsAskedForAndPassMessagesOn(t *testing.T) {
	ctx := context.Background()
	p, err := backing.StartQueue(ctx, backing.QueueOptions{LogPath: filepath.Join(t.TempDir(), "sqs.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	assertLoopbackAlone(t, p.Port)
	c := backing.NewSQSClient(p.Endpoint)
	err = backing.CreateQueues(ctx, c, []backing.Queue{
		{Name: "jobs", Attributes: map[string]string{"VisibilityTimeout": "1"}, DeadLetters: "arn:aws:sqs:us-east-1:000000000000:dead", MaxReceives: 1},
		{Name: "dead", Attributes: map[string]string{"MessageRetentionPeriod": "1209600"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs, dead := p.Endpoint+"/000000000000/jobs", p.Endpoint+"/000000000000/dead"
	if _, err := c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &jobs, MessageBody: aws.String("a"), MessageGroupId: aws.String("fair")}); err != nil {
		t.Fatal(err)
	}
	receive := func(url string) []types.Message {
		in := &sqs.ReceiveMessageInput{QueueUrl: &url, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}}
		out, err := c.ReceiveMessage(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages
	}
	if m := receive(jobs); len(m) != 1 || m[0].Attributes["MessageGroupId"] != "fair" || m[0].Attributes["ApproximateReceiveCount"] != "1" {
		t.Fatalf("%+v", m)
	}
	if m := receive(jobs); len(m) != 0 {
		t.Errorf("it is seen while it is being worked on: %+v", m)
	}
	time.Sleep(1100 * time.Millisecond)
	if m := receive(jobs); len(m) != 0 {
		t.Errorf("received more often than allowed: %+v", m)
	}
	if m := receive(dead); len(m) != 1 || aws.ToString(m[0].Body) != "a" {
		t.Errorf("dead letters %+v", m)
	}
	err = backing.CreateQueues(ctx, c, []backing.Queue{{Name: "x", DeadLetters: "arn:aws:sqs:us-east-1:000000000000:nowhere", MaxReceives: 1}})
	if err == nil {
		t.Error("dead letters may go nowhere")
	}
}
