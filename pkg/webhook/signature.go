package webhook

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"

	"latchkey/pkg/p256"
)

// Signature is r and s, 32 bytes each with the highest byte first, as in a JWS (RFC 7518 section
// 3.4).
type Signature [2 * p256.Size]byte

// ParseSignature turns KMS's DER into r and s. It pads both to 32 bytes: one in 128 signatures has a leading
// zero, and receivers refuse an unpadded one.
func ParseSignature(der []byte) (Signature, error) {
	var sig Signature
	var v struct {
		R, S *big.Int
		More asn1.RawValue `asn1:"optional"` // without it, encoding/asn1 would ignore data after S
	}
	rest, err := asn1.Unmarshal(der, &v)
	switch {
	case err != nil:
		return sig, fmt.Errorf("webhook: the signature is not DER: %w", err)
	case len(rest) > 0 || len(v.More.FullBytes) > 0:
		return sig, errors.New("webhook: there is data behind the signature")
	case !fits(v.R) || !fits(v.S):
		return sig, errors.New("webhook: the signature is not one on P-256")
	}
	v.R.FillBytes(sig[:p256.Size])
	v.S.FillBytes(sig[p256.Size:])
	return sig, nil
}

// fits reports whether n is positive and has at most 32 bytes.
func fits(n *big.Int) bool { return n.Sign() > 0 && n.BitLen() <= 8*p256.Size }

// Verify reports whether a signature is valid, from the JWK only, as a receiver does. With an invalid
// JWK it returns false.
func (k JWK) Verify(digest [sha256.Size]byte, sig Signature) bool {
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	public, err := p256.PublicKey(x, y)
	if errX != nil || errY != nil || err != nil {
		return false
	}
	return ecdsa.Verify(public, digest[:], new(big.Int).SetBytes(sig[:p256.Size]), new(big.Int).SetBytes(sig[p256.Size:]))
}
