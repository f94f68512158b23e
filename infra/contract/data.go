package contract

import (
	"errors"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

// dataKey is an extension of the schema of events. It names the schema of `data` for each
// `type`. An anyOf would do so too, but a new type would then break clients.
const dataKey = "x-data"

// DataOf returns the x-data of a schema: names of component schemas by type, or nil.
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
		if of := DataOf(s); of != nil {
			errs = append(errs, checkEvent(doc, of, v))
		}
	}
	return errors.Join(errs...)
}

func checkEvent(doc *openapi3.T, of map[string]string, event map[string]any) error {
	kind := fmt.Sprint(event["type"])
	ref := doc.Components.Schemas[of[kind]]
	if ref == nil {
		return fmt.Errorf("the data of %s has no schema", kind)
	}
	err := ref.Value.VisitJSON(event["data"], openapi3.VisitAsResponse(), openapi3.MultiErrors(), openapi3.DisableSchemaErrorDetails())
	if err != nil {
		return fmt.Errorf("the data of %s: %w", kind, err)
	}
	return nil
}
