package api

import (
	"cmp"
	"fmt"
	"strconv"

	"latchkey/pkg/limit"
	"latchkey/pkg/problem"
)

// limitIn is one limit of a body: the number of requests in each window of a length.
type limitIn struct {
	Requests *int64  `json:"requests"`
	Per      *string `json:"per"`
}

// limitsOf checks limits, and returns them in the form of a key's row. It returns nil for nil, which means that the member was
// not sent.
func limitsOf(pointer string, in []limitIn) (*string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // limits may be left out
	}
	if len(in) > limit.MaxLimits {
		return nil, problem.Invalid(pointer, "length", fmt.Sprintf("The value must have at most %d limits.", limit.MaxLimits))
	}
	var rules limit.Rules
	for i, l := range in {
		at := pointer + "/" + strconv.Itoa(i)
		if err := cmp.Or(required(at+"/requests", l.Requests), required(at+"/per", l.Per)); err != nil {
			return nil, err
		}
		per, ok := limit.ParsePer(*l.Per)
		switch {
		case *l.Requests < 1 || *l.Requests > limit.MaxRequests:
			return nil, problem.Invalid(at+"/requests", "range", fmt.Sprintf("The value must be from 1 to %d.", limit.MaxRequests))
		case !ok:
			return nil, problem.Invalid(at+"/per", "enum", "The value must be minute, hour, day or month.")
		case rules[per] != 0:
			return nil, problem.Invalid(at+"/per", "conflict", "Each window can have only one limit.")
		}
		rules[per] = *l.Requests
	}
	text := rules.Text()
	return &text, nil
}

type limitBody struct {
	Requests int64  `json:"requests"`
	Per      string `json:"per"`
}

// limitBodiesOf returns the limits of a row, the shortest window first. It returns none for a text that cannot be read.
func limitBodiesOf(text string) []limitBody {
	out := []limitBody{}
	rules, _ := limit.Parse(text) // only limitsOf writes such a text
	for per, n := range rules {
		if n != 0 {
			out = append(out, limitBody{n, limit.Per(per).String()})
		}
	}
	return out
}
