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

// checkToken checks that the link token in the document is well formed, with the link's id
// that is beside it.
func checkToken(doc *openapi3.T) []string {
	example, _ := doc.Components.Responses["CreatedLink"].Value.Content.Get("application/json").Example.(map[string]any)
	text, _ := example["token"].(string)
	token, err := link.ParseToken(text)
	if err != nil || string(token.Link) != example["id"] {
		return []string{fmt.Sprintf("the token of the document: %v, of %s, beside %v", err, token.Link, example["id"])}
	}
	return nil
}

// checkEvents compares the document's lists of event types and of statuses with the
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
	wrong := slices.Concat(
		onlyIn("x-data", slices.Collect(maps.Keys(contract.DataOf(event))), types),
		onlyIn("the types of Event", listed(event.Properties["type"].Value), types),
		onlyIn("the types of Delivery", listed(delivery["eventType"].Value), types),
		onlyIn("the statuses of Delivery", listed(schemas[contract.Known(delivery["status"].Value)].Value), statuses),
		onlyIn("the events to ask for", listed(schemas["EventFilters"].Value.Items.Value), filters),
	)
	filter := schemas["EventFilter"].Value
	if names, _ := filter.Extensions["x-enum-varnames"].([]any); len(names) != len(filter.Enum) {
		wrong = append(wrong, "the constants of EventFilter are not as many as its values")
	}
	for _, name := range []string{"WebhookEndpoint", "CountedWebhookEndpoint"} {
		events := schemas[contract.Known(schemas[name].Value.Properties["events"].Value.Items.Value)]
		wrong = append(wrong, onlyIn("the events of "+name, listed(events.Value), filters)...)
	}
	for _, name := range []string{"DeliveryQuery", "Redelivery"} {
		status := schemas[name].Value.Properties["status"].Value
		if !status.Nullable || len(status.AllOf) != 1 || status.AllOf[0].Value != schemas["DeliveryStatus"].Value {
			wrong = append(wrong, "the statuses to ask for are not those of DeliveryStatus, or null: "+name)
		}
	}
	return wrong
}

// listed returns the values of an enum, open or closed.
func listed(s *openapi3.Schema) []string {
	list := s.Enum
	if open, ok := s.Extensions["x-extensible-enum"].([]any); ok {
		list = open
	}
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// checkData checks that the events in the document's examples have the data of their type.
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
