// Command rotate creates, activates and retires the webhook signing keys. A schedule calls
// it, and so does the first deployment.
package main

import (
	"time"

	"latchkey/pkg/boot"
	"latchkey/pkg/lambda"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/store"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		cfg := e.AWS()
		kms := signing.New(signing.Client(cfg), e.Required("STACK"), e.Pairs("KEY_TAG_NAMES", "KEY_TAG_VALUES")...)
		r := pipeline.Rotation{
			Store:    store.New(e.DynamoDB(cfg), e.Required("TABLE")),
			KMS:      kms,
			FirstARN: e.Required("SIGNING_KEY_ARN"),
			// 0 days: a key signs without an end.
			Every: time.Duration(e.Int("ROTATION_DAYS", 90, 0)) * 24 * time.Hour,
		}
		return func() { lambda.StartSchedule(r.Run) }
	})
}
