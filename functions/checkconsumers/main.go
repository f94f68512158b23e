// Command checkconsumers checks once a day whether other APIs could cache the answers of our shared authorizers.
package main

import (
	"net/http"

	"latchkey/pkg/boot"
	"latchkey/pkg/consumers"
	"latchkey/pkg/lambda"
)

func main() {
	boot.Run(func(e *boot.Reader) func() {
		cfg := e.AWS()
		gateway := &consumers.Client{AWS: cfg, HTTP: &http.Client{}, URL: e.Required("API_GATEWAY")}
		shared := []string{e.Required("KEY_AUTHORIZER"), e.Required("MEMBER_AUTHORIZER")}
		return func() {
			lambda.StartSchedule(consumers.Daily{API: gateway, Region: cfg.Region, Shared: shared}.Run)
		}
	})
}
