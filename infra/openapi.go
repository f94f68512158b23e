// Package infra embeds the OpenAPI document, which a function serves.
package infra

import _ "embed"

// OpenAPI is openapi.yaml. Only functions/webhookkeys imports it.
//
//go:embed openapi.yaml
var OpenAPI []byte
