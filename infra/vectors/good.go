package vectors

import (
	"fmt"
	"strings"
)

func (m *mint) good() {
	m.ok("a webhook", m.active.by(m.claims()))
	m.ok("audience as an array of one", m.active.by(m.claims(m.aud(), fmt.Sprintf(`"aud":[%q]`, m.EndpointID))))
	m.ok("r begins with a zero byte", m.zeroAt(0))
	m.ok("s begins with a zero byte", m.zeroAt(32))
	m.ok("the key that is next", m.next.by(m.claims()))
	m.ok("a retired key, signed just before", m.retired.by(m.claimsAt(m.retiredAt-1, m.retiredAt+299)))
	m.ok("a retired key, signed long before", m.retired.by(m.claimsAt(m.retiredAt-120, m.retiredAt+180)))
	m.ok("half a minute before its expiry", m.active.by(m.claimsAt(m.Now-270, m.Now+30)))
	m.ok("the sender's clock is ahead", m.active.by(m.claimsAt(m.Now+20, m.Now+320)))
	m.ok("members that are not known", m.active.sign(strings.Replace(header(m.active.kid), "{", `{"x-new":1,`, 1),
		m.claims(m.iss(), m.iss()+`,"later":{"a":[1,{"b":null}]}`)))
	m.ok("other order and blanks", m.active.sign(fmt.Sprintf(" {\n\"typ\": \"webhook+jwt\", \"alg\": \"ES256\", \"kid\": %q } ", m.active.kid), " "+m.claims()+"\n"))
	m.ok("any text in the data", m.active.by(m.claims(`"status":"claimed"`, `"status":"\u00e9 é \"a\":1,\\ {}[] 🔑 \u0000 \ud83d\udd11"`)))
	m.ok("150 KB of data", m.active.by(m.claims(`"status":"claimed"`, `"status":"`+strings.Repeat(`a\"`, 50<<10)+`"`)))
}

// zeroAt returns a token of whose numbers r (0) and s (32) only the one at this offset begins with
// a zero byte.
func (m *mint) zeroAt(at int) string {
	for i := 0; ; i++ {
		payload := m.claims(`"jti":"att_vector"`, fmt.Sprintf(`"jti":"att_%d"`, i))
		sig := m.active.raw(signingInput(header(m.active.kid), payload))
		if sig[at] == 0 && sig[32-at] != 0 {
			return m.active.by(payload)
		}
	}
}

func (m *mint) badForm() {
	good := m.active.by(m.claims())
	parts := strings.Split(good, ".")
	h, p, s := parts[0], parts[1], parts[2]
	const reason = "malformed"
	m.bad("nothing", "", reason)
	m.bad("one part", h, reason)
	m.bad("two parts", h+"."+p, reason)
	m.bad("four parts", good+"."+s, reason)
	m.bad("five parts, as if encrypted", strings.Join([]string{h, "", p, s, s}, "."), reason)
	m.bad("a dot behind it", good+".", reason)
	m.bad("no header", "."+p+"."+s, reason)
	m.bad("no payload", h+".."+s, reason)
	m.bad("JSON serialization, flattened", fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, p, h, s), reason)
	m.bad("JSON serialization, general", fmt.Sprintf(`{"payload":%q,"signatures":[{"protected":%q,"signature":%q}]}`, p, h, s), reason)
	m.bad("the event as JSON, unsigned", m.claims(), reason)
	m.bad("padding behind the signature", good+"==", reason)
	m.bad("padding behind each part", h+"=."+p+"=."+s+"==", reason)
	m.bad("a blank before it", " "+good, reason)
	m.bad("a line feed behind it", good+"\n", reason)
	m.bad("a line feed within the payload", h+"."+p[:20]+"\n"+p[20:]+"."+s, reason)
	m.bad("a carriage return within the signature", h+"."+p+"."+s[:20]+"\r\n"+s[20:], reason)
	m.bad("a NUL behind it", good+"\x00", reason)
	m.bad("the other base64 alphabet", h+"."+p+"."+strings.Repeat("+/", 43), reason)
	m.bad("stray bits at the signature's end", h+"."+p+"."+stray(s), reason)
	m.bad("quotes around it", `"`+good+`"`, reason)
	m.bad("Bearer before it", "Bearer "+good, reason)
	m.bad("a header that is no JSON", m.active.sign("alg=ES256", m.claims()), reason)
	m.bad("a header that is an array", m.active.sign("["+header(m.active.kid)+"]", m.claims()), reason)
	m.bad("a payload that is no JSON", m.active.by(m.claims()+"}"), reason)
	m.bad("a payload that is null", m.active.by("null"), reason)
	m.bad("a payload that is not UTF-8", m.active.by(m.claims("claimed", "\xff\xfe")), reason)
	m.bad("a webhook within a webhook", m.active.sign(strings.Replace(header(m.active.kid), "{", `{"cty":"JWT",`, 1), good), reason)
	m.bad("arrays in arrays, by a stranger", m.stranger.sign(header(m.active.kid), m.claims(`"status":"claimed"`, `"a":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000))), reason)
	m.bad("a member twice in the header", m.active.sign(strings.Replace(header(m.active.kid), "{", `{"alg":"none",`, 1), m.claims()), reason)
	m.bad("kid twice in the header", m.active.sign(strings.Replace(header(m.active.kid), "{", fmt.Sprintf(`{"kid":%q,`, m.stranger.kid), 1), m.claims()), reason)
	m.bad("the audience twice", m.active.by(m.claims(m.aud(), `"aud":"whe_another",`+m.aud())), reason)
	m.bad("a member twice, once escaped", m.active.by(m.claims(m.aud(), `"\u0061ud":"whe_another",`+m.aud())), reason)
	m.bad("a member of the event twice", m.active.by(m.claims(`"type":"link.claimed"`, `"type":"link.revoked","type":"link.claimed"`)), reason)
	m.bad("more than 256 KB", m.active.by(m.claims(`"status":"claimed"`, `"status":"`+strings.Repeat("a", 256<<10)+`"`)), reason)
}

// stray sets a bit in the last character of s that is part of no byte.
func stray(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, s[len(s)-1])
	return s[:len(s)-1] + alphabet[last+1:last+2]
}
