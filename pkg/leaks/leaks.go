// Package leaks verifies that a report of leaked secrets comes from GitHub (its secret scanning partner program).
package leaks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"sync"
	"time"

	"latchkey/pkg/clock"
)

// GitHubKeys is where GitHub publishes the keys that sign its reports.
const GitHubKeys = "https://api.github.com/meta/public_keys/secret_scanning"

const (
	keepFor      = 24 * time.Hour   // how long a fetched list of keys is used
	unknownEvery = 5 * time.Minute  // the shortest time between two fetches for unknown identifiers, while a list is good
	againEvery   = 10 * time.Second // the shortest time between two fetches while no list is good
	maxList      = 64 << 10         // bytes
)

// Getter reads the text at a URL. *outbound.Sender implements it, and never lets a request reach a private address.
type Getter interface {
	Get(ctx context.Context, url string, most int64) ([]byte, error)
}

// Keys verifies reports with the keys of a server. It fetches the keys when it needs them. It is safe for concurrent use.
type Keys struct {
	Server Getter
	URL    string
	Now    func() time.Time

	mu        sync.Mutex
	known     map[string]*ecdsa.PublicKey // by identifier
	fetchedAt time.Time                   // when known was fetched
	triedAt   time.Time                   // when the last fetch began
	failed    error                       // the error of the last fetch
}

// New returns Keys that fetches the keys from a URL.
func New(server Getter, url string) *Keys { return &Keys{Server: server, URL: url, Now: clock.Now} }

// Verify reports whether signature, in base64, is a signature of body by the key with this identifier. It returns an error if
// it cannot decide, because the list of keys cannot be read.
func (k *Keys) Verify(ctx context.Context, identifier, signature string, body []byte) (bool, error) {
	sig := decode(signature)
	if len(sig) == 0 || identifier == "" {
		return false, nil
	}
	key, err := k.key(ctx, identifier)
	if err != nil || key == nil {
		return false, err
	}
	sum := sha256.Sum256(body)
	return ecdsa.VerifyASN1(key, sum[:], sig), nil
}

// decode decodes base64. It returns nil for any other text.
func decode(text string) []byte {
	if b, err := base64.StdEncoding.DecodeString(text); err == nil {
		return b
	}
	return nil
}

// key returns the key with an identifier; nil: the server does not have it. key fetches the list if no list is good, and for an
// unknown identifier. It does neither too often, because anyone can send an unknown identifier.
func (k *Keys) key(ctx context.Context, identifier string) (*ecdsa.PublicKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	isGood := k.known != nil && now.Sub(k.fetchedAt) < keepFor
	if key := k.known[identifier]; isGood && key != nil {
		return key, nil
	}
	wait := againEvery
	if isGood {
		wait = unknownEvery
	}
	if k.triedAt.IsZero() || now.Sub(k.triedAt) >= wait {
		k.triedAt = now
		if known, err := k.fetch(ctx); err != nil {
			k.failed = err
		} else {
			k.known, k.fetchedAt, k.failed = known, now, nil
		}
	}
	return k.known[identifier], k.failed
}

var errNoKeys = errors.New("leaks: the list has no key on P-256")

// fetch reads the list of keys. It ignores keys that are not on P-256.
func (k *Keys) fetch(ctx context.Context) (map[string]*ecdsa.PublicKey, error) {
	text, err := k.Server.Get(ctx, k.URL, maxList)
	if err != nil {
		return nil, err
	}
	var list struct {
		PublicKeys []struct {
			Identifier string `json:"key_identifier"`
			PEM        string `json:"key"`
		} `json:"public_keys"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errNoKeys
	}
	known := map[string]*ecdsa.PublicKey{}
	for _, one := range list.PublicKeys {
		if key := parse(one.PEM); key != nil {
			known[one.Identifier] = key
		}
	}
	if len(known) == 0 {
		return nil, errNoKeys
	}
	return known, nil
}

// parse returns the P-256 key of a PEM text; nil: the text has no such key.
func parse(text string) *ecdsa.PublicKey {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	parsed, _ := x509.ParsePKIXPublicKey(block.Bytes) // parsed is nil if there is an error
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil
	}
	return key
}
