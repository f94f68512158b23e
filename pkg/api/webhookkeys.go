package api

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/signing"
	"latchkey/pkg/store"
)

// keptFor is how long this process keeps what the table said of a verification
// key.
const keptFor = time.Minute

// How long a receiver may keep an answer about a key, in seconds: one that may
// still be retired, one that changes no more, and one that is not there yet.
const (
	cacheListed  = 300
	cacheRetired = 86_400
	cacheUnknown = 60
)

// webhookKeys serves the keys that receivers verify webhooks by. It reads the
// table and never asks KMS, so that a KMS that is down stops no receiver.
type webhookKeys struct {
	store *store.Store

	mu      sync.Mutex                   // held while the table is asked: a function has one call at a time
	byKid   map[string]kept[signing.Key] // keys that exist, and so no more than there are
	listing kept[[]signing.Key]
}

// kept is what the table said, until it is asked again.
type kept[T any] struct {
	value T
	until time.Time
}

// WebhookKeys gives the handler of functions/webhookkeys, which serves the public
// reads. contract is infra/openapi.yaml.
func WebhookKeys(s *store.Store, contract []byte) http.Handler {
	k := &webhookKeys{store: s, byKid: map[string]kept[signing.Key]{}}
	file := newContractFile(contract)
	return newGroup("webhookkeys", map[string]handler{
		"POST /webhook_verification_key/get": k.get,
		"GET /.well-known/jwks.json":         k.list,
		"HEAD /.well-known/jwks.json":        k.list,
		"GET /openapi.yaml":                  file.get,
		"HEAD /openapi.yaml":                 file.get,
	})
}

// jwkBody is a verification key as RFC 7517 has it.
type jwkBody struct {
	Kid string `json:"kid"`
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
	Alg string `json:"alg"`
	Use string `json:"use"`
}

func jwkBodyOf(k signing.JWK) jwkBody {
	return jwkBody{k.Kid, signing.Kty, signing.Crv, k.X, k.Y, signing.Alg, signing.Use}
}

// get gives the key of a kid (spec, "Webhook verification key lookup").
func (k *webhookKeys) get(ctx context.Context, c *call) (answer, error) {
	var in struct {
		Kid *string `json:"kid"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	switch {
	case in.Kid == nil:
		return answer{}, problem.Invalid("/kid", "required", "The value is required.")
	case !signing.IsKid(*in.Kid):
		return answer{}, problem.New(problem.InvalidKid, "A kid is 43 base64url characters: take it from the header of the webhook's JWT as it is.")
	}
	key, err := k.find(ctx, *in.Kid)
	switch {
	case problem.Is(err, problem.UnknownKid):
		return cached(answer{}, cacheUnknown), err
	case err != nil:
		return answer{}, err
	case key.State == signing.Revoked:
		return cached(answer{}, cacheListed), problem.New(problem.KidRevoked, "The key was revoked: nothing that it signed proves anything.")
	}
	a := ok(struct {
		jwkBody
		CreatedAt int64  `json:"createdAt"`
		ExpiredAt *int64 `json:"expiredAt"`
	}{jwkBodyOf(key.JWK), key.CreatedAt, orNull(key.ExpiredAt)})
	if key.State == signing.Retired {
		return cached(a, cacheRetired), nil
	}
	return cached(a, cacheListed), nil
}

// list gives the key set (RFC 7517 section 5): what signs, what will sign next,
// and what signed in the last 30 days.
func (k *webhookKeys) list(ctx context.Context, _ *call) (answer, error) {
	keys, err := k.all(ctx)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Keys []jwkBody `json:"keys"`
	}{[]jwkBody{}}
	for _, key := range keys {
		if key.Listed(k.store.Now()) {
			body.Keys = append(body.Keys, jwkBodyOf(key.JWK))
		}
	}
	return cached(ok(body), cacheListed), nil
}

func (k *webhookKeys) find(ctx context.Context, kid string) (signing.Key, error) {
	now := k.store.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.byKid[kid]; ok && now.Before(known.until) {
		return known.value, nil
	}
	key, err := k.store.VerificationKey(ctx, kid)
	if err == nil {
		k.byKid[kid] = kept[signing.Key]{key, now.Add(keptFor)}
	}
	return key, err
}

func (k *webhookKeys) all(ctx context.Context) ([]signing.Key, error) {
	now := k.store.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Before(k.listing.until) {
		return k.listing.value, nil
	}
	keys, err := k.store.VerificationKeys(ctx)
	if err == nil {
		k.listing = kept[[]signing.Key]{keys, now.Add(keptFor)}
	}
	return keys, err
}

func cached(a answer, seconds int) answer {
	a.header = map[string]string{"Cache-Control": "public, max-age=" + strconv.Itoa(seconds)}
	return a
}
