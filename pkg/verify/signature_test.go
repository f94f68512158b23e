package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"latchkey/pkg/verify"
)

// TestKeysThatAreNoneVerifyNothing, even when the issuer publishes them as keys.
func TestKeysThatAreNoneVerifyNothing(t *testing.T) {
	v := readVectors(t)
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(good(t, v), ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Kid string }
	if err := json.Unmarshal(header, &of); err != nil || v.Lookups[of.Kid].Status != 200 {
		t.Fatal(err, of)
	}
	kid := of.Kid
	var another string
	for k, a := range v.Lookups {
		if a.Status == 200 && k != kid {
			another = string(a.Body)
		}
	}
	for name, body := range map[string]string{
		"another key":        another,
		"not on the curve":   `{"kid":"KID","kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"}`,
		"the point of zeros": `{"kid":"KID","kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
		"short coordinates":  `{"kid":"KID","kty":"EC","crv":"P-256","x":"AA","y":"AA"}`,
		"a secret":           `{"kid":"KID","kty":"oct","k":"AAAA"}`,
		"for encryption":     `{"kid":"KID","kty":"EC","crv":"P-256","use":"enc","x":"AA","y":"AA"}`,
		"of another alg":     `{"kid":"KID","kty":"EC","crv":"P-256","alg":"ECDH-ES","x":"AA","y":"AA"}`,
	} {
		w := newWorld(t)
		w.answer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(rw, strings.ReplaceAll(body, "KID", kid))
		}))
		if err := w.verify(good(t, w.vectors)); !errors.Is(err, verify.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRandomSignaturesVerify, among them some with leading zeros.
func TestRandomSignaturesVerify(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	w := newWorld(t)
	kid := enc(point[1:33])
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `{"kid":%q,"kty":"EC","crv":"P-256","x":%q,"y":%q}`, kid, enc(point[1:33]), enc(point[33:]))
	}))
	input := enc([]byte(`{"alg":"ES256","kid":"`+kid+`","typ":"webhook+jwt"}`)) + "." + strings.Split(good(t, w.vectors), ".")[1]
	digest := sha256.Sum256([]byte(input))
	zeros := 0
	for range 2000 {
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		sig := make([]byte, 64)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
		if sig[0] == 0 || sig[32] == 0 {
			zeros++
		}
		if err := w.verify(input + "." + enc(sig)); err != nil {
			t.Fatal(err)
		}
	}
	if zeros == 0 {
		t.Error("no signature had a leading zero")
	}
}

// TestMemoryOfKidsIsBounded: with any number of kids and any max-age, the oldest are looked up
// again.
func TestMemoryOfKidsIsBounded(t *testing.T) {
	w := newWorld(t)
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=86400")
		rw.WriteHeader(http.StatusGone)
	}))
	tokens := w.madeUp(t, 257)
	if err := w.verify(tokens[0]); !errors.Is(err, verify.ErrRefused) || w.verify(tokens[0]) == nil || w.count() != 1 {
		t.Fatalf("%v, %d lookups", err, w.count())
	}
	for i, token := range tokens[1:] {
		w.now.Store(w.Now + int64(i+1)) // a new kid a second is allowed
		if err := w.verify(token); !errors.Is(err, verify.ErrRefused) {
			t.Fatal(err)
		}
	}
	before := w.count()
	if err := w.verify(tokens[0]); err == nil || before != len(tokens) || w.count() != before+1 {
		t.Errorf("%v, %d lookups, then %d", err, before, w.count())
	}
}
