package vectors

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
)

func (m *mint) badHeader() {
	const reason = "wrong_header"
	good := header(m.active.kid)
	with := func(alg string) string { return strings.Replace(good, "ES256", alg, 1) }
	signature := encode(m.active.raw(signingInput(good, m.claims())))
	for _, alg := range []string{"none", "None", "NONE", "nOnE"} {
		m.bad("alg "+alg+", no signature", signingInput(with(alg), m.claims())+".", reason)
		m.bad("alg "+alg+", a signature", m.active.sign(with(alg), m.claims()), reason)
	}
	der := must(x509.MarshalPKIXPublicKey(&m.active.private.PublicKey))
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for _, s := range []struct {
		name   string
		secret []byte
	}{
		{"in PEM", block}, {"in PEM without its last line feed", block[:len(block)-1]}, {"in DER", der},
		{"as a JWK", []byte(m.active.jwk())}, {"as a point", m.active.point}, {"as a point without its first byte", m.active.point[1:]}, {"as its x", []byte(m.active.x)},
	} {
		m.bad("HS256 with the public key "+s.name, hmacToken(with("HS256"), m.claims(), sha256.New, s.secret), reason)
	}
	m.bad("HS256 with an empty secret", hmacToken(with("HS256"), m.claims(), sha256.New, nil), reason)
	m.bad("HS512 with the public key in PEM", hmacToken(with("HS512"), m.claims(), sha512.New, block), reason)
	m.bad("ES384 with a key of its own", m.p384.sign(with("ES384"), m.claims()), reason)
	for _, alg := range []string{"ES384", "ES512", "ES256K", "RS256", "PS256", "EdDSA", "es256", "ES256 ", ""} {
		m.bad(fmt.Sprintf("alg %q", alg), m.active.sign(with(alg), m.claims()), reason)
	}
	m.bad("RS256 with a signature as long", signingInput(with("RS256"), m.claims())+"."+encode(make([]byte, 256)), reason)
	m.bad("alg is missing", m.active.sign(strings.Replace(good, `"alg":"ES256",`, "", 1), m.claims()), reason)
	m.bad("alg is an array", m.active.sign(strings.Replace(good, `"ES256"`, `["ES256"]`, 1), m.claims()), reason)
	m.bad("Alg instead of alg", m.active.sign(strings.Replace(good, `"alg"`, `"Alg"`, 1), m.claims()), reason)
	for _, typ := range []string{"JWT", "at+jwt", "webhook", "Webhook+JWT", "application/webhook+jwt", ""} {
		m.bad(fmt.Sprintf("typ %q", typ), m.active.sign(strings.Replace(good, "webhook+jwt", typ, 1), m.claims()), reason)
	}
	m.bad("typ is missing", m.active.sign(strings.Replace(good, `,"typ":"webhook+jwt"`, "", 1), m.claims()), reason)
	for _, crit := range []string{`["exp"]`, `["x-new"]`, `[]`, `null`} {
		m.bad("crit "+crit, m.active.sign(strings.Replace(good, "{", `{"crit":`+crit+`,"x-new":1,`, 1), m.claims()), reason)
	}
	m.bad("crit b64", m.active.sign(strings.Replace(good, "{", `{"b64":false,"crit":["b64"],`, 1), m.claims()), reason)
	m.bad("header of a good one, alg none, its signature", signingInput(with("none"), m.claims())+"."+signature, reason)
}

func (m *mint) badKey() {
	by := func(kid string) string {
		return m.active.sign(strings.Replace(header(m.active.kid), `"`+m.active.kid+`"`, kid, 1), m.claims())
	}
	k := m.active.kid
	for _, c := range [][2]string{
		{"null", "null"}, {"a number", "7"}, {"an array", `["` + k + `"]`}, {"empty", `""`},
		{"too short", `"` + k[1:] + `"`}, {"too long", `"A` + k + `"`},
		{"a way out of a folder", `"../../../../../../../../../../../etc/passwd"`},
		{"dots and slashes of the right length", `"../../webhook_verification_key/get?kid=xxxxx"`},
		{"a URL", `"http://127.0.0.1:1/aaaaaaaaaaaaaaaaaaaaaaaaa"`}, {"SQL", `"' OR '1'='1' --aaaaaaaaaaaaaaaaaaaaaaaaaaaa"`},
		{"a line feed behind it", `"` + k + `\n"`}, {"a line feed at its end", `"` + k[:42] + `\n"`},
		{"letters that are not ASCII", `"` + strings.Repeat("é", 43) + `"`}, {"padding", `"` + k[:42] + `="`}, {"stray bits at its end", `"` + stray(k) + `"`},
	} {
		m.bad("kid: "+c[0], by(c[1]), "wrong_header")
	}
	m.bad("kid is missing", m.active.sign(`{"alg":"ES256","typ":"webhook+jwt"}`, m.claims()), "wrong_header")
	m.bad("Kid instead of kid", m.active.sign(strings.Replace(header(k), `"kid"`, `"Kid"`, 1), m.claims()), "wrong_header")
	m.bad("a kid that is not known", m.stranger.by(m.claims()), "unknown_key")
	m.bad("a revoked key", m.revoked.by(m.claims()), "revoked_key")
	m.bad("a revoked key, signed long before", m.revoked.by(m.claimsAt(m.Now-290, m.Now+10)), "revoked_key")
	m.bad("a retired key, signed as it was retired", m.retired.by(m.claimsAt(m.retiredAt, m.retiredAt+300)), "retired_key")
	m.bad("a retired key, signed now", m.retired.by(m.claims()), "retired_key")
	m.add("a key whose lookup answers 503", m.down.by(m.claims()), 503, "")

	bring := func(kid, members string) string {
		return m.stranger.sign(strings.Replace(header(kid), "{", "{"+members+",", 1), m.claims())
	}
	leaf := `"x5c":["` + strings.NewReplacer("-", "+", "_", "/").Replace(encode(m.stranger.point)) + `"]`
	for _, c := range [][2]string{
		{"jwk", `"jwk":` + m.stranger.jwk()}, {"jku", `"jku":"http://127.0.0.1:1/jwks.json"`},
		{"x5u", `"x5u":"http://127.0.0.1:1/x.pem"`}, {"x5c", leaf},
	} {
		m.bad("a stranger's key in "+c[0]+", our kid", bring(k, c[1]), "wrong_signature")
		m.bad("a stranger's key in "+c[0]+", its kid", bring(m.stranger.kid, c[1]), "unknown_key")
	}
}

