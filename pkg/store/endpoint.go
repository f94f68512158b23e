package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// Endpoint is a webhook endpoint of an app. Times are in milliseconds; 0: not set.
type Endpoint struct {
	ID             id.Endpoint
	AppID          id.App
	OrgID          id.Org
	URL            string
	Description    string
	Events         []string // see webhook.ValidFilter
	DisabledReason webhook.DisabledReason
	DisabledAt     int64
	CreatedAt      int64
	UpdatedAt      int64

	CreatedByKey id.Key
	URLSetByKey  id.Key // the key that changed the URL or the event types last

	webhook.EndpointState

	// ReleaseFrom is the last event whose held delivery was processed since the endpoint was
	// enabled again or deleted. Releasing means that more held deliveries may follow.
	ReleaseFrom id.Event
	Releasing   bool

	version     int64  // one more with each change, disabling or deletion
	parksUntil  int64  // the latest time at which a delivery may still be parked
	urlByKey    id.Key // the key that set the present URL
	eventsByKey id.Key // the key that set the present event types
}

func endpointFrom(r *table.Reading) Endpoint {
	return Endpoint{
		ID: id.Endpoint(r.SK(skEndpoint)), AppID: id.App(r.PK(pkEndpoints)), OrgID: attrOrgID.From(r),
		URL: attrURL.From(r), Description: attrDescription.From(r), Events: attrEvents.From(r),
		DisabledReason: attrDisabledReason.OrZero(r), DisabledAt: attrDisabledAt.OrZero(r),
		CreatedAt: attrCreatedAt.From(r), UpdatedAt: attrUpdatedAt.From(r),
		EndpointState: webhook.EndpointState{
			Enabled: attrEnabled.From(r), Deleted: attrDeletedAt.OrZero(r) != 0,
			Breaker: webhook.Breaker{Failures: attrFailures.OrZero(r), OpenUntil: attrOpenUntil.OrZero(r), FailingSince: attrFailingSince.OrZero(r)},
		},
		ReleaseFrom: attrReleaseFrom.OrZero(r), Releasing: attrReleaseFrom.IsIn(r.Row),
		CreatedByKey: attrCreatedByKey.OrZero(r), URLSetByKey: attrURLSetByKey.OrZero(r),
		urlByKey: attrURLByKey.OrZero(r), eventsByKey: attrEventsByKey.OrZero(r),
		version: attrVersion.From(r), parksUntil: attrParksUntil.OrZero(r),
	}
}

// NewEndpoint describes an endpoint to create.
type NewEndpoint struct {
	OrgID       id.Org
	AppID       id.App
	URL         string
	Description string
	Events      []string // see webhook.ValidFilter
	By          Changer
}

// CreateEndpoint creates an enabled endpoint, for an API key or for an actor that RoleFor has accepted. Errors: key_not_active,
// idempotency_key_reused, limit_reached, the errors of once.Charge, and for an actor also OldSignIn, org_not_found, insufficient_role
// and org_suspended.
func (s *Store) CreateEndpoint(ctx context.Context, wanted NewEndpoint, once Once[Endpoint]) (made Created[Endpoint], err error) {
	if err := wanted.By.Actor.OldSignIn; err != nil {
		return made, err
	}
	paid, err := s.chargeOnce(ctx, once.Request, once.Charge)
	if err != nil {
		return made.committed(err)
	}
	now := s.Now()
	endpoint := Endpoint{
		ID: s.ids().NewEndpoint(now), OrgID: wanted.OrgID, AppID: wanted.AppID, EndpointState: webhook.EndpointState{Enabled: true},
		URL: wanted.URL, Description: wanted.Description, Events: wanted.Events,
		CreatedByKey: wanted.By.Key, URLSetByKey: wanted.By.Key, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli(),
	}
	if made, err = once.render(endpoint); err != nil {
		return made, err
	}
	t := s.begin()
	if wanted.By.isKey() {
		t.checkNotBarred(endpoint.AppID, wanted.By.Key)
	} else {
		t.authorizeMember(wanted.By.Actor, endpoint.OrgID)
	}
	t.once(once.Request, made.Answer)
	if !wanted.By.isKey() { // a key needs no check of the org, because EndOrg waits for the requests of keys
		t.checkOrg(wanted.By.Actor, endpoint.OrgID)
	}
	t.Create(endpointRow(endpoint.AppID, endpoint.ID),
		attrOrgID.Set(endpoint.OrgID), attrURL.Set(endpoint.URL), attrDescription.Set(endpoint.Description), attrEvents.Set(endpoint.Events),
		attrEnabled.Set(endpoint.Enabled), attrCreatedAt.Set(endpoint.CreatedAt), attrUpdatedAt.Set(endpoint.UpdatedAt), attrVersion.Set(1),
		attrCreatedByKey.Set(wanted.By.Key), attrURLSetByKey.Set(wanted.By.Key), attrURLByKey.Set(wanted.By.Key), attrEventsByKey.Set(wanted.By.Key),
	)
	t.Update(budgetRow(endpoint.AppID), table.Any(attrCount.Absent(), attrCount.Under(int64(s.Limits.Endpoints))), refuse(errEndpointLimit), table.Add(attrCount, 1))
	t.report(ctx, webhook.EndpointCreated, endpoint, wanted.By, paid, changesOf(Endpoint{}, endpoint))
	return made.committed(t.Commit(ctx))
}

