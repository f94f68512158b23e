// Package infra embeds the OpenAPI document, which a function serves.
package infra

import _ "embed"

// OpenAPI is openapi.yaml, which functions/webhookkeys serves. No other function may import it, because the whole document would be
// in its program. TestAFunctionIsWiring in pkg checks this rule.
//
//go:embed openapi.yaml
var OpenAPI []byte
