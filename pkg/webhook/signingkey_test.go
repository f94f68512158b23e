package webhook

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheThumbprintFollowsRFC7638 uses the key of RFC 7517, appendix A.1. Another program
// computed the thumbprint.
func TestTheThumbprintFollowsRFC7638(t *testing.T) {
	k := JWK{X: "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", Y: "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}
	if got, want := k.thumbprint(), "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestKeysAndSignaturesKeepTheirLeadingZeros makes keys and signatures until each of x, y, r
// and s has had a leading zero, and verifies all of them. Without padding, about one round
// in a hundred would fail, and a short test would miss it.
func TestKeysAndSignaturesKeepTheirLeadingZeros(t *testing.T) {
	zeros := map[string]int{}       // how often x, y, r and s had a leading zero: each about once in 256 rounds
	const least, most = 300, 20_000 // rounds
	for i := 0; i < least || len(zeros) < 4 && i < most; i++ {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		jwk, err := ParsePublicKey(spki)
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256(fmt.Append(nil, i))
		der, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		sig, err := ParseSignature(der)
		if err != nil || !jwk.Verify(digest, sig) {
			t.Fatalf("round %d: %v, the signature does not verify", i, err)
		}
		x, _ := base64.RawURLEncoding.DecodeString(jwk.X) // no error: Verify has decoded both
		y, _ := base64.RawURLEncoding.DecodeString(jwk.Y)
		for name, first := range map[string]byte{"x": x[0], "y": y[0], "r": sig[0], "s": sig[32]} {
			if first == 0 {
				zeros[name]++
			}
		}
	}
	if len(zeros) != 4 {
		t.Errorf("leading zeros occurred only in %v", zeros)
	}
}

// der returns a signature in DER (ASN.1), as KMS does.
func der(t testing.TB, r, s *big.Int) []byte {
	t.Helper()
	b, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestShortNumbersArePadded(t *testing.T) {
	one := big.NewInt(1)
	largest := new(big.Int).Sub(new(big.Int).Lsh(one, 256), one)
	for bits := range 256 {
		r, s := new(big.Int).Lsh(one, uint(bits)), new(big.Int).Sub(largest, new(big.Int).Lsh(one, uint(bits)))
		sig, err := ParseSignature(der(t, r, s))
		if err != nil || new(big.Int).SetBytes(sig[:32]).Cmp(r) != 0 || new(big.Int).SetBytes(sig[32:]).Cmp(s) != 0 {
			t.Errorf("2^%d: %x, %v", bits, sig, err)
		}
	}
}

func TestOtherDERThanASignatureOnP256IsRefused(t *testing.T) {
	one, tooLarge := big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 256)
	for name, bad := range map[string][]byte{
		"empty": nil, "text": []byte("x"), "r zero": der(t, new(big.Int), one), "s zero": der(t, one, new(big.Int)),
		"negative": der(t, one, big.NewInt(-1)), "33 bytes": der(t, tooLarge, one), "data after s": append(der(t, one, one), 0),
		"no s":           {0x30, 3, 2, 1, 1}, // DER: a sequence of 3 bytes, in it an integer of 1 byte, 1
		"a third member": {0x30, 8, 2, 1, 1, 2, 1, 1, 5, 0},
	} {
		if sig, err := ParseSignature(bad); err == nil {
			t.Errorf("%s: %x", name, sig)
		}
	}
}

func TestOnlyAP256KeyIsAccepted(t *testing.T) {
	for _, curve := range []elliptic.Curve{elliptic.P224(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		if jwk, err := ParsePublicKey(spki); err == nil {
			t.Errorf("%s: %+v", curve.Params().Name, jwk)
		}
	}
	if jwk, err := ParsePublicKey([]byte("x")); err == nil {
		t.Errorf("text: %+v", jwk)
	}
}

func TestAKidHasOneForm(t *testing.T) {
	const good = "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s"
	if !IsKid(good) {
		t.Errorf("%s is refused", good)
	}
	for _, bad := range []string{
		"", "x", good[:42], good + "A", good + "=", good[:42] + "t", // 43 characters have 258 bits, but 32 bytes only 256, and "t" sets the last bit
		strings.Replace(good, "-", "+", 1), strings.Replace(good, "_", "/", 1), good[:42] + "\n", " " + good[1:], "KEY#" + good[4:],
		strings.Repeat("é", 22)[:43],                // 43 bytes, but not 43 characters
		good + "\n", good[:20] + "\r\n" + good[20:], // encoding/base64 skips line breaks
	} {
		if IsKid(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestTheKeySetListsKeysFor30Days(t *testing.T) {
	now := time.Now()
	retired := func(ago time.Duration) SigningKey {
		return SigningKey{State: SigningRetired, RetiredAt: now.Add(-ago).UnixMilli()}
	}
	for name, c := range map[string]struct {
		key    SigningKey
		listed bool
	}{
		"next": {SigningKey{State: SigningNext}, true}, "active": {SigningKey{State: SigningActive}, true}, "revoked": {SigningKey{State: SigningRevoked}, false},
		"retired now": {retired(0), true}, "retired almost 30 days": {retired(30*24*time.Hour - time.Second), true},
		"retired 30 days": {retired(30 * 24 * time.Hour), false}, "no state": {SigningKey{}, false},
	} {
		if got := c.key.Listed(now); got != c.listed {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzParseSignature: ParseSignature accepts only the canonical DER of r and s, of 1 to 32 bytes each. Verify returns the same
// result as crypto/ecdsa.
func FuzzParseSignature(f *testing.F) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte("a key that is for this test only"))
	if err != nil {
		f.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		f.Fatal(err)
	}
	jwk, err := ParsePublicKey(spki)
	if err != nil {
		f.Fatal(err)
	}
	digest := sha256.Sum256(nil)
	good, err := key.Sign(nil, digest[:], crypto.SHA256) // the signature is always the same (RFC 6979)
	if err != nil {
		f.Fatal(err)
	}
	one, largest := big.NewInt(1), new(big.Int).SetBytes(bytes.Repeat([]byte{0xff}, 32))
	for _, seed := range [][]byte{
		good, good[:len(good)-1], append(slices.Clone(good), 0), der(f, one, largest), der(f, largest, one), der(f, one, new(big.Int)), der(f, big.NewInt(-1), one),
		der(f, new(big.Int).Lsh(one, 256), one), {0x30, 3, 2, 1, 1}, {0x30, 7, 2, 2, 0, 1, 2, 1, 1}, {0x30, 0x81, 6, 2, 1, 1, 2, 1, 1}, {0x30, 8, 2, 1, 1, 2, 1, 1, 5, 0}, nil,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sig, err := ParseSignature(text)
		r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])
		if isOne := err == nil && r.Sign() > 0 && s.Sign() > 0 && bytes.Equal(text, der(t, r, s)); (err == nil) != isOne {
			t.Errorf("%x is read as %x", text, sig)
		}
		verified := err == nil && jwk.Verify(digest, sig)
		if want := ecdsa.VerifyASN1(&key.PublicKey, digest[:], text); verified != want {
			t.Errorf("%x: %v, want verified: %v", text, err, want)
		}
	})
}