func (m *mint) badSignature() {
	const reason = "wrong_signature"
	good := m.active.by(m.claims())
	input := good[:strings.LastIndex(good, ".")]
	raw := m.active.raw(input)
	with := func(sig ...[]byte) string {
		var all []byte
		for _, s := range sig {
			all = append(all, s...)
		}
		return input + "." + encode(all)
	}
	zero, one := make([]byte, 32), append(make([]byte, 31), 1)
	order := m.active.private.Params().N.Bytes()
	m.bad("no signature", input+".", reason)
	m.bad("a signature in DER", input+"."+encode(m.active.der(input)), reason)
	m.bad("r and s are zero", with(zero, zero), reason)
	m.bad("r is zero", with(zero, raw[32:]), reason)
	m.bad("s is zero", with(raw[:32], zero), reason)
	m.bad("r and s are one", with(one, one), reason)
	m.bad("r and s are the group's order", with(order, order), reason)
	m.bad("r and s change places", with(raw[32:], raw[:32]), reason)
	m.bad("a signature of 63 bytes", with(raw[:63]), reason)
	m.bad("a signature of 65 bytes", with(raw, []byte{0}), reason)
	m.bad("a signature of 32 bytes", with(raw[:32]), reason)
	m.bad("a signature of 96 bytes", with(zero[:16], raw[:32], zero[:16], raw[32:]), reason)
	m.bad("r without its leading zero", unpadded(m.zeroAt(0)), reason)
	m.bad("a changed bit in the signature", flip(good, 2), reason)
	m.bad("another event behind the signature", signingInput(header(m.active.kid), m.claims("link.claimed", "link.revoked"))+"."+encode(raw), reason)
	m.bad("a changed blank in the payload", signingInput(header(m.active.kid), m.claims()+" ")+"."+encode(raw), reason)
	m.bad("a changed blank in the header", signingInput(header(m.active.kid)+" ", m.claims())+"."+encode(raw), reason)
	m.bad("a changed bit in the payload", m.changed(raw), reason)
	m.bad("a stranger's signature", m.stranger.sign(header(m.active.kid), m.claims()), reason)
	m.bad("the next key's signature", m.next.sign(header(m.active.kid), m.claims()), reason)
	m.bad("the active key's signature under the next kid", m.active.sign(header(m.next.kid), m.claims()), reason)
	m.bad("a signature of the payload alone", input+"."+encode(m.active.raw(strings.Split(input, ".")[1])), reason)
	m.bad("stray bits at the payload's end, signed", m.signedStray(), "malformed")
	m.bad("a changed bit in the header", flip(good, 0), "malformed")
}

// signedStray returns a token whose payload is not in base64url's canonical form, and is signed
// in this form.
func (m *mint) signedStray() string {
	payload := m.claims()
	for len(payload)%3 == 0 {
		payload += " " // until the last character has unused bits
	}
	input := stray(signingInput(header(m.active.kid), payload))
	return input + "." + encode(m.active.raw(input))
}

// unpadded drops the first byte of a signature, as a signer does that forgets to pad.
func unpadded(token string) string {
	at := strings.LastIndex(token, ".") + 1
	sig := must(decode(token[at:]))
	return token[:at] + encode(sig[1:])
}

// changed returns a token of the good payload with one changed letter.
func (m *mint) changed(signature []byte) string {
	return signingInput(header(m.active.kid), m.claims(`"status":"claimed"`, `"status":"clbimed"`)) + "." + encode(signature)
}
