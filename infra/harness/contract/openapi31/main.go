// Command openapi31 prints the API's contract in OpenAPI 3.1, with a section that describes the webhooks.
package main

import (
	"fmt"
	"log"

	"latchkey/infra"
	"latchkey/infra/harness/contract"
)

func main() {
	text, err := contract.OpenAPI31(infra.OpenAPI)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
}
