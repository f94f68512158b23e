// Command install installs the parts of the lab while other programs are compiled. It prints no error. The program that needs a
// part tries again, and prints the error.
package main

import (
	"context"

	"latchkey/infra/tools"
	"latchkey/infra/tools/parts"
)

func main() {
	tools.Main("", func(ctx context.Context) error {
		_ = parts.Install(ctx)
		return nil
	})
}
