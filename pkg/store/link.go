package store

import (
	"context"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/table"
	"latchkey/pkg/webhook"
)

// deviceRow is a link.Device as the attribute device has it.
type deviceRow struct {
	Name     *string `json:"name"`
	Platform *string `json:"platform"`
}

func linkFrom(r *table.Reading) link.Link {
	return link.Link{
		ID: id.Link(r.SK(skLink)), AppID: id.App(r.PK(pkLinks)), OrgID: attrOrgID.From(r), ClientUserID: attrClientUserID.From(r),
		Metadata: attrMetadata.OrZero(r), Device: (*link.Device)(attrDevice.OrZero(r)),
		CreatedAt: attrCreatedAt.From(r), ExpiresAt: attrExpiresAt.From(r),
		ClaimedAt: attrClaimedAt.OrZero(r), RevokedAt: attrRevokedAt.OrZero(r), ClaimKeyHash: attrClaimKeyHash.OrZero(r),
		LapsedAt: attrLapsedAt.OrZero(r), CreatedByKey: attrCreatedByKey.OrZero(r), Paid: attrPaid.OrZero(r),
	}
}

// linkData returns the data of an event of a link, with the link's status at the time now.
func linkData(l link.Link, now int64) webhook.LinkData {
	return webhook.LinkData{
		ID: l.ID, Status: string(l.Status(now)), ClientUserID: l.ClientUserID, Metadata: l.Metadata, Device: (*webhook.DeviceData)(l.Device),
		CreatedAt: l.CreatedAt, ExpiresAt: l.ExpiresAt, ClaimedAt: webhook.OrNull(l.ClaimedAt), RevokedAt: webhook.OrNull(l.RevokedAt),
	}
}

// endOf returns the event that a link causes when it ends: when it is claimed, revoked or expired. The request that created
// the link has paid for the event.
func endOf(l link.Link, kind webhook.Type, now int64) newEvent {
	return newEvent{org: l.OrgID, app: l.AppID, kind: kind, at: now, data: linkData(l, now), paid: l.Paid}
}

// NewLink describes a link to create.
type NewLink struct {
	OrgID        id.Org
	AppID        id.App
	ClientUserID string
	Metadata     map[string]string // nil: none
	ExpiresIn    time.Duration
	By           id.Key // the API key that creates it
}

// MintedLink is a new link. Its token is shown once.
type MintedLink struct {
	link.Link
	Token secret.Minted
}

// CreateLink creates a link. Errors: idempotency_key_reused, and the errors of once.Charge.
func (s *Store) CreateLink(ctx context.Context, wanted NewLink, once Once[MintedLink]) (made Created[MintedLink], err error) {
	paid, err := s.chargeOnce(ctx, once.Request, once.Charge)
	if err != nil {
		return made.committed(err)
	}
	now := s.Now()
	l := MintedLink{Link: link.Link{
		ID: s.ids().NewLink(now), OrgID: wanted.OrgID, AppID: wanted.AppID, ClientUserID: wanted.ClientUserID, Metadata: wanted.Metadata,
		CreatedAt: now.UnixMilli(), ExpiresAt: now.Add(wanted.ExpiresIn).UnixMilli(), CreatedByKey: wanted.By, Paid: paid,
	}}
	if l.Token, err = link.Mint(l.AppID, l.ID, s.Rand); err != nil {
		return made, err
	}
	if made, err = once.render(l); err != nil {
		return made, err
	}
	row := linkRow(l.AppID, l.ID)
	attributes := table.Changes(dueAt(DueLink, row, l.ExpiresAt),
		attrHash.Set(l.Token.Hash[:]), attrOrgID.Set(l.OrgID), attrClientUserID.Set(l.ClientUserID),
		attrCreatedAt.Set(l.CreatedAt), attrExpiresAt.Set(l.ExpiresAt), attrPurgeAt.Set(endedLinkPurge(l.ExpiresAt)),
		table.If(l.Metadata != nil, attrMetadata.Set(l.Metadata)), attrCreatedByKey.Set(l.CreatedByKey), attrPaid.Set(l.Paid),
	)
	if !once.Request.keyed() { // only the link's row is written, and one write costs half of a transaction
		return made.committed(s.db.Create(ctx, row, attributes))
	}
	t := s.begin()
	t.once(once.Request, made.Answer)
	t.Create(row, attributes)
	return made.committed(t.Commit(ctx))
}

