// Package infra holds the public contract as a file that a function can serve.
package infra

import _ "embed"

// OpenAPI is openapi.yaml. The main of functions/webhookkeys is its one importer.
//
//go:embed openapi.yaml
var OpenAPI []byte
