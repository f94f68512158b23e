package contract

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3conv"
)

// enumOrNull matches the 3.0 form of "null or a value of another schema". In 3.1 this allOf would refuse null.
var enumOrNull = regexp.MustCompile(`type: string\n +nullable: true\n +allOf: \[(.*)\]`)

// OpenAPI31 converts the OpenAPI 3.0 document to OpenAPI 3.1, in JSON. It adds the section webhooks, which 3.0 does not have. That
// section describes the webhook of each event type.
func OpenAPI31(text []byte) ([]byte, error) {
	doc30, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	var added bytes.Buffer
	if err := webhooks.Execute(&added, DataOf(doc30.Components.Schemas["Event"].Value)); err != nil {
		return nil, err
	}
	schemas, items, _ := strings.Cut(added.String(), "webhooks:\n")
	const place = "\n  schemas:\n"
	extended := strings.Replace(string(text), place, place+schemas, 1) + "webhooks:\n" + items
	extended = enumOrNull.ReplaceAllString(extended, "anyOf: [$1, { type: 'null' }]")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(extended))
	if err != nil {
		return nil, err
	}
	openapi3conv.Upgrade(doc)
	doc.OpenAPI = "3.1.0" // the newest version that most tools can read
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// name turns link.claimed into LinkClaimed.
func name(kind string) string {
	var out string
	for _, word := range strings.Split(kind, ".") {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// webhooks prints two parts: more schemas, then the section "webhooks:". Its input is the result of DataOf.
var webhooks = template.Must(template.New("").Funcs(template.FuncMap{"name": name}).Parse(`    WebhookClaims:
      type: object
      description: The claims of a webhook's token
      required: [iss, aud, iat, exp, jti, event]
      properties:
        iss: { type: string, minLength: 1, description: The deployment that sends the webhook }
        aud: { type: string, pattern: '^whe_', description: The id of your endpoint }
        iat: { type: integer, description: Seconds since the epoch }
        exp: { type: integer, description: 'Seconds since the epoch, five minutes after iat' }
        jti: { type: string, minLength: 1, description: The id of this attempt }
        event: { $ref: '#/components/schemas/WebhookEvent' }
    WebhookEvent:
      description: The event in a webhook. The list of types may grow
      oneOf:
{{- range $kind, $_ := .}}
        - { $ref: '#/components/schemas/{{name $kind}}Event' }
{{- end}}
        - { $ref: '#/components/schemas/OwnEvent' }
      discriminator:
        propertyName: type
        mapping:
{{- range $kind, $_ := .}}
          {{$kind}}: '#/components/schemas/{{name $kind}}Event'
{{- end}}
    OwnEvent:
      type: object
      description: An event that the owner publishes
      required: [id, type, createdAt, data]
      properties:
        id: { type: string, pattern: '^evt_' }
        type:
          allOf: [{ $ref: '#/components/schemas/OwnEventType' }]
          not: { type: string, enum: [{{range $kind, $_ := .}}{{$kind}}, {{end}}] }
        createdAt: { $ref: '#/components/schemas/Time' }
        data: { type: object, additionalProperties: true }
{{- range $kind, $data := .}}
    {{name $kind}}Event:
      type: object
      required: [id, type, createdAt, data]
      properties:
        id: { type: string, pattern: '^evt_' }
        type: { type: string, const: {{$kind}} }
        createdAt: { $ref: '#/components/schemas/Time' }
        data: { $ref: '#/components/schemas/{{$data}}' }
{{- end}}
webhooks:
{{- range $kind, $data := .}}
  {{$kind}}:
    post:
      operationId: receive{{name $kind}}
      tags: [Webhooks]
      summary: An event of the type {{$kind}}
      description: The body is a JWT. Its event has the type {{$kind}} and the data of {{$data}}. See the tag Webhooks.
      security: []
      parameters:
        - { name: webhook-id, in: header, required: true, description: The event's id, schema: { type: string, pattern: '^evt_' } }
      requestBody:
        required: true
        content:
          application/jwt:
            schema:
              type: string
              contentMediaType: application/jwt
              contentSchema:
                $ref: '#/components/schemas/WebhookClaims'
                properties: { event: { $ref: '#/components/schemas/{{name $kind}}Event' } }
      responses:
        2XX: { description: 'You accept the webhook, and it is not sent again' }
        '410': { description: Your endpoint no longer exists. It gets disabled }
        default: { description: You do not accept the webhook. It is sent again }
{{- end}}
`))
