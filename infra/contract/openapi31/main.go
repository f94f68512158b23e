// Command openapi31 prints the contract in OpenAPI 3.1, which has a section of webhooks.
package main

import (
	"fmt"
	"log"

	"latchkey/infra/contract"
)

func main() {
	text, err := contract.Text()
	if err == nil {
		text, err = contract.OpenAPI31(text)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
}
