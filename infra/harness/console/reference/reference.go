// Package reference makes the API reference and llms.txt from the OpenAPI document. The reference is a page that works without scripts.
package reference

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	html "html/template"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"latchkey/pkg/problem"
)

//go:embed page.html text.tmpl
var files embed.FS

var (
	texts = template.Must(template.New("").Funcs(template.FuncMap{"replace": strings.ReplaceAll}).ParseFS(files, "text.tmpl"))
	pages = html.Must(html.New("").Funcs(html.FuncMap{
		"markdown": toHTML, "code": code, "examples": examples, "rows": rows, "program": program, "onPage": onPage, "lower": strings.ToLower,
		"languages": func() []string { return []string{"curl", "Go", "Node", "Python", "TypeScript"} },
		"status":    func(code string) int { return problem.Code(code).Status() },
	}).ParseFS(files, "page.html"))
	markdown = goldmark.New(goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))))
	toFinal  = strings.NewReplacer("&amp;lt;", "&lt;", "<th>", `<th scope="col">`, "<pre>", `<pre tabindex="0">`)
	escape   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

// operation is one operation of the document. URL has example values for the required parameters, and Body is an example of the
// body. Secret is the environment variable with the credential: KEY, TOKEN, or "" for none.
type operation struct {
	*openapi3.Operation
	Method, Path, URL, Body, Secret string
}

// Build returns reference.html and llms.txt for a document in YAML. The document must have an example of each required
// parameter and of each body. A required header is an error, and so is a required parameter after one in the query.
func Build(openapi []byte) (map[string][]byte, error) {
	doc, err := (&openapi3.Loader{IncludeOrigin: true}).LoadFromData(openapi) // an origin is a position in the text, for inOrder
	if err != nil {
		return nil, err
	}
	var operations []*operation
	for route, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			o.Parameters = slices.Concat(item.Parameters, o.Parameters)
			op := &operation{Operation: o, Method: method, Path: route, URL: route}
			if err := op.fill(); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, route, err)
			}
			operations = append(operations, op)
		}
	}
	slices.SortFunc(operations, func(a, b *operation) int { return a.Origin.Key.Line - b.Origin.Key.Line })
	input := map[string]any{"Document": doc, "Operations": operations, "Codes": problem.Codes()}
	var page, llms bytes.Buffer
	err = errors.Join(pages.ExecuteTemplate(&page, "page.html", input), texts.ExecuteTemplate(&llms, "llms", input))
	return map[string][]byte{"reference.html": page.Bytes(), "llms.txt": llms.Bytes()}, err
}

// fill sets URL, Body and Secret.
func (o *operation) fill() error {
	for _, ref := range o.Parameters {
		p := ref.Value
		if p.Required && (p.In == openapi3.ParameterInHeader || p.Example == nil || strings.Contains(o.URL, "?")) {
			return fmt.Errorf("no example request can have the parameter %s", p.Name)
		}
		if p.Required && p.In == openapi3.ParameterInQuery {
			o.URL += "?" + url.Values{p.Name: {fmt.Sprint(p.Example)}}.Encode()
		}
		o.URL = strings.ReplaceAll(o.URL, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(p.Example)))
	}
	if o.Security != nil && len(*o.Security) > 0 {
		o.Secret = "TOKEN"
		if _, ok := (*o.Security)[0]["apiKey"]; ok {
			o.Secret = "KEY"
		}
	}
	if o.RequestBody == nil {
		return nil
	}
	all := examples(cmp.Or(o.RequestBody.Value.Content["application/json"], &openapi3.MediaType{}))
	if len(all) == 0 {
		return errors.New("the body has no example")
	}
	b, err := json.Marshal(all[0].Value)
	o.Body = string(b)
	return err
}

// examples returns the examples of a body in the order of the document's text, with their names as summaries.
func examples(m *openapi3.MediaType) (all []openapi3.Example) {
	if m.Example != nil {
		return []openapi3.Example{{Summary: "Example", Value: m.Example}}
	}
	for _, name := range inOrder(m.Examples, func(e *openapi3.ExampleRef) *openapi3.Origin { return e.Origin }) {
		all = append(all, openapi3.Example{Summary: "Example: " + strings.ReplaceAll(name, "_", " "), Value: m.Examples[name].Value.Value})
	}
	return all
}

