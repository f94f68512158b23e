package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"latchkey/pkg/apikey"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/strictjson"
)

// keyChangeIn is a body that changes a key.
type keyChangeIn struct {
	Name     *string                    `json:"name"`
	Scopes   []string                   `json:"scopes"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

func (in keyChangeIn) parse(c *call) (store.KeyChange, error) {
	return keyChangeOf(c, in.Name, in.Scopes, in.Metadata)
}

func (k keys) update(ctx context.Context, c *call, change store.KeyChange) (keyBody, error) {
	changed, err := k.store.UpdateKey(ctx, c.actor(), c.org, c.keyID(), change)
	return keyBodyOf(changed), err
}

// keyChangeOf checks the name of a key and what it carries. A member that is nil was not sent, and
// stays nil. The error is validation_failed.
func keyChangeOf(c *call, name *string, scopes []string, metadata map[string]json.RawMessage) (change store.KeyChange, err error) {
	named := nameIn{name}
	if err = named.check(c); err != nil {
		return change, err
	}
	change.Name = named.Name
	if change.Scopes, err = scopesOf(scopes); err != nil {
		return change, err
	}
	change.Metadata, err = keyMetadataOf(metadata)
	return change, err
}

// scopesOf checks scopes and joins them. It returns nil for nil.
func scopesOf(in []string) (*string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // scopes may be left out
	}
	if len(in) > apikey.MaxScopes {
		return nil, problem.Invalid("/scopes", "length", "The value must have at most 32 scopes.")
	}
	for i, s := range in {
		if !apikey.ValidScope(s) {
			return nil, problem.Invalid("/scopes/"+strconv.Itoa(i), "format",
				`A scope has 1 to 64 of the characters a to z, 0 to 9 and _.:- and does not begin with "latchkey.".`)
		}
	}
	joined := apikey.JoinScopes(in)
	return &joined, nil
}

// keyMetadataOf checks a key's metadata. It returns nil for nil.
func keyMetadataOf(in map[string]json.RawMessage) (map[string]string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // metadata may be left out
	}
	out := make(map[string]string, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		var value *string
		if err := json.Unmarshal(in[name], &value); err != nil || value == nil {
			return nil, problem.Invalid(strictjson.PointerTo("/metadata", name), "type", "The value must be a string.")
		}
		out[name] = *value
	}
	if !apikey.ValidMetadata(out) {
		return nil, problem.Invalid("/metadata", "length", "The value must have at most 1,024 bytes as compact JSON.")
	}
	return out, nil
}

// orEmpty returns an empty map, which renders as {}, for nil.
func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// orZero returns the value that v points to, the zero value for nil.
func orZero[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}
