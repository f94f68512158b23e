package receivers_test

import (
	"bytes"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey/infra/examples/receivers"
	"latchkey/infra/examples/vectors"
	"latchkey/pkg/verify"
)

// Wycheproof is a collection of test vectors for known mistakes of implementations. This file pins the module and its checksum.
// In go.mod, the module's version of Go would become a requirement for every user of our packages.
const (
	wycheproof    = "github.com/c2sp/wycheproof@v0.0.0-20260902155932-3fa63dd0344a"
	wycheproofSum = "h1:pNbL2nztRsWfW/ispAwsvcDFxs9Id38uIsR2/Up5G2c="
)

// wycheproofFile downloads the module if needed, and decodes one of its JSON files.
func wycheproofFile(t *testing.T, name string, into any) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", wycheproof)
	cmd.Dir = t.TempDir() // outside of our module, so that our go.mod has no effect
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var module struct{ Dir, Sum string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Sum != wycheproofSum {
		t.Fatalf("%s: %v, %s %s", wycheproof, err, out, stderr.String())
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "testvectors_v1", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// foreign is a signature of Wycheproof.
type foreign struct {
	name      string
	signature []byte
	valid     bool   // whether it is valid for Wycheproof's message and the key (x, y)
	x, y      string // base64url
}

// foreignSignatures returns Wycheproof's signatures on P-256 with SHA-256. Its first file has signatures in the form that
// JWS uses, r and s one after the other (P1363). Its second file has whole tokens (JWS).
func foreignSignatures(t *testing.T) (all []foreign) {
	t.Helper()
	var p1363 struct {
		TestGroups []struct {
			PublicKey struct{ Uncompressed string } // hexadecimal
			Tests     []struct {
				TcID                 int
				Comment, Sig, Result string
			}
		}
	}
	wycheproofFile(t, "ecdsa_secp256r1_sha256_p1363_test.json", &p1363)
	for _, g := range p1363.TestGroups {
		point, err := hex.DecodeString(g.PublicKey.Uncompressed)
		if err != nil || len(point) != 65 {
			t.Fatalf("a key of %d bytes: %v", len(point), err)
		}
		x, y := base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:])
		for _, c := range g.Tests {
			signature, err := hex.DecodeString(c.Sig)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, foreign{fmt.Sprintf("ECDSA %d: %s", c.TcID, c.Comment), signature, c.Result == "valid", x, y})
		}
	}
	var tokens struct {
		TestGroups []struct {
			Public *struct{ Crv, X, Y string }
			Tests  []struct {
				TcID            int
				Comment, Result string
				JWS             json.RawMessage
			}
		}
	}
	wycheproofFile(t, "json_web_signature_test.json", &tokens)
	for _, g := range tokens.TestGroups {
		for _, c := range g.Tests {
			var jws string
			onP256 := g.Public != nil && g.Public.Crv == "P-256"
			isToken := json.Unmarshal(c.JWS, &jws) == nil && strings.Count(jws, ".") == 2 // the compact form, which webhooks have
			if !onP256 || !isToken {
				continue
			}
			signature, err := base64.RawURLEncoding.DecodeString(jws[strings.LastIndex(jws, ".")+1:])
			// Cases with a bad r or s have comments such as rIsZero_sIsOne. Most other faults are in the header or the
			// payload, which foreignVectors replaces.
			hasBadNumber := strings.Contains(strings.ToLower(c.Comment), "is")
			if err == nil && hasBadNumber {
				all = append(all, foreign{fmt.Sprintf("JWS %d: %s", c.TcID, c.Comment), signature, c.Result == "valid", g.Public.X, g.Public.Y})
			}
		}
	}
	return all
}

