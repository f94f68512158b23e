// Package bus puts events on the owner's event bus in AWS EventBridge. It is separate from package pipeline, so that only
// the tap function links EventBridge.
package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// source is the source of all events that Latchkey puts on the bus. A rule of the owner matches it.
const source = "latchkey"

// Bus puts events on one bus.
type Bus struct {
	client *eventbridge.Client
	name   string
}

// New returns the bus with this name.
func New(cfg aws.Config, name string) *Bus {
	return &Bus{name: name, client: eventbridge.NewFromConfig(cfg)}
}

// Put puts one event on the bus. detail is a JSON object. An error means that the bus may not have accepted the event. A bus
// that does not exist causes no error: EventBridge answers as if it had accepted the event, but the event is lost.
func (b *Bus) Put(ctx context.Context, detailType string, at time.Time, detail []byte) error {
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &b.name, Source: aws.String(source), DetailType: &detailType, Time: &at, Detail: aws.String(string(detail)),
	}}})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	if out.FailedEntryCount > 0 { // the status is 200 all the same
		return fmt.Errorf("bus: %s: %s", aws.ToString(out.Entries[0].ErrorCode), aws.ToString(out.Entries[0].ErrorMessage))
	}
	return nil
}
