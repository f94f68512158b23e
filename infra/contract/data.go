package contract

import (
	"errors"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

// dataKey is of the schema of events: which schema `data` has for each `type`. An
// anyOf would say it too, and would turn a new type into a broken client.
const dataKey = "x-data"

// DataOf returns the x-data of a schema: names of component schemas by type, nil when
// it has none.
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

// CheckData holds the data of every event inside a value of a schema against the
// schema of its type.
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
