package leaks_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/leaks"
	"latchkey/pkg/pipeline/outbound"
)

const body = `[{"source":"commit","token":"some_token","type":"some_type","url":"https://example.com/base-repo-url/"}]`

// signer is a server of keys like GitHub's. It also has the private keys.
type signer struct {
	keys    map[string]*ecdsa.PrivateKey
	fetched atomic.Int32
	answer  func(w http.ResponseWriter, r *http.Request) bool // returns false to send the list too; nil: only the list
	now     time.Time
	*leaks.Keys
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	s := &signer{keys: map[string]*ecdsa.PrivateKey{"one": newKey(t, elliptic.P256()), "two": newKey(t, elliptic.P256()), "larger": newKey(t, elliptic.P384())}, now: time.Unix(1_800_000_000, 0)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fetched.Add(1)
		if s.answer == nil || !s.answer(w, r) {
			_, _ = w.Write(s.list(t))
		}
	}))
	t.Cleanup(server.Close)
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
	s.Keys = leaks.New(outbound.NewSender(guard, outbound.WithTimeouts(300*time.Millisecond, 100*time.Millisecond)), server.URL)
	s.Now = func() time.Time { return s.now }
	return s
}

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// list returns the list of keys in GitHub's format.
func (s *signer) list(t *testing.T) []byte {
	t.Helper()
	all := []map[string]any{{"key_identifier": "broken", "key": "-----BEGIN PUBLIC KEY-----\n", "is_current": false}}
	for name, key := range s.keys {
		der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, map[string]any{"key_identifier": name, "key": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), "is_current": true})
	}
	text, err := json.Marshal(map[string]any{"public_keys": all})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sign signs a text. swapped exchanges the two numbers of the signature.
func (s *signer) sign(t *testing.T, by, text string, swapped bool) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	sig, err := ecdsa.SignASN1(rand.Reader, s.keys[by], sum[:])
	if err != nil {
		t.Fatal(err)
	}
	if swapped {
		var pair struct{ R, S *big.Int }
		_, _ = asn1.Unmarshal(sig, &pair)
		pair.R, pair.S = pair.S, pair.R
		sig, _ = asn1.Marshal(pair)
	}
	return base64.StdEncoding.EncodeToString(sig)
}

// verify checks the result of Verify, and the number of fetches since the beginning. wantErr is the beginning of the error; "":
// no error.
func (s *signer) verify(t *testing.T, name, identifier, signature, text string, want bool, wantErr string, fetched int32) {
	t.Helper()
	got, err := s.Verify(context.Background(), identifier, signature, []byte(text))
	errText := ""
	if err != nil {
		errText = err.Error()
	}
	if got != want || !strings.HasPrefix(errText, wantErr) || (err == nil) != (wantErr == "") || s.fetched.Load() != fetched {
		t.Errorf("%s: %v, %v, after %d fetches; want %v, %q, %d", name, got, err, s.fetched.Load(), want, wantErr, fetched)
	}
}

func TestOnlyASignatureOfTheNamedKeyIsGood(t *testing.T) {
	s := newSigner(t)
	right := s.sign(t, "one", body, false)
	s.verify(t, "no signature", "one", "", body, false, "", 0)
	s.verify(t, "not base64", "one", "%", body, false, "", 0)
	s.verify(t, "no identifier", "", right, body, false, "", 0)
	s.verify(t, "right", "one", right, body, true, "", 1)
	s.verify(t, "again", "one", right, body, true, "", 1)
	s.verify(t, "another key", "two", right, body, false, "", 1)
	s.verify(t, "by another key", "one", s.sign(t, "two", body, false), body, false, "", 1)
	s.verify(t, "another body", "one", right, body+" ", false, "", 1)
	s.verify(t, "another spelling of the body", "one", right, strings.Replace(body, ",", ", ", 1), false, "", 1)
	s.verify(t, "numbers swapped", "one", s.sign(t, "one", body, true), body, false, "", 1)
	der, _ := base64.StdEncoding.DecodeString(right)
	s.verify(t, "more data after the signature", "one", base64.StdEncoding.EncodeToString(append(der, 0)), body, false, "", 1)
	s.verify(t, "a part of the signature", "one", base64.StdEncoding.EncodeToString(der[:len(der)-1]), body, false, "", 1)
	s.verify(t, "by a key on a larger curve", "larger", s.sign(t, "larger", body, false), body, false, "", 1)
}

// TestKeysAreKeptForADayAndFetchesAreRare: anyone can send an unknown identifier, so not each one causes a fetch.
func TestKeysAreKeptForADayAndFetchesAreRare(t *testing.T) {
	s := newSigner(t)
	first := s.sign(t, "one", body, false)
	s.verify(t, "right", "one", first, body, true, "", 1)
	s.keys["three"] = newKey(t, elliptic.P256())
	third := s.sign(t, "three", body, false)
	s.now = s.now.Add(5*time.Minute - time.Second)
	s.verify(t, "unknown", "three", third, body, false, "", 1)
	s.now = s.now.Add(time.Second)
	s.verify(t, "after five minutes", "three", third, body, true, "", 2)
	for range 100 {
		s.verify(t, "a key that the server does not have", "none", first, body, false, "", 2)
	}
	delete(s.keys, "one")
	s.now = s.now.Add(24*time.Hour - time.Second)
	s.verify(t, "a key that the server has deleted", "one", first, body, true, "", 2)
	s.now = s.now.Add(time.Second)
	s.verify(t, "a day later", "one", first, body, false, "", 3)
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return false }
	s.now = s.now.Add(23 * time.Hour)
	s.verify(t, "unknown, and the server is down", "none", first, body, false, "outbound: ", 4)
	s.now = s.now.Add(time.Hour)
	s.verify(t, "the list is a day old, and a fetch has failed", "three", third, body, false, "outbound: ", 5)
}

// TestWithoutTheListNoSignatureIsVerified: the server is down, is slow, sends something else, or redirects.
func TestWithoutTheListNoSignatureIsVerified(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"down":    func(_ http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) },
		"limited": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return false },
		"slow":    func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true },
		"a redirect": func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/here" {
				return false
			}
			http.Redirect(w, r, "/here", http.StatusFound)
			return true
		},
		"no list": func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(`[]`)); return true },
		"no key": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"public_keys":[]}`))
			return true
		},
		"too large": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(strings.Repeat(" ", 65<<10)))
			return false
		},
	} {
		s := newSigner(t)
		right := s.sign(t, "one", body, false)
		text := map[string]string{"down": outbound.FailProtocol, "slow": outbound.FailTimeout, "no list": "leaks: ", "no key": "leaks: "}[name]
		if text == "" {
			text = "outbound: "
		}
		s.answer = answer
		s.verify(t, name, "one", right, body, false, text, 1)
		s.verify(t, name+", at once", "one", right, body, false, text, 1)
		s.now = s.now.Add(10 * time.Second)
		s.answer = nil
		s.verify(t, name+", and then the list", "one", right, body, true, "", 2)
		s.answer = answer
		s.now = s.now.Add(5 * time.Minute)
		s.verify(t, name+", for an unknown key", "none", right, body, false, text, 3)
		s.verify(t, name+", while the list is good", "one", right, body, true, "", 3)
	}
	guarded := leaks.New(outbound.NewSender(outbound.NewGuard(nil)), "https://127.0.0.1/keys")
	if ok, err := guarded.Verify(context.Background(), "one", "AAAA", nil); ok || err == nil || !strings.HasPrefix(err.Error(), outbound.FailRefused) {
		t.Errorf("a private address: %v, %v", ok, err)
	}
}
