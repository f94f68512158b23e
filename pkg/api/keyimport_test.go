package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/problem"
)

const (
	importPath = "/v1/orgs/{orgId}/keys/import"
	tenYears   = 315_360_000 // seconds
)

// TestAHashIsAcceptedInHexAndBase64: in both alphabets of base64, with and without padding. A repeated import gets the same
// answer.
func TestAHashIsAcceptedInHexAndBase64(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	forms := []func([]byte) string{
		hex.EncodeToString, func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) },
		base64.StdEncoding.EncodeToString, base64.RawStdEncoding.EncodeToString, base64.URLEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString,
	}
	var sent []string
	for i, form := range forms {
		sum := sha256.Sum256(fmt.Appendf(nil, "sk_live_%d", i))
		sum[0] |= 0xfc // the first character of its base64 then differs between the two alphabets
		sent = append(sent, `{"sha256":"`+form(sum[:])+`","prefix":"sk_liv_`+fmt.Sprint(i)+`"}`)
	}
	imports := w.request("POST", importPath, service(), `{"keys":[`+strings.Join(sent, ",")+`]}`)
	imports.header = map[string]string{"Idempotency-Key": "6f2d9b0c-1111-4222-8333-444455556666"}
	first, again := w.want(t, imports, 200, ""), w.want(t, imports, 200, "")
	if first.text != again.text || first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s, repeated %s", first.text, again.text)
	}
	made := first.each("keys", "id")
	listed := w.want(t, w.request("GET", "/v1/orgs/{orgId}/keys", service(), ""), 200, "")
	for i, id := range made {
		if !strings.Contains(listed.text, `"id":"`+id+`","keyPrefix":"sk_liv_`+fmt.Sprint(i)+`"`) {
			t.Errorf("%s is not listed: %s", id, listed.text)
		}
	}
	if len(made) != len(forms) {
		t.Errorf("%d keys", len(made))
	}
}

func TestAnInvalidImportWritesNothing(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	good := func(n int) string {
		hash := apikey.HashOf(fmt.Sprint(n))
		return `{"sha256":"` + hex.EncodeToString(hash[:]) + `","prefix":"sk"}`
	}
	keyWith := func(members string) string { return strings.TrimSuffix(good(1), "}") + "," + members + "}" }
	var many []string
	for n := range 26 {
		many = append(many, good(n))
	}
	now := time.Now().UnixMilli()
	for _, c := range []struct{ keys, pointer string }{
		{"", "/keys"}, {strings.Join(many, ","), "/keys"},
		{`{"prefix":"sk"}`, "/keys/0/sha256"}, {good(0) + `,{"sha256":"00"}`, "/keys/1/prefix"}, {`{"sha256":"00","prefix":"sk"}`, "/keys/0/sha256"},
		{`{"sha256":"` + strings.Repeat("é", 32) + `","prefix":"sk"}`, "/keys/0/sha256"}, {`{"sha256":"` + strings.Repeat("0", 63) + `","prefix":"sk"}`, "/keys/0/sha256"},
		{strings.Replace(good(1), `"sk"`, `""`, 1), "/keys/0/prefix"}, {strings.Replace(good(1), `"sk"`, `"123456789"`, 1), "/keys/0/prefix"},
		{strings.Replace(good(1), `"sk"`, `"s k"`, 1), "/keys/0/prefix"},
		{keyWith(`"scopes":["A"]`), "/keys/0/scopes/0"}, {keyWith(`"metadata":{"a":1}`), "/keys/0/metadata/a"}, {keyWith(`"name":1`), "/keys/0/name"},
		{keyWith(fmt.Sprintf(`"expiresAt":%d`, now-1)), "/keys/0/expiresAt"}, {keyWith(fmt.Sprintf(`"expiresAt":%d`, now+(tenYears+60)*1000)), "/keys/0/expiresAt"},
		{keyWith(`"expiresAt":-9223372036854775808`), "/keys/0/expiresAt"}, {keyWith(`"expiresAt":9223372036854775807`), "/keys/0/expiresAt"},
	} {
		refused := w.want(t, w.request("POST", importPath, service(), `{"keys":[`+c.keys+`]}`), 422, problem.ValidationFailed)
		if got := refused.each("errors", "pointer"); len(got) != 1 || got[0] != c.pointer {
			t.Errorf("%.80s: %q, want %s", c.keys, got, c.pointer)
		}
	}
	w.want(t, w.request("POST", importPath, service(), `{"keys":[`+good(1)+`,`+keyWith(`"text":"sk_live"`)+`]}`), 400, problem.InvalidJSON)
	for space, want := range map[int]problem.Code{0: problem.ValidationFailed, 1: problem.BodyTooLarge} {
		body := `{"keys":[]` + strings.Repeat(" ", 256<<10-len(`{"keys":[]}`)+space) + `}`
		w.want(t, w.request("POST", importPath, service(), body), want.Status(), want)
	}
	if n := len(w.want(t, w.request("GET", "/v1/orgs/{orgId}/keys", service(), ""), 200, "").each("keys", "id")); n != 1 { // newWorld makes one
		t.Errorf("%d keys", n)
	}
}

