// Command install installs the parts of the lab while other programs are compiled. It prints no error. The program that needs a
// part tries again, and prints the error.
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
