// Command rotate creates, activates and retires the webhook signing keys. A schedule calls
// it, and so does the first deployment.
package main

import (
	"time"

	"latchkey/pkg/env"
	"latchkey/pkg/lambdaevent"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/signing/kms"
	"latchkey/pkg/store"
)

func main() {
	env.Run(func(e *env.Reader) func() {
		cfg := e.AWS()
		keys := kms.New(kms.Client(cfg, e.Optional("AWS_ENDPOINT_URL_KMS", "")), e.Required("STACK"), e.Pairs("KEY_TAG_NAMES", "KEY_TAG_VALUES")...)
		r := pipeline.Rotation{
			Store:    store.New(e.DynamoDB(cfg), e.Required("TABLE")),
			KMS:      keys,
			FirstARN: e.Required("SIGNING_KEY_ARN"),
			Every:    time.Duration(e.Int("ROTATION_DAYS", 90, 0)) * 24 * time.Hour,
		}
		return func() { lambdaevent.StartSchedule(r.Run) }
	})
}
