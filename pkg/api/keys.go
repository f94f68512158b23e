package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/store"
	"latchkey/pkg/strictjson"
)

// The bounds of the contract (infra/docs/api.md, "Limits"), in seconds.
const (
	maxExpiresIn = 315_360_000 // ten years
	maxGrace     = 604_800     // a week
)

// keys serves the routes of an org's API keys.
type keys struct{ store *store.Store }

// Keys returns the handler of functions/keys. Each new key begins with prefix, or with keysBeginWith of its app. New keys must
// expire within maxLife; 0: they may live without an end. imports: imported keys are accepted. console lists the allowed
// origins, as in Orgs. A caller who creates or rotates a key, or gives it more scopes or higher limits, must have signed in
// within maxAge; 0: any age.
func Keys(s *store.Store, prefix string, imports bool, maxLife time.Duration, console []string, rights route.Rights, maxAge time.Duration) http.Handler {
	k := keys{s}
	return newGroup("keys", map[string]handler{
		"listKeys":     handle(k.list),
		"createKey":    handleAs[keyIn](k.create),
		"importKeys":   handleAs[importIn](k.imports),
		"updateKey":    handleAs[keyChangeIn](k.update),
		"revokeKey":    handleAs[revokeIn](k.revoke),
		"revokeKeysOf": handleAs[revokeOfIn](k.revokeOf),
		"rotateKey":    handleAs[rotateIn](k.rotate),
		"listUsage":    ofServices(handleAs[monthIn](k.usageOfAll)),
		"getUsage":     handleAs[monthIn](k.usageOfOrg),
		"getKeyUsage":  handleAs[daysIn](k.usage),
		"findKey":      ofServices(handle(k.find)),
		"revokeByText": handleAs[holderIn](k.revokeByText),
	}, console, options{rights: rights, maxAge: maxAge, maxLife: maxLife, prefix: prefix, imports: imports})
}

type keyBody struct {
	ID         id.Key `json:"id"`
	KeyPrefix  string `json:"keyPrefix"`
	Locator    string `json:"locator,omitempty"` // the text before its second "_"; imported keys have none
	Name       string `json:"name"`
	CreatedAt  int64  `json:"createdAt"` // milliseconds, as all times below
	RevokedAt  *int64 `json:"revokedAt"`
	ExpiresAt  *int64 `json:"expiresAt"`
	AppID      id.App `json:"appId"`
	LastUsedAt *int64 `json:"lastUsedAt"`
	LeakedAt   int64  `json:"leakedAt,omitempty"` // the time of the last report that its text was found in public

	CreatedBy id.User `json:"createdBy,omitempty"` // missing when a service created the key
	RotatedTo id.Key  `json:"rotatedTo,omitempty"` // the key that replaced this one

	Scopes   []string          `json:"scopes"`
	Metadata map[string]string `json:"metadata"`
	Limits   []limitBody       `json:"limits"`
	Ceilings []limitBody       `json:"ceilings"`
}

func keyBodyOf(k store.APIKey) keyBody {
	return keyBody{
		ID: k.ID, KeyPrefix: k.Prefix, Locator: apikey.LocatorOf(k.Prefix, k.OrgID, k.ID), Name: k.Name, CreatedAt: k.CreatedAt,
		RevokedAt: orNull(k.RevokedAt), ExpiresAt: orNull(k.ExpiresAt), AppID: k.AppID, LastUsedAt: orNull(k.LastUsedAt), LeakedAt: k.LeakedAt,
		CreatedBy: k.CreatedBy.Long(), RotatedTo: k.RotatedTo.Long(), Scopes: apikey.SplitScopes(k.Scopes), Metadata: orEmpty(k.Metadata), Limits: limitBodiesOf(k.Limits), Ceilings: limitBodiesOf(k.Ceilings),
	}
}

func (k keys) list(ctx context.Context, c *call, _ none) (list[json.RawMessage], error) {
	by, err := c.createdBy()
	if err != nil {
		return list[json.RawMessage]{}, err
	}
	return reading[store.APIKey, keyBody]{
		name: "keys", valid: isID(id.ParseKey), shown: keyBodyOf,
		rows: func(p store.Page) ([]store.APIKey, string, error) { return k.store.Keys(ctx, c.actor(), c.org, by, p) },
		id:   func(b keyBody) string { return string(b.ID) },
	}.answer(c)
}

// newKeyBody describes a new key. It is the only answer that has the key itself.
type newKeyBody struct {
	ID        id.Key `json:"id"`
	Key       string `json:"key"`
	Prefix    string `json:"prefix"`
	ExpiresAt *int64 `json:"expiresAt"`
}

