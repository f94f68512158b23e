package contract_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra"
	"latchkey/infra/harness/contract"
	"latchkey/pkg/webhook"
)

func load31(t *testing.T) *openapi3.T {
	t.Helper()
	text, err := contract.OpenAPI31(infra.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestNullIsATypeInOpenAPI31(t *testing.T) {
	schemas := load31(t).Components.Schemas
	for name, c := range map[string]struct {
		schema    *openapi3.SchemaRef
		good, bad any
	}{
		"a nullable time":    {schemas["TimeOrNull"], nil, "today"},
		"a nullable enum":    {schemas["MemberAddition"].Value.Properties["role"], nil, "owner"},
		"a name, never null": {schemas["Name"], "x", nil},
	} {
		if err := c.schema.Value.VisitJSON(c.good, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v is refused: %v", name, c.good, err)
		}
		if c.schema.Value.VisitJSON(c.bad, openapi3.EnableJSONSchema2020()) == nil {
			t.Errorf("%s: %v is accepted", name, c.bad)
		}
	}
	for name, schema := range schemas {
		for member, ref := range schema.Value.Properties {
			if ref.Value.Type.Includes("null") && len(ref.Value.AllOf) > 0 {
				t.Errorf("%s: %s refuses null: its allOf has no null", name, member)
			}
		}
	}
}

// dataExamples returns the event data in the document's examples, by the name of the data's schema.
func dataExamples(doc *openapi3.T) map[string]any {
	shown := map[string]any{}
	for _, example := range operations(doc)["POST /webhook_event/get"].Responses.Value("200").Value.Content.Get("application/json").Examples {
		event, _ := example.Value.Value.(map[string]any)
		kind, _ := event["type"].(string)
		shown[contract.DataOf(doc.Components.Schemas["Event"].Value)[kind]] = event["data"]
	}
	return shown
}

// claims returns the claims of a token that the product makes for an event of this type and data.
func claims(t *testing.T, kind webhook.Type, data any) (value map[string]any) {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	attempt := webhook.Attempt{Issuer: "https://api.example.com", Endpoint: "whe_1", ID: "j", At: now,
		Event: webhook.Event{EventFields: webhook.EventFields{ID: "evt_1", Type: kind, CreatedAt: now.UnixMilli(), Data: text}}}
	draft, err := attempt.Draft("kid")
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(draft.Token([64]byte{}), ".")[1])
	if err == nil {
		err = json.Unmarshal(payload, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestTokensHaveTheClaimsOfTheirWebhook checks that an event is valid only with the data of its type, by two schemas: the schema
// of all claims (WebhookClaims), and the schema of the type's webhook.
func TestTokensHaveTheClaimsOfTheirWebhook(t *testing.T) {
	doc30, doc := load(t).Document(), load31(t)
	schemaOf, shown := contract.DataOf(doc30.Components.Schemas["Event"].Value), dataExamples(doc30)
	for _, kind := range webhook.AllTypes() {
		item := doc.Webhooks[string(kind)]
		if item == nil {
			t.Errorf("no webhook %s", kind)
			continue
		}
		content := item.Post.RequestBody.Value.Content.Get("application/jwt").Schema.Value.ContentSchema
		for _, schema := range []*openapi3.SchemaRef{doc.Components.Schemas["WebhookClaims"], content} {
			for _, data := range []string{"Link", "KeyEventData", "EndpointDisabledData", "TestData", schemaOf[string(kind)]} {
				err := schema.Value.VisitJSON(claims(t, kind, shown[data]), openapi3.EnableJSONSchema2020())
				if (err == nil) != (schemaOf[string(kind)] == data) {
					t.Errorf("%s with %s: %v", kind, data, err)
				}
			}
		}
		i := slices.IndexFunc(webhook.AllTypes(), func(other webhook.Type) bool { return other != kind })
		otherEvent := claims(t, webhook.AllTypes()[i], shown[schemaOf[string(kind)]])
		if content.Value.VisitJSON(otherEvent, openapi3.EnableJSONSchema2020()) == nil {
			t.Errorf("the webhook %s accepts an event of another type", kind)
		}
	}
	if len(doc.Webhooks) != len(webhook.AllTypes()) {
		t.Errorf("%d webhooks for %d types", len(doc.Webhooks), len(webhook.AllTypes()))
	}
}
