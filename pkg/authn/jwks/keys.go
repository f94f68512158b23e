package jwks

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"latchkey/pkg/cause"
	"latchkey/pkg/p256"
)

// The algorithms for which keys are used (RFC 7518).
const (
	ES256 = "ES256"
	RS256 = "RS256"
	PS256 = "PS256"
)

const (
	minRSABits = 2048
	maxRSABits = 8192 // verifying by a larger key takes too long
	// maxSame limits the keys with the same id and algorithm, because a token is tried with each of them.
	maxSame = 4
)

// ref identifies keys. The algorithm is a part of it, so that a key is never used with another algorithm than its own.
type ref struct{ kid, alg string }

// keys are the keys of a set. For each kid of the set, there is also an entry with alg "" and no key, so that
// Snapshot.Knows also finds the kid of an unusable key.
type keys map[ref][]crypto.PublicKey

// jwk is one member of a JWK set (RFC 7517, RFC 7518 section 6).
type jwk struct {
	Kty    string   `json:"kty"`
	Kid    string   `json:"kid"`
	Use    string   `json:"use"`
	KeyOps []string `json:"key_ops"`
	Alg    string   `json:"alg"`
	Crv    string   `json:"crv"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
	N      string   `json:"n"`
	E      string   `json:"e"`
}

// parse reads a JWK set, and skips keys that it cannot read or must not use. The error for a
// set without a usable key wraps errWithdrawn: the issuer has withdrawn all keys, or has made a mistake.
func parse(body []byte) (keys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("jwks: not a JWK set: %w", cause.Of(err))
	}
	if set.Keys == nil { // the member is required (RFC 7517, section 5.1)
		return nil, errors.New("jwks: not a JWK set: it has no keys")
	}
	found, usable := keys{}, false
	for _, text := range set.Keys {
		var k jwk
		if json.Unmarshal(text, &k) != nil || k.Kid == "" {
			continue
		}
		found[ref{kid: k.Kid}] = nil
		public, algs, err := k.public()
		if err != nil {
			continue
		}
		for _, alg := range algs {
			r := ref{k.Kid, alg}
			usable = true
			if len(found[r]) < maxSame {
				found[r] = append(found[r], public)
			}
		}
	}
	if !usable {
		return nil, fmt.Errorf("%w: the set has no key that can be used", errWithdrawn)
	}
	return found, nil
}

var errUnusable = errors.New("jwks: the key cannot be used")

// public returns the public key and its algorithms. An error means that the key must not be used.
func (k jwk) public() (crypto.PublicKey, []string, error) {
	isOtherUse := k.Use != "" && k.Use != "sig"
	isOtherOperation := k.KeyOps != nil && !slices.Contains(k.KeyOps, "verify")
	if isOtherUse || isOtherOperation {
		return nil, nil, errUnusable
	}
	var public crypto.PublicKey
	var algs []string
	var err error
	switch {
	case k.Kty == "EC" && k.Crv == "P-256":
		algs = []string{ES256}
		public, err = k.ecPublic()
	case k.Kty == "RSA":
		algs = []string{RS256, PS256}
		public, err = k.rsaPublic()
	default:
		err = errUnusable
	}
	if err != nil {
		return nil, nil, err
	}
	if k.Alg == "" {
		return public, algs, nil
	}
	if !slices.Contains(algs, k.Alg) {
		return nil, nil, errUnusable
	}
	return public, []string{k.Alg}, nil
}

func (k jwk) ecPublic() (*ecdsa.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	return p256.PublicKey(x, y)
}

// rsaPublic returns the RSA key of n and e, unless it is weak or crypto/rsa cannot use it.
func (k jwk) rsaPublic() (*rsa.PublicKey, error) {
	n, errN := base64.RawURLEncoding.DecodeString(k.N)
	e, errE := base64.RawURLEncoding.DecodeString(k.E)
	if err := errors.Join(errN, errE); err != nil {
		return nil, err
	}
	modulus, exponent := new(big.Int).SetBytes(n), new(big.Int).SetBytes(e)
	bits := modulus.BitLen()
	if bits < minRSABits || bits > maxRSABits {
		return nil, errUnusable
	}
	// With an exponent of 1 anyone could sign. crypto/rsa accepts at most 31 bits.
	isBadSize := exponent.Cmp(big.NewInt(3)) < 0 || exponent.BitLen() > 31
	isEven := exponent.Bit(0) == 0 || modulus.Bit(0) == 0 // in a valid key, both are odd
	if isBadSize || isEven {
		return nil, errUnusable
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}