func newKeyBodyOf(k store.MintedKey) newKeyBody {
	return newKeyBody{k.ID, k.Minted.Key.Reveal(), k.Minted.Prefix, orNull(k.ExpiresAt)}
}

// lifetime checks the member expiresIn, which is in seconds. It returns 0 for nil, which means that the member was not sent.
func (c *call) lifetime(seconds *int64) (time.Duration, error) {
	if seconds == nil {
		return 0, c.mustExpire("/expiresIn")
	}
	most := int64(maxExpiresIn)
	if c.maxLife != 0 {
		most = min(most, int64(c.maxLife/time.Second))
	}
	if *seconds < 1 || *seconds > most {
		return 0, problem.Invalid("/expiresIn", "range", fmt.Sprintf("The value must be from 1 to %d seconds.", most))
	}
	return time.Duration(*seconds) * time.Second, nil
}

// mustExpire refuses a key without an expiry if the deployment requires one.
func (c *call) mustExpire(pointer string) error {
	if c.maxLife == 0 {
		return nil
	}
	return problem.Invalid(pointer, "required", fmt.Sprintf("The value is required, because API keys of this deployment must expire after at most %d seconds.", int64(c.maxLife/time.Second)))
}

// keyIn is a body that describes a new key.
type keyIn struct {
	Name      *string `json:"name"`
	ExpiresIn *int64  `json:"expiresIn"`
	AppID     *string `json:"appId"`

	Scopes   []string                   `json:"scopes"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Limits   []limitIn                  `json:"limits"`
	Ceilings []limitIn                  `json:"ceilings"`
}

func (in keyIn) parse(c *call) (wanted store.NewKey, err error) {
	change, err := keyChangeIn{in.Name, in.Scopes, in.Metadata, in.Limits, in.Ceilings}.parse(c)
	if err != nil {
		return wanted, err
	}
	wanted.Prefix, wanted.Name, wanted.Carried = c.prefix, orZero(change.Name), carriedBy(change)
	if in.AppID != nil { // otherwise the store uses the org's default app
		wanted.AppID = idOr(id.NoApp, id.ParseApp, *in.AppID)
	}
	wanted.ExpiresIn, err = c.lifetime(in.ExpiresIn)
	return wanted, err
}

func (k keys) create(ctx context.Context, c *call, wanted store.NewKey) (answer, error) {
	once, err := onceOf(c, newKeyBodyOf)
	if err != nil {
		return answer{}, err
	}
	return created(k.store.CreateKey(ctx, c.actor(), c.org, wanted, once))
}

// revocation has the options of a revocation. endpointsToo also disables the key's endpoints, and linksToo also revokes its
// links.
type revocation struct{ endpointsToo, linksToo bool }

// revokeIn is an empty body: the options are in the query.
type revokeIn struct{}

func (revokeIn) parse(c *call) (r revocation, err error) {
	if r.endpointsToo, err = c.option("endpoints", "disable"); err == nil {
		r.linksToo, err = c.option("links", "revoke")
	}
	return r, err
}

// revoke does the most urgent step first: it ends the key, then its links, then its endpoints. If a step fails, the earlier
// steps stay done, and the caller can send the request again.
func (k keys) revoke(ctx context.Context, c *call, r revocation) (none, error) {
	err := k.store.RevokeKey(ctx, c.actor(), c.org, c.keyID())
	if err == nil && r.linksToo {
		err = k.store.RevokeLinksOf(ctx, c.actor(), c.org, c.keyID())
	}
	if err == nil && r.endpointsToo {
		err = k.store.DisableEndpointsOf(ctx, c.actor(), c.org, c.keyID())
	}
	return none{}, err
}

// revokeOfIn is an empty body: the query names the person.
type revokeOfIn struct{}

func (revokeOfIn) parse(c *call) (id.User, error) {
	if !c.URL.Query().Has("createdBy") {
		return "", problem.New(problem.MissingParameter, "Send the parameter createdBy. It is the id of the user who created the API keys to revoke.")
	}
	return c.createdBy()
}

func (k keys) revokeOf(ctx context.Context, c *call, by id.User) (none, error) {
	return none{}, k.store.RevokeKeysOf(ctx, c.actor(), c.org, by)
}

// rotateIn is a body that describes a rotation.
type rotateIn struct {
	GraceSeconds *int64 `json:"graceSeconds"`
	ExpiresIn    *int64 `json:"expiresIn"`

	Scopes   []string                   `json:"scopes"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Limits   []limitIn                  `json:"limits"`
	Ceilings []limitIn                  `json:"ceilings"`
}

