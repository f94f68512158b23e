package api_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/id"
	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
)

// keyStates is an org with one key in each state, and a clock that does not move.
type keyStates struct {
	*world
	texts map[string]string // of the keys, by state
	ids   map[string]string // of the keys, by state
}

func newKeyStates(t *testing.T, imports bool) *keyStates {
	t.Helper()
	return newKeyStatesWith(t, settings{imports: imports})
}

func newKeyStatesWith(t *testing.T, params settings) *keyStates {
	t.Helper()
	f := &keyStates{newWorld(t, newServerFor(t, params), ""), map[string]string{}, map[string]string{}}
	now := time.Now()
	f.Now = func() time.Time { return now }
	for _, name := range []string{"active", "revoked", "rotated", "expired"} {
		made := f.want(t, f.request("POST", "/v1/orgs/{orgId}/keys", service(), `{"name":"`+name+`","expiresIn":3600}`), 201, "")
		f.texts[name], f.ids[name] = made.str("key"), made.str("id")
	}
	f.want(t, f.request("DELETE", "/v1/orgs/{orgId}/keys/"+f.ids["revoked"], service(), ""), 204, "")
	f.texts["successor"] = f.want(t, f.request("POST", "/v1/orgs/{orgId}/keys/"+f.ids["rotated"]+"/rotate", service(), `{"graceSeconds":600}`), 201, "").str("key")
	f.texts["imported"], f.texts["imported, with a prefix of ours"] = "sk_live_1", "lk_live_1"
	for name, text := range map[string]string{"imported": "sk_live_1", "imported, with a prefix of ours": "lk_live_1"} {
		hash := apikey.HashOf(text)
		made := f.want(t, f.request("POST", importPath, service(), `{"keys":[{"sha256":"`+hex.EncodeToString(hash[:])+`","prefix":"sk_li","name":"`+name+`"}]}`), 200, "")
		f.ids[name] = made.each("keys", "id")[0]
	}
	return f
}

// revoke sends the text of a key to revoke it.
func (f *keyStates) revoke(t *testing.T, text string, status int, code problem.Code) reply {
	t.Helper()
	return f.want(t, request{method: "POST", path: "/key/revoke", body: `{"key":"` + text + `"}`}, status, code)
}

// check returns the code with which the authorizer refuses a key; "" for a good key.
func (f *keyStates) check(text string) problem.Code {
	a := authn.New(f.Store, nil)
	a.Now = f.Now
	a.TakeImported(nil, 0)
	if _, err := a.Key(context.Background(), []string{"Bearer " + text}); err != nil {
		return problem.From(err).Code
	}
	return ""
}

