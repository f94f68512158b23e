package contract_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra/contract"
	"latchkey/pkg/problem"
)

// checkCodes reports an operation whose examples under a status are not exactly its
// x-error-codes of that status.
func checkCodes(doc *openapi3.T) []string {
	var wrong []string
	for name, op := range operations(doc) {
		byStatus := map[string][]string{}
		for _, code := range contract.Codes(op.Extensions) {
			status := fmt.Sprint(problem.Code(code).Status())
			if slices.Contains(byStatus[status], code) {
				wrong = append(wrong, name+": twice in x-error-codes: "+code)
			}
			byStatus[status] = append(byStatus[status], code)
			if op.Responses.Value(status) == nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s, but no %s", name, code, status))
			}
		}
		for status, ref := range op.Responses.Map() {
			if status == "default" { // for codes that do not exist yet
				continue
			}
			var shown []string
			if media := ref.Value.Content.Get("application/problem+json"); media != nil {
				for _, p := range problems(media) {
					shown = append(shown, fmt.Sprint(p["code"]))
				}
			}
			if status >= "400" && len(shown) == 0 {
				wrong = append(wrong, name+": no code for "+status)
			}
			wrong = append(wrong, onlyIn(name+": examples of "+status+" and x-error-codes", shown, byStatus[status])...)
		}
	}
	return wrong
}

func checkAllCodes(doc *openapi3.T) []string {
	var known []string
	for _, code := range problem.Codes() {
		known = append(known, string(code))
	}
	used := contract.Codes(doc.Extensions)
	for _, op := range operations(doc) {
		used = append(used, contract.Codes(op.Extensions)...)
	}
	code := doc.Components.Schemas["Problem"].Value.Properties["code"].Value
	listed := listed(doc.Components.Schemas[contract.Known(code)].Value)
	return append(onlyIn("x-error-codes", used, known), onlyIn("the codes of Problem", listed, known)...)
}

// checkProblems reports each example of an error that differs from what the product writes.
func checkProblems(doc *openapi3.T) []string {
	var wrong []string
	check := func(where, status string, ref *openapi3.ResponseRef) {
		for _, p := range problems(ref.Value.Content.Get("application/problem+json")) {
			code := problem.Code(fmt.Sprint(p["code"]))
			if p["type"] != code.Type() || p["title"] != code.Title() || p["status"] != float64(code.Status()) {
				wrong = append(wrong, fmt.Sprintf("%s: the example of %s: type %v, title %v, status %v", where, code, p["type"], p["title"], p["status"]))
			}
			if status != "" && status != "default" && fmt.Sprint(code.Status()) != status {
				wrong = append(wrong, fmt.Sprintf("%s: %s is under %s", where, code, status))
			}
			if shown, _ := p["errors"].([]any); !contract.ErrorsFit(string(code), len(shown)) {
				wrong = append(wrong, fmt.Sprintf("%s: the example of %s: errors %v", where, code, p["errors"]))
			}
		}
	}
	for name, op := range operations(doc) {
		for status, ref := range op.Responses.Map() {
			check(name, status, ref)
		}
	}
	for name, ref := range doc.Components.Responses {
		check(name, "", ref)
	}
	return wrong
}

// problems returns the examples of an error answer.
func problems(media *openapi3.MediaType) []map[string]any {
	var out []map[string]any
	if media == nil {
		return nil
	}
	for _, ref := range media.Examples {
		text, _ := json.Marshal(ref.Value.Value)
		p := map[string]any{}
		_ = json.Unmarshal(text, &p) // an example that is no object has no code, which the check reports
		out = append(out, p)
	}
	return out
}