func (in rotateIn) parse(c *call) (r store.Rotation, err error) {
	if err := required("/graceSeconds", in.GraceSeconds); err != nil {
		return r, err
	}
	if *in.GraceSeconds < 0 || *in.GraceSeconds > maxGrace {
		return r, problem.Invalid("/graceSeconds", "range", "The value must be from 0 to 604800 seconds.")
	}
	r.Old, r.Grace, r.Prefix = c.keyID(), time.Duration(*in.GraceSeconds)*time.Second, c.prefix
	if r.KeyChange, err = (keyChangeIn{nil, in.Scopes, in.Metadata, in.Limits, in.Ceilings}).parse(c); err != nil {
		return r, err
	}
	r.ExpiresIn, err = c.lifetime(in.ExpiresIn)
	return r, err
}

func (k keys) rotate(ctx context.Context, c *call, r store.Rotation) (answer, error) {
	once, err := onceOf(c, newKeyBodyOf)
	if err != nil {
		return answer{}, err
	}
	return created(k.store.RotateKey(ctx, c.actor(), c.org, r, once))
}

// keyChangeIn is a body that changes a key.
type keyChangeIn struct {
	Name     *string                    `json:"name"`
	Scopes   []string                   `json:"scopes"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Limits   []limitIn                  `json:"limits"`
	Ceilings []limitIn                  `json:"ceilings"`
}

// parse leaves the fields of missing members nil. Errors: validation_failed; insufficient_role for ceilings from a caller who is not a
// service.
func (in keyChangeIn) parse(c *call) (change store.KeyChange, err error) {
	if change.Name, err = (nameIn{in.Name}).parse(c); err != nil {
		return change, err
	}
	if change.Scopes, err = scopesOf(in.Scopes); err != nil {
		return change, err
	}
	if change.Metadata, err = keyMetadataOf(in.Metadata); err != nil {
		return change, err
	}
	if change.Limits, err = limitsOf("/limits", in.Limits); err != nil {
		return change, err
	}
	if in.Ceilings != nil {
		if c.caller.Kind != principal.Service {
			return change, problem.New(problem.InsufficientRole, "Only a service can set ceilings.")
		}
		if err := c.needs(route.OrgsLimit); err != nil {
			return change, err
		}
	}
	change.Ceilings, err = limitsOf("/ceilings", in.Ceilings)
	return change, err
}

// carriedBy returns the scopes, metadata, limits and ceilings of a new key. Each of them may be missing.
func carriedBy(change store.KeyChange) store.Carried {
	return store.Carried{
		Scopes: orZero(change.Scopes), Metadata: change.Metadata, Limits: orZero(change.Limits), Ceilings: orZero(change.Ceilings),
	}
}

func (k keys) update(ctx context.Context, c *call, change store.KeyChange) (keyBody, error) {
	changed, err := k.store.UpdateKey(ctx, c.actor(), c.org, c.keyID(), change)
	return keyBodyOf(changed), err
}

// scopesOf checks scopes and joins them. It returns nil for nil.
func scopesOf(in []string) (*string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // scopes may be left out
	}
	if len(in) > apikey.MaxScopes {
		return nil, problem.Invalid("/scopes", "length", "The value must have at most 32 scopes.")
	}
	for i, s := range in {
		if !apikey.ValidScope(s) {
			return nil, problem.Invalid("/scopes/"+strconv.Itoa(i), "format",
				`The value must be a scope: 1 to 64 of the characters a to z, 0 to 9 and _.:- without "latchkey." at the beginning.`)
		}
	}
	joined := apikey.JoinScopes(in)
	return &joined, nil
}

// keyMetadataOf checks a key's metadata. It returns nil for nil.
func keyMetadataOf(in map[string]json.RawMessage) (map[string]string, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // metadata may be left out
	}
	out := make(map[string]string, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		var value *string
		if err := json.Unmarshal(in[name], &value); err != nil || value == nil {
			return nil, problem.Invalid(strictjson.PointerTo("/metadata", name), "type", "The value must be a string.")
		}
		out[name] = *value
	}
	if !apikey.ValidMetadata(out) {
		return nil, problem.Invalid("/metadata", "length", "The value must have at most 1,024 bytes as compact JSON.")
	}
	return out, nil
}

// orEmpty returns an empty map, which renders as {}, for nil.
func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// orZero returns the value that v points to, the zero value for nil.
func orZero[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}
