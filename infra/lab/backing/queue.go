package backing

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/lab/parts"
	"latchkey/infra/tools"
)

//go:embed sqs.py
var sqsScript string

// QueueOptions are the options of a server of queues. The zero value uses a free port.
type QueueOptions struct {
	Port     int            // 0: a free one
	LogPath  string         // "": the log is only for error messages
	Progress tools.Progress // nil: standard error
}

// StartQueue starts a server of queues and returns when the server has passed a message on.
// CreateQueues creates its queues. Queues and messages are gone when it ends. Without Python the
// error is a *tools.MissingError.
func StartQueue(ctx context.Context, o QueueOptions) (*Process, error) {
	python, err := parts.Python(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	script, err := tools.File("sqs.py", sqsScript)
	if err != nil {
		return nil, err
	}
	return start(ctx, child{
		name: "sqs", port: o.Port, logPath: o.LogPath,
		command: func(port int) (*exec.Cmd, error) { return exec.Command(python, script, fmt.Sprint(port)), nil },
	})
}

// NewSQSClient returns a client for the endpoint of a server of queues.
func NewSQSClient(endpoint string) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(anyCredentials),
	})
}

// Queue is a queue to create.
type Queue struct {
	Name string
	// Attributes are the attributes of SQS, such as VisibilityTimeout, by their names.
	Attributes map[string]string
	// DeadLetters is the ARN of the queue for messages that were received MaxReceives times
	// without success. "" is none.
	DeadLetters string
	MaxReceives int
}

// CreateQueues creates queues in any order: it sets their dead letter queues last.
func CreateQueues(ctx context.Context, client *sqs.Client, queues []Queue) error {
	urls := make(map[string]*string)
	for _, q := range queues {
		out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &q.Name, Attributes: maps.Clone(q.Attributes)})
		if err != nil {
			return fmt.Errorf("creating queue %s: %w", q.Name, err)
		}
		urls[q.Name] = out.QueueUrl
	}
	for _, q := range queues {
		if q.DeadLetters == "" {
			continue
		}
		policy, err := json.Marshal(map[string]any{"deadLetterTargetArn": q.DeadLetters, "maxReceiveCount": q.MaxReceives})
		if err != nil {
			return err
		}
		in := &sqs.SetQueueAttributesInput{QueueUrl: urls[q.Name], Attributes: map[string]string{"RedrivePolicy": string(policy)}}
		if _, err := client.SetQueueAttributes(ctx, in); err != nil {
			return fmt.Errorf("the dead letters of queue %s: %w", q.Name, err)
		}
	}
	return nil
}
