// Command eater is a function for streams, queues and schedules. It prints a line at the start and at the end of each call. The
// member Do of a record is an order: fail once ("once"), always fail ("poison"), or take long ("slow"). To a request of an API it
// answers with the queue's URL and name from the environment.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

type event struct {
	DetailType string `json:"detail-type"`
	Records    []json.RawMessage
}

type item struct {
	Name, Do string
	ID       string // the record's id in a report of failures
	again    bool   // the message was received before, perhaps by another process
}

type line struct {
	PID      int
	Schedule bool
	Items    []item
	Done     []string
}

func main() {
	lambda.Start(func(_ context.Context, raw json.RawMessage) (any, error) {
		var e event
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		if e.DetailType == "" && e.Records == nil {
			return events.APIGatewayProxyResponse{StatusCode: 200, Body: os.Getenv("QUEUE_URL") + " " + os.Getenv("QUEUE_NAME")}, nil
		}
		begun := line{PID: os.Getpid(), Schedule: e.DetailType == "Scheduled Event"}
		for _, r := range e.Records {
			i, err := read(r)
			if err != nil {
				return nil, err
			}
			begun.Items = append(begun.Items, i)
		}
		printLine(begun)
		if begun.Schedule {
			time.Sleep(50 * time.Millisecond) // so that overlapping calls mix their lines
		}
		done := line{Schedule: begun.Schedule}
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for _, i := range begun.Items {
			switch {
			case i.Do == "poison", i.Do == "once" && !i.again:
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: i.ID})
				continue
			case i.Do == "slow":
				time.Sleep(1500 * time.Millisecond)
			}
			done.Done = append(done.Done, i.Name)
		}
		printLine(done)
		return answer, nil
	})
}

func printLine(l line) {
	text, _ := json.Marshal(l)
	fmt.Println(string(text))
}

// read reads a record with the types of aws-lambda-go, and checks members that Lambda always sends.
func read(r json.RawMessage) (item, error) {
	var stream events.DynamoDBEventRecord
	if err := json.Unmarshal(r, &stream); err == nil && stream.EventSource == "aws:dynamodb" {
		image := stream.Change.NewImage
		if stream.EventName != "INSERT" || stream.Change.ApproximateCreationDateTime.IsZero() || image["list"].List()[0].String() != "x" {
			return item{}, fmt.Errorf("not a record as Lambda sends it: %s", r)
		}
		return item{Name: image["SK"].String(), Do: image["do"].String(), ID: stream.Change.SequenceNumber}, nil
	}
	var message events.SQSMessage
	if err := json.Unmarshal(r, &message); err != nil {
		return item{}, err
	}
	i := item{ID: message.MessageId, again: message.Attributes["ApproximateReceiveCount"] != "1"}
	if v := message.MessageAttributes["name"].StringValue; v == nil || message.Attributes["SentTimestamp"] == "" || message.Attributes["MessageGroupId"] != "group-"+*v {
		return item{}, fmt.Errorf("not a record as Lambda sends it: %s", r)
	}
	return i, json.Unmarshal([]byte(message.Body), &i)
}
