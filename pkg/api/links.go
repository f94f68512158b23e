package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/strictjson"
)

// links serves the links of an app, and the public claim of a link.
type links struct{ store *store.Store }

// Links returns the handler of functions/links. console lists the allowed origins, as in Orgs.
func Links(s *store.Store, console []string, rights route.Rights) http.Handler {
	l := links{s}
	return newGroup("links", map[string]handler{
		"createLink": handleAs[newLinkIn](l.create),
		"getLink":    handleAs[linkIn](l.get),
		"listLinks":  handle(l.list),
		"revokeLink": handleAs[linkIn](l.revoke),
		"claimLink":  fromDevice(handleAs[claimIn](l.claim)),

		"listAppLinks":  fromQuery(handle(inApp(s, l.list))),
		"revokeAppLink": fromPath("linkId")(handleAs[linkIn](inApp(s, l.revokeOnly))),
	}, console, options{rights: rights})
}

// linkBody is a link with its present status, and without its token.
type linkBody struct {
	ID           id.Link           `json:"id"`
	Status       link.Status       `json:"status"`
	ClientUserID string            `json:"clientUserId"`
	Metadata     map[string]string `json:"metadata"`
	Device       *deviceBody       `json:"device"`
	CreatedAt    int64             `json:"createdAt"` // milliseconds, as all times below
	ExpiresAt    int64             `json:"expiresAt"`
	ClaimedAt    *int64            `json:"claimedAt"`
	RevokedAt    *int64            `json:"revokedAt"`
	CreatedByKey id.Key            `json:"createdByKey"`
}

// deviceBody is the device that claims a link.
type deviceBody struct {
	Name     *string `json:"name"`
	Platform *string `json:"platform"`
}

func (l links) bodyOf(found link.Link) linkBody {
	return linkBody{
		ID: found.ID, Status: found.Status(l.store.Now().UnixMilli()), ClientUserID: found.ClientUserID, Metadata: found.Metadata,
		Device: (*deviceBody)(found.Device), CreatedAt: found.CreatedAt, ExpiresAt: found.ExpiresAt,
		ClaimedAt: orNull(found.ClaimedAt), RevokedAt: orNull(found.RevokedAt), CreatedByKey: found.CreatedByKey,
	}
}

// newLinkIn is a body that describes a new link.
type newLinkIn struct {
	ClientUserID *string            `json:"clientUserId"`
	Metadata     map[string]*string `json:"metadata"`
	ExpiresIn    *int64             `json:"expiresIn"`
}

func (in newLinkIn) parse(c *call) (wanted store.NewLink, err error) {
	if err := required("/clientUserId", in.ClientUserID); err != nil {
		return wanted, err
	}
	wanted = store.NewLink{
		OrgID: c.org, AppID: c.app, ClientUserID: *in.ClientUserID, ExpiresIn: link.DefaultLife * time.Second,
		By: c.caller.KeyID,
	}
	wanted.Metadata, err = metadataOf(in.Metadata)
	switch {
	case err != nil:
		return wanted, err
	case !link.ValidClientUserID(*in.ClientUserID):
		return wanted, problem.Invalid("/clientUserId", "length", "The value must have 1 to 128 characters, without control characters.")
	case in.ExpiresIn != nil && (*in.ExpiresIn < link.MinLife || *in.ExpiresIn > link.MaxLife):
		return wanted, problem.Invalid("/expiresIn", "range", "The value must be from 60 to 604800 seconds.")
	}
	if in.ExpiresIn != nil {
		wanted.ExpiresIn = time.Duration(*in.ExpiresIn) * time.Second
	}
	return wanted, nil
}

// newLinkBody describes a new link. It is the only answer that has the link's token.
type newLinkBody struct {
	ID        id.Link     `json:"id"`
	Token     string      `json:"token"`
	Status    link.Status `json:"status"`
	ExpiresAt int64       `json:"expiresAt"`
}

func newLinkBodyOf(l store.MintedLink) newLinkBody {
	return newLinkBody{l.ID, l.Token.Text.Reveal(), link.Pending, l.ExpiresAt}
}

func (l links) create(ctx context.Context, c *call, wanted store.NewLink) (answer, error) {
	once, err := onceOf(c, newLinkBodyOf)
	if err != nil {
		return answer{}, err
	}
	// Each link causes one event when it ends. The link pays for it now, so that no budget can refuse a claim later.
	once.Charge = func(ctx context.Context) (int, error) { return l.store.Deliveries().SpendEvent(ctx, c.org, c.app) }
	return created(l.store.CreateLink(ctx, wanted, once))
}

