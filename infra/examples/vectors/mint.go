package vectors

import (
	"crypto"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"encoding/json"
	"fmt"
	"hash"
	"math/big"
	"strings"
	"time"
)

// mint makes the cases. The issuer does not know the keys stranger and p384. The JWKS also lacks the key revoked.
type mint struct {
	Vectors
	active, next, retired, revoked signer // keys in these states
	down                           signer // a key whose lookup answers 503
	stranger                       signer // a key of another issuer
	p384                           signer // a key of another issuer, on the curve P-384
	expiredAt                      int64  // when the key retired expired, in seconds since the epoch
}

func newMint(now time.Time) *mint {
	p256 := elliptic.P256()
	m := &mint{
		active: newSigner("active", p256), next: newSigner("next", p256), retired: newSigner("retired", p256),
		revoked: newSigner("revoked", p256), down: newSigner("down", p256), stranger: newSigner("stranger", p256),
		p384: newSigner("p384", elliptic.P384()), expiredAt: now.Unix() - 60,
	}
	m.Vectors = Vectors{
		Note: note, Now: now.Unix(), Issuer: Issuer, EndpointID: EndpointID, Otherwise: fault(404, 60, "unknown_kid"),
	}
	made := (m.Now - 90*86_400) * 1000 // milliseconds: 90 days ago
	m.Lookups = map[string]Answer{
		m.active.kid:  m.active.answer(300, made, 0),
		m.next.kid:    m.next.answer(300, made, 0),
		m.retired.kid: m.retired.answer(86_400, made, m.expiredAt*1000),
		m.revoked.kid: fault(410, 300, "kid_revoked"),
		m.down.kid:    fault(503, 0, "unavailable"),
	}
	m.JWKS = json.RawMessage(fmt.Sprintf(`{"keys":[%s,%s,%s,%s]}`, m.active.jwk(), m.next.jwk(), m.retired.jwk(), m.down.jwk()))
	return m
}

// add adds a case. status is the answer that a receiver must give. In the names of cases, "it" means the token, "a blank"
// means a space, and "a member" means a member of a JSON object.
func (m *mint) add(name, token string, status int, reason string) {
	m.Cases = append(m.Cases, Case{Name: name, Token: token, Valid: status == 204, Status: status, Reason: reason})
}

func (m *mint) ok(name, token string)          { m.add(name, token, 204, "") }
func (m *mint) bad(name, token, reason string) { m.add(name, token, 401, reason) }

func header(kid string) string {
	return fmt.Sprintf(`{"alg":"ES256","kid":%q,"typ":"webhook+jwt"}`, kid)
}

// claims returns the payload of an attempt that was sent two seconds ago and expires 300 seconds later; see claimsAt.
func (m *mint) claims(replace ...string) string {
	return m.claimsAt(m.Now-2, m.Now+298, replace...)
}

// claimsAt returns a good payload with these times, in seconds. replace has pairs of old and new text. claimsAt panics
// when the payload does not have an old text.
func (m *mint) claimsAt(iat, exp int64, replace ...string) string {
	c := fmt.Sprintf(`{"iss":%q,"aud":%q,"iat":%d,"exp":%d,"jti":"att_vector","event":{"id":"evt_01k5vectors00000000000000b",`+
		`"type":"link.claimed","createdAt":%d,"data":{"id":"lnk_01k5vectors00000000000000c","status":"claimed"}}}`,
		m.Issuer, m.EndpointID, iat, exp, iat*1000)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(c, replace[i]) {
			panic("no " + replace[i])
		}
		c = strings.Replace(c, replace[i], replace[i+1], 1)
	}
	return c
}

// Parts of the payload of claims, for the parameter replace.
func (m *mint) iss() string { return fmt.Sprintf(`"iss":%q`, m.Issuer) }
func (m *mint) aud() string { return fmt.Sprintf(`"aud":%q`, m.EndpointID) }
func (m *mint) iat() string { return fmt.Sprintf(`"iat":%d`, m.Now-2) }
func (m *mint) exp() string { return fmt.Sprintf(`"exp":%d`, m.Now+298) }

func signingInput(header, payload string) string {
	return encode([]byte(header)) + "." + encode([]byte(payload))
}

// sign makes a token. The same key and input make the same signature (RFC 6979).
func (s signer) sign(header, payload string) string {
	input := signingInput(header, payload)
	return input + "." + encode(s.raw(input))
}

// webhook returns the token of a payload, with a header that names the key.
func (s signer) webhook(payload string) string { return s.sign(header(s.kid), payload) }

// der returns the signature of input in DER: by ES256, or by ES384 for a key on P-384.
func (s signer) der(input string) []byte {
	if s.private.Curve == elliptic.P384() {
		digest := sha512.Sum384([]byte(input))
		return must(s.private.Sign(nil, digest[:], crypto.SHA384))
	}
	digest := sha256.Sum256([]byte(input))
	return must(s.private.Sign(nil, digest[:], crypto.SHA256))
}

// raw returns the signature of input in the form of JWS: r and s, padded to the same length (RFC 7518, section 3.4).
func (s signer) raw(input string) []byte {
	var sig struct{ R, S *big.Int }
	must(asn1.Unmarshal(s.der(input), &sig))
	size := (s.private.Params().BitSize + 7) / 8
	return append(sig.R.FillBytes(make([]byte, size)), sig.S.FillBytes(make([]byte, size))...)
}

func hmacToken(header, payload string, h func() hash.Hash, secret []byte) string {
	input := signingInput(header, payload)
	mac := hmac.New(h, secret)
	mac.Write([]byte(input))
	return input + "." + encode(mac.Sum(nil))
}

// flip changes a character in the middle of one part of a token. The part stays base64url.
func flip(token string, part int) string {
	parts := strings.Split(token, ".")
	b := []byte(parts[part])
	at := len(b) / 2
	if b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	parts[part] = string(b)
	return strings.Join(parts, ".")
}
