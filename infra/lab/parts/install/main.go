// Command install installs the parts of the lab. It runs beside the compiler: what fails here, the program that
// needs the part tries again, and prints why.
package main

import (
	"context"
	"os"

	"latchkey/infra/lab/parts"
)

func main() {
	if parts.Install(context.Background()) != nil {
		os.Exit(1)
	}
}