// Endpoint returns an endpoint of an app. Error: endpoint_not_found.
func (s *Store) Endpoint(ctx context.Context, a id.App, endpoint id.Endpoint) (Endpoint, error) {
	found, err := find(ctx, s, endpointRow(a, endpoint), endpointFrom, errEndpointNotFound)
	if err == nil && found.Deleted {
		return Endpoint{}, errEndpointNotFound
	}
	return found, err
}

// maxEndpointRows is more than the rows of endpoints that an app can have: a deleted endpoint also
// counts in Limits.Endpoints until its row is deleted.
const maxEndpointRows = 1000

// Endpoints lists an app's endpoints, newest first. It reads all of them, because there are few, and
// returns a part of them as the page. next is After of the next page, "" at the end.
func (s *Store) Endpoints(ctx context.Context, a id.App, p Page) (endpoints []Endpoint, next string, err error) {
	all := table.Span{PK: pkEndpoints + string(a), Prefix: skEndpoint, Reverse: true, Limit: maxEndpointRows}
	if endpoints, _, err = list(ctx, s, all, endpointFrom); err != nil {
		return nil, "", err
	}
	endpoints = slices.DeleteFunc(endpoints, func(endpoint Endpoint) bool { return endpoint.Deleted })
	if p.After != "" {
		endpoints = slices.DeleteFunc(endpoints, func(endpoint Endpoint) bool { return string(endpoint.ID) >= p.After })
	}
	if p.Limit > 0 && len(endpoints) > p.Limit {
		endpoints = endpoints[:p.Limit]
		next = string(endpoints[p.Limit-1].ID)
	}
	return endpoints, next, nil
}

// DeleteEndpoint deletes an endpoint. The sweep cancels the deliveries that wait for it. Errors: endpoint_not_found,
// key_not_active, and for an actor also org_not_found and insufficient_role.
func (s *Store) DeleteEndpoint(ctx context.Context, a id.App, endpoint id.Endpoint, by Changer) error {
	return s.db.Retry(ctx, func() error {
		was, err := s.Endpoint(ctx, a, endpoint)
		if err != nil {
			return err
		}
		gone, now := was, s.now()
		gone.UpdatedAt = now
		t := s.begin()
		if by.isKey() {
			t.checkNotBarred(a, by.Key)
		} else {
			t.Check(by.Actor.right(was.OrgID))
		}
		t.deleteEndpoint(was, now, table.All(attrVersion.Is(was.version), attrDeletedAt.Absent()), table.Raced)
		t.report(ctx, webhook.EndpointDeleted, gone, by, 0, changesOf(was, Endpoint{}))
		return t.Commit(ctx)
	})
}

// deleteEndpoint adds the deletion of an endpoint to a transaction, on a condition. The row counts in
// the limit on endpoints until LookedAt deletes it. After the deletion, only a process that has read the
// endpoint before can still park a delivery, and only for parksFor.
func (t *txn) deleteEndpoint(endpoint Endpoint, now int64, when table.Condition, refusal table.Refusal) {
	row, parksUntil := endpointRow(endpoint.AppID, endpoint.ID), now+parksFor.Milliseconds()
	t.Update(row, when, refusal,
		attrDeletedAt.Set(now), attrEnabled.Set(false), attrReleaseFrom.Set(""), dueAt(DueEndpoint, row, now),
		attrPurgeAt.Set(time.UnixMilli(now).Add(eventsFor).Unix()), table.Add(attrVersion, 1),
		table.If(endpoint.parksUntil > parksUntil, attrParksUntil.Set(parksUntil)),
	)
}

const testMessage = "This is a test of your webhook endpoint."

// Test writes a test event that only one endpoint gets, and returns the event's id. If kind is not "", the event has this type of
// the owner and the data example. once.Charge charges for one delivery. Errors: endpoint_not_found, idempotency_key_reused, the
// errors of once.Charge, and for an actor also org_not_found, insufficient_role and org_suspended.
func (ds Deliveries) Test(ctx context.Context, o id.Org, a id.App, endpoint id.Endpoint, kind webhook.Type, example json.RawMessage, by Changer, once Once[id.Event]) (made Created[id.Event], err error) {
	if _, err := ds.s.chargeOnce(ctx, once.Request, once.Charge); err != nil {
		return made.committed(err)
	}
	t := ds.s.begin()
	n := newEvent{org: o, app: a, paid: 1, kind: webhook.Test, at: ds.s.now(), only: endpoint, data: webhook.TestData{Message: testMessage}}
	if kind != "" {
		n.kind, n.data, n.isTest = kind, example, true
	}
	e := t.event(n)
	if made, err = once.render(e); err != nil {
		return made, err
	}
	t.startChange(ctx, by, o, "endpoint.tested", string(endpoint), func() { t.once(once.Request, made.Answer) })
	t.Check(endpointRow(a, endpoint), notDeleted(), refuse(errEndpointNotFound))
	return made.committed(t.Commit(ctx))
}