// endedLinkPurge returns the purgeAt of a link that ended at a time in milliseconds: the time, in seconds, from which
// its row may be deleted.
func endedLinkPurge(ended int64) int64 { return time.UnixMilli(ended).Add(eventsFor).Unix() }

// Link returns a link of an app. Error: link_not_found.
func (s *Store) Link(ctx context.Context, a id.App, l id.Link) (link.Link, error) {
	return find(ctx, s, linkRow(a, l), linkFrom, errLinkNotFound)
}

// Links lists an app's links, newest first. next is After of the next page, "" at the
// end.
func (s *Store) Links(ctx context.Context, a id.App, p Page) (links []link.Link, next string, err error) {
	page := p.span(pkLinks+string(a), skLink, 0)
	page.Reverse = true
	return list(ctx, s, page, linkFrom)
}

// pendingLink is the condition that a link is not claimed, revoked or expired at the time now. The sweep may expire the link after
// that time and before the write.
func pendingLink(now int64) table.Condition {
	return table.All(unendedLink(), attrExpiresAt.Over(now))
}

// unendedLink is the condition that no end of a link is written: no claim, no revocation, no expiry.
func unendedLink() table.Condition {
	return table.All(table.Exists, attrClaimedAt.Absent(), attrRevokedAt.Absent(), attrLapsedAt.Absent())
}

// RevokeLink revokes a pending link. A link that is revoked already does not change. Errors:
// link_not_found, link_already_claimed, link_expired, and for an actor also org_not_found and insufficient_role.
func (s *Store) RevokeLink(ctx context.Context, a id.App, l id.Link, by Changer) (revoked link.Link, err error) {
	err = s.db.Retry(ctx, func() error {
		if revoked, err = s.Link(ctx, a, l); err != nil {
			return err
		}
		now := s.now()
		switch revoked.Status(now) {
		case link.Revoked:
			return nil
		case link.Claimed:
			return problem.New(problem.LinkAlreadyClaimed, "The link was claimed.")
		case link.Expired:
			return problem.New(problem.LinkExpired, "The link has expired.")
		case link.Pending:
		}
		revoked.RevokedAt = now
		t := s.begin()
		if !by.isKey() {
			t.Check(by.Actor.right(revoked.OrgID))
			t.auditAction(ctx, by, revoked.OrgID, "link.revoked", string(l))
		}
		t.Update(linkRow(a, l), pendingLink(now), table.Raced, attrRevokedAt.Set(now), attrPurgeAt.Set(endedLinkPurge(now)), notDue())
		t.event(endOf(revoked, webhook.LinkRevoked, now))
		return t.Commit(ctx)
	})
	return revoked, err
}

// Claim is the claim of a link by a device.
type Claim struct {
	Token        link.Token
	ClaimKeyHash [32]byte // SHA-256 of the device's claimKey
	Device       *link.Device
}

// ClaimedLink is a link that the device has claimed.
type ClaimedLink struct {
	link.Link
	AppName  string
	Replayed bool // this device had claimed it before
}

// ClaimLink claims a pending link for one device. The same device may repeat the claim for 24
// hours. Errors: link_not_found (also for a wrong secret), link_revoked, link_expired,
// link_already_claimed, org_suspended.
func (s *Store) ClaimLink(ctx context.Context, c Claim) (claimed ClaimedLink, err error) {
	err = s.db.Retry(ctx, func() error {
		claimed, err = s.claimLink(ctx, c)
		return err
	})
	return claimed, err
}

