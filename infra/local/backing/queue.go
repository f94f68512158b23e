package backing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// QueueOptions says how the queues run. The zero value is a server on a free
// port.
type QueueOptions struct {
	Port     int      // 0: a free one
	Settings []string // of the emulator, as NAME=value in its environment
	LogPath  string   // "": kept for error messages alone
	Progress Progress // nil: standard error
}

// StartQueue runs a server of queues, which has none yet (CreateQueues), and
// returns when it has passed a message on. Queues and messages are gone when it
// ends. When Python is not there the error is a *MissingError.
func StartQueue(ctx context.Context, o QueueOptions) (*Process, error) {
	python, err := Python(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	script, err := unpack("python/sqs.py")
	if err != nil {
		return nil, err
	}
	return start(ctx, child{
		name: "sqs", port: o.Port, logPath: o.LogPath,
		command: func(port int) (*exec.Cmd, error) {
			cmd := exec.Command(python, script, fmt.Sprint(port))
			cmd.Env = append(os.Environ(), o.Settings...)
			return cmd, nil
		},
	})
}

// NewSQSClient returns a client for the endpoint of a server of queues.
func NewSQSClient(endpoint string) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(anyCredentials),
	})
}

// Queue is a queue to make.
type Queue struct {
	Name string
	// Attributes are SQS's, by its names: VisibilityTimeout and the like.
	Attributes map[string]string
	// DeadLetters is the ARN of the queue for messages that were received
	// MaxReceives times in vain; "": there is none.
	DeadLetters string
	MaxReceives int
}

// CreateQueues makes queues. Which of them names which other does not matter: the
// ties are made last.
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