func TestAKeyIsRevokedByItsText(t *testing.T) {
	f := newKeyStates(t, true)
	f.connect(t)
	for _, name := range []string{"active", "rotated", "successor", "imported", "imported, with a prefix of ours"} {
		if got := f.check(f.texts[name]); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		for range 2 { // the finder repeats the request
			f.revoke(t, f.texts[name], 202, "")
			if got := f.check(f.texts[name]); got != problem.KeyRevoked {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	suspended := f.want(t, f.request("POST", "/v1/orgs/{orgId}/keys", service(), `{}`), 201, "").str("key")
	f.want(t, f.request("POST", "/v1/orgs/{orgId}/suspension", service(), `{}`), 200, "")
	f.revoke(t, suspended, 202, "")
	f.want(t, f.request("DELETE", "/v1/orgs/{orgId}/suspension", service(), ""), 204, "")
	if got := f.check(suspended); got != problem.KeyRevoked {
		t.Errorf("the key of a suspended org, after the org is resumed: %s", got)
	}
	if got := f.want(t, f.request("GET", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}", service(), ""), 200, ""); !strings.Contains(got.text, `"enabled":true`) {
		t.Errorf("the endpoint: %s", got.text)
	}
}

// TestTheAnswerToAFoundTextRevealsNothing: good keys, bad keys and other texts get the same answer. Only a good key causes
// writes.
func TestTheAnswerToAFoundTextRevealsNothing(t *testing.T) {
	f := newKeyStates(t, true)
	now := f.Now().Add(2 * time.Hour)
	f.Now = func() time.Time { return now }
	mint := func(o id.Org, k id.Key) string {
		minted, err := apikey.Mint("lk", o, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		return minted.Key.Reveal()
	}
	before, good := len(f.Rows(t)), f.revoke(t, f.texts["imported"], 202, "")
	added := len(f.Rows(t)) - before
	sent := []string{"", f.texts["revoked"], f.texts["expired"], "sk_live_2", "AKIA0123456789", f.texts["imported"]}
	for n := range 1000 {
		text := sent[n%len(sent)]
		switch {
		case text == "" && n%2 == 0:
			text = mint(f.org, id.Key(f.ids["active"])) // another secret
		case text == "":
			text = mint(f.org, id.Source{}.NewKey(now))
		case n%5 == 0:
			text = mint(id.Source{}.NewOrg(), id.Source{}.NewKey(now))
		}
		if got := f.revoke(t, text, 202, ""); got.text != good.text || fmt.Sprint(got.header) != fmt.Sprint(good.header) {
			t.Errorf("%d: %s %v, and for a good key %s %v", n, got.text, got.header, good.text, good.header)
		}
	}
	if got := len(f.Rows(t)) - before; got != added || added == 0 {
		t.Errorf("%d rows were added, %d of them for a good key", got, added)
	}
}

func TestAWronglyCopiedTextIsRefused(t *testing.T) {
	token, err := link.Mint(id.NoApp, id.Source{}.NewLink(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for imports, more := range map[bool][]string{true: nil, false: {"sk_live_1", "AKIA0123456789"}} {
		f := newKeyStates(t, imports)
		key := f.texts["active"]
		for _, text := range append(more, "", key[:len(key)-1], key+"0", "lk_"+key[4:], "lktest"+key[2:len(key)-1], "lk_", " "+key, key+" ", "Bearer "+key, "'"+key+"'", "`"+key, token.Text.Reveal(), token.Text.Reveal()[:90]) {
			f.revoke(t, text, 422, problem.ValidationFailed)
		}
		if got := f.check(key); got != "" {
			t.Errorf("the key: %s", got)
		}
		for _, source := range []string{"example.com", "ftp://example.com", "javascript:alert(1)", "https://", "https://example.com/ä", "https://example.com/" + strings.Repeat("s", 481)} {
			f.want(t, request{method: "POST", path: "/key/revoke", body: `{"key":"` + key + `","source":"` + source + `"}`}, 422, problem.ValidationFailed)
		}
		f.want(t, request{method: "POST", path: "/key/revoke", body: `{}`}, 422, problem.ValidationFailed)
	}
	// With this prefix, a link token does not begin like a key.
	newKeyStatesWith(t, settings{imports: true, prefix: "acme"}).revoke(t, token.Text.Reveal(), 422, problem.ValidationFailed)
}

// TestASourceWithAKeyIsNotKept: the key is revoked, and the audit log has no secret.
func TestASourceWithAKeyIsNotKept(t *testing.T) {
	f := newKeyStates(t, false)
	token, err := link.Mint(id.NoApp, id.Source{}.NewLink(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	other := f.texts["active"]
	for _, source := range []string{
		"?a=_&b=" + other, "%" + fmt.Sprintf("%x", other[0]) + other[1:] + "_", strings.ReplaceAll(other, "_", "%5F"), "#" + token.Text.Reveal(), "OWN", "%zz", "kept",
	} {
		key := f.want(t, f.request("POST", "/v1/orgs/{orgId}/keys", service(), `{}`), 201, "").str("key")
		source = strings.Replace(source, "OWN", key, 1)
		f.want(t, request{method: "POST", path: "/key/revoke", body: `{"key":"` + key + `","source":"https://example.com/?` + source + `"}`}, 202, "")
		if got := f.check(key); got != problem.KeyRevoked {
			t.Errorf("%s: the key has the code %q", source, got)
		}
	}
	audit := f.want(t, f.request("GET", "/v1/orgs/{orgId}/audit?action=key.revoked", service(), ""), 200, "").text
	if n := strings.Count(audit, "example.com"); n != 1 || !strings.Contains(audit, `"source":"https://example.com/?kept"`) {
		t.Errorf("%d sources: %s", n, audit)
	}
}

// TestAnUncertainRevocationIsA503: the table fails at the read or at the write.
func TestAnUncertainRevocationIsA503(t *testing.T) {
	f := newKeyStates(t, true)
	for _, operation := range []string{"GetItem", "TransactWriteItems"} {
		f.Faults.Plan(operation, storetest.LostBefore, -1)
		f.revoke(t, f.texts["imported"], 503, problem.Unavailable)
		f.revoke(t, f.texts["active"], 503, problem.Unavailable)
		f.Faults.Heal()
	}
	f.revoke(t, f.texts["active"], 202, "")
}

// TestAServiceFindsAKeyByTextLocatorOrHash, also a revoked key. A text with another secret finds nothing.
func TestAServiceFindsAKeyByTextLocatorOrHash(t *testing.T) {
	f := newKeyStates(t, true)
	locator := func(name string) string { return f.texts[name][:strings.LastIndex(f.texts[name], "_")] }
	hash := apikey.HashOf(f.texts["imported"])
	key := func(name, status string) string {
		return fmt.Sprintf(`{"found":{"orgId":%q,"appId":%q,"keyId":%q,"name":%q,"status":%q}}`, f.org, id.DefaultApp(f.org), f.ids[name], name, status)
	}
	find := func(body, want string) {
		t.Helper()
		if got := f.want(t, request{as: service(), method: "POST", path: "/v1/keys/find", body: body}, 200, ""); strings.TrimSpace(got.text) != want {
			t.Errorf("%s: %s, want %s", body, got.text, want)
		}
	}
	find(`{"key":"`+f.texts["active"]+`"}`, key("active", "active"))
	find(`{"key":"`+f.texts["imported"]+`"}`, key("imported", "active"))
	find(`{"sha256":"`+hex.EncodeToString(hash[:])+`"}`, key("imported", "active"))
	for name, status := range map[string]string{"active": "active", "revoked": "revoked", "rotated": "active"} {
		find(`{"locator":"`+locator(name)+`"}`, key(name, status))
	}
	listed := f.want(t, f.request("GET", "/v1/orgs/{orgId}/keys", service(), ""), 200, "")
	if n := strings.Count(listed.text, `"locator":`); n != 6 || !strings.Contains(listed.text, `"locator":"`+locator("active")+`"`) { // imported keys have no locator
		t.Errorf("%d locators in %s", n, listed.text)
	}
	f.want(t, f.request("POST", "/v1/orgs/{orgId}/suspension", service(), `{}`), 200, "")
	find(`{"locator":"`+locator("active")+`"}`, key("active", "suspended"))
	other, err := apikey.Mint("lk", f.org, id.Key(f.ids["active"]), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"key":"` + other.Key.Reveal() + `"}`, `{"key":"sk_live_2"}`, `{"key":"lkt_x"}`, `{"key":""}`, `{"sha256":"` + strings.Repeat("00", 32) + `"}`,
		`{"locator":"lk_` + strings.Repeat("0", 43) + `"}`,
	} {
		find(body, `{"found":null}`)
	}
	for _, body := range []string{`{}`, `{"key":"a","locator":"b"}`, `{"key":"a","sha256":"` + hex.EncodeToString(hash[:]) + `"}`, `{"locator":"` + locator("active") + `","sha256":"` + hex.EncodeToString(hash[:]) + `"}`, `{"locator":"lk_x"}`, `{"locator":"lkt_` + strings.Repeat("0", 43) + `"}`, `{"locator":"` + f.texts["active"] + `"}`, `{"sha256":"x"}`} {
		f.want(t, request{as: service(), method: "POST", path: "/v1/keys/find", body: body}, 422, problem.ValidationFailed)
	}
	without := newKeyStates(t, false)
	if got := without.want(t, request{as: service(), method: "POST", path: "/v1/keys/find", body: `{"key":"sk_live_1"}`}, 200, ""); strings.TrimSpace(got.text) != `{"found":null}` {
		t.Errorf("without imported keys: %s", got.text)
	}
}
