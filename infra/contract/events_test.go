package contract_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra/contract"
	"latchkey/pkg/link"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// checkToken: the link token that the document shows is one, of the link beside it.
func checkToken(doc *openapi3.T) []string {
	example, _ := doc.Components.Responses["CreatedLink"].Value.Content.Get("application/json").Example.(map[string]any)
	text, _ := example["token"].(string)
	token, err := link.ParseToken(text)
	if err != nil || string(token.Link) != example["id"] {
		return []string{fmt.Sprintf("the token of the document: %v, of %s, beside %v", err, token.Link, example["id"])}
	}
	return nil
}

// checkEvents: the document's lists of event types and of statuses are the
// product's.
func checkEvents(doc *openapi3.T) []string {
	schemas := doc.Components.Schemas
	var types, statuses []string
	for _, t := range webhook.AllTypes() {
		types = append(types, string(t))
	}
	for _, s := range store.DeliveryStatuses() {
		statuses = append(statuses, string(s))
	}
	filters := append([]string{webhook.Every}, types...)
	event, delivery := schemas["Event"].Value, schemas["Delivery"].Value.Properties
	return slices.Concat(
		onlyIn("x-data", slices.Collect(maps.Keys(contract.DataOf(event))), types),
		onlyIn("the types of Event", listed(event.Properties["type"].Value), types),
		onlyIn("the types of Delivery", listed(delivery["eventType"].Value), types),
		onlyIn("the statuses of Delivery", listed(delivery["status"].Value), statuses),
		onlyIn("the statuses to ask for", listed(schemas["DeliveryStatusOrNull"].Value), append(statuses, "null")),
		onlyIn("the events to ask for", listed(schemas["EventFilters"].Value.Items.Value), filters),
		onlyIn("the events of WebhookEndpoint", listed(schemas["WebhookEndpoint"].Value.Properties["events"].Value.Items.Value), filters),
		onlyIn("the events of CountedWebhookEndpoint", listed(schemas["CountedWebhookEndpoint"].Value.Properties["events"].Value.Items.Value), filters),
	)
}

// listed gives the values of an enum, open or closed; null as "null".
func listed(s *openapi3.Schema) []string {
	list := s.Enum
	if open, ok := s.Extensions["x-extensible-enum"].([]any); ok {
		list = open
	}
	var out []string
	for _, v := range list {
		if v == nil {
			v = "null"
		}
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// checkData: the events of the document's examples have the data of their type.
func checkData(doc *openapi3.T) []string {
	var wrong []string
	for name, op := range operations(doc) {
		for _, ref := range op.Responses.Map() {
			media := ref.Value.Content.Get("application/json")
			if media == nil {
				continue
			}
			shown := []any{media.Example}
			for _, e := range media.Examples {
				shown = append(shown, e.Value.Value)
			}
			for _, v := range shown {
				if err := contract.CheckData(doc, media.Schema.Value, v); err != nil {
					wrong = append(wrong, name+": "+err.Error())
				}
			}
		}
	}
	return wrong
}
