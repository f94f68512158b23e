// Command links serves what a client SDK claims a link by.
package main

import (
	"log/slog"

	"latchkey/pkg/api"
	"latchkey/pkg/env"
	"latchkey/pkg/lambdahttp"
)

func main() {
	slog.SetDefault(env.Logger())
	lambdahttp.Start(api.Links())
}
