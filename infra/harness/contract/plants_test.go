package contract_test

import (
	"strings"
	"testing"

	"latchkey/infra"
	"latchkey/infra/harness/contract"
)

// plant is a fault in the document: new replaces the first old. check names the check that must find the fault; "": no check of
// checks does.
type plant struct{ check, old, new string }

func TestEveryCheckFindsItsPlantedFault(t *testing.T) {
	const claim = "  /link/claim:\n    post:"
	found := map[string]bool{}
	for name, p := range map[string]plant{
		"a path without a route":                  {"operations", "  /app/get:\n", "  /app/got:\n"},
		"a method without a route":                {"operations", claim, "  /link/claim:\n    put:"},
		"a route without an operation":            {"operations", "    options:\n", "    x-options:\n"},
		"a parameter that no route has":           {"parameters", "    limit:\n      name: limit\n", "    limit:\n      name: size\n"},
		"a route that ignores parameters":         {"parameters", "[invalid_cursor, unknown_parameter, ", "[invalid_cursor, "},
		"a status without a code":                 {"problems", "        '401': { $ref: '#/components/responses/TokenRefused' }\n", "        '401': { $ref: '#/components/responses/TokenRefused' }\n        '409': { $ref: '#/components/responses/Done' }\n"},
		"a code under another status":             {"problems", "        '429': { $ref", "        '428': { $ref"},
		"a code that no route has":                {"all codes", "x-error-codes: [route_not_found, insufficient_scope]", "x-error-codes: []"},
		"an example with another type":            {"problems", "type: urn:latchkey:problem:org_not_found", "type: urn:latchkey:problem:not_found"},
		"an example under another status":         {"problems", "'404': { $ref: '#/components/responses/OrgNotFound' }", "'404': { $ref: '#/components/responses/LastAdmin' }"},
		"an answer without an example":            {"examples", "              example: { ok: true }\n", ""},
		"a request without an example":            {"examples", "            example: { name: Acme 2 }\n", ""},
		"an open request":                         {"bodies", "    OrgCreation:\n      type: object\n      additionalProperties: false\n", "    OrgCreation:\n      type: object\n"},
		"a closed answer":                         {"bodies", "    Org:\n      type: object\n      additionalProperties: true\n", "    Org:\n      type: object\n      additionalProperties: false\n"},
		"an answer that is not marked open":       {"bodies", "    Org:\n      type: object\n      additionalProperties: true\n", "    Org:\n      type: object\n"},
		"a member of an answer is closed":         {"bodies", "when it said nothing\n      additionalProperties: true\n", "when it said nothing\n"},
		"no default answer":                       {"bodies", "        default: { $ref: '#/components/responses/Error' }\n", ""},
		"a default answer of one error":           {"bodies", "        default: { $ref: '#/components/responses/Error' }\n", "        default: { $ref: '#/components/responses/Internal' }\n"},
		"an optional body with a required member": {"bodies", "      requestBody:\n        required: true\n", "      requestBody:\n"},
		"an answer without Cache-Control":         {"caching", "    Done:\n      description: Done. The answer has no body\n      headers: { Cache-Control", "    Done:\n      description: Done. The answer has no body\n      headers: { Expires"},
		"an answer that may be cached":            {"caching", "enum: [no-store]", "enum: [private]"},
		"a create without Idempotency-Key":        {"retries", "        - $ref: '#/components/parameters/idempotencyKey'\n", "        - $ref: '#/components/parameters/limit'\n"},
		"a create that hides its replay":          {"retries", "            Idempotency-Replayed:", "            Idempotency-Again:"},
		"a key with a broken checksum":            {"secrets", "l30NC2NZ\n            prefix", "l30NC2NY\n            prefix"},
		"a key with another key's id":             {"secrets", "            id: key_01kb5x8w3v0f7k1w2q3r4s5t6v\n            key:", "            id: key_01kb5x8w3v0f7k1w2q3r4s5t6w\n            key:"},
		"a key with another key's prefix":         {"secrets", "            prefix: lk_0U0kx0kG", "            prefix: lk_1U0kx0kG"},
		"a token with a broken checksum":          {"secrets", "K12wHayY\n            status", "K12wHayZ\n            status"},
		"a token with another link's id":          {"secrets", "            id: lnk_01kb5x8w3v0f7k1w2q3r4s5t6v\n            token", "            id: lnk_01kb5x8w3v0f7k1w2q3r4s5t6w\n            token"},
		"an event with the data of another":       {"data", "        link.claimed: Link\n", "        link.claimed: TestData\n"},
		"an example of data lacks a member":       {"data", "      data: { message: This", "      data: { text: This"},
		"an Idempotency-Key that is ignored":      {"retries", "        - $ref: '#/components/parameters/limit'\n", "        - $ref: '#/components/parameters/idempotencyKey'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := contract.Parse(spoiled(t, p.old, p.new))
			if err != nil {
				t.Fatalf("Parse refuses the document, so no check can find the fault: %v", err)
			}
			if len(checks[p.check](c.Document())) == 0 {
				t.Errorf("the check of %s found nothing", p.check)
			}
			found[p.check] = true
		})
	}
	for check := range checks {
		if !found[check] {
			t.Errorf("nothing is planted for the check of %s", check)
		}
	}
}

func TestParseRefusesAContradictoryDocument(t *testing.T) {
	for name, p := range map[string]plant{
		"an example of the wrong type":            {"", "orgs:\n                      - { id: org_5yt695b9bqryh4dy0xdqrpbr21, name: Acme", "orgs:\n                      - { id: 5, name: Acme"},
		"an example's value outside the list":     {"", "action: member.role_changed", "action: member.role_swapped"},
		"no RouteNotFound":                        {"", "    RouteNotFound:\n", "    NothingFound:\n"},
		"an unknown schema of data":               {"", "        test: TestData\n", "        test: LostData\n"},
		"values that belong to another list":      {"", "x-known-values: DeliveryStatus", "x-known-values: ErrorCode"},
		"an unknown schema of the owner's values": {"", "x-owner-values: OwnEventType", "x-owner-values: OwnEventTypes"},
		"an unknown list of values":               {"", "x-known-values: ErrorCode", "x-known-values: ErrorCodes"},
		"an answer of several schemas":            {"", "              schema: { $ref: '#/components/schemas/Access' }", "              schema: { allOf: [{ $ref: '#/components/schemas/Access' }] }"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := contract.Parse(spoiled(t, p.old, p.new)); err == nil {
				t.Error("Parse returned no error")
			}
		})
	}
}

// spoiled returns the document with a fault: changed replaces the first old.
func spoiled(t *testing.T, old, changed string) []byte {
	t.Helper()
	text := string(infra.OpenAPI)
	if !strings.Contains(text, old) {
		t.Fatalf("the document does not have %q", old)
	}
	return []byte(strings.Replace(text, old, changed, 1))
}
