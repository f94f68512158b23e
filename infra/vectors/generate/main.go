// Command generate writes infra/vectors/webhooks.json, from the repository's
// root: go run ./infra/vectors/generate
package main

import (
	"fmt"
	"os"

	"latchkey/infra/vectors"
)

func main() {
	b, err := vectors.File()
	if err == nil {
		err = os.WriteFile("infra/vectors/webhooks.json", b, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
