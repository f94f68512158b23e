package contract

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Codes returns the x-error-codes of an operation, or of the document: codes that no route has to itself.
func Codes(extensions map[string]any) []string {
	values, _ := extensions["x-error-codes"].([]any)
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// find returns the operation of a method and a requested path, or nil. The path with the
// fewest parameters wins. HEAD is looked up as GET.
func find(doc *openapi3.T, method, path string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path, _, _ = strings.Cut(path, "?")
	var found *openapi3.Operation
	fewest := -1
	for template, item := range doc.Paths.Map() {
		op := item.Operations()[method] // GetOperation panics for methods it does not know
		params, ok := match(template, path)
		if op != nil && ok && (fewest < 0 || params < fewest) {
			found, fewest = op, params
		}
	}
	return found
}

// match reports whether an escaped path fits a template, and returns how many parameters
// the template has.
func match(template, path string) (params int, ok bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return 0, false
	}
	for i := range want {
		if strings.HasPrefix(want[i], "{") && got[i] != "" {
			params++
			continue
		}
		if text, err := url.PathUnescape(got[i]); err != nil || text != want[i] {
			return 0, false
		}
	}
	return params, true
}
