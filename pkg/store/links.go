package store

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/webhook"
)

// The attributes of links.
const (
	attrOrgID        = "orgId"
	attrClientUserID = "clientUserId"
	attrMetadata     = "metadata"
	attrDevice       = "device"
	attrClaimedAt    = "claimedAt"
	attrClaimKey     = "claimKeyHash"
	attrLapsedAt     = "lapsedAt" // when link.expired was written

	// replayFor is how long a device may repeat its claim with the same claimKey.
	replayFor = 24 * time.Hour
)

func linkFrom(row item) link.Link {
	l := link.Link{
		ID: id.Link(trimmed(row.str(attrSK), skLink)), AppID: id.App(trimmed(row.str(attrPK), pkLinks)),
		OrgID: id.Org(row.str(attrOrgID)), ClientUserID: row.str(attrClientUserID),
		CreatedAt: row.num(attrCreatedAt), ExpiresAt: row.num(attrExpiresAt),
		ClaimedAt: row.num(attrClaimedAt), RevokedAt: row.num(attrRevokedAt),
	}
	// This package marshalled both. A value that does not parse counts as absent.
	_ = json.Unmarshal([]byte(row.str(attrMetadata)), &l.Metadata)
	_ = json.Unmarshal([]byte(row.str(attrDevice)), &l.Device)
	return l
}

func errLinkNotFound() error { return problem.New(problem.LinkNotFound, "There is no such link.") }

// NewLink describes a link to create.
type NewLink struct {
	OrgID        id.Org
	AppID        id.App
	ClientUserID string
	Metadata     map[string]string // nil: none
	ExpiresIn    time.Duration
}

// MintedLink is a new link. Its token is shown once.
type MintedLink struct {
	link.Link
	Token secret.Minted
}

// CreateLink creates a link. Error: idempotency_key_reused.
func (s *Store) CreateLink(ctx context.Context, wanted NewLink, once Once[MintedLink]) (made Created[MintedLink], err error) {
	now := s.Now()
	l := MintedLink{Link: link.Link{
		ID: s.ids().NewLink(now), OrgID: wanted.OrgID, AppID: wanted.AppID, ClientUserID: wanted.ClientUserID, Metadata: wanted.Metadata,
		CreatedAt: now.UnixMilli(), ExpiresAt: now.Add(wanted.ExpiresIn).UnixMilli(),
	}}
	if l.Token, err = link.Mint(l.AppID, l.ID, s.Rand); err != nil {
		return made, err
	}
	if made, err = once.render(l); err != nil {
		return made, err
	}
	t := &txn{}
	if err := t.once(s, once.Request, made.Answer); err != nil {
		return made, err
	}
	k := linkKey(l.AppID, l.ID)
	row := dueAttrs(DueLink, k, l.ExpiresAt)
	row[attrHash], row[attrOrgID], row[attrClientUserID] = bin(l.Token.Hash[:]), str(string(l.OrgID)), str(l.ClientUserID)
	row[attrCreatedAt], row[attrExpiresAt] = num(l.CreatedAt), num(l.ExpiresAt)
	row[attrPurgeAt] = num(endedLinkPurge(l.ExpiresAt))
	if l.Metadata != nil {
		text, err := json.Marshal(l.Metadata)
		if err != nil {
			return made, err
		}
		row[attrMetadata] = str(string(text))
	}
	t.create(s.table, k, row)
	return made.committed(s.commit(ctx, t))
}

// endedLinkPurge returns when the row of a link that ended at a time (milliseconds) may be
// deleted, in seconds.
func endedLinkPurge(ended int64) int64 { return time.UnixMilli(ended).Add(eventsFor).Unix() }

// Link returns a link of an app. Error: link_not_found.
func (s *Store) Link(ctx context.Context, a id.App, l id.Link) (link.Link, error) {
	row, err := s.get(ctx, linkKey(a, l))
	if err != nil {
		return link.Link{}, err
	}
	if row == nil {
		return link.Link{}, errLinkNotFound()
	}
	return linkFrom(row), nil
}

// Links lists an app's links, newest first. next is the id behind which the next page begins, ""
// at the end.
func (s *Store) Links(ctx context.Context, a id.App, p Page) (links []link.Link, next string, err error) {
	sp := span{pk: pkLinks + string(a), prefix: skLink, reverse: true, limit: p.Limit}
	if p.After != "" {
		sp.after = skLink + p.After
	}
	rows, more, err := s.query(ctx, sp)
	if err != nil {
		return nil, "", err
	}
	links = make([]link.Link, len(rows))
	for i, row := range rows {
		links[i] = linkFrom(row)
	}
	if more {
		next = string(links[len(links)-1].ID)
	}
	return links, next, nil
}

// pendingLink is the condition that a link is not claimed, revoked or expired (with :now in
// values).
const pendingLink = "attribute_exists(PK) AND attribute_not_exists(claimedAt) AND attribute_not_exists(revokedAt) AND expiresAt > :now"

// raced is the refusal of a condition on a row that was read before: the use case reads again.
func raced(item) error { return errRaced }

