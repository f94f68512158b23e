package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/webhook"
)

// The attributes of webhook endpoints.
const (
	attrURL            = "url" // a reserved word: always #url
	attrDescription    = "description"
	attrEvents         = "events" // JSON
	attrEnabled        = "enabled"
	attrDisabledReason = "disabledReason"
	attrUpdatedAt      = "updatedAt"
	attrVersion        = "version" // one more with each change, disabling or deletion
	attrCreatedByKey   = "createdByKey"
	attrURLSetByKey    = "urlSetByKey" // the key that changed the URL or the event types last
	attrURLByKey       = "urlByKey"    // the key that set the present URL
	attrEventsByKey    = "eventsByKey" // the key that set the present event types
	attrDeletedAt      = "deletedAt"
	attrFailures       = "failures"     // in a row
	attrOpenUntil      = "openUntil"    // the breaker: nothing is sent before this time
	attrFailingSince   = "failingSince" // the first failure after the last success
	attrReleaseFrom    = "releaseFrom"  // held deliveries behind this event wait to be released or cancelled
	attrCount          = "count"
)

// DisabledReason is the reason for which an endpoint is disabled.
type DisabledReason string

// The reasons.
const (
	DisabledByUser    DisabledReason = "user"
	DisabledByGone    DisabledReason = "gone"    // it answered 410
	DisabledByFailing DisabledReason = "failing" // every attempt failed for five days
	DisabledByAdmin   DisabledReason = "admin"   // only an admin can enable it
)

// Endpoint is a webhook endpoint of an app. Times are in milliseconds; 0: not set.
type Endpoint struct {
	ID             id.Endpoint
	AppID          id.App
	OrgID          id.Org
	URL            string
	Description    string
	Events         []string // types of events, or webhook.Every
	Enabled        bool
	DisabledReason DisabledReason
	DisabledAt     int64
	CreatedAt      int64
	UpdatedAt      int64

	CreatedByKey id.Key
	URLSetByKey  id.Key // the key that changed the URL or the event types last

	Failures     int64
	OpenUntil    int64
	FailingSince int64

	// ReleaseFrom is the last event whose held delivery was processed since the endpoint was
	// enabled again or deleted. Releasing means that more held deliveries may follow.
	ReleaseFrom id.Event
	Releasing   bool
	Deleted     bool

	version     int64
	parksUntil  int64 // attrParksUntil
	urlByKey    id.Key
	eventsByKey id.Key
}

func endpointFrom(row item) Endpoint {
	h := Endpoint{
		ID: id.Endpoint(trimmed(row.str(attrSK), skHook)), AppID: id.App(trimmed(row.str(attrPK), pkHooks)),
		OrgID: id.Org(row.str(attrOrgID)), URL: row.str(attrURL), Description: row.str(attrDescription),
		Enabled: row.bool(attrEnabled), DisabledReason: DisabledReason(row.str(attrDisabledReason)),
		DisabledAt: row.num(attrDisabledAt), CreatedAt: row.num(attrCreatedAt), UpdatedAt: row.num(attrUpdatedAt),
		Failures: row.num(attrFailures), OpenUntil: row.num(attrOpenUntil), FailingSince: row.num(attrFailingSince),
		ReleaseFrom: id.Event(row.str(attrReleaseFrom)), Deleted: row.num(attrDeletedAt) != 0,
		CreatedByKey: id.Key(row.str(attrCreatedByKey)), URLSetByKey: id.Key(row.str(attrURLSetByKey)),
		urlByKey: id.Key(row.str(attrURLByKey)), eventsByKey: id.Key(row.str(attrEventsByKey)),
		version: row.num(attrVersion), parksUntil: row.num(attrParksUntil),
	}
	_, h.Releasing = row[attrReleaseFrom]
	_ = json.Unmarshal([]byte(row.str(attrEvents)), &h.Events) // marshalled by this package
	return h
}

func errEndpointNotFound() error {
	return problem.New(problem.EndpointNotFound, "The app has no such webhook endpoint.")
}

// NewEndpoint describes an endpoint to create.
type NewEndpoint struct {
	OrgID       id.Org
	AppID       id.App
	URL         string
	Description string
	Events      []string // types of events, or webhook.Every
	By          id.Key   // the API key that creates it
}

