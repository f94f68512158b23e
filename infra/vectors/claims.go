package vectors

import (
	"encoding/base64"
	"fmt"
)

func (m *mint) badClaims() {
	id := m.EndpointID
	for _, c := range [][2]string{
		{"another endpoint", `"aud":"whe_01k5another000000000000000a"`}, {"is missing", `"x":1`}, {"null", `"aud":null`}, {"empty", `"aud":""`},
		{"an array of two", fmt.Sprintf(`"aud":[%q,"whe_another"]`, id)}, {"an array of itself twice", fmt.Sprintf(`"aud":[%q,%q]`, id, id)},
		{"an empty array", `"aud":[]`}, {"an array of another", `"aud":["whe_another"]`}, {"an array in an array", fmt.Sprintf(`"aud":[[%q]]`, id)},
		{"an object", fmt.Sprintf(`"aud":{%q:true}`, id)}, {"longer", fmt.Sprintf(`"aud":"%sa"`, id)}, {"shorter", fmt.Sprintf(`"aud":%q`, id[:len(id)-1])},
		{"in capitals", `"aud":"WHE_01K5VECTORS00000000000000A"`}, {"a blank behind it", fmt.Sprintf(`"aud":"%s "`, id)},
		{"named AUD", fmt.Sprintf(`"AUD":%q`, id)}, {"another, and the right one as Aud", fmt.Sprintf(`"aud":"whe_another","Aud":%q`, id)},
	} {
		m.bad("audience: "+c[0], m.active.by(m.claims(m.aud(), c[1])), "wrong_audience")
	}
	for _, c := range [][2]string{
		{"another", `"iss":"https://api.example.org"`}, {"a slash behind it", fmt.Sprintf(`"iss":"%s/"`, m.Issuer)}, {"is missing", `"x":1`},
		{"null", `"iss":null`}, {"an array", fmt.Sprintf(`"iss":[%q]`, m.Issuer)}, {"named ISS", fmt.Sprintf(`"ISS":%q`, m.Issuer)},
	} {
		m.bad("issuer: "+c[0], m.active.by(m.claims(m.iss(), c[1])), "wrong_issuer")
	}
}

func (m *mint) badTime() {
	n := m.Now
	m.bad("expired two minutes ago", m.active.by(m.claimsAt(n-290, n-120)), "expired")
	m.bad("expired just now", m.active.by(m.claimsAt(n-300, n)), "expired")
	m.bad("expired a day ago", m.active.by(m.claimsAt(n-86_700, n-86_400)), "expired")
	m.bad("ten minutes old, not expired", m.active.by(m.claimsAt(n-600, n+300)), "stale")
	m.bad("a year old, never expires", m.active.by(m.claimsAt(n-31_536_000, n+315_360_000)), "stale")
	m.bad("from in five minutes", m.active.by(m.claimsAt(n+300, n+600)), "not_yet")
	m.bad("from in ten years", m.active.by(m.claimsAt(n+315_360_000, n+315_360_300)), "not_yet")
	m.bad("in milliseconds", m.active.by(m.claimsAt(n*1000, n*1000+300_000)), "not_yet")
	for _, c := range [][3]string{
		{"iat is missing", m.iat(), `"x":1`}, {"exp is missing", m.exp(), `"x":1`}, {"iat is null", m.iat(), `"iat":null`}, {"exp is null", m.exp(), `"exp":null`},
		{"iat is a text", m.iat(), fmt.Sprintf(`"iat":"%d"`, n)}, {"exp is a text", m.exp(), fmt.Sprintf(`"exp":"%d"`, n+300)},
		{"iat is true", m.iat(), `"iat":true`}, {"exp is 1e400", m.exp(), `"exp":1e400`}, {"iat is negative", m.iat(), `"iat":-1`},
		{"exp is an array", m.exp(), fmt.Sprintf(`"exp":[%d]`, n+300)}, {"IAT instead of iat", m.iat(), fmt.Sprintf(`"IAT":%d`, n)},
		{"Exp instead of exp", m.exp(), fmt.Sprintf(`"Exp":%d`, n+300)},
	} {
		m.bad(c[0], m.active.by(m.claims(c[1], c[2])), "wrong_time")
	}
}

func (m *mint) badEvent() {
	const reason = "incomplete"
	for _, c := range [][3]string{
		{"no event", `"event":`, `"x":`}, {"Event instead of event", `"event":`, `"Event":`}, {"an event without an id", `"id":"evt_01k5vectors00000000000000b",`, ""},
		{"an event with an empty id", `"evt_01k5vectors00000000000000b"`, `""`}, {"an event whose id is a number", `"evt_01k5vectors00000000000000b"`, `7`},
		{"an event without a type", `"type":"link.claimed",`, ""}, {"an event with an empty type", `"link.claimed"`, `""`},
		{"an event whose type is null", `"link.claimed"`, `null`}, {"an event without data", `"data":`, `"x":`}, {"an event without a time", `"createdAt":`, `"x":`},
		{"an event whose data is a text", `"data":`, `"data":"","x":`}, {"an event whose data is null", `"data":`, `"data":null,"x":`},
		{"an event whose data is an array", `"data":`, `"data":[],"x":`}, {"an event that is a text", `"event":`, `"event":"evt","x":`},
		{"an event that is null", `"event":`, `"event":null,"x":`}, {"an event whose time is a text", `"createdAt":`, `"createdAt":"now","x":`},
	} {
		m.bad(c[0], m.active.by(m.claims(c[1], c[2])), reason)
	}
}

func decode(s string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(s) }
