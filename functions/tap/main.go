// Command tap reads every event and every audit entry from the table's stream, and passes it on to the owner's event bus.
package main

import (
	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/bus"
	"latchkey/pkg/service"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		cfg := e.AWS()
		services := service.From(e)
		t := pipeline.Tap{
			Store:   store.New(e.DynamoDB(cfg), e.Required("TABLE")),
			Bus:     bus.New(cfg, e.Required("EVENT_BUS")),
			Service: service.Named(services),
		}
		return func() { lambda.StartStream(t.Record) }
	})
}
