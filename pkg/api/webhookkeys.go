package api

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

// keptFor is how long this process keeps a verification key in memory.
const keptFor = time.Minute

// How long a receiver or a cache may keep an answer about a key, in seconds. Receivers must learn of a revocation soon, also for a
// retired key. keptFor and cacheKnown together are six minutes: after that, no answer shows a revoked key as good.
const (
	cacheKnown   = 300
	cacheUnknown = 60 // the key may be created soon
)

// webhookKeys serves the keys that verify webhooks. It reads the table and never calls KMS, so that receivers can still verify
// webhooks when KMS is down.
type webhookKeys struct {
	store *store.Store

	mu      sync.Mutex                          // held during reads of the table; Lambda gives a process one call at a time
	byKid   map[string]kept[webhook.SigningKey] // only keys that exist, so that unknown kids use no memory
	listing kept[[]webhook.SigningKey]
}

// kept is the result of a read. It is used until the time until.
type kept[T any] struct {
	value T
	until time.Time
}

// WebhookKeys returns the handler of functions/webhookkeys, which serves the public reads and the preflights of /v1. contract
// is infra/openapi.yaml. console lists the allowed origins, as in Orgs.
func WebhookKeys(s *store.Store, contract []byte, console []string) http.Handler {
	k := &webhookKeys{store: s, byKid: map[string]kept[webhook.SigningKey]{}}
	file := newContractFile(contract)
	return newGroup("webhookkeys", map[string]handler{
		"getWebhookVerificationKey":  handleAs[kidIn](k.get),
		"readWebhookVerificationKey": handle(k.getByPath),
		"getJWKS":                    handle(k.list),
		"getContract":                handle(file.get),
		"getCatalogue":               handle((&catalogueFile{store: s}).get),
	}, console, options{})
}

// jwkBody is a verification key in the format of RFC 7517.
type jwkBody struct {
	Kid string `json:"kid"`
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
	Alg string `json:"alg"`
	Use string `json:"use"`
}

func jwkBodyOf(k webhook.JWK) jwkBody {
	return jwkBody{k.Kid, webhook.Kty, webhook.Crv, k.X, k.Y, webhook.Alg, webhook.Use}
}

// kidIn is a body that names a verification key.
type kidIn struct {
	Kid *string `json:"kid"`
}

func (in kidIn) parse(*call) (string, error) { return orZero(in.Kid), required("/kid", in.Kid) }

// get returns the key of the kid in the body
// (infra/docs/contract.md, "Webhook verification key lookup").
func (k *webhookKeys) get(ctx context.Context, _ *call, kid string) (answer, error) {
	return k.lookUp(ctx, kid)
}

// getByPath returns the key of the kid in the path. It is a GET, so that caches and browsers can keep the answer.
func (k *webhookKeys) getByPath(ctx context.Context, c *call, _ none) (answer, error) {
	return k.lookUp(ctx, c.PathValue("kid"))
}

func (k *webhookKeys) lookUp(ctx context.Context, kid string) (answer, error) {
	if !webhook.IsKid(kid) {
		return answer{}, problem.New(problem.InvalidKid, "The kid must be 43 base64url characters. Copy it unchanged from the header of the webhook's JWT.")
	}
	key, err := k.find(ctx, kid)
	switch {
	case problem.Is(err, problem.UnknownKid):
		return cached(answer{}, cacheUnknown), err
	case err != nil:
		return answer{}, err
	case key.State == webhook.SigningRevoked:
		return cached(answer{}, cacheKnown), problem.New(problem.KidRevoked, "The key was revoked: do not trust what it signed.")
	}
	return cached(ok(struct {
		jwkBody
		CreatedAt int64  `json:"createdAt"`
		ExpiredAt *int64 `json:"expiredAt"`
	}{jwkBodyOf(key.JWK), key.CreatedAt, orNull(key.ExpiredAt)}), cacheKnown), nil
}

// list returns the key set (RFC 7517, section 5): the key that signs, the next key, and the keys that signed in the last 30
// days.
func (k *webhookKeys) list(ctx context.Context, _ *call, _ none) (answer, error) {
	keys, err := k.all(ctx)
	if err != nil {
		return answer{}, err
	}
	type listed struct {
		jwkBody
		ExpiredAt int64 `json:"expiredAt,omitempty"` // only for a retired key
	}
	body := struct {
		Keys []listed `json:"keys"`
	}{[]listed{}}
	for _, key := range keys {
		if key.Listed(k.store.Now()) {
			body.Keys = append(body.Keys, listed{jwkBodyOf(key.JWK), key.ExpiredAt})
		}
	}
	return cached(ok(body), cacheKnown), nil
}

// find returns a key from memory, or from the table if memory has no fresh key.
func (k *webhookKeys) find(ctx context.Context, kid string) (webhook.SigningKey, error) {
	now := k.store.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.byKid[kid]; ok && now.Before(known.until) {
		return known.value, nil
	}
	key, err := k.store.VerificationKey(ctx, kid)
	if err == nil {
		k.byKid[kid] = kept[webhook.SigningKey]{key, now.Add(keptFor)}
	}
	return key, err
}

// all returns all keys, from memory or from the table like find.
func (k *webhookKeys) all(ctx context.Context) ([]webhook.SigningKey, error) {
	now := k.store.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Before(k.listing.until) {
		return k.listing.value, nil
	}
	keys, err := k.store.VerificationKeys(ctx)
	if err == nil {
		k.listing = kept[[]webhook.SigningKey]{keys, now.Add(keptFor)}
	}
	return keys, err
}

// cached returns the answer with headers that let anyone keep it for some seconds. Vary is needed because the gateway
// compresses the answer for some clients. The headers replace all other headers of the answer.
func cached(a answer, seconds int) answer {
	a.header = map[string]string{"Cache-Control": "public, max-age=" + strconv.Itoa(seconds), "Vary": "Accept-Encoding"}
	return a
}
