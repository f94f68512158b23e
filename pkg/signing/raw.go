package signing

import (
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
)

// Signature is r and s, 32 bytes each with the highest first, as a JWS has them
// (RFC 7518 section 3.4).
type Signature [2 * coordinate]byte

// rawSignature turns KMS's DER into r and s. Both are padded: one in 128 has a
// leading zero, and an unpadded signature verifies nowhere.
func rawSignature(der []byte) (Signature, error) {
	var sig Signature
	var v struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &v)
	switch {
	case err != nil:
		return sig, fmt.Errorf("signing: the signature is not DER: %w", err)
	case len(rest) > 0:
		return sig, errors.New("signing: there is data behind the signature")
	case !fits(v.R) || !fits(v.S):
		return sig, errors.New("signing: the signature is not one on P-256")
	}
	v.R.FillBytes(sig[:coordinate])
	v.S.FillBytes(sig[coordinate:])
	return sig, nil
}

func fits(n *big.Int) bool { return n.Sign() > 0 && n.BitLen() <= 8*coordinate }
