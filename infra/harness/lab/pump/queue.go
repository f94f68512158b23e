package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// pollSeconds is the time that a poll waits for a message. It is short, because the queue may still give a message to a killed
// poller. Other pollers get this message only after its visibility time-out.
const pollSeconds = 1

// Queue feeds a function from a queue. A failed message stays in the queue. It comes again after
// its visibility time-out, or goes to the dead letters. While the function is throttled, the same batch is
// tried again until its visibility time-out ends (AWS's documentation of queues' mappings, "Backoff strategy"; not tried on AWS).
type Queue struct {
	caller
	client *sqs.Client
}

// NewQueue makes the pump of a mapping. Run runs it.
func NewQueue(source translated.EventSource, client *sqs.Client, invoke Invoker, watch Watcher) *Queue {
	return &Queue{client: client, caller: caller{source: source, invoke: invoke, watch: watch}}
}

// Run feeds the function until the context ends. Then it waits for the end of running calls.
func (q *Queue) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, q.source.Concurrency) // one token for each batch, reserved before the batch is received
	for errorsInRow := 0; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			return
		case room <- struct{}{}:
		}
		messages, err := q.receive(ctx)
		q.trouble(ctx, err)
		errorsInRow++
		if err == nil {
			errorsInRow = 0
		}
		if len(messages) == 0 {
			<-room
			if errorsInRow > 0 {
				_ = tools.Sleep(ctx, min(time.Second, backoff(errorsInRow)))
			}
			continue
		}
		wg.Go(func() {
			defer func() { <-room }()
			q.deliver(ctx, messages)
		})
	}
}

// receive polls the queue once, and passes each message to the watcher.
func (q *Queue) receive(ctx context.Context) ([]types.Message, error) {
	out, err := callSQS(ctx, q.client.ReceiveMessage, &sqs.ReceiveMessageInput{
		QueueUrl: &q.source.Queue, MaxNumberOfMessages: int32(q.source.BatchSize), WaitTimeSeconds: pollSeconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	if q.watch.Received != nil {
		for _, m := range out.Messages {
			q.watch.Received(Message{q.source.Name, m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)], aws.ToString(m.Body)})
		}
	}
	return out.Messages, nil
}

// deliver calls the function and deletes the messages that succeeded.
func (q *Queue) deliver(ctx context.Context, messages []types.Message) {
	events, ids := make([]json.RawMessage, len(messages)), make([]string, len(messages))
	for i, m := range messages {
		event, err := q.event(m)
		if err != nil {
			q.trouble(ctx, err)
			return
		}
		events[i], ids[i] = event, aws.ToString(m.MessageId)
	}
	received := time.Now()
	failed, err := q.call(ctx, events, ids)
	for tries := 1; errors.Is(err, lambda.ErrThrottled) && time.Since(received)+backoff(tries) < q.source.Visibility; tries++ {
		if tools.Sleep(ctx, backoff(tries)) != nil {
			return
		}
		failed, err = q.call(ctx, events, ids)
	}
	var done []types.DeleteMessageBatchRequestEntry
	for i, m := range messages {
		if !failed[ids[i]] {
			done = append(done, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
	}
	q.delete(ctx, done)
	if len(failed) > 0 {
		_ = tools.Sleep(ctx, firstWait) // a queue may show a message again at once
	}
}

func (q *Queue) delete(ctx context.Context, done []types.DeleteMessageBatchRequestEntry) {
	if len(done) == 0 {
		return
	}
	// Delete finished messages even when the pump is ending.
	out, err := callSQS(context.WithoutCancel(ctx), q.client.DeleteMessageBatch, &sqs.DeleteMessageBatchInput{QueueUrl: &q.source.Queue, Entries: done})
	if err == nil && len(out.Failed) > 0 {
		err = errors.New("a message could not be deleted: " + aws.ToString(out.Failed[0].Message))
	}
	q.trouble(ctx, err)
}

// event returns the message as a record of Lambda's event.
func (q *Queue) event(m types.Message) (json.RawMessage, error) {
	attributes := make(map[string]any, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		v := map[string]any{"dataType": aws.ToString(a.DataType), "stringListValues": []string{}, "binaryListValues": []string{}}
		if a.StringValue != nil {
			v["stringValue"] = *a.StringValue
		}
		if a.BinaryValue != nil {
			v["binaryValue"] = a.BinaryValue
		}
		attributes[name] = v
	}
	record := map[string]any{
		"messageId": aws.ToString(m.MessageId), "receiptHandle": aws.ToString(m.ReceiptHandle), "body": aws.ToString(m.Body),
		"attributes": m.Attributes, "messageAttributes": attributes, "md5OfBody": aws.ToString(m.MD5OfBody),
		"eventSource": "aws:sqs", "eventSourceARN": q.source.ARN, "awsRegion": backing.Region,
	}
	if len(attributes) > 0 {
		record["md5OfMessageAttributes"] = aws.ToString(m.MD5OfMessageAttributes)
	}
	return json.Marshal(record)
}

// callSQS makes one request to SQS with a time limit. The client must not retry, because the pumps wait between errors.
func callSQS[In, Out, Opt any](ctx context.Context, do func(context.Context, *In, ...func(*Opt)) (*Out, error), in *In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	return do(ctx, in)
}
