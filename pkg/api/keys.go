package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// Bounds of the contract (README, "Limits"), in seconds.
const (
	maxExpiresIn = 315_360_000 // ten years
	maxGrace     = 604_800     // a week
)

// keys serves the routes of an org's API keys.
type keys struct {
	store  *store.Store
	prefix string
	random io.Reader
}

// Keys gives the handler of functions/keys. prefix stands before every key;
// random nil is crypto/rand; console is as of Orgs.
func Keys(s *store.Store, prefix string, random io.Reader, console []string) http.Handler {
	k := keys{s, prefix, random}
	return newGroup("keys", map[string]handler{
		"GET /v1/orgs/{orgId}/keys":                 k.list,
		"POST /v1/orgs/{orgId}/keys":                k.create,
		"DELETE /v1/orgs/{orgId}/keys/{keyId}":      k.revoke,
		"POST /v1/orgs/{orgId}/keys/{keyId}/rotate": k.rotate,
	}, console)
}

type keyBody struct {
	ID         id.Key `json:"id"`
	KeyPrefix  string `json:"keyPrefix"`
	Name       string `json:"name"`
	CreatedAt  int64  `json:"createdAt"` // milliseconds, as all below
	RevokedAt  *int64 `json:"revokedAt"`
	ExpiresAt  *int64 `json:"expiresAt"`
	AppID      id.App `json:"appId"`
	LastUsedAt *int64 `json:"lastUsedAt"`
}

func (k keys) list(ctx context.Context, c *call) (answer, error) {
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	p, err := c.page(true, func(s string) bool { _, err := id.ParseKey(s); return err == nil })
	if err != nil {
		return answer{}, err
	}
	found, next, err := k.store.Keys(ctx, c.actor(), orgID, p)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Keys       []keyBody `json:"keys"`
		NextCursor string    `json:"nextCursor,omitempty"`
	}{make([]keyBody, len(found)), cursor(next)}
	for i, f := range found {
		body.Keys[i] = keyBody{
			ID: f.ID, KeyPrefix: f.Prefix, Name: f.Name, CreatedAt: f.CreatedAt,
			RevokedAt: orNull(f.RevokedAt), ExpiresAt: orNull(f.ExpiresAt), AppID: f.AppID, LastUsedAt: orNull(f.LastUsedAt),
		}
	}
	return ok(body), nil
}

// createdKey renders the one answer that holds a key.
func createdKey(k store.NewKey) ([]byte, error) {
	return render(struct {
		ID        id.Key `json:"id"`
		Key       string `json:"key"`
		Prefix    string `json:"prefix"`
		ExpiresAt *int64 `json:"expiresAt"`
	}{k.ID, k.Minted.Key.Reveal(), k.Minted.Prefix, orNull(k.ExpiresAt)})
}

// mint makes the id and the text of a new key.
func (k keys) mint(orgID id.Org) (store.NewKey, error) {
	now := k.store.Now()
	fresh := store.NewKey{ID: k.store.NewKeyID(now), CreatedAt: now.UnixMilli()}
	var err error
	fresh.Minted, err = apikey.Mint(k.prefix, orgID, fresh.ID, k.random)
	return fresh, err
}

// expiresIn checks a life in seconds; nil is 0, which means none was asked for.
func expiresIn(seconds *int64) (time.Duration, error) {
	if seconds == nil {
		return 0, nil
	}
	if *seconds < 1 || *seconds > maxExpiresIn {
		return 0, problem.Invalid("/expiresIn", "range", "The value must be from 1 to 315360000 seconds.")
	}
	return time.Duration(*seconds) * time.Second, nil
}

func (k keys) create(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Name      *string `json:"name"`
		ExpiresIn *int64  `json:"expiresIn"`
		AppID     *string `json:"appId"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	name := ""
	if in.Name != nil {
		var err error
		if name, err = cleanName("/name", *in.Name); err != nil {
			return answer{}, err
		}
	}
	life, err := expiresIn(in.ExpiresIn)
	if err != nil {
		return answer{}, err
	}
	once, err := c.once(nil)
	if err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	fresh, err := k.mint(orgID)
	if err != nil {
		return answer{}, err
	}
	fresh.Name = name
	if life != 0 {
		fresh.ExpiresAt = fresh.CreatedAt + life.Milliseconds()
	}
	if in.AppID != nil {
		fresh.AppID = appID(*in.AppID)
	}
	if once.Answer, err = createdKey(fresh); err != nil {
		return answer{}, err
	}
	kept, err := k.store.CreateKey(ctx, c.actor(), orgID, fresh, once)
	if err != nil {
		return answer{}, err
	}
	return created(once.Answer, kept), nil
}

func (k keys) revoke(ctx context.Context, c *call) (answer, error) {
	endpoints, err := c.endpointsToo()
	if err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	if err := k.store.RevokeKey(ctx, c.actor(), orgID, c.keyID()); err != nil {
		return answer{}, err
	}
	if endpoints { // whatever comes of this, the key is revoked
		if err := k.store.DisableEndpointsOf(ctx, c.actor(), orgID, c.keyID()); err != nil {
			return answer{}, err
		}
	}
	return noContent(), nil
}

func (k keys) rotate(ctx context.Context, c *call) (answer, error) {
	var in struct {
		GraceSeconds *int64 `json:"graceSeconds"`
		ExpiresIn    *int64 `json:"expiresIn"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if in.GraceSeconds == nil {
		return answer{}, problem.Invalid("/graceSeconds", "required", "The value is required.")
	}
	if *in.GraceSeconds < 0 || *in.GraceSeconds > maxGrace {
		return answer{}, problem.Invalid("/graceSeconds", "range", "The value must be from 0 to 604800 seconds.")
	}
	life, err := expiresIn(in.ExpiresIn)
	if err != nil {
		return answer{}, err
	}
	once, err := c.once(nil)
	if err != nil {
		return answer{}, err
	}
	orgID, err := c.orgID()
	if err != nil {
		return answer{}, err
	}
	fresh, err := k.mint(orgID)
	if err != nil {
		return answer{}, err
	}
	body, kept, err := k.store.RotateKey(ctx, c.actor(), orgID, store.Rotation{
		Old: c.keyID(), Grace: time.Duration(*in.GraceSeconds) * time.Second,
		Key: fresh, ExpiresIn: life, Answer: createdKey,
	}, once)
	if err != nil {
		return answer{}, err
	}
	return created(body, kept), nil
}