// CreateEndpoint creates an enabled endpoint. Errors: key_not_active, idempotency_key_reused,
// limit_reached.
func (s *Store) CreateEndpoint(ctx context.Context, wanted NewEndpoint, once Once[Endpoint]) (made Created[Endpoint], err error) {
	now := s.Now()
	h := Endpoint{
		ID: s.ids().NewEndpoint(now), OrgID: wanted.OrgID, AppID: wanted.AppID, Enabled: true,
		URL: wanted.URL, Description: wanted.Description, Events: wanted.Events,
		CreatedByKey: wanted.By, URLSetByKey: wanted.By, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli(),
	}
	events, err := json.Marshal(h.Events)
	if err != nil {
		return made, err
	}
	if made, err = once.render(h); err != nil {
		return made, err
	}
	t := &txn{}
	t.unbarred(s.table, h.AppID, h.CreatedByKey)
	if err := t.once(s, once.Request, made.Answer); err != nil {
		return made, err
	}
	by := str(string(h.CreatedByKey))
	t.create(s.table, hookKey(h.AppID, h.ID), item{
		attrOrgID: str(string(h.OrgID)), attrURL: str(h.URL), attrDescription: str(h.Description), attrEvents: str(string(events)),
		attrEnabled: boolean(h.Enabled), attrCreatedAt: num(h.CreatedAt), attrUpdatedAt: num(h.UpdatedAt), attrVersion: num(1),
		attrCreatedByKey: by, attrURLSetByKey: by, attrURLByKey: by, attrEventsByKey: by,
	})
	t.update(s.table, budgetKey(h.AppID), expr{
		update: "ADD #count :one", when: "attribute_not_exists(#count) OR #count < :max", names: map[string]string{"#count": attrCount},
		values: item{":one": num(1), ":max": num(int64(s.Limits.Endpoints))},
	}, func(item) error {
		return problem.New(problem.LimitReached, "The app has as many webhook endpoints as one may have.")
	})
	if err := s.tell(ctx, t, webhook.EndpointCreated, h, changer{key: h.CreatedByKey}, changesOf(Endpoint{}, h)); err != nil {
		return made, err
	}
	return made.committed(s.commit(ctx, t))
}

// Endpoint returns an endpoint of an app. Error: endpoint_not_found.
func (s *Store) Endpoint(ctx context.Context, a id.App, h id.Endpoint) (Endpoint, error) {
	row, err := s.get(ctx, hookKey(a, h))
	if err != nil {
		return Endpoint{}, err
	}
	if found := endpointFrom(row); row != nil && !found.Deleted {
		return found, nil
	}
	return Endpoint{}, errEndpointNotFound()
}

// maxEndpointRows bounds the reading of an app's endpoints: as many as an app may have, and deleted
// ones whose deliveries are not all cancelled yet.
const maxEndpointRows = 1000

// Endpoints lists an app's endpoints, newest first. It reads all of them, because there are few,
// and cuts the page from them.
func (s *Store) Endpoints(ctx context.Context, a id.App, p Page) (endpoints []Endpoint, next string, err error) {
	rows, _, err := s.query(ctx, span{pk: pkHooks + string(a), prefix: skHook, reverse: true, limit: maxEndpointRows})
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		if h := endpointFrom(row); !h.Deleted {
			endpoints = append(endpoints, h)
		}
	}
	if p.After != "" {
		endpoints = slices.DeleteFunc(endpoints, func(h Endpoint) bool { return string(h.ID) >= p.After })
	}
	if p.Limit > 0 && len(endpoints) > p.Limit {
		endpoints = endpoints[:p.Limit]
		next = string(endpoints[p.Limit-1].ID)
	}
	return endpoints, next, nil
}