// RevokeLink revokes a pending link. A link that is revoked already does not change. Errors:
// link_not_found, link_already_claimed, link_expired.
func (s *Store) RevokeLink(ctx context.Context, a id.App, l id.Link) (revoked link.Link, err error) {
	err = retryRaced(ctx, func() error {
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
		t := &txn{}
		t.update(s.table, linkKey(a, l), expr{
			update: "SET revokedAt = :now, purgeAt = :purge REMOVE due, dueAt", when: pendingLink,
			values: item{":now": num(now), ":purge": num(endedLinkPurge(now))},
		}, raced)
		if _, err := s.event(t, happening{app: a, kind: webhook.LinkRevoked, at: now, data: revoked.View(now)}); err != nil {
			return err
		}
		return s.commit(ctx, t)
	})
	return revoked, err
}

// Claim is the claim of a link by a device.
type Claim struct {
	Token    link.Token
	ClaimKey [32]byte // SHA-256 of the device's claimKey
	Device   *link.Device
}

// ClaimedLink is a link that the device has claimed.
type ClaimedLink struct {
	link.Link
	AppName  string
	Replayed bool // this device had claimed it before
}

// ClaimLink claims a pending link for one device. The same device may repeat the claim for 24
// hours. Errors: link_not_found (also for a wrong secret), link_revoked, link_expired,
// link_already_claimed.
func (s *Store) ClaimLink(ctx context.Context, c Claim) (claimed ClaimedLink, err error) {
	err = retryRaced(ctx, func() error {
		claimed, err = s.claimLink(ctx, c)
		return err
	})
	return claimed, err
}

func (s *Store) claimLink(ctx context.Context, c Claim) (ClaimedLink, error) {
	k := linkKey(c.Token.App, c.Token.Link)
	row, err := s.get(ctx, k)
	if err != nil {
		return ClaimedLink{}, err
	}
	if !c.proves(row) {
		return ClaimedLink{}, errLinkNotFound()
	}
	out := ClaimedLink{Link: linkFrom(row)}
	app, meta := appKey(out.OrgID, out.AppID), orgKey(out.OrgID)
	rows, err := s.getMany(ctx, app, meta)
	if err != nil {
		return ClaimedLink{}, err
	}
	if orgGone(rows[meta]) || rows[app] == nil {
		return ClaimedLink{}, errLinkNotFound()
	}
	now := s.now()
	out.AppName = rows[app].str(attrName)
	if out.Replayed, err = c.admit(row, now); err != nil || out.Replayed {
		return out, err
	}
	out.ClaimedAt, out.Device = now, c.Device
	device, err := json.Marshal(c.Device)
	if err != nil {
		return ClaimedLink{}, err
	}
	t := &txn{reread: true}
	t.update(s.table, k, expr{
		update: "SET claimedAt = :now, claimKeyHash = :key, device = :device, purgeAt = :purge REMOVE due, dueAt",
		when:   pendingLink + " AND #hash = :token", names: map[string]string{"#hash": attrHash},
		values: item{
			":now": num(now), ":key": bin(c.ClaimKey[:]), ":device": str(string(device)),
			":purge": num(endedLinkPurge(now)), ":token": bin(c.Token.Hash[:]),
		},
	}, raced)
	if _, err := s.event(t, happening{app: out.AppID, kind: webhook.LinkClaimed, at: now, data: out.View(now)}); err != nil {
		return ClaimedLink{}, err
	}
	return out, s.commit(ctx, t)
}

// proves reports whether the claim has the secret of a link's row. The answer for a missing row
// and for a wrong secret is the same, in every state of the link.
func (c Claim) proves(row item) bool {
	var hash secret.Hash
	copy(hash[:], row.bin(attrHash))
	return row != nil && hash.Equal(c.Token.Hash)
}

// admit decides by a link's row whether the claim may go on. replayed reports that the same
// device has made it before. Errors: link_revoked, link_expired, link_already_claimed.
func (c Claim) admit(row item, now int64) (replayed bool, err error) {
	l := linkFrom(row)
	switch l.Status(now) {
	case link.Revoked:
		return false, problem.New(problem.LinkRevoked, "The link was revoked.")
	case link.Expired:
		return false, problem.New(problem.LinkExpired, "The link has expired.")
	case link.Claimed:
		same := subtle.ConstantTimeCompare(row.bin(attrClaimKey), c.ClaimKey[:]) == 1
		if !same || now >= l.ClaimedAt+replayFor.Milliseconds() {
			return false, problem.New(problem.LinkAlreadyClaimed, "The link was claimed before.")
		}
		return true, nil
	case link.Pending:
	}
	return false, nil
}

// ExpireLink writes link.expired, once, for a link that was not claimed in time. It changes
// nothing for a link that is claimed, revoked or deleted, or whose event was written already.
func (s *Store) ExpireLink(ctx context.Context, a id.App, l id.Link) error {
	found, err := s.Link(ctx, a, l)
	if problem.Is(err, problem.LinkNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.now()
	if found.Status(now) != link.Expired {
		return nil
	}
	t := &txn{}
	t.update(s.table, linkKey(a, l), expr{
		update: "SET lapsedAt = :now REMOVE due, dueAt",
		when: "attribute_exists(PK) AND attribute_not_exists(claimedAt) AND attribute_not_exists(revokedAt)" +
			" AND attribute_not_exists(lapsedAt)",
		values: item{":now": num(now)},
	}, raced)
	if _, err := s.event(t, happening{app: a, kind: webhook.LinkExpired, at: now, data: found.View(now)}); err != nil {
		return err
	}
	return ignoreRaced(s.commit(ctx, t))
}

// ignoreRaced drops the error of work that another process has done meanwhile.
func ignoreRaced(err error) error {
	if errors.Is(err, errRaced) {
		return nil
	}
	return err
}