// metadataOf checks a link's metadata. It returns nil for nil.
func metadataOf(in map[string]*string) (map[string]string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // a link may have no metadata
	}
	out := make(map[string]string, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if in[name] == nil {
			return nil, problem.Invalid(strictjson.PointerTo("/metadata", name), "type", "The value must be a string.")
		}
		out[name] = *in[name]
	}
	if !link.ValidMetadata(out) {
		return nil, problem.Invalid("/metadata", "length", "The value must have at most 20 members, and at most 2 KB as JSON.")
	}
	return out, nil
}

// linkIn is a body that names a link.
type linkIn struct {
	LinkID *string `json:"linkId"`
}

func (in linkIn) parse(*call) (id.Link, error) {
	if err := required("/linkId", in.LinkID); err != nil {
		return "", err
	}
	return idOr(id.NoLink, id.ParseLink, *in.LinkID), nil // a malformed id gets the same 404 as an unknown one
}

func (l links) get(ctx context.Context, c *call, wanted id.Link) (linkBody, error) {
	found, err := l.store.Link(ctx, c.app, wanted)
	return l.bodyOf(found), err
}

func (l links) revoke(ctx context.Context, c *call, wanted id.Link) (linkBody, error) {
	revoked, err := l.store.RevokeLink(ctx, c.app, wanted, c.changer())
	return l.bodyOf(revoked), err
}

func (l links) revokeOnly(ctx context.Context, c *call, wanted id.Link) (none, error) {
	_, err := l.revoke(ctx, c, wanted)
	return none{}, err
}

func (l links) list(ctx context.Context, c *call, in pageIn) (list[linkBody], error) {
	p, err := in.page(isID(id.ParseLink))
	if err != nil {
		return list[linkBody]{}, err
	}
	found, next, err := l.store.Links(ctx, c.app, p)
	return listOf("links", found, next, l.bodyOf), err
}

// claimIn is the body of a device that claims a link.
type claimIn struct {
	Token    *string   `json:"token"`
	ClaimKey *string   `json:"claimKey"`
	Device   *deviceIn `json:"device"`
}

// deviceIn is a device as the device itself describes it. Values that are not texts are ignored.
type deviceIn struct {
	Name     json.RawMessage `json:"name"`
	Platform json.RawMessage `json:"platform"`
}

// device returns the device that the link's row keeps; nil for none.
func (in claimIn) device() *link.Device {
	if in.Device == nil {
		return nil
	}
	text := func(reported json.RawMessage) *string {
		var s *string
		if json.Unmarshal(reported, &s) != nil {
			return nil
		}
		return link.DeviceText(s)
	}
	return &link.Device{Name: text(in.Device.Name), Platform: text(in.Device.Platform)}
}

// parse answers a malformed token with the same 404 as an unknown one.
func (in claimIn) parse(*call) (claim store.Claim, err error) {
	if err := cmp.Or(required("/token", in.Token), required("/claimKey", in.ClaimKey)); err != nil {
		return claim, err
	}
	if !link.ValidClaimKey(*in.ClaimKey) {
		return claim, problem.Invalid("/claimKey", "format", "The value must have 22 to 64 base64url characters, made from at least 128 random bits.")
	}
	token, err := link.ParseToken(*in.Token)
	if err != nil {
		return claim, problem.New(problem.LinkNotFound, "There is no such link.")
	}
	// The link's row has this hash. No row has the claimKey itself.
	return store.Claim{Token: token, Device: in.device(), ClaimKeyHash: sha256.Sum256([]byte(*in.ClaimKey))}, nil
}

type claimBody struct {
	LinkID    id.Link     `json:"linkId"`
	Status    link.Status `json:"status"`
	ClaimedAt int64       `json:"claimedAt"`
	App       claimedApp  `json:"app"`
	Replayed  bool        `json:"replayed"`
}

type claimedApp struct {
	Name string `json:"name"`
}

// claim claims a link for a device.
func (l links) claim(ctx context.Context, _ *call, claim store.Claim) (claimBody, error) {
	claimed, err := l.store.ClaimLink(ctx, claim)
	return claimBody{claimed.ID, link.Claimed, claimed.ClaimedAt, claimedApp{claimed.AppName}, claimed.Replayed}, err
}
