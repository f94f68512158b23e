package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra/contract"
	"latchkey/pkg/apikey"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// checks compare the document with the repository's own tables. Each returns the
// differences; plants_test.go shows that each finds its fault.
var checks = map[string]func(*openapi3.T) []string{
	"operations": checkOperations,
	"parameters": checkParameters,
	"security":   checkSecurity,
	"roles":      checkRoles,
	"codes":      checkCodes,
	"all codes":  checkAllCodes,
	"problems":   checkProblems,
	"examples":   checkExamples,
	"bodies":     checkBodies,
	"caching":    checkCaching,
	"retries":    checkRetries,
	"the key":    checkKey,
	"the token":  checkToken,
	"events":     checkEvents,
	"data":       checkData,
}

func TestTheDocumentIsThatOfTheTables(t *testing.T) {
	c, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			for _, wrong := range check(c.Document()) {
				t.Error(wrong)
			}
		})
	}
}

// operations returns the operations of the document by Route.Name.
func operations(doc *openapi3.T) map[string]*openapi3.Operation {
	out := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			out[method+" "+path] = op
		}
	}
	return out
}

// onlyIn returns a line for each value that is in only one of two sets.
func onlyIn(what string, document, tables []string) []string {
	var wrong []string
	for _, v := range document {
		if !slices.Contains(tables, v) {
			wrong = append(wrong, what+": only in the document: "+v)
		}
	}
	for _, v := range tables {
		if !slices.Contains(document, v) {
			wrong = append(wrong, what+": not in the document: "+v)
		}
	}
	return wrong
}

// checkOperations compares the operations with the routes. HEAD, and OPTIONS under /v1,
// which depends on the deployment, are only in the document's text.
func checkOperations(doc *openapi3.T) []string {
	var routes, documented []string
	for _, r := range route.All() {
		if r.Method != http.MethodHead && (r.Method != http.MethodOptions || !r.ForConsole()) {
			routes = append(routes, r.Operation+": "+r.Name())
		}
	}
	for name, op := range operations(doc) {
		operation := op.OperationID
		if strings.HasPrefix(name, http.MethodOptions+" ") {
			operation = route.Preflight
		}
		documented = append(documented, operation+": "+name)
	}
	return onlyIn("operations", documented, routes)
}

// checkParameters reports an operation whose query parameters are not those of its route,
// and one whose codes differ from what the route refuses.
func checkParameters(doc *openapi3.T) []string {
	var wrong []string
	ops := operations(doc)
	for _, r := range route.All() {
		op := ops[r.Name()]
		if op == nil {
			continue
		}
		var named []string
		for _, p := range op.Parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				named = append(named, p.Value.Name)
			}
		}
		wrong = append(wrong, onlyIn(r.Name()+": query parameters", named, r.Query)...)
		if refuses := slices.Contains(contract.Codes(op.Extensions), string(problem.UnknownParameter)); refuses != (r.Takes != principal.Public) {
			wrong = append(wrong, fmt.Sprintf("%s: refuses an unknown parameter: %v", r.Name(), refuses))
		}
	}
	return wrong
}

// TestHEADIsServedOnPublicReads follows RFC 9110, section 9.3.2.
func TestHEADIsServedOnPublicReads(t *testing.T) {
	var reads, heads []string
	for _, r := range route.All() {
		switch {
		case r.Takes == principal.Public && r.Method == http.MethodGet:
			reads = append(reads, r.Function+" "+r.Pattern)
		case r.Method == http.MethodHead:
			heads = append(heads, r.Function+" "+r.Pattern)
		}
	}
	slices.Sort(reads)
	slices.Sort(heads)
	if !slices.Equal(reads, heads) || len(reads) == 0 {
		t.Errorf("GET %v, HEAD %v", reads, heads)
	}
}

// checkSecurity reports an operation whose security differs from its route's credential. A
// public operation needs an empty security: without any, the document's default would apply.
func checkSecurity(doc *openapi3.T) []string {
	takes := map[principal.Credential]string{principal.UserToken: "[userToken]", principal.APIKey: "[apiKey]", principal.Public: "[]"}
	var wrong []string
	ops := operations(doc)
	for _, r := range route.All() {
		op := ops[r.Name()]
		if op == nil {
			continue
		}
		got := "none"
		if op.Security != nil {
			names := []string{}
			for _, one := range *op.Security {
				names = append(names, slices.Sorted(maps.Keys(one))...)
			}
			got = fmt.Sprint(names)
		}
		if got != takes[r.Takes] {
			wrong = append(wrong, fmt.Sprintf("%s: security %s, the route takes %s", r.Name(), got, r.Takes))
		}
	}
	return wrong
}

func checkRoles(doc *openapi3.T) []string {
	var wrong []string
	ops := operations(doc)
	for _, r := range route.All() {
		var may []string
		for _, role := range r.May.List() {
			may = append(may, string(role))
		}
		op := ops[r.Name()]
		if op == nil {
			continue
		}
		if got := contract.Roles(op); !slices.Equal(got, may) {
			wrong = append(wrong, fmt.Sprintf("%s: x-roles %v, the route has %v", r.Name(), got, may))
		}
		if len(may) > 0 && !strings.HasPrefix(op.Description, "Roles: "+strings.Join(may, ", ")+".") {
			wrong = append(wrong, r.Name()+": the description does not begin with the roles")
		}
	}
	return wrong
}