// TestARetriedImportIsAnsweredAfterAnExpiry: the expiresAt of a key passes between the two requests. A key that the first request
// could not make is made by the second one, if the first one made another key. A new request with the same time is refused.
func TestARetriedImportIsAnsweredAfterAnExpiry(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	soon := time.Now().Add(time.Minute).UnixMilli()
	keyOf := func(text string, expiresAt int64) string {
		hash := apikey.HashOf(text)
		return fmt.Sprintf(`{"sha256":"%s","prefix":"sk","expiresAt":%d}`, hex.EncodeToString(hash[:]), expiresAt)
	}
	send := func(key, body string, status int, code problem.Code) reply {
		t.Helper()
		r := w.request("POST", importPath, service(), `{"keys":[`+body+`]}`)
		r.header = map[string]string{"Idempotency-Key": key}
		return w.want(t, r, status, code)
	}
	const done, half, late = "11111111-1111-4222-8333-444455556666", "22222222-1111-4222-8333-444455556666", "33333333-1111-4222-8333-444455556666"
	two, others := keyOf("a", soon+tenYears)+","+keyOf("b", soon), keyOf("c", soon)+","+keyOf("d", soon)
	first := send(done, two, 200, "")
	w.Limits.ActiveKeys = 4 // newWorld makes one
	refused := send(half, others, 200, "")
	if !strings.Contains(refused.text, "limit_reached") {
		t.Fatalf("%s", refused.text)
	}
	w.Limits.ActiveKeys = 5
	w.Now = func() time.Time { return time.UnixMilli(soon) }
	if again := send(done, two, 200, ""); again.text != first.text || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s, repeated %s", first.text, again.text)
	}
	if rest := send(half, others, 200, "").each("keys", "id"); len(rest) != 2 || rest[0] != refused.each("keys", "id")[0] {
		t.Errorf("%s, repeated %q", refused.text, rest)
	}
	for _, key := range []string{late, done} {
		code := map[string]problem.Code{late: problem.ValidationFailed, done: problem.IdempotencyKeyReused}[key]
		refused := send(key, keyOf("e", soon+1)+","+keyOf("f", soon), 422, code)
		if got := refused.each("errors", "pointer"); key == late && (len(got) != 1 || got[0] != "/keys/1/expiresAt") {
			t.Errorf("%q", got)
		}
	}
}

// TestAKeyEndsWithinMaxKeyDays, whether it is created, rotated or imported. A request without an expiry is refused with the
// reason.
func TestAKeyEndsWithinMaxKeyDays(t *testing.T) {
	s := newServerFor(t, settings{maxKeyLife: 24 * time.Hour})
	w := &world{server: s}
	boss := user(s.NewUser(t, "boss@example.com"))
	w.org = s.NewOrg(t, boss.UserID)
	imported := 0
	at := func(seconds int) string {
		return fmt.Sprint(time.Now().Add(time.Duration(seconds) * time.Second).UnixMilli())
	}
	create := func(members string) request {
		return w.request("POST", "/v1/orgs/{orgId}/keys", boss, "{"+members+"}")
	}
	made := w.want(t, create(`"expiresIn":86400`), 201, "")
	rotate := func(members string) request {
		return w.request("POST", "/v1/orgs/{orgId}/keys/"+made.str("id")+"/rotate", boss, `{"graceSeconds":0`+members+`}`)
	}
	imports := func(members string) request {
		imported++
		hash := apikey.HashOf(fmt.Sprint(imported))
		return w.request("POST", importPath, service(), `{"keys":[{"sha256":"`+hex.EncodeToString(hash[:])+`","prefix":"sk"`+members+`}]}`)
	}
	for _, refused := range []request{create(""), create(`"expiresIn":86401`), rotate(""), rotate(`,"expiresIn":86401`), imports(""), imports(`,"expiresAt":` + at(86_460))} {
		w.want(t, refused, 422, problem.ValidationFailed)
	}
	for _, withoutEnd := range []request{create(""), rotate(""), imports("")} {
		if out := w.want(t, withoutEnd, 422, problem.ValidationFailed); !strings.Contains(out.text, "API keys of this deployment must expire after at most 86400 seconds.") {
			t.Errorf("%s", out.text)
		}
	}
	w.want(t, rotate(`,"expiresIn":86400`), 201, "")
	w.want(t, imports(`,"expiresAt":`+at(86_390)), 200, "")
}
