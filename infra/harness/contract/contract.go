// Package contract checks the API's answers against infra/openapi.yaml, and makes the
// OpenAPI 3.1 document from it. Tests use the package; the product does not.
//
// Clients must accept unknown members of an answer. The tests of this repository must not. So the
// package reads the document twice: once unchanged, and once with every answer closed. A closed answer
// allows only the members that the document names, and only values in the
// list of its x-extensible-enum or x-known-values.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"

	// unknownRoute is the response component for a path or method that the document does not have.
	unknownRoute = "RouteNotFound"
)

// Contract is the OpenAPI document, validated with its examples.
type Contract struct {
	doc    *openapi3.T // unchanged
	strict *openapi3.T // with every answer closed
}

// Load parses infra/openapi.yaml of this repository.
func Load() (*Contract, error) { return Parse(infra.OpenAPI) }

// Parse reads an OpenAPI document, and validates its examples by their schemas. It also validates
// the examples of answers by the closed schemas.
func Parse(text []byte) (*Contract, error) {
	doc, err := read(text, func(*openapi3.T) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("the document: %w", err)
	}
	strict, err := read(text, closeAnswers)
	if err != nil {
		return nil, fmt.Errorf("the document with closed answers: %w", err)
	}
	if strict.Components == nil || strict.Components.Responses[unknownRoute] == nil {
		return nil, fmt.Errorf("the document has no components/responses/%s", unknownRoute)
	}
	return &Contract{doc, strict}, nil
}

// read reads the document, applies change, and validates the result.
func read(text []byte, change func(*openapi3.T) error) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err != nil {
		return nil, err
	}
	permitNull(doc)
	if err := change(doc); err != nil {
		return nil, err
	}
	return doc, doc.Validate(loader.Context, openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation())
}

// Document returns the document. The caller must not change it.
func (c *Contract) Document() *openapi3.T { return c.doc }

// Has reports whether the document has a method and path. The path is escaped, and a query
// may follow it.
func (c *Contract) Has(method, path string) bool { return find(c.doc, method, path) != nil }

// Check checks an answer against the document: the status, the headers, the content type,
// the body, and the problem code. The path is escaped, and a query may follow it. When the
// document has no such route, the only right answer is 404 route_not_found.
func (c *Contract) Check(method, path string, status int, header http.Header, body []byte) error {
	op := find(c.strict, method, path)
	var response *openapi3.ResponseRef
	if op != nil {
		response = op.Responses.Value(strconv.Itoa(status))
	} else if status == http.StatusNotFound {
		response = c.strict.Components.Responses[unknownRoute]
	}
	var err error
	if response == nil || response.Value == nil {
		err = fmt.Errorf("the document has no answer %d", status)
	} else {
		err = checkHeader(response.Value, header)
		// An answer to HEAD may have a body or not: a handler writes the body of GET, which a server drops.
		if method != http.MethodHead || len(body) > 0 {
			err = errors.Join(err, c.checkBody(response.Value, status, header, body))
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %d is not as documented: %w", method, path, status, err)
	}
	return nil
}

// CheckRequest checks a request body that the API has accepted: the document must allow it too. An empty body counts as {}.
func (c *Contract) CheckRequest(method, path string, body []byte) error {
	op := find(c.doc, method, path)
	if op == nil {
		return fmt.Errorf("the document has no %s %s", method, path)
	}
	if op.RequestBody == nil {
		return nil
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if _, err := visit(op.RequestBody.Value.Content.Get(jsonType), body, openapi3.VisitAsRequest()); err != nil {
		return fmt.Errorf("%s %s: the body was accepted and is not as documented: %w", method, path, err)
	}
	return nil
}

// checkHeader checks the headers that the document names: required headers are present, no header comes twice, and the values
// fit their schemas.
func checkHeader(response *openapi3.Response, header http.Header) error {
	var errs []error
	for name, ref := range response.Headers {
		values := header.Values(name)
		switch {
		case len(values) == 0 && ref.Value.Required:
			errs = append(errs, fmt.Errorf("the header %s is missing", name))
		case len(values) > 1:
			errs = append(errs, fmt.Errorf("the answer has the header %s %d times", name, len(values)))
		case len(values) == 1:
			if err := checkHeaderValue(ref.Value.Schema.Value, values[0]); err != nil {
				errs = append(errs, fmt.Errorf("the header %s: %q: %w", name, values[0], err))
			}
		}
	}
	return errors.Join(errs...)
}

func checkHeaderValue(schema *openapi3.Schema, text string) error {
	var value any = text
	if schema.Type.Is(openapi3.TypeInteger) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		value = float64(n)
	}
	return schema.VisitJSON(value, openapi3.VisitAsResponse(), openapi3.DisableSchemaErrorDetails())
}

func (c *Contract) checkBody(response *openapi3.Response, status int, header http.Header, body []byte) error {
	if len(response.Content) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("the answer has a body of %d bytes, the document none", len(body))
		}
		return nil
	}
	contentType := header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(contentType)
	want := media
	if !strings.HasSuffix(media, "json") { // JSON has no charset (RFC 8259, section 8.1)
		want += "; charset=utf-8"
	}
	if err != nil || contentType != want || response.Content[media] == nil {
		return fmt.Errorf("the document has no content type %q", contentType)
	}
	content := response.Content[media]
	if !strings.HasSuffix(media, "json") {
		return content.Schema.Value.VisitJSON(string(body), openapi3.VisitAsResponse(), openapi3.DisableSchemaErrorDetails())
	}
	value, err := visit(content, body, openapi3.VisitAsResponse())
	if err == nil {
		err = CheckData(c.strict, content.Schema.Value, value)
	}
	if err != nil {
		return err
	}
	if !bytes.HasSuffix(body, []byte("\n")) {
		return errors.New("the body does not end in a newline")
	}
	if media == problemType {
		return checkProblem(content, status, body)
	}
	return nil
}