// checkExamples reports each body without an example. Parse has validated the examples.
func checkExamples(doc *openapi3.T) []string {
	var wrong []string
	for name, op := range operations(doc) {
		if op.RequestBody != nil && !hasExample(op.RequestBody.Value.Content.Get("application/json")) {
			wrong = append(wrong, name+": the request body has no example")
		}
		for status, ref := range op.Responses.Map() {
			for kind, media := range ref.Value.Content {
				if !hasExample(media) {
					wrong = append(wrong, fmt.Sprintf("%s: %s %s has no example", name, status, kind))
				}
			}
		}
	}
	return wrong
}

func hasExample(m *openapi3.MediaType) bool {
	return m != nil && (m.Example != nil || len(m.Examples) > 0)
}

// checkBodies reports a request that permits unknown members, or whose body is not required
// exactly when a member is (an empty body counts as {}). It reports an answer that is closed
// to clients, and an operation without an answer for errors that do not exist yet.
func checkBodies(doc *openapi3.T) []string {
	var wrong []string
	for name, op := range operations(doc) {
		for status, ref := range op.Responses.Map() {
			for _, media := range ref.Value.Content {
				wrong = append(wrong, closedIn(name+": "+status, media.Schema)...)
			}
		}
		if op.Responses.Default() == nil || op.Responses.Default().Value != doc.Components.Responses["Error"].Value {
			wrong = append(wrong, name+": no answer for errors that do not exist yet")
		}
		if op.RequestBody == nil {
			continue
		}
		schema := op.RequestBody.Value.Content.Get("application/json").Schema.Value
		if has := schema.AdditionalProperties.Has; has == nil || *has {
			wrong = append(wrong, name+": the request body is not closed")
		}
		if op.RequestBody.Value.Required != (len(schema.Required) > 0) {
			wrong = append(wrong, name+": the request body is required, or not, unlike its members")
		}
	}
	return wrong
}

// closedIn returns the objects of an answer that do not say that they may gain members.
func closedIn(where string, ref *openapi3.SchemaRef) []string {
	if ref == nil {
		return nil
	}
	s := ref.Value
	var wrong []string
	if has := s.AdditionalProperties.Has; s.Type.Is("object") && s.AdditionalProperties.Schema == nil && (has == nil || !*has) {
		wrong = append(wrong, where+" is closed to clients")
	}
	wrong = append(wrong, closedIn(where+"/*", s.AdditionalProperties.Schema)...)
	wrong = append(wrong, closedIn(where+"/-", s.Items)...)
	for name, member := range s.Properties {
		wrong = append(wrong, closedIn(where+"/"+name, member)...)
	}
	return wrong
}

// checkCaching reports an answer without Cache-Control, and an answer to a credential that
// may be cached.
func checkCaching(doc *openapi3.T) []string {
	var wrong []string
	for name, op := range operations(doc) {
		for status, ref := range op.Responses.Map() {
			header := ref.Value.Headers["Cache-Control"]
			switch {
			case header == nil || !header.Value.Required:
				wrong = append(wrong, name+": "+status+" has no Cache-Control")
			case op.Security != nil && len(*op.Security) > 0 && fmt.Sprint(header.Value.Schema.Value.Enum) != "[no-store]":
				wrong = append(wrong, name+": "+status+" to a credential may be kept")
			}
		}
	}
	return wrong
}

// checkRetries reports a create that does not take an Idempotency-Key, refuse a wrong one and
// mark a replay, and another operation that does any of these.
func checkRetries(doc *openapi3.T) []string {
	var wrong []string
	for name, op := range operations(doc) {
		codes := contract.Codes(op.Extensions)
		made := op.Responses.Value("201")
		got := []bool{
			op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil,
			slices.Contains(codes, string(problem.InvalidIdempotencyKey)), slices.Contains(codes, string(problem.IdempotencyKeyReused)),
			made != nil && made.Value.Headers["Idempotency-Replayed"] != nil,
		}
		for _, part := range got {
			if part != (made != nil) {
				wrong = append(wrong, fmt.Sprintf("%s: 201 %v; key, its two refusals, replay %v", name, made != nil, got))
				break
			}
		}
	}
	return wrong
}

// checkKey checks that the key in the document is well formed, with the id and the prefix
// that are beside it.
func checkKey(doc *openapi3.T) []string {
	example, _ := doc.Components.Responses["CreatedKey"].Value.Content.Get("application/json").Example.(map[string]any)
	text, _ := example["key"].(string)
	prefix, _ := example["prefix"].(string)
	key, err := apikey.Parse(text)
	if err != nil || string(key.Key) != example["id"] || prefix == "" || !strings.HasPrefix(text, prefix) {
		return []string{fmt.Sprintf("the key of the document: %v, of %s, beside %v and %q", err, key.Key, example["id"], prefix)}
	}
	return nil
}
