package contract_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra/harness/contract"
	"latchkey/pkg/apikey"
	"latchkey/pkg/link"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// checks are rules of the document that a schema cannot express. Each check returns the places that break
// the rule. plants_test.go shows that each check finds a planted fault.
var checks = map[string]func(*openapi3.T) []string{
	"operations": checkOperations,
	"parameters": checkParameters,
	"all codes":  checkAllCodes,
	"problems":   checkProblems,
	"examples":   checkExamples,
	"bodies":     checkBodies,
	"caching":    checkCaching,
	"retries":    checkRetries,
	"secrets":    checkSecrets,
	"data":       checkData,
}

func TestTheDocumentFollowsItsRules(t *testing.T) {
	c, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			for _, fault := range check(c.Document()) {
				t.Error(fault)
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

// differences returns a line for each value that is in only one of two sets.
func differences(what string, document, tables []string) []string {
	var faults []string
	for _, v := range document {
		if !slices.Contains(tables, v) {
			faults = append(faults, what+": only in the document: "+v)
		}
	}
	for _, v := range tables {
		if !slices.Contains(document, v) {
			faults = append(faults, what+": not in the document: "+v)
		}
	}
	return faults
}

// checkOperations compares the operations with the routes. The document describes HEAD, and OPTIONS under /v1, only in prose:
// OPTIONS under /v1 depends on the deployment's settings.
func checkOperations(doc *openapi3.T) []string {
	var routes, documented []string
	for _, r := range route.All() {
		if r.Method != http.MethodHead && (r.Method != http.MethodOptions || !r.ForConsole()) {
			routes = append(routes, r.Operation+": "+r.Name())
		}
	}
	for name, op := range operations(doc) {
		operation := op.OperationID
		// In the document each OPTIONS has another operationId. In the routes they all have the same operation.
		if strings.HasPrefix(name, http.MethodOptions+" ") {
			operation = route.Preflight
		}
		documented = append(documented, operation+": "+name)
	}
	return differences("operations", documented, routes)
}

// checkParameters reports an operation whose query parameters differ from the route. A route refuses an unknown query parameter
// exactly if it needs a credential. Then its operation must have the code unknown_parameter, otherwise it must not.
func checkParameters(doc *openapi3.T) []string {
	var faults []string
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
		faults = append(faults, differences(r.Name()+": query parameters", named, r.Query)...)
		refuses := slices.Contains(errorCodes(op.Extensions), string(problem.UnknownParameter))
		if takesCredential := r.Takes != principal.Public; refuses != takesCredential {
			faults = append(faults, fmt.Sprintf("%s: refuses an unknown parameter: %v", r.Name(), refuses))
		}
	}
	return faults
}

// TestHEADIsServedOnPublicReads checks a rule of RFC 9110, section 9.3.2.
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

// errorCodes returns the x-error-codes of an operation, or of the document: its list has the codes without an operation.
func errorCodes(extensions map[string]any) (codes []string) {
	values, _ := extensions["x-error-codes"].([]any)
	for _, v := range values {
		codes = append(codes, fmt.Sprint(v))
	}
	return codes
}

// checkAllCodes reports differences between the codes of the product and all x-error-codes of the document.
func checkAllCodes(doc *openapi3.T) []string {
	used := errorCodes(doc.Extensions)
	for _, op := range operations(doc) {
		used = append(used, errorCodes(op.Extensions)...)
	}
	var known []string
	for _, code := range problem.Codes() {
		known = append(known, string(code))
	}
	return differences("x-error-codes", used, known)
}

// checkProblems reports an error answer without examples. It also reports an example with another status or type than its code
// has, or with a wrong number of errors.
func checkProblems(doc *openapi3.T) []string {
	var faults []string
	for name, op := range operations(doc) {
		for status, ref := range op.Responses.Map() {
			shown := problems(ref)
			isError := status >= "400" // a comparison of texts, so "default" is an error too
			if isError && len(shown) == 0 {
				faults = append(faults, name+": no code for "+status)
			}
			for _, p := range shown {
				code := problem.Code(fmt.Sprint(p["code"]))
				if status != "default" && fmt.Sprint(code.Status()) != status {
					faults = append(faults, fmt.Sprintf("%s: %s is under %s", name, code, status))
				}
				if invalid, _ := p["errors"].([]any); p["type"] != code.Type() || !contract.ErrorsFit(string(code), len(invalid)) {
					faults = append(faults, fmt.Sprintf("%s: the example of %s: type %v, errors %v", name, code, p["type"], invalid))
				}
			}
		}
	}
	return faults
}

// problems returns the examples of an error answer.
func problems(ref *openapi3.ResponseRef) []map[string]any {
	var out []map[string]any
	if media := ref.Value.Content.Get("application/problem+json"); media != nil {
		for _, example := range media.Examples {
			p, _ := example.Value.Value.(map[string]any) // any other value than an object has no code, which the checks report
			out = append(out, p)
		}
	}
	return out
}

// checkExamples reports each body without an example. Parse has validated the examples.
func checkExamples(doc *openapi3.T) []string {
	var faults []string
	for name, op := range operations(doc) {
		if op.RequestBody != nil && !hasExample(op.RequestBody.Value.Content.Get("application/json")) {
			faults = append(faults, name+": the request body has no example")
		}
		for status, ref := range op.Responses.Map() {
			for kind, media := range ref.Value.Content {
				if !hasExample(media) {
					faults = append(faults, fmt.Sprintf("%s: %s %s has no example", name, status, kind))
				}
			}
		}
	}
	return faults
}

func hasExample(m *openapi3.MediaType) bool {
	return m != nil && (m.Example != nil || len(m.Examples) > 0)
}

// checkBodies reports a request that permits unknown members. An empty body counts as {}, so a body must be required exactly if
// one of its members is. checkBodies also reports an answer that is closed to clients, and an operation without the default
// answer, which is for future errors.
func checkBodies(doc *openapi3.T) []string {
	var faults []string
	for name, op := range operations(doc) {
		for status, ref := range op.Responses.Map() {
			for _, media := range ref.Value.Content {
				faults = append(faults, closedIn(name+": "+status, media.Schema)...)
			}
		}
		if op.Responses.Default() == nil || op.Responses.Default().Value != doc.Components.Responses["Error"].Value {
			faults = append(faults, name+": no default answer for future errors")
		}
		if op.RequestBody == nil || op.OperationID == "reportLeaks" { // GitHub's report is an array, and may gain members
			continue
		}
		schema := op.RequestBody.Value.Content.Get("application/json").Schema.Value
		if has := schema.AdditionalProperties.Has; has == nil || *has {
			faults = append(faults, name+": the request body is not closed")
		}
		if op.RequestBody.Value.Required != (len(schema.Required) > 0) {
			faults = append(faults, name+": the request body and its members differ in whether they are required")
		}
	}
	return faults
}

// closedIn returns the objects of an answer that do not allow more members.
func closedIn(where string, ref *openapi3.SchemaRef) []string {
	if ref == nil {
		return nil
	}
	s := ref.Value
	var faults []string
	has := s.AdditionalProperties.Has
	mayGainMembers := s.AdditionalProperties.Schema != nil || has != nil && *has
	if s.Type.Is("object") && !mayGainMembers {
		faults = append(faults, where+" is closed to clients")
	}
	faults = append(faults, closedIn(where+"/*", s.AdditionalProperties.Schema)...)
	faults = append(faults, closedIn(where+"/-", s.Items)...)
	for name, member := range s.Properties {
		faults = append(faults, closedIn(where+"/"+name, member)...)
	}
	return faults
}

// checkCaching reports an answer without Cache-Control, and a cacheable answer to a request with a credential.
func checkCaching(doc *openapi3.T) []string {
	var faults []string
	for name, op := range operations(doc) {
		for status, ref := range op.Responses.Map() {
			header := ref.Value.Headers["Cache-Control"]
			takesCredential := op.Security != nil && len(*op.Security) > 0
			switch {
			case header == nil || !header.Value.Required:
				faults = append(faults, name+": "+status+" has no Cache-Control")
			case takesCredential && fmt.Sprint(header.Value.Schema.Value.Enum) != "[no-store]":
				faults = append(faults, name+": "+status+" to a credential may be cached")
			}
		}
	}
	return faults
}

// checkRetries checks that an operation that answers 201 accepts an Idempotency-Key, refuses a malformed one, refuses one that was
// used for another body, and marks a replay. Other operations do all of these or none. Without a body, the third is not needed.
func checkRetries(doc *openapi3.T) []string {
	var faults []string
	for name, op := range operations(doc) {
		codes := errorCodes(op.Extensions)
		made := op.Responses.Value("201")
		if made == nil && op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
			made = cmp.Or(op.Responses.Value("200"), op.Responses.Value("202"))
		}
		got := []bool{
			op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil,
			slices.Contains(codes, string(problem.InvalidIdempotencyKey)), slices.Contains(codes, string(problem.IdempotencyKeyReused)) || made != nil && op.RequestBody == nil,
			made != nil && made.Value.Headers["Idempotency-Replayed"] != nil,
		}
		for _, has := range got {
			if has != (made != nil) {
				faults = append(faults, fmt.Sprintf("%s: creates %v; has the key, its two refusals, and the replay: %v", name, made != nil, got))
				break
			}
		}
	}
	return faults
}