// write returns the update that changes an endpoint from was to h.
func (h Endpoint) write(was Endpoint, now int64) (expr, error) {
	events, err := json.Marshal(h.Events)
	if err != nil {
		return expr{}, err
	}
	e := expr{
		update: "SET #url = :url, description = :description, events = :events, enabled = :enabled, updatedAt = :now, version = :next, " +
			"urlSetByKey = :setBy, urlByKey = :urlBy, eventsByKey = :eventsBy",
		when:  "version = :seen AND attribute_not_exists(deletedAt)",
		names: map[string]string{"#url": attrURL},
		values: item{
			":url": str(h.URL), ":description": str(h.Description), ":events": str(string(events)),
			":enabled": boolean(h.Enabled), ":now": num(now), ":seen": num(was.version), ":next": num(was.version + 1),
			":setBy": str(string(h.URLSetByKey)), ":urlBy": str(string(h.urlByKey)), ":eventsBy": str(string(h.eventsByKey)),
		},
	}
	var gone []string
	if webhook.Origin(h.URL) != webhook.Origin(was.URL) || h.Enabled && !was.Enabled {
		gone = append(gone, attrFailures, attrOpenUntil, attrFailingSince) // another receiver, or a repaired one
	}
	switch {
	case h.Enabled && !was.Enabled:
		e.update += ", releaseFrom = :from, due = :due, dueAt = :now"
		e.values[":from"], e.values[":due"] = str(""), dueAttrs(DueEndpoint, hookKey(h.AppID, h.ID), now)[attrDue]
		gone = append(gone, attrDisabledReason, attrDisabledAt)
	case h.DisabledReason != was.DisabledReason:
		e.update += ", disabledReason = :why, disabledAt = :now, due = :due, dueAt = :now" // what is parked is to be held
		e.values[":why"], e.values[":due"] = str(string(h.DisabledReason)), dueAttrs(DueEndpoint, hookKey(h.AppID, h.ID), now)[attrDue]
		gone = append(gone, attrReleaseFrom)
	}
	if gone != nil {
		e.update += " REMOVE " + strings.Join(gone, ", ")
	}
	return e, nil
}

// DeleteEndpoint deletes an endpoint, by an API key of its app. The sweep cancels the deliveries
// that wait for it. Errors: endpoint_not_found, key_not_active.
func (s *Store) DeleteEndpoint(ctx context.Context, a id.App, h id.Endpoint, by id.Key) error {
	return retryRaced(ctx, func() error {
		was, err := s.Endpoint(ctx, a, h)
		if err != nil {
			return err
		}
		gone, now := was, s.now()
		gone.UpdatedAt = now
		t := &txn{}
		t.unbarred(s.table, a, by)
		s.deleteEndpoint(t, a, h, now, expr{when: "version = :seen AND attribute_not_exists(deletedAt)", values: item{":seen": num(was.version)}}, raced)
		if err := s.tell(ctx, t, webhook.EndpointDeleted, gone, changer{key: by}, changesOf(was, Endpoint{})); err != nil {
			return err
		}
		return s.commit(ctx, t)
	})
}

// deleteEndpoint adds the deletion of an endpoint to a transaction, on the condition of e.
func (s *Store) deleteEndpoint(t *txn, a id.App, h id.Endpoint, now int64, e expr, no refusal) {
	k := hookKey(a, h)
	e.update = "SET deletedAt = :now, enabled = :no, releaseFrom = :from, due = :due, dueAt = :now, purgeAt = :purge ADD version :one"
	values := item{
		":now": num(now), ":no": boolean(false), ":from": str(""), ":due": dueAttrs(DueEndpoint, k, now)[attrDue], ":one": num(1),
		":purge": num(time.UnixMilli(now).Add(eventsFor).Unix()),
	}
	maps.Copy(values, e.values)
	e.values = values
	t.update(s.table, k, e, no)
	t.update(s.table, budgetKey(a), expr{
		update: "ADD #count :less", names: map[string]string{"#count": attrCount}, values: item{":less": num(-1)},
	}, nil)
}

// TestEndpoint writes a test event for one endpoint only, and returns the event's id. Error:
// endpoint_not_found.
func (s *Store) TestEndpoint(ctx context.Context, a id.App, h id.Endpoint, message string) (id.Event, error) {
	t := &txn{}
	t.check(s.table, hookKey(a, h), expr{when: "attribute_exists(PK) AND attribute_not_exists(deletedAt)"},
		func(item) error { return errEndpointNotFound() })
	e, err := s.event(t, happening{
		app: a, kind: webhook.Test, at: s.now(), only: h,
		data: struct {
			Message string `json:"message"`
		}{message},
	})
	if err != nil {
		return "", err
	}
	return e, s.commit(ctx, t)
}

// disabled is the data of endpoint.disabled.
type disabled struct {
	EndpointID id.Endpoint    `json:"endpointId"`
	URL        string         `json:"url"`
	Reason     DisabledReason `json:"reason"`
	DisabledAt int64          `json:"disabledAt"`
}
