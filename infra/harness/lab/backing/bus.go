package backing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// CreateBus creates an event bus, unless it exists, and a queue that gets each event of the bus. It returns the queue's URL.
// The server of the queues also has event buses.
func CreateBus(ctx context.Context, endpoint, name string) (queueURL string, err error) {
	queue := "bus-" + name
	out, err := NewSQSClient(endpoint).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &queue})
	if err != nil {
		return "", fmt.Errorf("creating queue %s: %w", queue, err)
	}
	const rule = "all"
	target := map[string]string{"Id": "queue", "Arn": "arn:aws:sqs:" + Region + ":000000000000:" + queue}
	for _, step := range []struct {
		operation string
		in        map[string]any
	}{
		{"CreateEventBus", map[string]any{"Name": name}},
		{"PutRule", map[string]any{"Name": rule, "EventBusName": name, "EventPattern": `{"source":[{"prefix":""}]}`}},
		{"PutTargets", map[string]any{"Rule": rule, "EventBusName": name, "Targets": []any{target}}},
	} {
		body, err := json.Marshal(step.in)
		if err == nil {
			_, err = Call(ctx, endpoint, "events", "AWSEvents."+step.operation, body)
		}
		var refused *CallError
		if exists := errors.As(err, &refused) && refused.Type == "ResourceAlreadyExistsException"; err != nil && !exists {
			return "", fmt.Errorf("event bus %s: %s: %w", name, step.operation, err)
		}
	}
	return *out.QueueUrl, nil
}

// ReceiveAll receives messages of a queue until the context ends, and deletes each message after handle has returned.
func ReceiveAll(ctx context.Context, client *sqs.Client, queueURL string, handle func(body string)) error {
	for {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &queueURL, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
		if err != nil {
			return err
		}
		for _, m := range out.Messages {
			handle(aws.ToString(m.Body))
			if _, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &queueURL, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
		}
	}
}
