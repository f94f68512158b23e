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

// TestUnusableKeysVerifyNothing has lookups that answer with an unusable key, or with the key of another kid.
func TestUnusableKeysVerifyNothing(t *testing.T) {
	v := readVectors(t)
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(good(t, v), ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct{ Kid string }
	if err := json.Unmarshal(header, &parsed); err != nil || v.Lookups[parsed.Kid].Status != 200 {
		t.Fatal(err, parsed)
	}
	kid := parsed.Kid
	var anotherKey string
	for k, a := range v.Lookups {
		if a.Status == 200 && k != kid {
			anotherKey = string(a.Body)
		}
	}
	// goodKeyBut returns the key of the webhook, with this value in one member.
	goodKeyBut := func(member, value string) string {
		key := map[string]any{}
		if err := json.Unmarshal(v.Lookups[kid].Body, &key); err != nil {
			t.Fatal(err)
		}
		key[member] = value
		b, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, body := range map[string]string{ // the test replaces KID with the webhook's kid
		"another key":        anotherKey,
		"not on the curve":   `{"kid":"KID","kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"}`,
		"the point of zeros": `{"kid":"KID","kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
		"short coordinates":  `{"kid":"KID","kty":"EC","crv":"P-256","x":"AA","y":"AA"}`,
		"a symmetric key":    `{"kid":"KID","kty":"oct","k":"AAAA"}`,
		"for encryption":     goodKeyBut("use", "enc"),
		"of another alg":     goodKeyBut("alg", "ECDH-ES"),
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

// signer returns a world whose issuer has one key, the kid of this key, and a function that makes a token signed by
// it. The kid is the key's x, which has the length of a thumbprint.
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

// payloadOf returns the payload of a token as JSON.
func payloadOf(t *testing.T, token string) string {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	return string(payload)
}

// TestRandomSignaturesVerify makes signatures until r and s have each begun with a zero byte, as one in 256 does.
func TestRandomSignaturesVerify(t *testing.T) {
	w, kid, sign := signer(t)
	payload := payloadOf(t, good(t, w.vectors))
	zeroR, zeroS := false, false
	for n := 0; !zeroR || !zeroS; n++ {
		if n == 20_000 {
			t.Fatal("no signature had a leading zero")
		}
		token := sign(`{"alg":"ES256","kid":"`+kid+`","typ":"webhook+jwt"}`, payload)
		sig, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[2])
		if err != nil {
			t.Fatal(err)
		}
		zeroR, zeroS = zeroR || sig[0] == 0, zeroS || sig[32] == 0
		if err := w.verify(token); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheLargestWebhookIsAccepted: a webhook that is one byte larger or one bracket deeper is
// refused.
func TestTheLargestWebhookIsAccepted(t *testing.T) {
	w, kid, sign := signer(t)
	// Both lack their last "}", so that a test can add a member before it.
	header := `{"alg":"ES256","kid":"` + kid + `","typ":"webhook+jwt"`
	payload := strings.TrimSuffix(payloadOf(t, good(t, w.vectors)), "}")
	handler := w.Verifier.Handler(func(context.Context, verify.Event) error { return nil })
	// sized returns a token of exactly this size. Base64 text does not have every length, so it also tries headers of
	// different lengths.
	sized := func(size int) string {
		for blanks := range 4 {
			left := size - len(sign(header+strings.Repeat(" ", blanks)+"}", payload+`,"pad":""}`))
			for pad := left*3/4 - 2; pad <= left*3/4+2; pad++ {
				token := sign(header+strings.Repeat(" ", blanks)+"}", payload+`,"pad":"`+strings.Repeat("x", pad)+`"}`)
				if len(token) == size {
					return token
				}
			}
		}
		t.Fatalf("no token of %d bytes", size)
		return ""
	}
	for size, want := range map[int]int{262_144: 204, 262_145: 401} {
		if got := post(handler, sized(size)); got.Code != want {
			t.Errorf("%d bytes: %d", size, got.Code)
		}
	}
	const deepest = 64 // levels below the outer object of the claims
	for depth, want := range map[int]int{deepest: 204, deepest + 1: 401} {
		token := sign(header+"}", payload+`,"pad":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"}")
		if got := post(handler, token); got.Code != want {
			t.Errorf("%d levels: %d", depth, got.Code)
		}
	}
}

// TestAnExampleIsMarkedAsATest: only the value true makes an event a test.
func TestAnExampleIsMarkedAsATest(t *testing.T) {
	w, kid, sign := signer(t)
	payload := payloadOf(t, good(t, w.vectors))
	for value, want := range map[string]bool{`"test":true,`: true, `"test":false,`: false, `"test":"true",`: false, ``: false} {
		e, err := w.Verify(t.Context(), []byte(sign(`{"alg":"ES256","kid":"`+kid+`","typ":"webhook+jwt"}`, strings.Replace(payload, `"event":{`, `"event":{`+value, 1))))
		if err != nil || e.Test != want {
			t.Errorf("%s: %v, %v", value, e.Test, err)
		}
	}
}
