package vectors

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
)

func (m *mint) good() {
	m.ok("a webhook", m.active.webhook(m.claims()))
	m.ok("audience as an array of one", m.active.webhook(m.claims(m.aud(), fmt.Sprintf(`"aud":[%q]`, m.EndpointID))))
	m.ok("r begins with a zero byte", m.zeroAt(0))
	m.ok("s begins with a zero byte", m.zeroAt(32))
	m.ok("the key that is next", m.next.webhook(m.claims()))
	m.ok("a retired key, signed just before its retirement", m.retired.webhook(m.claimsAt(m.expiredAt-1, m.expiredAt+299)))
	m.ok("a retired key, signed long before its retirement", m.retired.webhook(m.claimsAt(m.expiredAt-120, m.expiredAt+180)))
	m.ok("half a minute before its expiry", m.active.webhook(m.claimsAt(m.Now-270, m.Now+30)))
	m.ok("the sender's clock is ahead", m.active.webhook(m.claimsAt(m.Now+20, m.Now+320)))
	m.ok("members that are not known", m.active.sign(strings.Replace(header(m.active.kid), "{", `{"x-new":1,`, 1),
		m.claims(m.iss(), m.iss()+`,"later":{"a":[1,{"b":null}]}`)))
	m.ok("other order and blanks", m.active.sign(fmt.Sprintf(" {\n\"typ\": \"webhook+jwt\", \"alg\": \"ES256\", \"kid\": %q } ", m.active.kid), " "+m.claims()+"\n"))
	m.ok("any text in the data", m.active.webhook(m.claims(`"status":"claimed"`, `"status":"\u00e9 é \"a\":1,\\ {}[] 🔑 \u0000 \ud83d\udd11"`)))
	m.ok("150 KB of data", m.active.webhook(m.claims(`"status":"claimed"`, `"status":"`+strings.Repeat(`a\"`, 50<<10)+`"`)))
}

// zeroAt returns a token whose signature has a zero byte at an offset: 0 (r begins there) or 32 (s begins there). Only one of r and s
// begins with a zero byte.
func (m *mint) zeroAt(at int) string {
	for i := 0; ; i++ {
		payload := m.claims(`"jti":"att_vector"`, fmt.Sprintf(`"jti":"att_%d"`, i))
		sig := m.active.raw(signingInput(header(m.active.kid), payload))
		if sig[at] == 0 && sig[32-at] != 0 {
			return m.active.webhook(payload)
		}
	}
}

