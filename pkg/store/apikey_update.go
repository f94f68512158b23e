package store

import (
	"context"
	"maps"
	"slices"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// KeyChange is a change of an API key by an admin. A nil member changes nothing. Any other member
// replaces the whole value.
type KeyChange struct {
	Name     *string
	Scopes   *string           // of apikey.JoinScopes; "": the key has none from now on
	Metadata map[string]string // empty, but not nil: the key has none from now on
	Limits   *string           // of limit.Rules.Text; "": the key has none from now on
	Ceilings *string           // the same, by a service
}

// UpdateKey changes the name of a key, and its carried values. The change counts for every check that
// begins after UpdateKey has returned, because only the row of the key has these values. A key in its
// grace can be changed too; its successor stays as it is. But a key that another request rotates
// during this call is not changed, because the caller does not know of the successor. When nothing
// differs, UpdateKey writes nothing. Errors: org_not_found, insufficient_role, key_not_found,
// key_not_active, and a.OldSignIn or org_suspended for a change that gives the key more rights.
func (s *Store) UpdateKey(ctx context.Context, a Actor, o id.Org, k id.Key, c KeyChange) (changed APIKey, err error) {
	var first APIKey // the key as the first try read it
	err = s.db.Retry(ctx, func() error {
		changed, err = s.updateKey(ctx, a, o, k, c, &first)
		return err
	})
	return changed, err
}

// updateKey is one try of UpdateKey. The first try fills first, which has no id before.
func (s *Store) updateKey(ctx context.Context, a Actor, o id.Org, k id.Key, c KeyChange, first *APIKey) (APIKey, error) {
	row, used := apiKeyRow(o, k), usedRow(o, k)
	rows, err := s.readToChange(ctx, a, o, row, used)
	if err != nil {
		return APIKey{}, err
	}
	was, err := decode(rows[row], apiKeyFrom, errKeyNotFound)
	if err != nil {
		return APIKey{}, err
	}
	last, err := table.Decode(rows[used], useFrom)
	if err != nil {
		return APIKey{}, err
	}
	last.fill(&was)
	now := s.now()
	if !was.LivesAt(now) { // a key in its grace lives
		return APIKey{}, errKeyDead
	}
	if first.ID == "" {
		*first = was
	}
	if was.RotatedTo != first.RotatedTo {
		return APIKey{}, errKeyRotated
	}
	is := c.apply(was)
	changes := was.changes(is)
	if len(changes) == 0 {
		return was, nil
	}
	widens := is.widens(was.Carried)
	if a.OldSignIn != nil && widens {
		return APIKey{}, a.OldSignIn
	}
	a.WhileSuspended = a.WhileSuspended || !widens
	data := is.data()
	data.Changed = slices.Sorted(maps.Keys(changes))
	t := s.begin()
	t.authorizeMember(a, o)
	t.checkOrg(a, o)
	t.Update(row, table.All(goodKey(now), was.asRead(), attrRotatedTo.IsOrAbsent(was.RotatedTo)), table.Raced, attrName.Set(is.Name), is.set())
	if was.Limited() != is.Limited() {
		t.markPartial(o, was.LimitID(), now, was.sharesUntil(now))
	}
	t.audit(ctx, entry{org: o, at: now, action: "key.updated", actor: a.id(), target: string(k), changes: changes})
	t.event(newEvent{org: o, app: is.AppID, kind: webhook.KeyUpdated, at: now, data: data})
	return is, t.Commit(ctx)
}

// widens reports whether the change from was to c gives a key more rights: another scope, or limits that let more requests through.
// Name and metadata give a key no rights, and only services set ceilings.
func (c Carried) widens(was Carried) bool {
	before := apikey.SplitScopes(was.Scopes)
	isNew := func(scope string) bool { return !slices.Contains(before, scope) }
	is, err := limit.Parse(c.Limits)
	old, oldErr := limit.Parse(was.Limits)
	return slices.ContainsFunc(apikey.SplitScopes(c.Scopes), isNew) || err != nil || oldErr != nil || !is.Within(old)
}

// Limited reports whether a key has limits of its own. Each request is then leased on them.
func (c Carried) Limited() bool { return c.Limits != "" || c.Ceilings != "" }

// sharesUntil returns the end of the time in which this key and another key of its rotation, its predecessor or its successor, may
// both be good. Their use is counted together.
func (k APIKey) sharesUntil(now int64) int64 {
	if k.RotatedTo != (id.ShortKey{}) {
		now = max(now, k.ExpiresAt)
	}
	return max(now, k.predecessorEnds)
}

// apply returns a key with the change.
func (c KeyChange) apply(k APIKey) APIKey {
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.Scopes != nil {
		k.Scopes = *c.Scopes
	}
	if c.Metadata != nil {
		k.Metadata = someMetadata(c.Metadata)
	}
	if c.Limits != nil {
		k.Limits = *c.Limits
	}
	if c.Ceilings != nil {
		k.Ceilings = *c.Ceilings
	}
	return k
}

// someMetadata returns nil, no metadata, for an empty map.
func someMetadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// changes returns the differences between two states of a key, of the values that an admin can change. A key without scopes
// or metadata has null there.
func (k APIKey) changes(to APIKey) Changes {
	changes := Changes{}
	if k.Name != to.Name {
		changes["name"] = Change{k.Name, to.Name}
	}
	if k.Scopes != to.Scopes {
		changes["scopes"] = Change{auditedScopes(k.Scopes), auditedScopes(to.Scopes)}
	}
	if !maps.Equal(k.Metadata, to.Metadata) {
		changes["metadata"] = Change{k.Metadata, to.Metadata}
	}
	if k.Limits != to.Limits {
		changes["limits"] = Change{auditedLimits(k.Limits), auditedLimits(to.Limits)}
	}
	if k.Ceilings != to.Ceilings {
		changes["ceilings"] = Change{auditedLimits(k.Ceilings), auditedLimits(to.Ceilings)}
	}
	return changes
}

// auditedScopes returns joined scopes as a list, nil for none.
func auditedScopes(joined string) any {
	if joined == "" {
		return nil
	}
	return apikey.SplitScopes(joined)
}

// auditedLimits returns the text of limits for people, nil for none.
func auditedLimits(text string) any {
	rules, err := limit.Parse(text)
	if err != nil || text == "" {
		return nil
	}
	return rules.String()
}

// goodKey is the condition that a key is good at a time, as apikey.State.Verdict decides.
func goodKey(now int64) table.Condition {
	return table.All(table.Exists, attrRevokedAt.Absent(), table.Any(attrExpiresAt.Absent(), attrExpiresAt.Over(now)))
}

// asRead is the condition that the row of a key still has the name and the carried values that were read.
func (k APIKey) asRead() table.Condition {
	return table.All(attrName.Is(k.Name), attrScopes.IsOrAbsent(k.Scopes), attrMetadata.IsOrAbsent(k.Metadata), attrLimits.IsOrAbsent(k.Limits),
		attrCeilings.IsOrAbsent(k.Ceilings))
}
