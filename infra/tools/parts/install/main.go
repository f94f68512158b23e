// Command install installs the parts of the lab while the rest is compiled. It prints no error: the program that
// needs a part installs it again, and prints why that fails.
package main

import (
	"context"
	"os"

	"latchkey/infra/tools/parts"
)

func main() {
	if parts.Install(context.Background()) != nil {
		os.Exit(1)
	}
}
