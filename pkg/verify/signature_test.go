package verify_test

import (
	"context"
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

// signer returns a world whose issuer knows one key, and how to sign a header and a payload with it.
func signer(t *testing.T) (w *world, kid string, sign func(header, payload string) string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	w, kid = newWorld(t), enc(point[1:33])
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `{"kid":%q,"kty":"EC","crv":"P-256","x":%q,"y":%q}`, kid, enc(point[1:33]), enc(point[33:]))
	}))
	return w, kid, func(header, payload string) string {
		input := enc([]byte(header)) + "." + enc([]byte(payload))
		digest := sha256.Sum256([]byte(input))
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		sig := make([]byte, 64)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
		return input + "." + enc(sig)
	}
}

func payloadOf(t *testing.T, token string) string {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	return string(payload)
}

// TestRandomSignaturesVerify, among them some with leading zeros.
func TestRandomSignaturesVerify(t *testing.T) {
	w, kid, sign := signer(t)
	payload := payloadOf(t, good(t, w.vectors))
	zeros := 0
	for range 2000 {
		token := sign(`{"alg":"ES256","kid":"`+kid+`","typ":"webhook+jwt"}`, payload)
		if sig, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[2]); err != nil || sig[0] == 0 || sig[32] == 0 {
			zeros++
		}
		if err := w.verify(token); err != nil {
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

// TestAWebhookMayBeAsLargeAndAsDeepAsTheContractSays, to the byte and to the bracket.
func TestAWebhookMayBeAsLargeAndAsDeepAsTheContractSays(t *testing.T) {
	w, kid, sign := signer(t)
	header := `{"alg":"ES256","kid":"` + kid + `","typ":"webhook+jwt"`
	payload := strings.TrimSuffix(payloadOf(t, good(t, w.vectors)), "}")
	handler := w.Verifier.Handler(func(context.Context, verify.Event) error { return nil })
	sized := func(size int) string { // base64 has no text of 1 in 4 lengths: blanks in the header make up for it
		for blanks := range 4 {
			left := size - len(sign(header+strings.Repeat(" ", blanks)+"}", payload+`,"pad":""}`))
			for pad := left*3/4 - 2; pad <= left*3/4+2; pad++ {
				if token := sign(header+strings.Repeat(" ", blanks)+"}", payload+`,"pad":"`+strings.Repeat("x", pad)+`"}`); len(token) == size {
					return token
				}
			}
		}
		t.Fatalf("no token of %d bytes", size)
		return ""
	}
	for size, want := range map[int]int{verify.MaxBody: 204, verify.MaxBody + 1: 401} {
		if got := post(handler, sized(size)); got.Code != want {
			t.Errorf("%d bytes: %d", size, got.Code)
		}
	}
	const deepest = 64 // below the claims
	for depth, want := range map[int]int{deepest: 204, deepest + 1: 401} {
		token := sign(header+"}", payload+`,"pad":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"}")
		if got := post(handler, token); got.Code != want {
			t.Errorf("%d deep: %d", depth, got.Code)
		}
	}
}
