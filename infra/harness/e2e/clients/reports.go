package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"latchkey/infra"
	"latchkey/infra/harness/contract"
	"latchkey/infra/tools"
)

// report is one thing that a tool found.
type report struct {
	tool, rule string
	where      string // of redocly: a JSON pointer. Of Schemathesis: the operation, and the status and codes of the answer
	example    string // a request that shows the fault; "": none
}

// noFault describes reports that are not faults of the API. where is a regular expression that must match all of report.where.
type noFault struct{ tool, rule, where, reason string }

// listed has the reports that are not faults, with the reason.
var listed = []noFault{
	{"redocly", "info-license", `#/info`,
		"The owner decides on a licence, so the document cannot name one."},
	{"redocly", "no-unused-components", `#/components/schemas/[A-Za-z]+Data`,
		"Events name these schemas in x-data. A reference would need oneOf, which breaks clients at the first new type."},
	{"redocly", "no-unused-components", `#/components/schemas/(ErrorCode|EventFilter)`,
		"Generators make constants of the schema. Nothing refers to it: an enum breaks clients at a new code or filter."},
	{"redocly", "no-unused-components", `#/components/schemas/OwnEventFilter`,
		"Endpoint schemas name this schema in x-owner-values, as they name EventFilter in x-known-values."},
	{"redocly", "no-unused-components", `#/components/responses/RouteNotFound`,
		"It is the answer on paths that are not in the document."},

	{"schemathesis", "unsupported_method", `.* 404 route_not_found`,
		"A path or method that the document does not list is answered 404 route_not_found, and never 405."},
	{"schemathesis", "unsupported_method", `POST /webhook_verification_key/get 400 invalid_kid`,
		"Schemathesis sends GET to this path and expects 405. But GET /webhook_verification_key/{kid} reads `get` as a kid."},
	{"schemathesis", "positive_data_acceptance", `.* 400 invalid_cursor`,
		"Only a cursor of an earlier answer is accepted; a schema cannot express this."},
	{"schemathesis", "positive_data_acceptance", `.* 422 idempotency_key_reused`,
		"Schemathesis sends one Idempotency-Key, of the least or the greatest length, with different bodies."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/orgs/\{orgId\}/members|Stateful tests) 422 user_not_found`,
		"A member must have signed in before; a schema cannot express this."},
	{"schemathesis", "positive_data_acceptance", `(GET /v1/orgs|Stateful tests) 400 unknown_parameter \?externalId unknown`,
		"Only a service may search by externalId; a schema does not know the caller."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/orgs/\{orgId\}/members|Stateful tests) 422 validation_failed /email (required|conflict)`,
		"A user names a member by email, and a service by either email or subject; a schema does not know the caller."},
	{"schemathesis", "positive_data_acceptance", `(POST /webhook_endpoint/(create|update)|POST /v1/orgs/\{orgId\}/apps/\{appId\}/webhook_endpoints|Stateful tests) 422 validation_failed /url url_not_allowed`,
		"A URL must be https on port 443 of a public host. The host's addresses are looked up, so no pattern can express this."},
	{"schemathesis", "positive_data_acceptance", `(POST /key/revoke|Stateful tests) 422 validation_failed /(key|source) format`,
		"A key has a checksum, and a source must be a valid URL; no pattern can express this."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/keys/find|Stateful tests) 422 validation_failed /(key required|locator format|sha256 format)`,
		"Exactly one of three members is required, each in its form. With a schema for this, generators invent names or break."},
	{"schemathesis", "positive_data_acceptance", `((POST|PATCH) /v1/orgs/\{orgId\}/apps.*|Stateful tests) 422 validation_failed /keysBeginWith format`,
		"The value begins with a parameter of the deployment, which the document does not have."},
	{"schemathesis", "positive_data_acceptance", `(POST /webhook_delivery/(list|redeliver)|(GET|POST) /v1/orgs/\{orgId\}/apps/\{appId\}/webhook_deliveries(/redeliver)?|Stateful tests) 422 validation_failed [/?]eventId (required|conflict)`,
		"The descriptions explain which members go together. With a schema for this, generators invent names or break."},
	{"schemathesis", "positive_data_acceptance", `.* 422 validation_failed /(name|description) (length|format)`,
		"Unicode defines which characters are hidden or visible. No pattern that every tool reads can express this."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/orgs/\{orgId\}/keys|PATCH /v1/orgs/\{orgId\}/keys/\{keyId\}|Stateful tests).* 422 validation_failed /metadata length`,
		"Metadata is measured in bytes of its JSON; a schema counts members and characters only."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/orgs/\{orgId\}/keys/import|Stateful tests) 422 validation_failed /keys/\d+/(expiresAt range|metadata length)`,
		"An imported key must expire in the future. Metadata is measured in bytes of its JSON."},
	{"schemathesis", "positive_data_acceptance", `((POST|PATCH) /v1/orgs/\{orgId\}/keys.*|Stateful tests) 422 validation_failed (/keys/\d+)?/(limits|ceilings)/\d/per conflict`,
		"Each length of window can have one limit; a schema cannot require that one member of a list's items is unique."},
	{"schemathesis", "positive_data_acceptance", `(GET /v1/orgs/\{orgId\}/keys/\{keyId\}/usage|Stateful tests) 422 validation_failed \?from range`,
		"The two days must be in order, and at most 400 days apart; a schema cannot express this."},
	{"schemathesis", "negative_data_rejection", `.* 413 body_too_large`,
		"The size of a body is checked before its content."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/orgs/\{orgId\}/apps/\{appId\}/events|Stateful tests) 422 validation_failed /events/\d+/(type format|id conflict)`,
		"An owner's type cannot begin with a word of ours, and ids of events must differ; no pattern that every tool reads can express this."},
	{"schemathesis", "positive_data_acceptance", `(POST /v1/orgs/\{orgId\}/apps/\{appId\}/events|Stateful tests) 409 conflict`,
		"Schemathesis sends the same id with other data."},
	{"schemathesis", "positive_data_acceptance", `(PUT /v1/catalogue|Stateful tests) 422 validation_failed /(scopes|events)/\d+/((name|type) (format|conflict)|description (length|format))`,
		"Names must differ, an owner's type cannot begin with a word of ours, and a description must be visible; no pattern can express this."},
	{"schemathesis", "positive_data_acceptance", `(POST /(webhook_endpoint|v1/orgs/\{orgId\}/apps/\{appId\}/webhook_endpoints/\{endpointId\})/test|Stateful tests) 422 validation_failed /(type (format|required)|data required)`,
		"A test has both type and data, or neither. An owner's type cannot begin with a word of ours."},
	{"schemathesis", "positive_data_acceptance", `(POST /webhook_endpoint/(create|update)|Stateful tests) 422 validation_failed /events enum`,
		"A filter that begins with a word of ours must match one of our types; no pattern that every tool reads can express this."},
	{"schemathesis", "response_schema_conformance", `GET /openapi.yaml 200`,
		"The answer is YAML. Its schema is a string, because generators need that; Schemathesis parses the YAML to an object."},
	{"schemathesis", "ensure_resource_availability", `Stateful tests 404 endpoint_not_found`,
		"A redelivery is a POST below the app that was made, and names an endpoint in its body. Schemathesis invents that id."},
	{"schemathesis", "ensure_resource_availability", `Stateful tests 404 [a-z_]+ after a replay`,
		"A create that is sent again with its Idempotency-Key gets the first answer, though the new row may be deleted since."},
}

