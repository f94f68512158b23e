package webhook_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/webhook"
)

// TestATokenHasExactlyTheDocumentedClaims compares the header and the claims of a token with their JSON, and verifies the
// signature.
func TestATokenHasExactlyTheDocumentedClaims(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_999) // iat is rounded down
	a := webhook.Attempt{
		ID: "ATTEMPT", Issuer: "https://api.example.com", Endpoint: "whe_1", At: at,
		Event: webhook.Event{EventFields: webhook.EventFields{ID: "evt_1", Type: webhook.LinkClaimed, CreatedAt: 1_799_999_999_123, Data: json.RawMessage(`{"id":"lnk_1","n":[1,null]}`)}},
	}
	draft, err := a.Draft("kid-1")
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, s, err := ecdsa.Sign(rand.Reader, private, draft.Digest[:])
	if err != nil {
		t.Fatal(err)
	}
	var raw [64]byte
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	parts := strings.Split(draft.Token(raw), ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, want := range []string{
		`{"alg":"ES256","kid":"kid-1","typ":"webhook+jwt"}`,
		`{"iss":"https://api.example.com","aud":"whe_1","iat":1800000000,"exp":1800000300,"jti":"ATTEMPT",` +
			`"event":{"id":"evt_1","type":"link.claimed","createdAt":1799999999123,"data":{"id":"lnk_1","n":[1,null]}}}`,
	} {
		got, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if err != nil || string(got) != want {
			t.Errorf("part %d: %s, %v\nwant %s", i, got, err, want)
		}
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !bytes.Equal(signature, raw[:]) {
		t.Fatalf("signature %x, %v", signature, err)
	}
	// The signed digest must be the digest that a receiver computes (RFC 7515 section 5.2).
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(&private.PublicKey, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature does not verify")
	}
}

func TestDataThatIsNotJSONMakesNoToken(t *testing.T) {
	if _, err := (webhook.Attempt{Event: webhook.Event{EventFields: webhook.EventFields{Data: json.RawMessage(`{`)}}}).Draft("kid"); err == nil {
		t.Error("it made a token")
	}
}

// TestElevenAttemptsIn72Hours compares the waits with the documented ones.
func TestElevenAttemptsIn72Hours(t *testing.T) {
	want := []time.Duration{
		0, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
		3 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 20 * time.Hour,
	}
	if webhook.MaxAttempts() != 11 {
		t.Fatalf("%d attempts", webhook.MaxAttempts())
	}
	var least, middle, most time.Duration
	for made, step := range want {
		low, ok0 := webhook.Next(made, 0, 0)
		mid, ok1 := webhook.Next(made, 0, 0.5)
		high, ok2 := webhook.Next(made, 0, 1)
		if !ok0 || !ok1 || !ok2 {
			t.Fatalf("no attempt after %d", made)
		}
		// The jitter is 20 %.
		for _, c := range []struct{ got, want time.Duration }{{low, step * 8 / 10}, {mid, step}, {high, step * 12 / 10}} {
			if off := (c.got - c.want).Abs(); off > time.Microsecond { // the rounding of a float
				t.Errorf("after %d: %s, want %s", made, c.got, c.want)
			}
		}
		least, middle, most = least+low, middle+mid, most+high
	}
	// The documented steps add up to 72 h and almost 13 minutes.
	if middle.Round(time.Hour) != 72*time.Hour || middle < 72*time.Hour || middle > 72*time.Hour+15*time.Minute {
		t.Errorf("all waits: %s", middle)
	}
	if most > webhook.Lifetime || least < 57*time.Hour { // 80 % of 72 hours is 57.6
		t.Errorf("all waits: from %s to %s, with a lifetime of %s", least, most, webhook.Lifetime)
	}
	for _, made := range []int{11, 12, 1000, -1} {
		if wait, ok := webhook.Next(made, time.Hour, 0.5); ok {
			t.Errorf("another attempt after %d: in %s", made, wait)
		}
	}
}

func TestRetryAfterIsLimitedByTheNextThreeSteps(t *testing.T) {
	for _, c := range []struct {
		made        int           // attempts so far
		after, want time.Duration // Retry-After, and the expected wait
	}{
		{1, 0, 5 * time.Second},
		{1, time.Second, 5 * time.Second}, // Retry-After never makes a wait shorter
		{1, 7 * time.Second, 7 * time.Second},
		{1, 2 * time.Minute, 2 * time.Minute}, // the steps are 5 s, 30 s and 2 minutes
		{1, 121 * time.Second, 2 * time.Minute},
		{1, 1 << 62, 2 * time.Minute}, // 146 years
		{1, -time.Hour, 5 * time.Second},
		{5, 5 * time.Hour, 5 * time.Hour},
		{5, 100 * time.Hour, 8 * time.Hour},
		{8, 100 * time.Hour, 24 * time.Hour},
		{9, 100 * time.Hour, 24 * time.Hour}, // the last step, of 20 hours, is shorter
		{10, 100 * time.Hour, 20 * time.Hour},
	} {
		if got, ok := webhook.Next(c.made, c.after, 0.5); !ok || got != c.want {
			t.Errorf("after %d, Retry-After %s: %s, want %s", c.made, c.after, got, c.want)
		}
	}
}

func TestABreakBeginsAtFiveFailuresOverTenSeconds(t *testing.T) {
	want := map[int]time.Duration{
		-1: 0, 0: 0, 1: 0, 4: 0, 5: 30 * time.Second, 6: time.Minute, 7: time.Minute, 100: time.Minute, 1 << 40: time.Minute,
	}
	for failures, pause := range want {
		for _, failing := range []time.Duration{10 * time.Second, time.Hour} {
			if got := webhook.Break(failures, failing); got != pause {
				t.Errorf("%d failures over %s: %s, want %s", failures, failing, got, pause)
			}
		}
		if got := webhook.Break(failures, 9999*time.Millisecond); got != 0 {
			t.Errorf("%d failures within ten seconds: %s", failures, got)
		}
	}
}

func TestAnEndpointGetsOnlyTheTypesOfItsFilters(t *testing.T) {
	for _, c := range []struct {
		filters []string
		t       webhook.Type
		want    bool
	}{
		{[]string{"*"}, webhook.LinkClaimed, true},
		{[]string{"*"}, "not.yet.made", true}, // a type that a later version adds
		{[]string{"link.claimed"}, webhook.LinkClaimed, true},
		{[]string{"link.claimed"}, webhook.LinkRevoked, false},
		{[]string{"link.claimed", "key.revoked"}, webhook.KeyRevoked, true},
		{[]string{"link"}, webhook.LinkClaimed, false},
		{[]string{"link.*"}, webhook.LinkClaimed, true},
		{[]string{"link.*"}, "linked.up", false},
		{[]string{"invoice.*"}, "invoice.line.added", true},
		{[]string{"invoice.line.*"}, "invoice.paid", false},
		{nil, webhook.LinkClaimed, false},
	} {
		if got := webhook.Wants(c.filters, c.t); got != c.want {
			t.Errorf("%v, %s: %v", c.filters, c.t, got)
		}
	}
}

func TestOnlyKnownFiltersAreValid(t *testing.T) {
	for _, s := range []string{
		"*", "link.claimed", "link.expired", "link.revoked", "key.created", "key.updated", "key.revoked", "key.expiring", "key.leaked",
		"key.limit_near", "key.limit_reached", "org.allowance_near", "org.allowance_reached", "org.*",
		"endpoint.created", "endpoint.updated", "endpoint.deleted", "endpoint.disabled", "test",
		"link.*", "key.*", "endpoint.*", "invoice.paid", "invoice.*", "invoice.line.*", "a.b.c.d.*", strings.Repeat("a", 62) + ".*",
	} {
		if !webhook.ValidFilter(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", "**", "*.*", ".*", "link.", "link", "test.paid.*.x", "a*", "in*.paid", "app.*", "latchkey.*", "link.claimed.*", "a.b.c.d.e.*", strings.Repeat("a", 63) + ".*", "LINK.CLAIMED", " link.claimed", "link.claimed ", "key.rotated"} {
		if webhook.ValidFilter(s) {
			t.Errorf("%q is accepted", s)
		}
	}
	if n := len(webhook.AllTypes()); n != 17 {
		t.Errorf("%d types: add the new ones to this test", n)
	}
}

// TestAnOwnersTypeHasTwoToFiveWords: it has at most 64 characters, and does not begin with a reserved word.
func TestAnOwnersTypeHasTwoToFiveWords(t *testing.T) {
	for _, good := range []webhook.Type{"invoice.paid", "a.b", "a_1.2_b", "a.b.c.d.e", "keys.made", "links.x", "test.paid", "a.key.b",
		webhook.Type("a." + strings.Repeat("b", 62))} {
		if !good.Publishable() {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []webhook.Type{"", ".", "test", "invoice", "a.", ".b", "a..b", "a.b.c.d.e.f", "A.b", "a.B", "a-b.c", "a b.c", "ä.b", "a.*", "a.b\n",
		"key.made", "key.created", "link.x", "endpoint.x", "org.x", "member.x", "app.x", "audit.x", "latchkey.x",
		webhook.Type("a." + strings.Repeat("b", 63))} {
		if bad.Publishable() {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestATokenIsForOneEndpoint: the drafts of one event for two endpoints differ, so
// no receiver can send its webhook to another receiver.
func TestATokenIsForOneEndpoint(t *testing.T) {
	digestFor := func(endpoint id.Endpoint) [32]byte {
		d, err := webhook.Attempt{ID: "A", Endpoint: endpoint, Event: webhook.Event{EventFields: webhook.EventFields{Data: json.RawMessage(`{}`)}}}.Draft("kid")
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest
	}
	if digestFor("whe_1") == digestFor("whe_2") {
		t.Error("the same digest for two endpoints")
	}
}

func TestAMessageNamesItsDelivery(t *testing.T) {
	m := webhook.Message{Org: "org_1", DeliveryID: webhook.DeliveryID{App: "app_1", Endpoint: "whe_1", Event: "evt_1"}}
	body, err := json.Marshal(m)
	if err != nil || string(body) != `{"orgId":"org_1","appId":"app_1","endpointId":"whe_1","eventId":"evt_1"}` {
		t.Fatalf("%s, %v", body, err)
	}
	if got, err := webhook.ParseMessage(string(body)); err != nil || got != m {
		t.Errorf("%+v, %v", got, err)
	}
	for _, body := range []string{"", "{", `"x"`, "[]", `{"appId":1}`} {
		if _, err := webhook.ParseMessage(body); err == nil {
			t.Errorf("%q is no error", body)
		}
	}
}

func TestAnUnsetTimeOfAnEventIsNull(t *testing.T) {
	for at, want := range map[int64]string{0: "null", 5: "5"} {
		got, err := json.Marshal(webhook.OrNull(at))
		if err != nil || string(got) != want {
			t.Errorf("%d: %s, %v", at, got, err)
		}
	}
}

func TestOnlyEventsThatCanShowAnAttackArePrompt(t *testing.T) {
	notPrompt := []webhook.Type{webhook.LinkClaimed, webhook.LinkExpired, webhook.LinkRevoked, webhook.Test}
	for _, kind := range webhook.AllTypes() {
		if want := !slices.Contains(notPrompt, kind); kind.Prompt() != want {
			t.Errorf("%s: %v", kind, !want)
		}
	}
}

func TestAnOriginIsSchemeHostAndPortInOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"https://hooks.example.com":                      "https://hooks.example.com",
		"https://hooks.example.com:443/a?token=secret":   "https://hooks.example.com",
		"HTTPS://Hooks.Example.COM/":                     "https://hooks.example.com",
		"https://hooks.example.com:8443/a":               "https://hooks.example.com:8443",
		"http://127.0.0.1:80/in":                         "http://127.0.0.1",
		"http://127.0.0.1:443/in":                        "http://127.0.0.1:443",
		"https://other.example.com/hooks.example.com":    "https://other.example.com",
		"https://[2606:4700:0:0::1111]/in":               "https://[2606:4700::1111]",
		"https://[2606:4700::1111]:8443/?hooks.example":  "https://[2606:4700::1111]:8443",
		"https://hooks.example.com?x=https://a.example/": "https://hooks.example.com",
		"no URL": "", "": "", "/in": "", "https://": "",
	} {
		if got := webhook.Origin(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
