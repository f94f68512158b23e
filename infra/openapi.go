// Package infra embeds the OpenAPI document, which a function serves.
package infra

import _ "embed"

// OpenAPI is openapi.yaml, which functions/webhookkeys serves. No other function may import it, because each program that
// imports it carries the whole document. TestAFunctionIsWiring in pkg checks this rule.
//
//go:embed openapi.yaml
var OpenAPI []byte