// foreignVectors returns a webhook for each signature. Wycheproof signed another text. So for a valid signature, foreignVectors
// computes a new key under which it is a signature of the webhook. If r or s is n (the group's order) or more, the new key fits r
// and s modulo n, to find receivers that wrongly reduce them. All other signatures keep Wycheproof's key.
func foreignVectors(t *testing.T) vectors.Vectors {
	t.Helper()
	now, n := time.Now(), elliptic.P256().Params().N
	v := vectors.Vectors{Now: now.Unix(), Issuer: vectors.Issuer, EndpointID: vectors.EndpointID, Lookups: map[string]vectors.Answer{}}
	var keys []string
	encode := base64.RawURLEncoding.EncodeToString
	for i, f := range foreignSignatures(t) {
		kid := sha256.Sum256(fmt.Append(nil, "wycheproof", i))
		header := fmt.Sprintf(`{"alg":"ES256","kid":%q,"typ":"webhook+jwt"}`, encode(kid[:]))
		payload := fmt.Sprintf(
			`{"iss":%q,"aud":%q,"iat":%d,"exp":%d,"jti":"att_1","event":{"id":"evt_1","type":"link.claimed","createdAt":1,"data":{}}}`,
			v.Issuer, v.EndpointID, now.Unix()-2, now.Unix()+298) // a token lives for 300 seconds
		input := encode([]byte(header)) + "." + encode([]byte(payload))
		x, y := f.x, f.y
		if len(f.signature) == 64 {
			r, s := new(big.Int).SetBytes(f.signature[:32]), new(big.Int).SetBytes(f.signature[32:])
			tooLarge := r.Cmp(n) >= 0 || s.Cmp(n) >= 0
			if f.valid || tooLarge {
				if keyX, keyY := recovered(new(big.Int).Mod(r, n), new(big.Int).Mod(s, n), sha256.Sum256([]byte(input))); keyX != nil {
					x, y = encode(keyX.FillBytes(make([]byte, 32))), encode(keyY.FillBytes(make([]byte, 32)))
				} else if f.valid {
					t.Fatalf("%s: no key is found", f.name)
				}
			}
		}
		jwk := fmt.Sprintf(`{"kid":%q,"kty":"EC","crv":"P-256","x":%q,"y":%q,"alg":"ES256","use":"sig"`, encode(kid[:]), x, y)
		keys = append(keys, jwk+"}")
		v.Lookups[encode(kid[:])] = vectors.Answer{Status: 200, MaxAge: 300, Body: json.RawMessage(jwk + `,"createdAt":1,"expiredAt":null}`)}
		v.Cases = append(v.Cases, vectors.Case{Name: f.name, Token: input + "." + encode(f.signature), Valid: f.valid, Status: map[bool]int{true: 204, false: 401}[f.valid]})
	}
	v.JWKS = json.RawMessage(`{"keys":[` + strings.Join(keys, ",") + `]}`)
	return v
}

// TestReceiversAgreeWithWycheproof sends Wycheproof's signatures to pkg/verify and to the receivers.
func TestReceiversAgreeWithWycheproof(t *testing.T) {
	v := foreignVectors(t)
	valid := strings.Count(fmt.Sprint(v.Cases), " true 204") // Valid and Status of a printed case
	if valid < 150 || len(v.Cases)-valid < 80 {              // Wycheproof has more: with fewer, some were not read
		t.Fatalf("%d cases, %d of them good", len(v.Cases), valid)
	}
	api := httptest.NewServer(v.Handler())
	defer api.Close()
	t.Run("go", func(t *testing.T) {
		for _, c := range v.Cases {
			// Each case has another key, and one Verifier may look up only a few new keys. So each case gets a new Verifier.
			check, err := verify.New(verify.Config{BaseURL: api.URL, EndpointID: v.EndpointID, Issuer: v.Issuer})
			if err != nil {
				t.Fatal(err)
			}
			_, err = check.Verify(t.Context(), []byte(c.Token))
			wrongReason := err != nil && !errors.Is(err, verify.ErrRefused)
			if (err == nil) != c.Valid || wrongReason {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	})
	for _, l := range []receivers.Language{receivers.Node, receivers.Python, receivers.FastAPI} {
		t.Run(string(l), func(t *testing.T) {
			r := start(t, l, receivers.Config{BaseURL: api.URL, Issuer: v.Issuer, EndpointID: v.EndpointID})
			for _, c := range v.Cases {
				if got := post(t, r.URL, c.Token); got != c.Status {
					t.Errorf("%s: %d instead of %d", c.Name, got, c.Status)
				}
			}
		})
	}
}

// recovered returns a public key under which (r, s) is a signature of the digest, or nil if no key exists (SEC 1, section 4.1.6).
// As in SEC 1, R = (x, y) is a point with x modulo n = r, and the key is (s·R - e·G) / r.
func recovered(r, s *big.Int, digest [32]byte) (x, y *big.Int) {
	curve := elliptic.P256()
	c := curve.Params()
	for _, x := range []*big.Int{r, new(big.Int).Add(r, c.N)} {
		y := new(big.Int).Exp(x, big.NewInt(3), c.P) // y² = x³ - 3x + b
		y.Sub(y, new(big.Int).Mul(x, big.NewInt(3))).Add(y, c.B).Mod(y, c.P)
		notOnCurve := x.Cmp(c.P) >= 0 || y.ModSqrt(y, c.P) == nil // ModSqrt sets y to its square root
		if r.Sign() == 0 || s.Sign() == 0 || notOnCurve {
			continue
		}
		inverse := new(big.Int).ModInverse(r, c.N)
		times := func(n *big.Int) []byte { return n.Mul(n, inverse).Mod(n, c.N).FillBytes(make([]byte, 32)) }
		e := new(big.Int).SetBytes(digest[:])
		ax, ay := curve.ScalarMult(x, y, times(new(big.Int).Set(s))) //nolint:staticcheck // crypto/ecdh does not add points
		bx, by := curve.ScalarBaseMult(times(e.Neg(e)))              //nolint:staticcheck // as above
		return curve.Add(ax, ay, bx, by)                             //nolint:staticcheck // as above
	}
	return nil, nil
}