func (m *mint) badForm() {
	good := m.active.webhook(m.claims())
	parts := strings.Split(good, ".")
	h, p, s := parts[0], parts[1], parts[2]
	const reason = "malformed"
	m.bad("nothing", "", reason)
	m.bad("one part", h, reason)
	m.bad("two parts", h+"."+p, reason)
	m.bad("four parts", good+"."+s, reason)
	m.bad("five parts, as if encrypted", strings.Join([]string{h, "", p, s, s}, "."), reason)
	m.bad("a dot after it", good+".", reason)
	m.bad("no header", "."+p+"."+s, reason)
	m.bad("no payload", h+".."+s, reason)
	m.bad("JSON serialization, flattened", fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, p, h, s), reason)
	m.bad("JSON serialization, general", fmt.Sprintf(`{"payload":%q,"signatures":[{"protected":%q,"signature":%q}]}`, p, h, s), reason)
	m.bad("the event as JSON, unsigned", m.claims(), reason)
	m.bad("padding after the signature", good+"==", reason)
	m.bad("padding after each part", h+"=."+p+"=."+s+"==", reason)
	m.bad("a blank before it", " "+good, reason)
	m.bad("a line feed after it", good+"\n", reason)
	m.bad("a line feed in the payload", h+"."+p[:20]+"\n"+p[20:]+"."+s, reason)
	m.bad("a carriage return in the signature", h+"."+p+"."+s[:20]+"\r\n"+s[20:], reason)
	m.bad("a NUL after it", good+"\x00", reason)
	// The 86 characters of a signature, all from standard base64 and not in base64url.
	m.bad("the other base64 alphabet", h+"."+p+"."+strings.Repeat("+/", 43), reason)
	m.bad("stray bits at the signature's end", h+"."+p+"."+stray(s), reason)
	m.bad("quotes around it", `"`+good+`"`, reason)
	m.bad("Bearer before it", "Bearer "+good, reason)
	m.bad("a header that is no JSON", m.active.sign("alg=ES256", m.claims()), reason)
	m.bad("a header that is an array", m.active.sign("["+header(m.active.kid)+"]", m.claims()), reason)
	m.bad("a payload that is no JSON", m.active.webhook(m.claims()+"}"), reason)
	m.bad("a payload that is null", m.active.webhook("null"), reason)
	m.bad("a payload that is not UTF-8", m.active.webhook(m.claims("claimed", "\xff\xfe")), reason)
	m.bad("a webhook in a webhook", m.active.sign(strings.Replace(header(m.active.kid), "{", `{"cty":"JWT",`, 1), good), reason)
	m.bad("arrays in arrays, by a stranger", m.stranger.sign(header(m.active.kid), m.claims(`"status":"claimed"`, `"a":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000))), reason)
	m.bad("a member twice in the header", m.active.sign(strings.Replace(header(m.active.kid), "{", `{"alg":"none",`, 1), m.claims()), reason)
	m.bad("kid twice in the header", m.active.sign(strings.Replace(header(m.active.kid), "{", fmt.Sprintf(`{"kid":%q,`, m.stranger.kid), 1), m.claims()), reason)
	m.bad("the audience twice", m.active.webhook(m.claims(m.aud(), `"aud":"whe_another",`+m.aud())), reason)
	m.bad("a member twice, once escaped", m.active.webhook(m.claims(m.aud(), `"\u0061ud":"whe_another",`+m.aud())), reason)
	m.bad("a member of the event twice", m.active.webhook(m.claims(`"type":"link.claimed"`, `"type":"link.revoked","type":"link.claimed"`)), reason)
	m.bad("more than 256 KB", m.active.webhook(m.claims(`"status":"claimed"`, `"status":"`+strings.Repeat("a", 256<<10)+`"`)), reason)
}

// stray sets the lowest bit of the last character of s. This bit does not belong to a byte, so a lenient decoder ignores it. The bit is
// 0 in s, so the next letter of the alphabet has the same bits and this one.
func stray(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, s[len(s)-1])
	return s[:len(s)-1] + alphabet[last+1:last+2]
}

func (m *mint) badClaims() {
	id := m.EndpointID
	for _, c := range [][2]string{ // a name, and the text that replaces the audience
		{"another endpoint", `"aud":"whe_01k5another000000000000000a"`}, {"is missing", `"x":1`}, {"null", `"aud":null`}, {"empty", `"aud":""`},
		{"an array of two", fmt.Sprintf(`"aud":[%q,"whe_another"]`, id)}, {"an array of itself twice", fmt.Sprintf(`"aud":[%q,%q]`, id, id)},
		{"an empty array", `"aud":[]`}, {"an array of another", `"aud":["whe_another"]`}, {"an array in an array", fmt.Sprintf(`"aud":[[%q]]`, id)},
		{"an object", fmt.Sprintf(`"aud":{%q:true}`, id)}, {"longer", fmt.Sprintf(`"aud":"%sa"`, id)}, {"shorter", fmt.Sprintf(`"aud":%q`, id[:len(id)-1])},
		{"in capitals", `"aud":"WHE_01K5VECTORS00000000000000A"`}, {"a blank after it", fmt.Sprintf(`"aud":"%s "`, id)},
		{"named AUD", fmt.Sprintf(`"AUD":%q`, id)}, {"another, and the right one as Aud", fmt.Sprintf(`"aud":"whe_another","Aud":%q`, id)},
	} {
		m.bad("audience: "+c[0], m.active.webhook(m.claims(m.aud(), c[1])), "wrong_audience")
	}
	for _, c := range [][2]string{ // a name, and the text that replaces the issuer
		{"another", `"iss":"https://api.example.org"`}, {"a slash after it", fmt.Sprintf(`"iss":"%s/"`, m.Issuer)}, {"is missing", `"x":1`},
		{"null", `"iss":null`}, {"an array", fmt.Sprintf(`"iss":[%q]`, m.Issuer)}, {"named ISS", fmt.Sprintf(`"ISS":%q`, m.Issuer)},
	} {
		m.bad("issuer: "+c[0], m.active.webhook(m.claims(m.iss(), c[1])), "wrong_issuer")
	}
}

// badTime adds tokens with bad times. A receiver may allow a clock difference of a minute, but only for iat.
func (m *mint) badTime() {
	n := m.Now
	m.bad("expired two minutes ago", m.active.webhook(m.claimsAt(n-290, n-120)), "expired")
	m.bad("expired just now", m.active.webhook(m.claimsAt(n-300, n)), "expired")
	m.bad("expired a day ago", m.active.webhook(m.claimsAt(n-86_700, n-86_400)), "expired")
	m.bad("ten minutes old, not expired", m.active.webhook(m.claimsAt(n-600, n+300)), "stale")
	m.bad("a year old, never expires", m.active.webhook(m.claimsAt(n-31_536_000, n+315_360_000)), "stale")
	m.bad("issued in five minutes", m.active.webhook(m.claimsAt(n+300, n+600)), "not_yet")
	m.bad("issued in ten years", m.active.webhook(m.claimsAt(n+315_360_000, n+315_360_300)), "not_yet")
	m.bad("in milliseconds", m.active.webhook(m.claimsAt(n*1000, n*1000+300_000)), "not_yet")
	for _, c := range [][3]string{ // a name, a claim, and the text that replaces it
		{"iat is missing", m.iat(), `"x":1`}, {"exp is missing", m.exp(), `"x":1`}, {"iat is null", m.iat(), `"iat":null`}, {"exp is null", m.exp(), `"exp":null`},
		{"iat is a text", m.iat(), fmt.Sprintf(`"iat":"%d"`, n)}, {"exp is a text", m.exp(), fmt.Sprintf(`"exp":"%d"`, n+300)},
		{"iat is true", m.iat(), `"iat":true`}, {"exp is 1e400", m.exp(), `"exp":1e400`}, {"iat is negative", m.iat(), `"iat":-1`},
		{"exp is an array", m.exp(), fmt.Sprintf(`"exp":[%d]`, n+300)}, {"IAT instead of iat", m.iat(), fmt.Sprintf(`"IAT":%d`, n)},
		{"Exp instead of exp", m.exp(), fmt.Sprintf(`"Exp":%d`, n+300)},
	} {
		m.bad(c[0], m.active.webhook(m.claims(c[1], c[2])), "wrong_time")
	}
}

func (m *mint) badEvent() {
	for _, c := range [][3]string{ // a name, a text of the payload, and the text that replaces it
		{"no event", `"event":`, `"x":`}, {"Event instead of event", `"event":`, `"Event":`}, {"an event without an id", `"id":"evt_01k5vectors00000000000000b",`, ""},
		{"an event with an empty id", `"evt_01k5vectors00000000000000b"`, `""`}, {"an event whose id is a number", `"evt_01k5vectors00000000000000b"`, `7`},
		{"an event without a type", `"type":"link.claimed",`, ""}, {"an event with an empty type", `"link.claimed"`, `""`},
		{"an event whose type is null", `"link.claimed"`, `null`}, {"an event without data", `"data":`, `"x":`}, {"an event without a time", `"createdAt":`, `"x":`},
		{"an event whose data is a text", `"data":`, `"data":"","x":`}, {"an event whose data is null", `"data":`, `"data":null,"x":`},
		{"an event whose data is an array", `"data":`, `"data":[],"x":`}, {"an event that is a text", `"event":`, `"event":"evt","x":`},
		{"an event that is null", `"event":`, `"event":null,"x":`}, {"an event whose time is a text", `"createdAt":`, `"createdAt":"now","x":`},
	} {
		m.bad(c[0], m.active.webhook(m.claims(c[1], c[2])), "incomplete")
	}
}

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
	// A receiver that trusts the header's alg would use the public key as the secret of an HMAC, and anyone knows that key.
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
	m.bad("ES384 with a key on P-384", m.p384.sign(with("ES384"), m.claims()), reason)
	for _, alg := range []string{"ES384", "ES512", "ES256K", "RS256", "PS256", "EdDSA", "es256", "ES256 ", ""} {
		m.bad(fmt.Sprintf("alg %q", alg), m.active.sign(with(alg), m.claims()), reason)
	}
	m.bad("RS256 with a signature of 256 bytes", signingInput(with("RS256"), m.claims())+"."+encode(make([]byte, 256)), reason)
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
	m.bad("alg none, the signature of a good token", signingInput(with("none"), m.claims())+"."+signature, reason)
}

func (m *mint) badKey() {
	withKid := func(kid string) string { // kid is JSON
		return m.active.sign(strings.Replace(header(m.active.kid), `"`+m.active.kid+`"`, kid, 1), m.claims())
	}
	k := m.active.kid
	for _, c := range [][2]string{ // a name, and the kid as JSON
		{"null", "null"}, {"a number", "7"}, {"an array", `["` + k + `"]`}, {"empty", `""`},
		{"too short", `"` + k[1:] + `"`}, {"too long", `"A` + k + `"`},
		{"a path out of the folder", `"../../../../../../../../../../../etc/passwd"`},
		{"dots and slashes of the right length", `"../../webhook_verification_key/get?kid=xxxxx"`},
		{"a URL", `"http://127.0.0.1:1/aaaaaaaaaaaaaaaaaaaaaaaaa"`}, {"SQL", `"' OR '1'='1' --aaaaaaaaaaaaaaaaaaaaaaaaaaaa"`},
		{"a line feed after it", `"` + k + `\n"`}, {"a line feed at its end", `"` + k[:42] + `\n"`},
		{"letters that are not ASCII", `"` + strings.Repeat("é", 43) + `"`}, {"padding", `"` + k[:42] + `="`}, {"stray bits at its end", `"` + stray(k) + `"`},
	} {
		m.bad("kid: "+c[0], withKid(c[1]), "wrong_header")
	}
	m.bad("kid is missing", m.active.sign(`{"alg":"ES256","typ":"webhook+jwt"}`, m.claims()), "wrong_header")
	m.bad("Kid instead of kid", m.active.sign(strings.Replace(header(k), `"kid"`, `"Kid"`, 1), m.claims()), "wrong_header")
	m.bad("a kid that is not known", m.stranger.webhook(m.claims()), "unknown_key")
	m.bad("a revoked key", m.revoked.webhook(m.claims()), "revoked_key")
	m.bad("a revoked key, signed long before its revocation", m.revoked.webhook(m.claimsAt(m.Now-290, m.Now+10)), "revoked_key")
	m.bad("a retired key, signed at its retirement", m.retired.webhook(m.claimsAt(m.expiredAt, m.expiredAt+300)), "retired_key")
	m.bad("a retired key, signed now", m.retired.webhook(m.claims()), "retired_key")
	m.add("a key whose lookup answers 503", m.down.webhook(m.claims()), 503, "")

	// A receiver that trusts a key in the header, or fetches one from a URL there, accepts a stranger's webhooks.
	withKeyInHeader := func(kid, members string) string {
		return m.stranger.sign(strings.Replace(header(kid), "{", "{"+members+",", 1), m.claims())
	}
	leaf := `"x5c":["` + strings.NewReplacer("-", "+", "_", "/").Replace(encode(m.stranger.point)) + `"]`
	for _, c := range [][2]string{
		{"jwk", `"jwk":` + m.stranger.jwk()}, {"jku", `"jku":"http://127.0.0.1:1/jwks.json"`},
		{"x5u", `"x5u":"http://127.0.0.1:1/x.pem"`}, {"x5c", leaf},
	} {
		m.bad("a stranger's key in "+c[0]+", our kid", withKeyInHeader(k, c[1]), "wrong_signature")
		m.bad("a stranger's key in "+c[0]+", its kid", withKeyInHeader(m.stranger.kid, c[1]), "unknown_key")
	}
}

func (m *mint) badSignature() {
	const reason = "wrong_signature"
	good := m.active.webhook(m.claims())
	input := good[:strings.LastIndex(good, ".")]
	raw := m.active.raw(input)
	with := func(parts ...[]byte) string { // the good input with another signature
		return input + "." + encode(slices.Concat(parts...))
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
	m.bad("r and s swapped", with(raw[32:], raw[:32]), reason)
	m.bad("a signature of 63 bytes", with(raw[:63]), reason)
	m.bad("a signature of 65 bytes", with(raw, []byte{0}), reason)
	m.bad("a signature of 32 bytes", with(raw[:32]), reason)
	// The length that P-384 has: r and s padded to 48 bytes each.
	m.bad("a signature of 96 bytes", with(zero[:16], raw[:32], zero[:16], raw[32:]), reason)
	m.bad("r without its leading zero", unpadded(m.zeroAt(0)), reason)
	m.bad("a changed bit in the signature", flip(good, 2), reason)
	m.bad("the signature of another event", signingInput(header(m.active.kid), m.claims("link.claimed", "link.revoked"))+"."+encode(raw), reason)
	m.bad("a changed blank in the payload", signingInput(header(m.active.kid), m.claims()+" ")+"."+encode(raw), reason)
	m.bad("a changed blank in the header", signingInput(header(m.active.kid)+" ", m.claims())+"."+encode(raw), reason)
	m.bad("a changed bit in the payload", signingInput(header(m.active.kid), m.claims(`"status":"claimed"`, `"status":"clbimed"`))+"."+encode(raw), reason)
	m.bad("a stranger's signature", m.stranger.sign(header(m.active.kid), m.claims()), reason)
	m.bad("the next key's signature", m.next.sign(header(m.active.kid), m.claims()), reason)
	m.bad("the active key's signature under the next kid", m.active.sign(header(m.next.kid), m.claims()), reason)
	m.bad("a signature of the payload only", input+"."+encode(m.active.raw(strings.Split(input, ".")[1])), reason)
	m.bad("stray bits at the payload's end, signed", m.signedStray(), "malformed")
	m.bad("a changed bit in the header", flip(good, 0), "malformed")
}

// signedStray returns a token whose payload is not in base64url's canonical form. The signature is over this form.
func (m *mint) signedStray() string {
	payload := m.claims()
	for len(payload)%3 == 0 {
		payload += " " // until the last character has unused bits
	}
	input := stray(signingInput(header(m.active.kid), payload))
	return input + "." + encode(m.active.raw(input))
}

// unpadded drops the first byte of a signature, which must be 0. Signers that do not pad r to 32 bytes make such signatures.
func unpadded(token string) string {
	at := strings.LastIndex(token, ".") + 1
	return token[:at] + encode(must(base64.RawURLEncoding.DecodeString(token[at:]))[1:])
}
