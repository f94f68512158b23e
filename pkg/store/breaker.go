package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/webhook"
)

// Succeeded records that an endpoint took a webhook. It writes only if that changes the
// endpoint's row.
func (s *Store) Succeeded(ctx context.Context, h Endpoint) error {
	if h.Failures == 0 && h.OpenUntil == 0 && h.FailingSince == 0 {
		return nil
	}
	k := hookKey(h.AppID, h.ID)
	e := expr{update: "REMOVE failures, openUntil, failingSince", when: "attribute_exists(PK)"}
	if h.OpenUntil != 0 { // parked deliveries may be sent
		due := dueAttrs(DueEndpoint, k, s.now())
		e.update = "SET due = :due, dueAt = :dueAt " + e.update
		e.values = item{":due": due[attrDue], ":dueAt": due[attrDueAt]}
	}
	_, err := s.mark(ctx, k, e, nil)
	return err
}

// Failed records that an endpoint did not take a webhook. It opens the breaker after several
// failures in a row over some time. Attempts at the same time count once.
func (s *Store) Failed(ctx context.Context, h Endpoint) error {
	k, now, failures := hookKey(h.AppID, h.ID), s.now(), h.Failures+1
	failing := time.Duration(0)
	if h.FailingSince != 0 {
		failing = s.Now().Sub(time.UnixMilli(h.FailingSince))
	}
	pause := webhook.Break(int(failures), failing)
	if failures >= webhook.BreakAfter && pause == 0 {
		return nil // the failures are not old enough yet: nothing changes
	}
	e := expr{
		update: "SET failures = :failures, failingSince = if_not_exists(failingSince, :now)",
		when:   "attribute_exists(PK) AND attribute_not_exists(failures)",
		values: item{":failures": num(failures), ":now": num(now)},
	}
	if h.Failures > 0 { // a success meanwhile has removed the count
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

// Probe takes the right to make the one attempt on an endpoint whose breaker's time is over. The
// breaker stays open for all other attempts. If the answer is lost, no attempt is made until the
// new time is over.
func (s *Store) Probe(ctx context.Context, h Endpoint) (bool, error) {
	k, seen := hookKey(h.AppID, h.ID), num(h.OpenUntil)
	e := expr{update: "SET ", when: "openUntil = :seen", values: item{":seen": seen}}
	e.open(k, s.now()+webhook.Break(int(h.Failures), webhook.BreakOver).Milliseconds())
	return s.mark(ctx, k, e, nil)
}

// DisableEndpoint stops the sending to an endpoint, with an event for the app's other endpoints. It
// changes nothing when the endpoint is disabled or deleted already, or when its app has changed it
// since it was read: the result of the attempts is then that of another URL.
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

// WaitingFor lists the held deliveries of an enabled endpoint, or all deliveries of a deleted
// one, from where the last run ended. next is "" at the end.
func (s *Store) WaitingFor(ctx context.Context, h Endpoint, limit int) (found []Delivery, next id.Event, err error) {
	span := DeliverySpan{Endpoint: h.ID, Status: DeliveryHeld, After: h.ReleaseFrom, Limit: limit}
	if h.Deleted {
		span.Status = ""
	}
	return s.deliveries(ctx, span)
}

// WarnOfKey writes key.expiring, once, for a key that is still active. In any case the key is no
// longer due. The only row of the key that changes is that of its last use.
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

// keyView is the data of events of the types key.….
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

// orNull returns nil, which marshals as null, for a time that is not set.
func orNull(at int64) *int64 {
	if at == 0 {
		return nil
	}
	return &at
}
