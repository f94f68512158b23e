package pump

import (
	"encoding/json"
	"fmt"
	"strings"
)

// filter is a pattern of a mapping's FilterCriteria: a tree like the record's, whose leaves are
// lists of permitted values.
type filter struct {
	members map[string]filter
	leaves  []leaf // nil: the filter has members
}

// leaf permits a text, or every text with this prefix.
type leaf struct {
	text   string
	prefix bool
}

// parseFilter reads a pattern. All else of Lambda's language (numbers, exists, anything-but and
// others) is an error.
func parseFilter(pattern string) (filter, error) {
	var tree any
	if err := json.Unmarshal([]byte(pattern), &tree); err != nil {
		return filter{}, fmt.Errorf("filter %s: %w", pattern, err)
	}
	f, err := newFilter(tree)
	if err != nil {
		return filter{}, fmt.Errorf("filter %s: %w", pattern, err)
	}
	return f, nil
}

func newFilter(v any) (filter, error) {
	switch v := v.(type) {
	case map[string]any:
		f := filter{members: make(map[string]filter, len(v))}
		for name, e := range v {
			if strings.HasPrefix(name, "$") {
				return f, fmt.Errorf("the local stack does not know %s", name)
			}
			member, err := newFilter(e)
			if err != nil {
				return f, fmt.Errorf("%s: %w", name, err)
			}
			f.members[name] = member
		}
		return f, nil
	case []any:
		f := filter{leaves: []leaf{}}
		for _, e := range v {
			l, err := newLeaf(e)
			if err != nil {
				return f, err
			}
			f.leaves = append(f.leaves, l)
		}
		return f, nil
	}
	return filter{}, fmt.Errorf("%v must be a list of what the value may be", v)
}

func newLeaf(v any) (leaf, error) {
	switch v := v.(type) {
	case string:
		return leaf{text: v}, nil
	case map[string]any:
		if prefix, ok := v["prefix"].(string); ok && len(v) == 1 {
			return leaf{prefix, true}, nil
		}
	}
	said, _ := json.Marshal(v)
	return leaf{}, fmt.Errorf("the local stack knows exact texts and prefixes, not %s", said)
}

func (f filter) fits(v any) bool {
	if f.leaves == nil {
		object, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for name, member := range f.members {
			if e, there := object[name]; !there || !member.fits(e) {
				return false
			}
		}
		return true
	}
	text, ok := v.(string)
	if !ok {
		return false
	}
	for _, l := range f.leaves {
		if text == l.text || l.prefix && strings.HasPrefix(text, l.text) {
			return true
		}
	}
	return false
}
