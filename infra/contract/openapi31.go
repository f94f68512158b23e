package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// made31 is the first line of the document of OpenAPI 3.1.
const made31 = "# Made from infra/openapi.yaml by: go run ./infra/contract/openapi31\n"

// OpenAPI31 makes a document of OpenAPI 3.1 from one of 3.0. It replaces nullable by the
// type null, and adds webhooks, which 3.0 does not have: they describe each event as it
// arrives.
func OpenAPI31(text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	root := doc.Content[0]
	version := member(root, "openapi")
	schemas := member(root, "components", "schemas")
	if version == nil || schemas == nil {
		return nil, errors.New("the document has no version or no schemas")
	}
	version.Value = "3.1.0"
	if err := nullTypes(root); err != nil {
		return nil, err
	}
	added, webhooks, err := webhookNodes(member(schemas, "Event", dataKey))
	if err != nil {
		return nil, err
	}
	schemas.Content = append(schemas.Content, added.Content...)
	before := slices.IndexFunc(root.Content, func(n *yaml.Node) bool { return n.Value == "components" })
	root.Content = slices.Insert(root.Content, before, webhooks.Content...)
	out := bytes.NewBufferString(made31)
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// member returns the value at a path of names in a mapping, or nil.
func member(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		i := -1
		if n != nil && n.Kind == yaml.MappingNode {
			i = slices.IndexFunc(n.Content, func(n *yaml.Node) bool { return n.Value == name })
		}
		if i < 0 || i%2 != 0 {
			return nil
		}
		n = n.Content[i+1]
	}
	return n
}

// nullTypes replaces nullable: true, which 3.1 does not have, everywhere but in examples.
func nullTypes(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.Join(each(n.Content, nullTypes)...)
	}
	if i := slices.IndexFunc(n.Content, func(n *yaml.Node) bool { return n.Value == "nullable" }); i >= 0 && i%2 == 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
		if err := permitNullType(n); err != nil {
			return err
		}
	}
	var errs []error
	for i := 0; i < len(n.Content); i += 2 {
		if name := n.Content[i].Value; name != "example" && name != "examples" {
			errs = append(errs, nullTypes(n.Content[i+1]))
		}
	}
	return errors.Join(errs...)
}

func each(nodes []*yaml.Node, f func(*yaml.Node) error) []error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, f(n))
	}
	return errs
}

// permitNullType adds the type null to a schema: beside its type, or beside the schema that
// its allOf refers to.
func permitNullType(schema *yaml.Node) error {
	kind := member(schema, "type")
	if kind == nil || kind.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: nullable without a type", schema.Line)
	}
	null := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "null", Style: yaml.SingleQuotedStyle}
	if all := member(schema, "allOf"); all != nil {
		i := slices.IndexFunc(schema.Content, func(n *yaml.Node) bool { return n.Value == "type" })
		schema.Content = slices.Delete(schema.Content, i, i+2)
		schema.Content[slices.IndexFunc(schema.Content, func(n *yaml.Node) bool { return n.Value == "allOf" })].Value = "anyOf"
		all.Content = append(all.Content, &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "type"}, null}})
		return nil
	}
	*kind = yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: kind.Value}, null}}
	return nil
}

// webhookNodes returns the webhooks and their schemas. data is x-data of the schema Event.
func webhookNodes(data *yaml.Node) (schemas, webhooks *yaml.Node, err error) {
	if data == nil {
		return nil, nil, fmt.Errorf("the schema Event has no %s", dataKey)
	}
	var schemasText, oneOf, mapping, webhooksText strings.Builder
	for i := 0; i < len(data.Content); i += 2 {
		kind, schema := data.Content[i].Value, data.Content[i+1].Value
		name := camel(kind)
		fmt.Fprintf(&oneOf, "\n    - { $ref: '#/components/schemas/%sEvent' }", name)
		fmt.Fprintf(&mapping, "\n        %s: '#/components/schemas/%sEvent'", kind, name)
		fmt.Fprintf(&schemasText, eventSchema, name, kind, schema)
		fmt.Fprintf(&webhooksText, webhook, kind, name, schema)
	}
	var s, w yaml.Node
	err = errors.Join(
		yaml.Unmarshal(fmt.Appendf(nil, claimsSchema, oneOf.String(), mapping.String(), schemasText.String()), &s),
		yaml.Unmarshal([]byte("webhooks:\n"+webhooksText.String()), &w))
	if err != nil {
		return nil, nil, err
	}
	return s.Content[0], w.Content[0], nil
}

// camel turns link.claimed into LinkClaimed.
func camel(kind string) string {
	var out string
	for _, word := range strings.Split(kind, ".") {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// claimsSchema is filled with the events of oneOf, the mapping of types to them,
// and their schemas.
const claimsSchema = `
WebhookClaims:
  type: object
  description: The claims of a webhook's token
  required: [iss, aud, iat, exp, jti, event]
  properties:
    iss: { type: string, minLength: 1, description: The deployment that sends it }
    aud: { type: string, pattern: '^whe_', description: The id of your endpoint }
    iat: { type: integer, description: Seconds since the epoch }
    exp: { type: integer, description: 'Seconds since the epoch, five minutes after iat' }
    jti: { type: string, minLength: 1, description: Of this attempt }
    event: { $ref: '#/components/schemas/WebhookEvent' }
WebhookEvent:
  description: An event as it arrives. The list of types may grow
  oneOf:%s
  discriminator:
    propertyName: type
    mapping:%s
%s`

// eventSchema is filled with the name, the type of event and the schema of its data.
const eventSchema = `%sEvent:
  type: object
  required: [id, type, createdAt, data]
  properties:
    id: { type: string, pattern: '^evt_' }
    type: { type: string, const: %s }
    createdAt: { $ref: '#/components/schemas/Time' }
    data: { $ref: '#/components/schemas/%s' }
`

// webhook is filled with the type of event, its name and the schema of its data.
const webhook = `  %[1]s:
    post:
      operationId: receive%[2]s
      tags: [Webhooks]
      summary: An event of the type %[1]s
      description: The body is a JWT, whose event has the type %[1]s and the data of %[3]s. See the tag Webhooks.
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
                properties: { event: { $ref: '#/components/schemas/%[2]sEvent' } }
      responses:
        2XX: { description: 'You have it, and it does not come again' }
        '410': { description: Your endpoint has gone. It is disabled }
        default: { description: You do not have it. It comes again }
`