// claimLink is one try of ClaimLink. It checks the secret first. It checks for a repeated claim before the bar: a device that
// has claimed the link may repeat the claim even when the key's links were barred after the first claim.
func (s *Store) claimLink(ctx context.Context, c Claim) (ClaimedLink, error) {
	row, err := s.db.Get(ctx, linkRow(c.Token.App, c.Token.Link))
	if err != nil {
		return ClaimedLink{}, err
	}
	found, err := c.proved(row)
	if err != nil {
		return ClaimedLink{}, err
	}
	out := ClaimedLink{Link: found}
	app, org, bar := appRow(out.OrgID, out.AppID), orgRow(out.OrgID), barredRow(out.AppID, out.CreatedByKey)
	rows, err := s.db.Batch(ctx, app, org, bar)
	if err != nil {
		return ClaimedLink{}, err
	}
	if orgGone(rows[org]) || rows[app] == nil {
		return ClaimedLink{}, errLinkNotFound
	}
	now := s.now()
	if out.AppName, err = table.Decode(rows[app], attrName.From); err != nil {
		return ClaimedLink{}, err
	}
	if out.Replayed, err = c.mayClaim(found, now); err != nil || out.Replayed {
		return out, err
	}
	switch {
	case linksBarred(rows[bar]):
		return ClaimedLink{}, errLinkRevoked
	case attrSuspendedAt.IsIn(rows[org]):
		return ClaimedLink{}, errOrgSuspended
	}
	out.ClaimedAt, out.Device = now, c.Device
	t := s.begin()
	t.GiveWay = true // after a conflict, ClaimLink reads the link again: most likely another device has claimed it
	t.Update(linkRow(c.Token.App, c.Token.Link), table.All(pendingLink(now), attrHash.Is(c.Token.Hash[:])), table.Raced,
		attrClaimedAt.Set(now), attrClaimKeyHash.Set(c.ClaimKeyHash[:]), attrDevice.Set((*deviceRow)(c.Device)),
		attrPurgeAt.Set(endedLinkPurge(now)), notDue())
	t.event(endOf(out.Link, webhook.LinkClaimed, now))
	return out, t.Commit(ctx)
}

// proved returns the link of a row, if the claim has the link's secret. The error for a missing row and
// for a wrong secret is the same, in every state of the link: link_not_found.
func (c Claim) proved(row table.Row) (link.Link, error) {
	if row == nil {
		return link.Link{}, errLinkNotFound
	}
	var hash secret.Hash
	r := table.Read(row)
	copy(hash[:], attrHash.From(&r))
	found := linkFrom(&r)
	if r.Err() == nil && !hash.Equal(c.Token.Hash) {
		return link.Link{}, errLinkNotFound
	}
	return found, r.Err()
}

// mayClaim checks that a link's status allows the claim. replayed reports that the same device has
// claimed the link before. Errors: link_revoked, link_expired, link_already_claimed.
func (c Claim) mayClaim(l link.Link, now int64) (replayed bool, err error) {
	switch l.Status(now) {
	case link.Revoked:
		return false, errLinkRevoked
	case link.Expired:
		return false, problem.New(problem.LinkExpired, "The link has expired.")
	case link.Claimed:
		if !l.ClaimedBefore(c.ClaimKeyHash, now) {
			return false, problem.New(problem.LinkAlreadyClaimed, "The link was already claimed.")
		}
		return true, nil
	case link.Pending:
	}
	return false, nil
}

// ExpireLink writes link.expired, once, for a link that was not claimed in time. It changes nothing for
// a link that is claimed, revoked or deleted, or whose expiry was processed already. A link whose org is
// deleted or whose key is barred could not be claimed before its expiry: it ends without the event.
func (s *Store) ExpireLink(ctx context.Context, a id.App, l id.Link) error {
	found, err := s.Link(ctx, a, l)
	if problem.Is(err, problem.LinkNotFound) {
		return nil
	}
	if err != nil || found.Status(s.now()) != link.Expired {
		return err
	}
	org, bar := orgRow(found.OrgID), barredRow(a, found.CreatedByKey)
	rows, err := s.db.Batch(ctx, org, bar)
	if err != nil {
		return err
	}
	t, now := s.begin(), s.now() // not earlier, because the feed shows an event 10 s after its time
	t.Update(linkRow(a, l), unendedLink(), table.Raced, attrLapsedAt.Set(now), notDue())
	if !orgGone(rows[org]) && !linksBarred(rows[bar]) {
		t.event(endOf(found, webhook.LinkExpired, now))
	}
	return ignoreRaced(t.Commit(ctx))
}
