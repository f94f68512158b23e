// Package bus is the owner's event bus, in AWS EventBridge. It is separate from package pipeline, so that only the function
// of the tap links EventBridge.
package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// source is the source of everything on the bus. A rule of the owner matches it.
const source = "latchkey"

// Bus puts events on one bus.
type Bus struct {
	client *eventbridge.Client
	name   string
}

// New returns the bus of a name.
func New(cfg aws.Config, name string) *Bus {
	return &Bus{name: name, client: eventbridge.NewFromConfig(cfg)}
}

// Put puts one event on the bus. detail is a JSON object. An error means that the bus may not have taken it. A bus that is not
// there is no error: EventBridge answers as if it had accepted the event, which is lost.
func (b *Bus) Put(ctx context.Context, detailType string, at time.Time, detail []byte) error {
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &b.name, Source: aws.String(source), DetailType: &detailType, Time: &at, Detail: aws.String(string(detail)),
	}}})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	if out.FailedEntryCount > 0 { // with the status 200
		return fmt.Errorf("bus: %s: %s", aws.ToString(out.Entries[0].ErrorCode), aws.ToString(out.Entries[0].ErrorMessage))
	}
	return nil
}
