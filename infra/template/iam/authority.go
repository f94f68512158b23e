package iam

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"latchkey/infra/template/translated"
)

// Need is a right that a call needs.
type Need struct {
	Action   string
	Resource string              // ARN
	Context  map[string][]string // the condition keys of the request
}

// DeniedError means that the role of a function does not allow a call.
type DeniedError struct {
	Function string
	Need     Need
}

func (e *DeniedError) Error() string {
	text := fmt.Sprintf("%s may not %s on %s", e.Function, e.Need.Action, e.Need.Resource)
	for _, key := range slices.Sorted(maps.Keys(e.Need.Context)) {
		text += fmt.Sprintf(" %s=%s", key, strings.Join(e.Need.Context[key], ","))
	}
	return text
}

// Authority decides calls by the roles of a template's functions. It is safe for
// concurrent use.
type Authority struct {
	roles map[string][]*statement // by the function's logical id

	mu     sync.Mutex     // guards denied, and the fields used and needed of the statements
	denied map[string]int // refused calls, by DeniedError.Kind
}

// New reads the roles of a template. given names further condition keys: the caller of Decide puts their values into Need.Context.
// Error: this package cannot evaluate a policy as AWS does.
func New(t *translated.Template, given ...string) (*Authority, error) {
	roles, err := rolesOf(t, given)
	return &Authority{roles: roles, denied: make(map[string]int)}, err
}

// Decide decides by the function's role whether a call is allowed: for each need a statement must allow it.
// Error: *DeniedError.
func (a *Authority) Decide(function string, needs ...Need) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range needs {
		if !a.allowed(function, n) {
			err := &DeniedError{function, n}
			a.denied[err.Kind()]++
			return err
		}
	}
	return nil
}

// Kind returns a text that is the same for all calls of one function with the same action, resource and kinds of
// partitions: the texts before # in their keys.
func (e *DeniedError) Kind() string {
	kinds := map[string]bool{}
	for _, key := range e.Need.Context[leadingKeys] {
		kind, _, _ := strings.Cut(key, "#")
		kinds[kind] = true
	}
	return fmt.Sprintf("%s %s on %s %v", e.Function, e.Need.Action, e.Need.Resource, slices.Sorted(maps.Keys(kinds)))
}

// Names reports whether a role names the resource by its full ARN.
func (a *Authority) Names(arn string) bool {
	for _, statements := range a.roles {
		if slices.ContainsFunc(statements, func(s *statement) bool { return slices.Contains(s.resources, arn) }) {
			return true
		}
	}
	return false
}

// allowed checks all statements, even after one allows the need: this shows whether a statement is the only one that allows a call.
func (a *Authority) allowed(function string, n Need) bool {
	var allowing []*statement
	for _, s := range a.roles[function] {
		if used, ok := s.allows(n); ok {
			allowing = append(allowing, s)
			for _, u := range used {
				s.used[u] = true
			}
		}
	}
	if len(allowing) == 1 {
		allowing[0].needed = true
	}
	return len(allowing) > 0
}

// allows reports whether the statement allows the need, and returns the actions, resources and condition values that match it.
func (s *statement) allows(n Need) (used []string, ok bool) {
	action := slices.IndexFunc(s.actions, func(p string) bool { return translated.Like(strings.ToLower(p), strings.ToLower(n.Action)) })
	resource := slices.IndexFunc(s.resources, func(p string) bool { return translated.Like(p, n.Resource) })
	if action < 0 || resource < 0 {
		return nil, false
	}
	used = []string{s.actions[action], s.resources[resource]}
	for _, c := range s.conditions {
		isMet, matched := operators[c.operator](c, n.Context[c.key])
		if !isMet {
			return nil, false
		}
		for _, v := range matched {
			used = append(used, c.key+" "+v)
		}
	}
	return used, true
}

// Denied returns the calls that were refused, each kind once, sorted.
func (a *Authority) Denied() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.denied))
}

// Spare returns the rights that no call has needed since New, sorted: statements, and actions, resources and condition values of
// statements.
func (a *Authority) Spare() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	spare := map[string]bool{}
	for _, statements := range a.roles {
		for _, s := range statements {
			for _, u := range s.unused() {
				spare[s.String()+": "+u] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(spare))
}

func (s *statement) unused() (out []string) {
	if !s.needed {
		return []string{"no call needed this statement"}
	}
	for _, u := range slices.Concat(s.actions, s.resources) {
		if !s.used[u] {
			out = append(out, u)
		}
	}
	for _, c := range s.conditions {
		for _, v := range c.values {
			if u := c.key + " " + v; c.operator != "Null" && !s.used[u] { // a Null condition grants nothing
				out = append(out, u)
			}
		}
	}
	return out
}
