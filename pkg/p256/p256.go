// Package p256 makes public keys on the curve P-256 from the coordinates in JWKs.
package p256

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"slices"
)

// Size is the length of a coordinate, in bytes.
const Size = 32

var errSize = errors.New("p256: a coordinate does not have 32 bytes")

// uncompressed is the first byte of an uncompressed point (SEC 1 section 2.3.3).
const uncompressed = 4

// PublicKey returns the key with the coordinates x and y. It returns an error when a coordinate does not have 32 bytes,
// and when the point is not on the curve.
func PublicKey(x, y []byte) (*ecdsa.PublicKey, error) {
	if len(x) != Size || len(y) != Size {
		return nil, errSize
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{uncompressed}, x, y))
}
