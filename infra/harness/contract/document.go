package contract

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// find returns the operation of a method and a requested path, or nil. The path with the
// fewest parameters wins. HEAD is looked up as GET.
func find(doc *openapi3.T, method, path string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path, _, _ = strings.Cut(path, "?")
	path = "/" + strings.TrimLeft(strings.TrimSuffix(path, "/"), "/") // a rule of the document's introduction
	for _, template := range doc.Paths.InMatchingOrder() {
		op := doc.Paths.Value(template).Operations()[method] // GetOperation panics for methods it does not know
		if op != nil && fits(template, path) {
			return op
		}
	}
	return nil
}

// fits reports whether an escaped path fits a template.
func fits(template, path string) bool {
	return slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), func(want, got string) bool {
		if strings.HasPrefix(want, "{") { // a parameter
			return got != ""
		}
		text, err := url.PathUnescape(got)
		return err == nil && text == want
	})
}

// knownKey is an extension of a member of an answer. It names a component schema, and the enum of that schema
// lists today's values. An enum in the member itself would break clients at each new value.
const knownKey = "x-known-values"

// Known returns the x-known-values of a schema: the name of a component schema, or "".
func Known(s *openapi3.Schema) string {
	name, _ := s.Extensions[knownKey].(string)
	return name
}

// closer closes schemas. seen has the closed ones.
type closer struct {
	doc  *openapi3.T
	seen map[*openapi3.Schema]bool
}

// closeAnswers closes the schemas of all answers. A closed object has only the named members. The lists of
// x-extensible-enum and x-known-values become enums; values that x-owner-values allows stay allowed.
func closeAnswers(doc *openapi3.T) error {
	c := closer{doc, map[*openapi3.Schema]bool{}}
	var errs []error
	answer := func(name string, ref *openapi3.ResponseRef) {
		for _, media := range ref.Value.Content {
			if err := c.close(media.Schema); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, ref := range op.Responses.Map() {
				answer(method+" "+path+" "+status, ref)
			}
		}
	}
	if doc.Components != nil {
		for name, ref := range doc.Components.Responses {
			answer(name, ref)
		}
		errs = append(errs, c.closeData())
	}
	return errors.Join(errs...)
}

// close closes a schema and the schemas inside it. In the document every object of an answer
// has additionalProperties: true, because some generators need it.
func (c closer) close(ref *openapi3.SchemaRef) error {
	if ref == nil || ref.Value == nil || c.seen[ref.Value] {
		return nil
	}
	s := ref.Value
	c.seen[s] = true
	if len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || s.Not != nil {
		return errors.New("an answer made of several schemas cannot be closed: name its members")
	}
	values, _ := s.Extensions["x-extensible-enum"].([]any)
	if name := Known(s); name != "" {
		known := c.doc.Components.Schemas[name]
		if known == nil || len(known.Value.Enum) == 0 {
			return fmt.Errorf("%s: no schema %s with an enum", knownKey, name)
		}
		values = known.Value.Enum
	}
	if err := c.allowOnly(s, values); err != nil {
		return err
	}
	if len(s.Properties) > 0 && s.AdditionalProperties.Schema == nil {
		closed := false
		s.AdditionalProperties.Has = &closed
	}
	errs := []error{c.close(s.Items), c.close(s.AdditionalProperties.Schema)}
	for name, member := range s.Properties {
		if err := c.close(member); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// ownerKey is an extension of a member of an answer. It names the component schema of the owner's own values.
const ownerKey = "x-owner-values"

// allowOnly makes a schema accept only the given values (nil: any), and the owner's values if the schema has x-owner-values. An
// owner's value must not begin like a known one: because link.claimed is known, link.lost cannot be an owner's value.
func (c closer) allowOnly(s *openapi3.Schema, values []any) error {
	name, _ := s.Extensions[ownerKey].(string)
	if name == "" {
		if values != nil {
			s.Enum = values
		}
		return nil
	}
	own := c.doc.Components.Schemas[name]
	if own == nil {
		return fmt.Errorf("%s: no schema %s", ownerKey, name)
	}
	var begins []string
	for _, v := range values {
		if begin, _, ok := strings.Cut(fmt.Sprint(v), "."); ok {
			begins = append(begins, begin)
		}
	}
	known := &openapi3.Schema{Pattern: "^(" + strings.Join(begins, "|") + `)\.[^*]+$`}
	s.AnyOf = openapi3.SchemaRefs{{Value: &openapi3.Schema{Enum: values}}, {Value: &openapi3.Schema{
		AllOf: openapi3.SchemaRefs{own, {Value: &openapi3.Schema{Not: &openapi3.SchemaRef{Value: known}}}},
	}}}
	return nil
}

// closeData closes the schemas of events' data: no answer refers to them, so closeAnswers does not reach them.
func (c closer) closeData() error {
	var errs []error
	for _, ref := range c.doc.Components.Schemas {
		for kind, name := range DataOf(ref.Value) {
			data := c.doc.Components.Schemas[name]
			if data == nil {
				errs = append(errs, fmt.Errorf("the data of %s: no schema %s", kind, name))
				continue
			}
			errs = append(errs, c.close(data))
		}
	}
	return errors.Join(errs...)
}

// permitNull allows null for members without a type: OpenAPI 3.0 allows it, but kin-openapi does not.
func permitNull(doc *openapi3.T) {
	if doc.Components == nil {
		return
	}
	for _, ref := range doc.Components.Schemas {
		for _, member := range ref.Value.Properties {
			if member.Value.IsEmpty() {
				member.Value.Nullable = true
			}
		}
	}
}

// dataKey is an extension of the schema of events. It names the schema of `data` for each
// `type`. With an anyOf instead, a new type would break clients.
const dataKey = "x-data"

// DataOf returns the x-data of a schema: the names of component schemas by event type, or nil.
func DataOf(s *openapi3.Schema) map[string]string {
	list, _ := s.Extensions[dataKey].(map[string]any)
	if list == nil {
		return nil
	}
	out := make(map[string]string, len(list))
	for kind, name := range list {
		out[kind] = fmt.Sprint(name)
	}
	return out
}

// CheckData checks the data of every event inside a value by the schema of the event's type.
func CheckData(doc *openapi3.T, s *openapi3.Schema, value any) error {
	var errs []error
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if s.Items != nil {
				errs = append(errs, CheckData(doc, s.Items.Value, one))
			}
		}
	case map[string]any:
		for name, member := range s.Properties {
			errs = append(errs, CheckData(doc, member.Value, v[name]))
		}
		if schemaOf := DataOf(s); schemaOf != nil {
			errs = append(errs, checkEvent(doc, schemaOf, v))
		}
	}
	return errors.Join(errs...)
}

func checkEvent(doc *openapi3.T, schemaOf map[string]string, event map[string]any) error {
	kind := fmt.Sprint(event["type"])
	if schemaOf[kind] == "" { // a type of the owner, with any data
		return nil
	}
	ref := doc.Components.Schemas[schemaOf[kind]]
	if ref == nil {
		return fmt.Errorf("the data of %s has no schema", kind)
	}
	err := ref.Value.VisitJSON(event["data"], openapi3.VisitAsResponse(), openapi3.MultiErrors(), openapi3.DisableSchemaErrorDetails())
	if err != nil {
		return fmt.Errorf("the data of %s: %w", kind, err)
	}
	return nil
}
