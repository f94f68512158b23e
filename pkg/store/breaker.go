package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/webhook"
)

// Succeeded notes that an endpoint took a webhook: written only when that changes
// what is known of it.
func (s *Store) Succeeded(ctx context.Context, h Endpoint) error {
	if h.Failures == 0 && h.OpenUntil == 0 && h.FailingSince == 0 {
		return nil
	}
	k := hookKey(h.AppID, h.ID)
	e := expr{update: "REMOVE failures, openUntil, failingSince", when: "attribute_exists(PK)"}
	if h.OpenUntil != 0 { // what is parked may go
		due := dueAttrs(DueEndpoint, k, s.now())
		e.update = "SET due = :due, dueAt = :dueAt " + e.update
		e.values = item{":due": due[attrDue], ":dueAt": due[attrDueAt]}
	}
	_, err := s.mark(ctx, k, e, nil)
	return err
}

// Failed notes that an endpoint did not take a webhook, and opens its breaker after
// several in a row that took some time. Attempts that ran beside each other count once.
func (s *Store) Failed(ctx context.Context, h Endpoint) error {
	k, now, failures := hookKey(h.AppID, h.ID), s.now(), h.Failures+1
	failing := time.Duration(0)
	if h.FailingSince != 0 {
		failing = s.Now().Sub(time.UnixMilli(h.FailingSince))
	}
	pause := webhook.Break(int(failures), failing)
	if failures >= webhook.BreakAfter && pause == 0 {
		return nil // not for long enough yet: nothing changes
	}
	e := expr{
		update: "SET failures = :failures, failingSince = if_not_exists(failingSince, :now)",
		when:   "attribute_exists(PK) AND attribute_not_exists(failures)",
		values: item{":failures": num(failures), ":now": num(now)},
	}
	if h.Failures > 0 { // a success meanwhile has made them none
		e.when = "failures = :seen"
		e.values[":seen"] = num(h.Failures)
	}
	if pause > 0 {
		e.update += ", "
		e.open(k, now+pause.Milliseconds())
	}
	_, err := s.mark(ctx, k, e, nil)
	return err
}

// Probe takes the right to make the one attempt on an endpoint whose breaker's time
// is over; the breaker stays shut to all others. Should the answer be lost, nobody
// probes until its time is over again.
func (s *Store) Probe(ctx context.Context, h Endpoint) (bool, error) {
	k, seen := hookKey(h.AppID, h.ID), num(h.OpenUntil)
	e := expr{update: "SET ", when: "openUntil = :seen", values: item{":seen": seen}}
	e.open(k, s.now()+webhook.Break(int(h.Failures), webhook.BreakOver).Milliseconds())
	return s.mark(ctx, k, e, nil)
}

// DisableEndpoint stops sending to an endpoint, and tells the app's other endpoints.
// One that is disabled or deleted already stays as it is, and so does one that its
// app has changed since it was read: what was seen is of another URL.
func (s *Store) DisableEndpoint(ctx context.Context, h Endpoint, why DisabledReason) error {
	k, now := hookKey(h.AppID, h.ID), s.now()
	e := expr{
		update: "SET enabled = :no, disabledReason = :why, disabledAt = :now, due = :due, dueAt = :now ADD version :one REMOVE releaseFrom",
		when:   "enabled = :yes AND version = :seen",
		values: item{
			":no": boolean(false), ":yes": boolean(true), ":why": str(string(why)), ":now": num(now), ":one": num(1), ":seen": num(h.version),
			":due": dueAttrs(DueEndpoint, k, now)[attrDue], // what is parked is to be held
		},
	}
	if why == DisabledByFailing { // it may have taken a webhook meanwhile
		e.when += " AND failingSince = :since"
		e.values[":since"] = num(h.FailingSince)
	}
	t := &txn{}
	t.update(s.table, k, e, raced)
	if _, err := s.event(t, happening{
		app: h.AppID, kind: webhook.EndpointDisabled, at: now, except: h.ID, data: disabled{h.ID, h.URL, why, now},
	}); err != nil {
		return err
	}
	return ignoreRaced(s.commit(ctx, t))
}

// WaitingFor lists deliveries of an endpoint that a release or its deletion
// concerns, from where the last run ended. next is "" at the end.
func (s *Store) WaitingFor(ctx context.Context, h Endpoint, limit int) (found []Delivery, next id.Event, err error) {
	span := DeliverySpan{Endpoint: h.ID, Status: DeliveryHeld, After: h.ReleaseFrom, Limit: limit}
	if h.Deleted {
		span.Status = ""
	}
	return s.deliveries(ctx, span)
}

// WarnOfKey writes key.expiring for a key that is still good, once; one that is
// not is taken off the list. Only the row of its last use is written.
func (s *Store) WarnOfKey(ctx context.Context, o id.Org, k id.Key) error {
	found, ok, err := s.APIKey(ctx, o, k)
	if err != nil {
		return err
	}
	now := s.now()
	t := &txn{}
	t.update(s.table, usedKey(o, k), expr{update: "REMOVE due, dueAt", when: "attribute_exists(due)"}, raced)
	if ok && found.activeAt(now) {
		if _, err := s.event(t, happening{app: found.AppID, kind: webhook.KeyExpiring, at: now, data: found.view()}); err != nil {
			return err
		}
	}
	return ignoreRaced(s.commit(ctx, t))
}

// keyView is the data of key.* events.
type keyView struct {
	KeyID     id.Key `json:"keyId"`
	KeyPrefix string `json:"keyPrefix"`
	Name      string `json:"name"`
	AppID     id.App `json:"appId"`
	ExpiresAt *int64 `json:"expiresAt"`
	RevokedAt *int64 `json:"revokedAt"`
}

func (k APIKey) view() keyView {
	return keyView{k.ID, k.Prefix, k.Name, k.AppID, orNull(k.ExpiresAt), orNull(k.RevokedAt)}
}

// orNull gives nil, which marshals as null, for a time that is not set.
func orNull(at int64) *int64 {
	if at == 0 {
		return nil
	}
	return &at
}
