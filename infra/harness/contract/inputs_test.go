package contract_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// inputs is a hand-written list of each text in a request. The group decides how the API treats a bad text:
//   - machine: a program reports the text, or copies it from another system. The API cleans and cuts it, and never refuses it
//   - person: a person types the text, for other people to read. The API refuses a bad text with a reason
//   - exact: programs compare or parse the text, so a change would give it another meaning. The API refuses a bad text
//
// A name is "METHOD path pointer"; "*" is an item of an array, or any member of an object. A parameter has ?, #
// (header) or nothing before its name.
var inputs = map[string][]string{
	"machine": {
		"#Latchkey-Operator", "#Latchkey-Reason", "POST /v1/orgs/{orgId}/suspension /reason", "POST /v1/users/{userId}/stop /reason",
		"POST /key/leaks/github /*/source", "POST /key/leaks/github /*/token", "POST /key/leaks/github /*/type", "POST /key/leaks/github /*/url",
		"POST /link/claim /device/name", "POST /link/claim /device/platform",
		"POST /v1/orgs /admin/name", "POST /v1/orgs/{orgId}/members /name", // services send the names that the issuer has
		"POST /v1/orgs/{orgId}/keys/import /keys/*/name", // copied from the owner's earlier system
	},
	"person": {
		"PATCH /v1/orgs/{orgId} /name", "PATCH /v1/orgs/{orgId}/apps/{appId} /name", "PATCH /v1/orgs/{orgId}/keys/{keyId} /name",
		"POST /v1/orgs /name", "POST /v1/orgs/{orgId}/apps /name", "POST /v1/orgs/{orgId}/keys /name",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints /description", "POST /webhook_endpoint/create /description",
		"POST /webhook_endpoint/update /description", "PUT /v1/catalogue /events/*/description", "PUT /v1/catalogue /scopes/*/description",
	},
	"exact": {
		"#Github-Public-Key-Identifier", "#Github-Public-Key-Signature", "#Idempotency-Key", "?action", "?actor", "?createdBy", "?cursor", "?email", "?endpointId", "?eventId", "?externalId", "?from", "?month", "?subject", "?target", "?to",
		"appId", "endpointId", "eventId", "file", "keyId", "kid", "linkId", "orgId", "userId",
		"PATCH /v1/orgs/{orgId} /externalId", "PATCH /v1/orgs/{orgId} /plan", "PATCH /v1/orgs/{orgId}/apps/{appId} /keysBeginWith", "POST /v1/orgs/{orgId}/apps /keysBeginWith", "PATCH /v1/orgs/{orgId}/keys/{keyId} /metadata/*", "PATCH /v1/orgs/{orgId}/keys/{keyId} /scopes/*",
		"POST /key/revoke /key", "POST /key/revoke /source", "POST /v1/keys/find /key", "POST /v1/keys/find /locator", "POST /v1/keys/find /sha256",
		"POST /link/claim /claimKey", "POST /link/claim /token", "POST /link/create /clientUserId", "POST /link/create /metadata/*",
		"POST /link/get /linkId", "POST /link/list /cursor", "POST /link/revoke /linkId",
		"POST /v1/orgs /admin/subject", "POST /v1/orgs /externalId", "POST /v1/orgs /plan",
		"POST /v1/orgs/{orgId}/apps/{appId}/events /events/*/id", "POST /v1/orgs/{orgId}/apps/{appId}/events /events/*/type",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver /cursor",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver /endpointId",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_deliveries/redeliver /eventId",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints /events/*", "POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints /url",
		"POST /v1/orgs/{orgId}/keys /appId", "POST /v1/orgs/{orgId}/keys /metadata/*", "POST /v1/orgs/{orgId}/keys /scopes/*",
		"POST /v1/orgs/{orgId}/keys/import /keys/*/appId", "POST /v1/orgs/{orgId}/keys/import /keys/*/metadata/*",
		"POST /v1/orgs/{orgId}/keys/import /keys/*/prefix", "POST /v1/orgs/{orgId}/keys/import /keys/*/scopes/*",
		"POST /v1/orgs/{orgId}/keys/import /keys/*/sha256",
		"POST /v1/orgs/{orgId}/keys/{keyId}/rotate /metadata/*", "POST /v1/orgs/{orgId}/keys/{keyId}/rotate /scopes/*",
		"POST /v1/orgs/{orgId}/members /email", "POST /v1/orgs/{orgId}/members /subject",
		"POST /webhook_delivery/list /cursor", "POST /webhook_delivery/list /endpointId", "POST /webhook_delivery/list /eventId",
		"POST /webhook_delivery/redeliver /cursor", "POST /webhook_delivery/redeliver /endpointId", "POST /webhook_delivery/redeliver /eventId",
		"POST /webhook_endpoint/create /events/*", "POST /webhook_endpoint/create /url", "POST /webhook_endpoint/delete /endpointId",
		"POST /webhook_endpoint/get /endpointId", "POST /webhook_endpoint/list /cursor", "POST /webhook_endpoint/test /endpointId",
		"POST /webhook_endpoint/update /endpointId", "POST /webhook_endpoint/update /events/*", "POST /webhook_endpoint/update /url",
		"POST /v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test /type", "POST /webhook_endpoint/test /type",
		"PUT /v1/catalogue /events/*/type", "PUT /v1/catalogue /scopes/*/name",
		"POST /webhook_event/get /eventId", "POST /webhook_event/list /cursor", "POST /webhook_verification_key/get /kid",
	},
}

// textInputs returns the schemas of all texts in requests, by their names in inputs. It leaves out texts with listed values.
func textInputs(doc *openapi3.T) map[string]*openapi3.Schema {
	found := map[string]*openapi3.Schema{}
	for name, op := range operations(doc) {
		_, path, _ := strings.Cut(name, " ")
		for _, p := range slices.Concat(doc.Paths.Value(path).Parameters, op.Parameters) {
			mark := map[string]string{"query": "?", "header": "#"}[p.Value.In]
			addTexts(found, mark+p.Value.Name, p.Value.Schema)
		}
		if op.RequestBody != nil {
			addTexts(found, name+" ", op.RequestBody.Value.Content.Get("application/json").Schema)
		}
	}
	return found
}

// addTexts adds the texts of a schema to found.
func addTexts(found map[string]*openapi3.Schema, name string, ref *openapi3.SchemaRef) {
	if ref == nil {
		return
	}
	s := ref.Value
	hasListedValues := len(s.Enum) > 0 || slices.ContainsFunc(s.AllOf, func(r *openapi3.SchemaRef) bool { return len(r.Value.Enum) > 0 })
	anyType := s.Type == nil && s.AllOf == nil // may be a text
	if anyType || s.Type.Is("string") && !hasListedValues {
		found[name] = s
	}
	for member, ref := range s.Properties {
		addTexts(found, name+"/"+member, ref)
	}
	addTexts(found, name+"/*", s.Items)
	addTexts(found, name+"/*", s.AdditionalProperties.Schema)
}

func TestEveryTextInputHasAGroup(t *testing.T) {
	found := textInputs(load(t).Document())
	for _, fault := range differences("texts in requests", slices.Collect(maps.Keys(found)), slices.Concat(inputs["machine"], inputs["person"], inputs["exact"])) {
		t.Error(fault)
	}
	for group, names := range inputs {
		for _, name := range names {
			s := found[name]
			if s == nil {
				continue
			}
			if refuses := s.Pattern != "" || s.MaxLength != nil; group == "machine" && refuses || group == "person" && !refuses {
				t.Errorf("%s is in the group %s; its schema refuses texts: %v", name, group, refuses)
			}
		}
	}
}
