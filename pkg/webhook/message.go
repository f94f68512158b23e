package webhook

import (
	"context"
	"encoding/json"
	"time"

	"latchkey/pkg/id"
)

// MaxDelay is how long a message can wait in the queue (SQS, DelaySeconds).
const MaxDelay = 15 * time.Minute

// Message names a delivery that may be due. A message only wakes a delivery: when a message is lost, late
// or doubled, no delivery is lost or doubled, because the rows of the table decide.
type Message struct {
	Org id.Org `json:"orgId"`
	DeliveryID
}

// DeliveryID names a delivery: an event of an app, for one of its endpoints.
type DeliveryID struct {
	App      id.App      `json:"appId"`
	Endpoint id.Endpoint `json:"endpointId"`
	Event    id.Event    `json:"eventId"`
}

// ParseMessage reads a message's body.
func ParseMessage(body string) (Message, error) {
	var m Message
	err := json.Unmarshal([]byte(body), &m)
	return m, err
}

// Queue wakes deliveries after a delay of at most MaxDelay. If it refuses a message, no delivery is
// lost: the sweep finds the delivery in the table.
type Queue interface {
	Send(ctx context.Context, delay time.Duration, messages ...Message) error
}
