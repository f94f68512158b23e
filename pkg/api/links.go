package api

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// links serves the links of an app, and their public claim.
type links struct{ store *store.Store }

// Links gives the handler of functions/links.
func Links(s *store.Store) http.Handler {
	l := links{s}
	return newGroup("links", map[string]handler{
		"POST /link/create": l.create,
		"POST /link/get":    l.get,
		"POST /link/list":   l.list,
		"POST /link/revoke": l.revoke,
		"POST /link/claim":  l.claim,
	}, nil)
}

func (l links) create(ctx context.Context, c *call) (answer, error) {
	var in struct {
		ClientUserID *string            `json:"clientUserId"`
		Metadata     map[string]*string `json:"metadata"`
		ExpiresIn    *int64             `json:"expiresIn"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/clientUserId", in.ClientUserID); err != nil {
		return answer{}, err
	}
	metadata, err := metadataOf(in.Metadata)
	switch {
	case err != nil:
		return answer{}, err
	case !link.ValidClientUserID(*in.ClientUserID):
		return answer{}, problem.Invalid("/clientUserId", "length", "The value must have 1 to 128 characters, none of them a control character.")
	case in.ExpiresIn != nil && (*in.ExpiresIn < link.MinLife || *in.ExpiresIn > link.MaxLife):
		return answer{}, problem.Invalid("/expiresIn", "range", "The value must be from 60 to 604800 seconds.")
	}
	life := link.DefaultLife * time.Second
	if in.ExpiresIn != nil {
		life = time.Duration(*in.ExpiresIn) * time.Second
	}
	made, token, err := l.store.DraftLink(c.caller.OrgID, c.caller.AppID, *in.ClientUserID, metadata, life)
	if err != nil {
		return answer{}, err
	}
	body, err := render(struct {
		ID        id.Link     `json:"id"`
		Token     string      `json:"token"`
		Status    link.Status `json:"status"`
		ExpiresAt int64       `json:"expiresAt"`
	}{made.ID, token.Text.Reveal(), link.Pending, made.ExpiresAt})
	if err != nil {
		return answer{}, err
	}
	once, err := c.once(body)
	if err != nil {
		return answer{}, err
	}
	if err := l.store.SpendEvent(ctx, c.caller.AppID); err != nil { // of its end
		return answer{}, err
	}
	kept, err := l.store.CreateLink(ctx, made, token.Hash, once)
	if err != nil {
		return answer{}, err
	}
	return created(body, kept), nil
}

// metadataOf checks a link's metadata; nil is none.
func metadataOf(in map[string]*string) (map[string]string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // no metadata is none
	}
	out := make(map[string]string, len(in))
	for name, value := range in {
		if value == nil {
			return nil, problem.Invalid("/metadata", "type", "Every member must be a string.")
		}
		out[name] = *value
	}
	if !link.ValidMetadata(out) {
		return nil, problem.Invalid("/metadata", "length", "The value must have at most 20 members, and at most 2 KB as JSON.")
	}
	return out, nil
}

func (l links) get(ctx context.Context, c *call) (answer, error) {
	return l.one(ctx, c, l.store.Link)
}

func (l links) revoke(ctx context.Context, c *call) (answer, error) {
	return l.one(ctx, c, l.store.RevokeLink)
}

// one answers with the link that the body names, after something was done to it.
func (l links) one(ctx context.Context, c *call, do func(context.Context, id.App, id.Link) (link.Link, error)) (answer, error) {
	var in struct {
		LinkID *string `json:"linkId"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/linkId", in.LinkID); err != nil {
		return answer{}, err
	}
	found, err := do(ctx, c.caller.AppID, linkID(*in.LinkID))
	if err != nil {
		return answer{}, err
	}
	return ok(found.View(l.store.Now().UnixMilli())), nil
}

func (l links) list(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Limit  *int64  `json:"limit"`
		Cursor *string `json:"cursor"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	p, err := pageOf(in.Limit, in.Cursor, isLinkID)
	if err != nil {
		return answer{}, err
	}
	found, next, err := l.store.Links(ctx, c.caller.AppID, p)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Links      []link.View `json:"links"`
		NextCursor string      `json:"nextCursor,omitempty"`
	}{make([]link.View, len(found)), cursor(next)}
	for i, f := range found {
		body.Links[i] = f.View(l.store.Now().UnixMilli())
	}
	return ok(body), nil
}

// claim claims a link for a device. A token that is malformed and one that is
// unknown are the same 404.
func (l links) claim(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Token    *string      `json:"token"`
		ClaimKey *string      `json:"claimKey"`
		Device   *link.Device `json:"device"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := required("/token", in.Token); err != nil {
		return answer{}, err
	}
	if err := required("/claimKey", in.ClaimKey); err != nil {
		return answer{}, err
	}
	if !link.ValidClaimKey(*in.ClaimKey) {
		return answer{}, problem.Invalid("/claimKey", "format", "The value must be 22 to 64 base64url characters, at least 128 of their bits random.")
	}
	if err := checkDevice(in.Device); err != nil {
		return answer{}, err
	}
	token, err := link.ParseToken(*in.Token)
	if err != nil {
		return answer{}, problem.New(problem.LinkNotFound, "There is no such link.")
	}
	claimed, err := l.store.ClaimLink(ctx, store.Claim{Token: token, ClaimKey: sha256.Sum256([]byte(*in.ClaimKey)), Device: in.Device})
	if err != nil {
		return answer{}, err
	}
	type appPart struct {
		Name string `json:"name"`
	}
	return ok(struct {
		LinkID    id.Link     `json:"linkId"`
		Status    link.Status `json:"status"`
		ClaimedAt int64       `json:"claimedAt"`
		App       appPart     `json:"app"`
		Replayed  bool        `json:"replayed"`
	}{claimed.ID, link.Claimed, claimed.ClaimedAt, appPart{claimed.AppName}, claimed.Replayed}), nil
}

func checkDevice(d *link.Device) error {
	if d == nil {
		return nil
	}
	for _, part := range []struct {
		pointer string
		text    *string
	}{{"/device/name", d.Name}, {"/device/platform", d.Platform}} {
		if part.text != nil && !link.ValidDeviceText(*part.text) {
			return problem.Invalid(part.pointer, "length", "The value must have at most 100 characters, none of them hidden and one of them visible.")
		}
	}
	return nil
}
