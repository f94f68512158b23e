package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

const (
	maxImports        = 25 // keys of one request
	maxImportedPrefix = 8  // characters
)

// importIn is a body that describes API keys which another system of the owner made.
type importIn struct {
	Keys []importedKeyIn `json:"keys"`
}

type importedKeyIn struct {
	SHA256    *string `json:"sha256"`
	Prefix    *string `json:"prefix"`
	Name      *string `json:"name"`
	AppID     *string `json:"appId"`
	ExpiresAt *int64  `json:"expiresAt"`

	Scopes   []string                   `json:"scopes"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Limits   []limitIn                  `json:"limits"`
	Ceilings []limitIn                  `json:"ceilings"`
}

func (in importIn) parse(c *call) ([]store.NewImport, error) {
	if len(in.Keys) < 1 || len(in.Keys) > maxImports {
		return nil, problem.Invalid("/keys", "length", "The value must have 1 to 25 keys.")
	}
	out := make([]store.NewImport, len(in.Keys))
	for i, k := range in.Keys {
		var err error
		if out[i], err = k.parse(c); err != nil {
			return nil, below("/keys/"+strconv.Itoa(i), err)
		}
	}
	return out, nil
}

// below puts pointer before the pointers of a validation_failed, which then lead to a value inside another.
func below(pointer string, err error) error {
	var invalid *problem.Error
	if errors.As(err, &invalid) {
		for i := range invalid.Fields {
			invalid.Fields[i].Pointer = pointer + invalid.Fields[i].Pointer
		}
	}
	return err
}

func (in importedKeyIn) parse(c *call) (n store.NewImport, err error) {
	if err := cmp.Or(required("/sha256", in.SHA256), required("/prefix", in.Prefix)); err != nil {
		return n, err
	}
	hash, ok := parseHash(*in.SHA256)
	if !ok {
		return n, problem.Invalid("/sha256", "format", "The value must be a SHA-256 in hex or base64.")
	}
	if !isVisible(*in.Prefix, 1, maxImportedPrefix) {
		return n, problem.Invalid("/prefix", "format", "The value must be the first 1 to 8 characters of the key, all visible ASCII.")
	}
	change, err := keyChangeIn{nil, in.Scopes, in.Metadata, in.Limits, in.Ceilings}.parse(c)
	if err != nil {
		return n, err
	}
	n = store.NewImport{Hash: hash, Prefix: *in.Prefix, Name: org.CleanedName(orZero(in.Name)), Carried: carriedBy(change)}
	if in.AppID != nil {
		n.AppID = idOr(id.NoApp, id.ParseApp, *in.AppID)
	}
	n.ExpiresAt, err = c.expiry(in.ExpiresAt)
	return n, err
}

// expiry checks the member expiresAt, which is in milliseconds. An imported key may live as long as a new one. A time in the past is
// accepted here: imports refuses it, unless the request is a retry. expiry returns 0 for nil, which means that the member was not sent.
func (c *call) expiry(at *int64) (int64, error) {
	if at == nil {
		return 0, c.mustExpire("/expiresAt")
	}
	left := max(1, (*at-time.Now().UnixMilli()+999)/1000) // seconds, rounded up
	if _, err := c.lifetime(&left); err != nil || *at < 1 {
		return 0, errExpiry("")
	}
	return *at, nil
}

func errExpiry(key string) error {
	return problem.Invalid(key+"/expiresAt", "range", "The value must be a time in the future, within the longest life of a key.")
}

// parseHash reads a SHA-256 in hexadecimal digits or in base64: the standard or the URL alphabet, with or without padding.
func parseHash(s string) (hash apikey.Hash, ok bool) {
	b, err := hex.DecodeString(s)
	if err != nil {
		standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
		b, err = base64.RawStdEncoding.DecodeString(standard)
	}
	if err != nil || len(b) != len(hash) {
		return hash, false
	}
	return apikey.Hash(b), true
}

// importBody has the result for each key of an import, in the order of the request.
type importBody struct {
	Keys []any `json:"keys"` // each is an importedBody as JSON text, or a refusedBody
}

type importedBody struct {
	ID id.Key `json:"id"`
}

type refusedBody struct {
	Error struct {
		Code   problem.Code `json:"code"`
		Detail string       `json:"detail"`
	} `json:"error"`
}

func (k keys) imports(ctx context.Context, c *call, wanted []store.NewImport) (answer, error) {
	once, err := onceOf(c, func(m store.MintedKey) importedBody { return importedBody{m.ID} })
	if err != nil {
		return answer{}, err
	}
	if err := k.refuseExpired(ctx, wanted, once.Request); err != nil {
		return answer{}, err
	}
	results, err := k.store.ImportKeys(ctx, c.actor(), c.org, wanted, once)
	body := importBody{make([]any, len(results))}
	out := ok(&body)
	if err == nil && !slices.ContainsFunc(results, func(r store.ImportResult) bool { return !r.Replayed }) {
		out.header = map[string]string{"Idempotency-Replayed": "true"}
	}
	for i, r := range results {
		if r.Refusal == nil {
			body.Keys[i] = json.RawMessage(r.Answer.Reveal())
			continue
		}
		var refused refusedBody
		refused.Error.Code, refused.Error.Detail = r.Refusal.Code, r.Refusal.Detail
		body.Keys[i] = refused
	}
	return out, err
}

// refuseExpired refuses an import with an expiresAt in the past. It lets a retry pass: the time was in the future when the request
// was first sent, so the retry gets the stored ids and makes the keys that are still missing. Errors: validation_failed,
// idempotency_key_reused.
func (k keys) refuseExpired(ctx context.Context, wanted []store.NewImport, request store.Request) error {
	now := k.store.Now().UnixMilli()
	i := slices.IndexFunc(wanted, func(n store.NewImport) bool { return n.ExpiresAt != 0 && n.ExpiresAt <= now })
	if i < 0 {
		return nil
	}
	isRetry, err := k.store.ImportBegan(ctx, request, len(wanted))
	if err == nil && !isRetry {
		err = errExpiry("/keys/" + strconv.Itoa(i))
	}
	return err
}