// inOrder returns the keys of a map in the order of the document's text.
func inOrder[T any](m map[string]T, origin func(T) *openapi3.Origin) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		x, y := origin(m[a]).Key, origin(m[b]).Key
		return cmp.Or(x.Line-y.Line, x.Column-y.Column)
	})
}

// code returns a text as it is, and any other value as JSON. It does not escape quotes, because examples have many.
func code(v any) (html.HTML, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if text, ok := v.(string); ok {
		b = []byte(text)
	}
	return html.HTML(escape.Replace(string(b))), err
}

// program returns an example program that calls the operation. language is the name of a template in text.tmpl.
func program(language string, o *operation) (string, error) {
	var b bytes.Buffer
	if err := texts.ExecuteTemplate(&b, language, o); err != nil || language != "go" {
		return b.String(), err
	}
	source, err := format.Source(b.Bytes())
	return string(source), err
}

// toHTML turns a Markdown description into HTML. HTML in the description becomes text.
func toHTML(description string) (html.HTML, error) {
	var b bytes.Buffer
	err := markdown.Convert([]byte(strings.ReplaceAll(description, "<", "&lt;")), &b)
	return html.HTML(strings.TrimSpace(toFinal.Replace(b.String()))), err
}

// row describes a value. Link is the name of the value's schema, if the page shows that schema.
type row struct {
	Name, Link, Note, Type, Description string
	Values                              []any // the allowed values, or the values known today
}

// rows describes a value, then its parts. In the names of parts, a member follows a dot, [] is an element of an array, and .* a
// value of a map. In an answer, rows only links to the schemas of objects. within has the enclosing schemas, to end a recursion.
func rows(name string, ref *openapi3.SchemaRef, answer, required bool, within ...*openapi3.Schema) []row {
	s := ref.Value
	known, _ := s.Extensions["x-extensible-enum"].([]any)
	r := row{Name: name, Type: typeOf(s, answer), Description: s.Description, Values: slices.Concat(s.Enum, known)}
	switch { // note only exceptions: most answers have all members, and most members of bodies are optional
	case required && !answer:
		r.Note = "required"
	case !required && answer:
		r.Note = "optional"
	}
	if answer && name != "" && ref.Ref != "" && onPage(s) || slices.Contains(within, s) {
		if onPage(s) {
			r.Link = path.Base(ref.Ref)
		}
		r.Description, r.Values = "", nil
		return []row{r}
	}
	all, within := []row{r}, append(slices.Clone(within), s)
	for _, part := range s.AllOf {
		inner := rows(name, part, answer, required, within...)
		all[0].Values = append(all[0].Values, inner[0].Values...)
		all = append(all, inner[1:]...)
	}
	for _, m := range inOrder(s.Properties, func(r *openapi3.SchemaRef) *openapi3.Origin { return r.Origin }) {
		all = append(all, rows(strings.TrimPrefix(name+"."+m, "."), s.Properties[m], answer, slices.Contains(s.Required, m), within...)...)
	}
	for suffix, elements := range map[string]*openapi3.SchemaRef{"[]": s.Items, ".*": s.AdditionalProperties.Schema} {
		if elements != nil {
			all = append(all, rows(name+suffix, elements, answer, answer, within...)...)
		}
	}
	return all
}

// typeOf returns the type of a value and its bounds: "integer, 1…100". It leaves out the bounds of an answer, because clients need not
// check them.
func typeOf(s *openapi3.Schema, answer bool) string {
	var m map[string]json.RawMessage
	b, _ := s.MarshalJSON()
	_ = json.Unmarshal(b, &m)
	out := cmp.Or(strings.Join(s.Type.Slice(), ""), "any")
	if s.Nullable {
		out += " or null"
	}
	for _, bound := range []struct{ from, to, text string }{
		{"minimum", "maximum", "%s…%s"}, {"minLength", "maxLength", "%s…%s characters"}, {"minItems", "maxItems", "%s…%s items"},
		{"", "maxProperties", "%s…%s members"}, {"", "default", "default %[2]s"},
	} {
		if from, to := string(m[bound.from]), string(m[bound.to]); from+to != "" && !answer {
			out += ", " + fmt.Sprintf(bound.text, cmp.Or(from, "0"), to)
		}
	}
	return out
}

// onPage reports whether the page shows a schema: an object that may gain members, as in answers, or a list of values.
func onPage(s *openapi3.Schema) bool {
	return s.Properties != nil && s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has || s.Enum != nil
}
