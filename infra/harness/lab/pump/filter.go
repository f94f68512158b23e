package pump

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"latchkey/infra/template/translated"
)

// parseFilter reads a pattern of a mapping's FilterCriteria. A pattern is a tree with the names of the record's members. Its leaves
// are lists of permitted texts and prefixes. Other forms of Lambda's filter language (numbers, exists, anything-but and others) are
// errors.
func parseFilter(pattern string) (any, error) {
	var tree any
	errJSON := json.Unmarshal([]byte(pattern), &tree)
	if err := cmp.Or(errJSON, checkFilter(tree)); err != nil {
		return nil, fmt.Errorf("filter %s: %w", pattern, err)
	}
	return tree, nil
}

func checkFilter(tree any) error {
	switch tree := tree.(type) {
	case map[string]any:
		var errs []error
		for name, member := range tree {
			if strings.HasPrefix(name, "$") {
				errs = append(errs, fmt.Errorf("the local stack does not know %s", name))
			}
			errs = append(errs, checkFilter(member))
		}
		return errors.Join(errs...)
	case []any:
		for _, leaf := range tree {
			_, isText := leaf.(string)
			_, hasPrefix := translated.Object(leaf)["prefix"].(string)
			isPrefix := hasPrefix && len(translated.Object(leaf)) == 1
			if !isText && !isPrefix {
				return fmt.Errorf("the local stack knows exact texts and prefixes, not %v", leaf)
			}
		}
		return nil
	}
	return fmt.Errorf("%v must be a list of permitted values", tree)
}

// fits reports whether a value fits a filter.
func fits(filter, v any) bool {
	if members, ok := filter.(map[string]any); ok {
		for name, member := range members {
			if e, has := translated.Object(v)[name]; !has || !fits(member, e) {
				return false
			}
		}
		return true
	}
	text, ok := v.(string)
	return ok && slices.ContainsFunc(translated.List(filter), func(leaf any) bool {
		prefix, isPrefix := translated.Object(leaf)["prefix"].(string)
		return leaf == text || isPrefix && strings.HasPrefix(text, prefix)
	})
}