// visit returns the value of a JSON body, and an error if the schema does not allow it.
func visit(media *openapi3.MediaType, body []byte, as openapi3.SchemaValidationOption) (value any, err error) {
	if media == nil || media.Schema == nil {
		return nil, errors.New("the document has no schema for this body")
	}
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	return value, media.Schema.Value.VisitJSON(value, as, openapi3.MultiErrors(), openapi3.DisableSchemaErrorDetails())
}

// problem has the members of an error's body that the checks read.
type problem struct {
	Type   string            `json:"type"`
	Title  string            `json:"title"`
	Status int               `json:"status"`
	Code   string            `json:"code"`
	Errors []json.RawMessage `json:"errors"`
}

// checkProblem checks rules that a schema cannot express. An example of the answer has the same code, type and title. The
// status in the body equals the status of the answer. The number of errors fits the code.
func checkProblem(media *openapi3.MediaType, status int, body []byte) error {
	var p problem
	if err := json.Unmarshal(body, &p); err != nil {
		return err
	}
	if p.Status != status {
		return fmt.Errorf("the body's status is %d", p.Status)
	}
	if !ErrorsFit(p.Code, len(p.Errors)) {
		return fmt.Errorf("%s with %d errors", p.Code, len(p.Errors))
	}
	for _, ref := range media.Examples {
		example, _ := ref.Value.Value.(map[string]any)
		if example["code"] != p.Code {
			continue
		}
		if example["type"] != p.Type || example["title"] != p.Title {
			return fmt.Errorf("type %q, title %q; the example of %s has %q, %q", p.Type, p.Title, p.Code, example["type"], example["title"])
		}
		return nil
	}
	return fmt.Errorf("%s is not an example of the answer", p.Code)
}

// ErrorsFit reports whether a problem with this code may list this number of errors: invalid input
// lists one or more; invalid_json lists one for an unknown member; other codes list none.
func ErrorsFit(code string, errors int) bool {
	switch code {
	case "validation_failed", "unknown_parameter":
		return errors > 0
	case "invalid_json":
		return true
	default:
		return errors == 0
	}
}