// checkSecrets checks that the key and the link token in the document's examples are well formed, and that the example of each
// has the right id. The example of the key must also have the right prefix.
func checkSecrets(doc *openapi3.T) []string {
	// shown returns a member of a response's example, and the whole example.
	shown := func(response, member string) (text string, example map[string]any) {
		example, _ = doc.Components.Responses[response].Value.Content.Get("application/json").Example.(map[string]any)
		text, _ = example[member].(string)
		return text, example
	}
	var faults []string
	text, example := shown("CreatedKey", "key")
	prefix, _ := example["prefix"].(string)
	key, err := apikey.Parse(text)
	hasPrefix := prefix != "" && strings.HasPrefix(text, prefix)
	if err != nil || string(key.Key) != example["id"] || !hasPrefix {
		faults = append(faults, fmt.Sprintf("the key of the document: %v, id in the key %s, in the example %v, prefix %q", err, key.Key, example["id"], prefix))
	}
	text, example = shown("CreatedLink", "token")
	if token, err := link.ParseToken(text); err != nil || string(token.Link) != example["id"] {
		faults = append(faults, fmt.Sprintf("the token of the document: %v, id in the token %s, in the example %v", err, token.Link, example["id"]))
	}
	return faults
}

// checkData checks that the data of each event in the document's examples fits the event's type.
func checkData(doc *openapi3.T) []string {
	var faults []string
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
					faults = append(faults, name+": "+err.Error())
				}
			}
		}
	}
	return faults
}
