// Command generate writes infra/openapi-3.1.yaml, from the repository's root:
// go run ./infra/contract/generate
package main

import (
	"fmt"
	"os"

	"latchkey/infra/contract"
)

func main() {
	text, err := contract.Text()
	if err == nil {
		text, err = contract.OpenAPI31(text)
	}
	if err == nil {
		err = os.WriteFile("infra/openapi-3.1.yaml", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
