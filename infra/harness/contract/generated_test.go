package contract_test

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/webhook"
)

// TestMakeGenerateChangesNothing generates parts of the OpenAPI document from the tables in the code, and
// tables of infra/docs from both. The files must have these texts already.
func TestMakeGenerateChangesNothing(t *testing.T) {
	var document string
	servicetest.Generated(t, "../../openapi.yaml", func(text string) (string, error) {
		var err error
		document, err = generate(text)
		return document, err
	})
	doc, err := openapi3.NewLoader().LoadFromData([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []struct{ file, name, text string }{
		{"api.md", "routes", routeTable(doc)},
		{"api.md", "codes", codeTable()},
		{"webhooks.md", "events", eventTable(document)},
	} {
		servicetest.Generated(t, "../../docs/"+table.file, func(text string) (string, error) {
			return servicetest.Insert(text, table.name, table.text)
		})
	}
}

// TestGenerateRefusesAnUnfitDocument checks that generate refuses a document that has no place for a generated text, or
// that describes an operation without a route.
func TestGenerateRefusesAnUnfitDocument(t *testing.T) {
	for name, p := range map[string]plant{
		"no sentence of roles": {"", "description: 'Roles: admin, member.'", "description: 'For some.'"},
		"no such route":        {"", "  /app/get:\n", "  /app/got:\n"},
		"no list of codes":     {"", "    ErrorCode:\n", "    ErrorCodes:\n"},
		"a missing event":      {"", "      | `test` | ", "      | test | "},
		"no data of events":    {"", "      x-data:\n", "      x-datum:\n"},
	} {
		if _, err := generate(string(spoiled(t, p.old, p.new))); err == nil {
			t.Errorf("%s: generated", name)
		}
	}
}

// generatedLines matches the generated lines after an operationId.
var generatedLines = regexp.MustCompile(`\A(?:      (?:security: .*|x-(?:roles|error-codes): \[[^\]]*\])\n)*`)

// roleSentence matches the first sentence in the description of an operation that only some users may call.
var roleSentence = regexp.MustCompile(`Roles: [a-z, ]+\.`)

// problemHead matches the type, title and status in the example of an error. These depend only on the error's code.
var problemHead = regexp.MustCompile(`( +)type: urn:latchkey:problem:(\w+)\n(?: +title: .*\n)?(?: +status: .*\n)?`)

// generate returns the OpenAPI document with its generated parts. From the tables in the code come the credential and the roles
// of each operation, the lists of roles, codes, event types and statuses, and the type, title and status in each example of an
// error. From an operation's examples come its error codes.
func generate(text string) (string, error) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		return "", err
	}
	text = problemHead.ReplaceAllStringFunc(text, func(head string) string {
		m := problemHead.FindStringSubmatch(head)
		code := problem.Code(m[2])
		return fmt.Sprintf("%[1]stype: %[2]s\n%[1]stitle: %[3]s\n%[1]sstatus: %[4]d\n", m[1], code.Type(), code.Title(), code.Status())
	})
	const id = "\n      operationId: "
	blocks := strings.Split(text, id) // all blocks after the first begin with an operationId
	names := map[string]string{}      // Route.Name by operationId
	for name, op := range operations(doc) {
		names[op.OperationID] = name
	}
	for i, block := range blocks[1:] {
		operation, rest, _ := strings.Cut(block, "\n")
		r := slices.IndexFunc(route.All(), func(r route.Route) bool { return r.Name() == names[operation] })
		if r < 0 {
			return "", fmt.Errorf("no route has the operation %s: %s", operation, names[operation])
		}
		rest, err = operationLines(route.All()[r], operations(doc)[names[operation]], generatedLines.ReplaceAllString(rest, ""))
		if err != nil {
			return "", err
		}
		blocks[i+1] = operation + "\n" + rest
	}
	text, err = setData(strings.Join(blocks, id))
	if err != nil {
		return "", err
	}
	return setEnums(text)
}

// operationLines returns the lines of an operation after its operationId: first the generated lines, then rest (the other lines)
// with the generated sentence about roles.
func operationLines(r route.Route, op *openapi3.Operation, rest string) (string, error) {
	schemes := map[principal.Credential]string{principal.UserToken: "{ userToken: [] }", principal.APIKey: "{ apiKey: [] }"}
	lines := list("      security", []string{schemes[r.Takes]}) // [] for a public route
	roles, words := r.May.List(), joined(r.May.List())
	if r.May == route.ServicesOnly {
		words = "none, only services"
	}
	if words != "" {
		lines += list("      x-roles", roles)
		at := roleSentence.FindStringIndex(rest)
		if at == nil {
			return "", fmt.Errorf("%s: the description does not begin with the roles", r.Name())
		}
		rest = rest[:at[0]] + "Roles: " + words + "." + rest[at[1]:]
	}
	var codes []problem.Code
	for _, code := range problem.Codes() {
		if hasErrorExample(op, code) {
			codes = append(codes, code)
		}
	}
	if len(codes) > 0 {
		lines += list("      x-error-codes", codes)
	}
	return lines + rest, nil
}

