package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

const (
	verificationKey = "/webhook_verification_key/get"
	keyByPath       = "/webhook_verification_key/"
)

// keyServer is a server whose table has a signing key in each state. The keys are made by the steps of the rotation.
type keyServer struct {
	*server
	now                        *time.Time // the clock
	next, active, old, revoked string     // kids, by the state of the key; old is retired
}

func newKeyServer(t *testing.T) *keyServer {
	t.Helper()
	now := time.UnixMilli(1_800_000_000_000)
	r := &keyServer{server: newServer(t), now: &now}
	r.Now = func() time.Time { return *r.now }
	r.revoked = r.activate(t)
	r.old = r.activate(t)
	if err := r.RevokeVerificationKey(context.Background(), r.revoked); err != nil {
		t.Fatal(err)
	}
	r.active = r.activate(t)
	jwk := newJWK(t)
	r.next = jwk.Kid
	ctx := context.Background()
	lease, err := r.LeaseSigningKeys(ctx, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.PublishSigningKey(ctx, lease, jwk, "arn"); err != nil {
		t.Fatal(err)
	}
	return r
}

func newJWK(t *testing.T) webhook.JWK {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := webhook.ParsePublicKey(der)
	if err != nil {
		t.Fatal(err)
	}
	return jwk
}

// activate makes a new key the active one, by the steps of the rotation. The previous key is then retired.
func (r *keyServer) activate(t *testing.T) string {
	t.Helper()
	ctx, jwk := context.Background(), newJWK(t)
	was, err := r.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := r.LeaseSigningKeys(ctx, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ActivateSigningKey(ctx, lease, was, jwk, "arn"); err != nil {
		t.Fatal(err)
	}
	if err := r.ReleaseSigningKeys(ctx, lease); err != nil {
		t.Fatal(err)
	}
	return jwk.Kid
}

// lookup looks up a key by POST, GET and HEAD, and checks that the answers are the same. It returns the answer.
func (r *keyServer) lookup(t *testing.T, kid string, status int, code problem.Code) reply {
	t.Helper()
	posted := r.want(t, request{method: "POST", path: verificationKey, body: `{"kid":"` + kid + `"}`}, status, code)
	for _, method := range []string{"GET", "HEAD"} {
		got := r.want(t, request{method: method, path: keyByPath + kid + "?utm_source=x"}, status, code)
		if got.text != posted.text || !maps.EqualFunc(got.header, posted.header, slices.Equal[[]string]) {
			t.Errorf("%s: %v %s, but POST: %v %s", method, got.header, got.text, posted.header, posted.text)
		}
	}
	return posted
}

// listedKids returns the kids of the key set.
func (r *keyServer) listedKids(t *testing.T) []string {
	t.Helper()
	list, _ := r.want(t, request{method: "GET", path: "/.well-known/jwks.json"}, 200, "").body["keys"].([]any)
	var kids []string
	for _, k := range list {
		member, _ := k.(map[string]any)
		kid, _ := member["kid"].(string)
		kids = append(kids, kid)
	}
	return kids
}

func TestAKidFindsItsKeyInEveryState(t *testing.T) {
	r := newKeyServer(t)
	unknown := strings.Repeat("A", 43)
	for name, c := range map[string]struct {
		kid    string
		status int
		code   problem.Code
		cache  string
	}{
		"next":                  {r.next, 200, "", "public, max-age=300"},
		"active":                {r.active, 200, "", "public, max-age=300"},
		"retired":               {r.old, 200, "", "public, max-age=300"},
		"revoked":               {r.revoked, 410, problem.KidRevoked, "public, max-age=300"},
		"unknown":               {unknown, 404, problem.UnknownKid, "public, max-age=60"},
		"not the form of a kid": {"x", 400, problem.InvalidKid, "no-store"},
	} {
		out := r.lookup(t, c.kid, c.status, c.code)
		if got := out.header.Get("Cache-Control"); got != c.cache {
			t.Errorf("%s: Cache-Control %q, want %q", name, got, c.cache)
		}
		if c.status != 200 {
			continue
		}
		for member, want := range map[string]string{"kid": c.kid, "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig"} {
			if out.str(member) != want {
				t.Errorf("%s: %s", name, out.text)
			}
		}
		if len(out.str("x")) != 43 || len(out.str("y")) != 43 { // 256 bits in base64url
			t.Errorf("%s: %s", name, out.text)
		}
		if expired := out.body["expiredAt"]; (expired != nil) != (name == "retired") {
			t.Errorf("%s: expiredAt %v", name, expired)
		}
	}
}

func TestAMalformedKidIsRefusedBeforeAnyRead(t *testing.T) {
	r := newKeyServer(t)
	r.Faults.Plan("", storetest.LostBefore, -1) // a read would be a 503
	for body, want := range map[string]problem.Code{
		`{"kid":"x"}`: problem.InvalidKid, `{"kid":""}`: problem.InvalidKid, `{"kid":"` + r.active + `="}`: problem.InvalidKid,
		`{"kid":"STATE"}`: problem.InvalidKid, // a row of the keys' partition that is not a key
		`{}`:              problem.ValidationFailed, `{"kid":null}`: problem.ValidationFailed,
		`{"kid":7}`: problem.ValidationFailed, `{"kid":["` + r.active + `"]}`: problem.ValidationFailed,
		`{"kid":"x","KID":"y"}`: problem.InvalidJSON, `{"kid":"x","x":1}`: problem.InvalidJSON, `[]`: problem.InvalidJSON,
	} {
		r.want(t, request{method: "POST", path: verificationKey, body: body}, want.Status(), want)
	}
	out := r.want(t, request{method: "POST", path: verificationKey, body: `{"kid":"` + r.active + `"}`}, 503, problem.Unavailable)
	if out.header.Get("Cache-Control") != "no-store" || out.header.Get("Retry-After") != "1" {
		t.Errorf("%v", out.header)
	}
	for _, malformed := range []string{"x", "STATE", "get", r.active + "=", strings.Repeat("A", 42), "%00"} {
		r.want(t, request{method: "GET", path: keyByPath + malformed}, 400, problem.InvalidKid)
	}
	r.want(t, request{method: "GET", path: keyByPath + r.active}, 503, problem.Unavailable)
	r.want(t, request{method: "GET", path: "/.well-known/jwks.json"}, 503, problem.Unavailable)
}

// TestTheKeySetHasTheEndOfARetiredKey: a signature from after expiredAt proves nothing.
func TestTheKeySetHasTheEndOfARetiredKey(t *testing.T) {
	r := newKeyServer(t)
	end := r.lookup(t, r.old, 200, "").body["expiredAt"]
	for _, k := range r.want(t, request{method: "GET", path: "/.well-known/jwks.json"}, 200, "").list("keys") {
		retired := k["kid"] == r.old
		if ends, named := k["expiredAt"]; named != retired || retired && ends != end {
			t.Errorf("%v, but the lookup has %v", k, end)
		}
	}
}

func TestTheKeySetHasNextActiveAndRecentlyRetiredKeys(t *testing.T) {
	r := newKeyServer(t)
	want := []string{r.next, r.active, r.old}
	slices.Sort(want)
	if got := r.listedKids(t); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	*r.now = r.now.Add(webhook.KeyListedFor)
	if got := r.listedKids(t); slices.Contains(got, r.old) || len(got) != 2 {
		t.Errorf("after 30 days: %v", got)
	}
}

// TestARevokedKidIsRefusedWithinAMinute: a process keeps a key in memory for a minute, and no longer.
func TestARevokedKidIsRefusedWithinAMinute(t *testing.T) {
	r := newKeyServer(t)
	r.lookup(t, r.active, 200, "")
	r.listedKids(t)
	if err := r.RevokeVerificationKey(context.Background(), r.active); err != nil {
		t.Fatal(err)
	}
	r.Faults.Plan("", storetest.LostBefore, -1)
	r.lookup(t, r.active, 200, "") // from memory
	r.listedKids(t)
	r.Faults.Heal()
	*r.now = r.now.Add(time.Minute)
	r.Faults.Plan("", storetest.LostBefore, -1)
	r.lookup(t, r.active, 503, problem.Unavailable) // the key in memory is too old
	r.want(t, request{method: "GET", path: "/.well-known/jwks.json"}, 503, problem.Unavailable)
	r.Faults.Heal() // the process does not keep faults
	r.lookup(t, r.active, 410, problem.KidRevoked)
	if got := r.listedKids(t); slices.Contains(got, r.active) || !slices.Contains(got, r.next) {
		t.Errorf("%v", got)
	}
}

// TestANewKeyIsFoundAtOnce, because the process does not remember unknown kids.
func TestANewKeyIsFoundAtOnce(t *testing.T) {
	r := newKeyServer(t)
	jwk := newJWK(t)
	r.lookup(t, jwk.Kid, 404, problem.UnknownKid)
	ctx := context.Background()
	*r.now = r.now.Add(time.Second)
	lease, err := r.LeaseSigningKeys(ctx, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.PublishSigningKey(ctx, lease, jwk, "arn"); err != nil {
		t.Fatal(err)
	}
	r.lookup(t, jwk.Kid, 200, "")
}