// compare returns an error for each report of a tool that the list lacks, and for each entry of the
// tool that was not reported. Entries of Schemathesis need not be reported: its requests
// depend on the API's answers.
func compare(tool string, found []report, list []noFault) error {
	used := map[int]bool{}
	var errs []error
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.rule+" "+f.where] {
			continue
		}
		seen[f.rule+" "+f.where] = true
		i := slices.IndexFunc(list, func(l noFault) bool {
			return l.tool == tool && l.rule == f.rule && regexp.MustCompile("^(?:"+l.where+")$").MatchString(f.where)
		})
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s %s %s\n    %.500s", tool, f.rule, f.where, f.example))
			continue
		}
		used[i] = true
	}
	for i, l := range list {
		if l.tool == tool && !used[i] && tool != "schemathesis" {
			errs = append(errs, fmt.Errorf("%s: listed and not reported: %s %s", tool, l.rule, l.where))
		}
	}
	return errors.Join(errs...)
}

// redocly runs Redocly's recommended rules on the document, which is OpenAPI 3.0, and on the OpenAPI 3.1 made from it.
func redocly(ctx context.Context, _ *api) error {
	root, errRoot := tools.Root()
	later, errLater := contract.OpenAPI31(infra.OpenAPI)
	if err := errors.Join(errRoot, errLater); err != nil {
		return err
	}
	made := filepath.Join(root, ".local", "clients", "openapi-3.1.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(made), 0o755), os.WriteFile(made, later, 0o644)); err != nil {
		return err
	}
	modules, err := nodeModules(ctx)
	if err != nil {
		return err
	}
	var found []report
	for _, document := range []string{filepath.Join(root, "infra", "openapi.yaml"), made} {
		// Redocly's exit status is also a failure when it reports problems, so only unreadable output is an error.
		output, failed := tools.Output(ctx, ".", []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, filepath.Join(modules, ".bin", "redocly"),
			"lint", "--extends", "recommended", "--format", "json", "--max-problems", "1000", document)
		var answer struct {
			Problems []struct {
				RuleID   string
				Location []struct{ Pointer string }
			}
		}
		if err := json.Unmarshal([]byte(output), &answer); err != nil {
			return fmt.Errorf("the output of redocly cannot be read: %w\n%s", errors.Join(err, failed), output)
		}
		for _, p := range answer.Problems {
			found = append(found, report{tool: "redocly", rule: p.RuleID, where: p.Location[0].Pointer})
		}
	}
	return compare("redocly", found, listed)
}