// hasErrorExample reports whether an operation has an example of an error.
func hasErrorExample(op *openapi3.Operation, code problem.Code) bool {
	for status, ref := range op.Responses.Map() {
		for _, p := range problems(ref) {
			if status != "default" && p["code"] == string(code) { // default is for future codes
				return true
			}
		}
	}
	return false
}

// eventRow matches a row of the document's table of events: the type, when the event happens, and the schema of its data.
var eventRow = regexp.MustCompile("(?m)^ +\\| `([a-z_.]+)` \\| (.*) \\| `([A-Z]\\w*)` \\|$")

// setData writes x-data from the table of events. x-data names the schema of the data for each event type.
func setData(text string) (string, error) {
	var types []webhook.Type
	data := ""
	for _, m := range eventRow.FindAllStringSubmatch(text, -1) {
		types = append(types, webhook.Type(m[1]))
		data += fmt.Sprintf("        %s: %s\n", m[1], m[3])
	}
	place := regexp.MustCompile(`\n      x-data:\n(?:        .*\n)+`)
	if !slices.Equal(types, webhook.AllTypes()) || !place.MatchString(text) {
		return "", fmt.Errorf("the table of events has %v, the code has %v; or the document has no x-data", types, webhook.AllTypes())
	}
	return place.ReplaceAllString(text, "\n      x-data:\n"+data), nil
}

// setEnums writes the lists of values into their schemas. x-enum-varnames are names of the values for generators of clients;
// EVERY_EVENT is the filter '*'.
func setEnums(text string) (string, error) {
	types := webhook.AllTypes()
	varnames := []string{"EVERY_EVENT"}
	for _, kind := range types {
		varnames = append(varnames, strings.ToUpper(strings.ReplaceAll(string(kind), ".", "_"))+"_EVENT")
	}
	for _, e := range []struct{ schema, list string }{
		{"Role", list("      enum", org.AllRoles())},
		{"ErrorCode", list("      enum", problem.Codes())},
		{"EventFilter", list("      enum", append([]webhook.Type{"'*'"}, types...))},
		{"EventFilter", list("      x-enum-varnames", varnames)},
		{"EventType", list("      x-extensible-enum", types)},
		{"DeliveryStatus", list("      enum", webhook.DeliveryStatuses())},
	} {
		key, _, _ := strings.Cut(e.list, "[")
		place := regexp.MustCompile(`(\n    ` + e.schema + `:\n(?:      .*\n)*?)` + key + `\[[^\]]*\]\n`)
		if !place.MatchString(text) {
			return "", fmt.Errorf("the schema %s has no %s", e.schema, key)
		}
		text = place.ReplaceAllString(text, "${1}"+e.list)
	}
	return text, nil
}

// list returns a YAML list in lines of up to 120 characters.
func list[T ~string](key string, values []T) string {
	out, line := "", key+": ["
	if len(values) == 0 {
		return line + "]\n"
	}
	for i, v := range values {
		item := string(v) + ", "
		if i == len(values)-1 {
			item = string(v) + "]"
		}
		if len(line+item) > 120 {
			out += strings.TrimSuffix(line, " ") + "\n"
			line = strings.Repeat(" ", 8)
		}
		line += item
	}
	return out + line + "\n"
}

func joined[T ~string](values []T) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return strings.Join(texts, ", ")
}

// routeTable returns the table of routes for infra/docs, without HEAD and OPTIONS.
func routeTable(doc *openapi3.T) string {
	out := "| Route | Credential | Role | Right of a service | Query | What it does |\n|---|---|---|---|---|---|\n"
	credentials := map[principal.Credential]string{principal.UserToken: "access token", principal.APIKey: "API key", principal.Public: "none"}
	for _, r := range route.All() {
		op := operations(doc)[r.Name()]
		if op == nil || r.Method == http.MethodOptions {
			continue
		}
		role := joined(r.May.List())
		switch {
		case r.May == route.AnyMember:
			role = "any member"
		case r.May == route.ServicesOnly:
			role = "service"
		case r.Takes == principal.UserToken:
			role = cmp.Or(role, "any user") // a route outside orgs has no roles
		}
		right := string(r.Right)
		if r.Right == route.People {
			right = "none: only people"
		}
		query := ""
		if len(r.Query) > 0 {
			query = "`" + strings.Join(r.Query, "` `") + "`"
		}
		out += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", r.Name(), credentials[r.Takes], role, right, query, op.Summary)
	}
	return out
}

// eventTable returns the document's table of events without the schemas of their data.
func eventTable(document string) string {
	out := "| Event | When |\n|---|---|\n"
	for _, m := range eventRow.FindAllStringSubmatch(document, -1) {
		out += fmt.Sprintf("| `%s` | %s |\n", m[1], m[2])
	}
	return out
}

// codeTable returns a table with the codes of each status.
func codeTable() string {
	out, status := "| Status | `code` |\n|---|---|", 0
	for _, code := range problem.Codes() {
		if code.Status() != status {
			status = code.Status()
			out += fmt.Sprintf("\n| %d |", status)
		}
		out += fmt.Sprintf(" `%s`", code)
	}
	return strings.ReplaceAll(out, "`\n", "` |\n") + " |\n" // end each row with |
}
