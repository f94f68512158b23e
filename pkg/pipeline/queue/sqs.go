// Package queue sends the messages of deliveries to a queue in AWS SQS. Package webhook has the messages. The two are
// separate so that only the functions that send messages link SQS.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"latchkey/pkg/webhook"
)

const batch = 10 // most messages in one call of SQS

// Queue sends messages to one queue.
type Queue struct {
	client *awssqs.Client
	url    string
}

// New returns the queue with this URL.
func New(cfg aws.Config, url string) *Queue {
	return &Queue{url: url, client: awssqs.NewFromConfig(cfg)}
}

// Send sends messages that appear after a delay, which is rounded up to seconds and limited to webhook.MaxDelay. The
// message group is the org: in a fair queue, the backlog of one tenant then does not delay the others, even when the tenant
// has many apps and endpoints. An error means that some messages were not sent.
func (q *Queue) Send(ctx context.Context, delay time.Duration, messages ...webhook.Message) error {
	var failed []error
	for len(messages) > 0 {
		n := min(len(messages), batch)
		failed = append(failed, q.send(ctx, delay, messages[:n]))
		messages = messages[n:]
	}
	return errors.Join(failed...)
}

// send sends one batch.
func (q *Queue) send(ctx context.Context, delay time.Duration, messages []webhook.Message) error {
	seconds := int32(math.Ceil(min(max(delay, 0), webhook.MaxDelay).Seconds()))
	in := &awssqs.SendMessageBatchInput{QueueUrl: &q.url}
	for i, m := range messages {
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(body)),
			DelaySeconds: seconds, MessageGroupId: aws.String(string(m.Org)),
		})
	}
	out, err := q.client.SendMessageBatch(ctx, in)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	if n := len(out.Failed); n > 0 { // SQS may refuse some of a batch
		return fmt.Errorf("queue: %d messages were not accepted: %s", n, aws.ToString(out.Failed[0].Message))
	}
	return nil
}
