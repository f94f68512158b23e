package authn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

var (
	newUser = authntest.NewUser
	minted  = authntest.Minted
)

const jwt = authntest.JWT

func wants(t *testing.T, err error, code problem.Code) {
	t.Helper()
	if !problem.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestAGoodKeyIsItsAppsPrincipal(t *testing.T) {
	key, f := minted(t)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER ", "Bearer  ", "Bearer    "} {
		p, err := authn.New(f, &authntest.Tokens{}).Authorize(context.Background(), principal.APIKey, []string{scheme + key})
		want := principal.Principal{Kind: principal.Key, OrgID: f.Key.OrgID, AppID: f.Key.AppID, KeyID: f.Key.ID}
		if err != nil || p != want {
			t.Errorf("%s: %+v, %v", scheme, p, err)
		}
	}
}

func TestAHeaderThatIsNotOneBearerIsRefusedWithoutARead(t *testing.T) {
	key, f := minted(t)
	a := authn.New(f, &authntest.Tokens{})
	for name, c := range map[string]struct {
		headers []string
		code    problem.Code
	}{
		"none":        {nil, problem.MissingCredentials},
		"empty":       {[]string{""}, problem.MissingCredentials},
		"two":         {[]string{"Bearer " + key, "Bearer " + key}, problem.InvalidCredentials},
		"no scheme":   {[]string{key}, problem.InvalidCredentials},
		"other":       {[]string{"Basic " + key}, problem.InvalidCredentials},
		"scheme only": {[]string{"Bearer "}, problem.InvalidCredentials},
		"spaces only": {[]string{"Bearer   "}, problem.InvalidCredentials},
		"joined":      {[]string{"Bearer " + key + ", Bearer " + key}, problem.InvalidCredentials},
		"truncated":   {[]string{"Bearer " + key[:len(key)-1]}, problem.InvalidCredentials},
		"JWT":         {[]string{"Bearer " + jwt}, problem.APIKeyRequired},
	} {
		_, err := a.Authorize(context.Background(), principal.APIKey, c.headers)
		if !problem.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if f.Reads != 0 {
		t.Errorf("%d reads", f.Reads)
	}
}

func TestTheStateOfAKeyNeedsItsSecret(t *testing.T) {
	key, f := minted(t)
	other, err := apikey.Mint("lk", f.Key.OrgID, f.Key.ID, nil) // this id, another secret
	if err != nil {
		t.Fatal(err)
	}
	a := authn.New(f, &authntest.Tokens{})
	// ask requires a refusal. For the log, it names the key if the secret matched.
	ask := func(want principal.Credential, credential string, code problem.Code, named id.Key) {
		t.Helper()
		p, err := a.Authorize(context.Background(), want, []string{"Bearer " + credential})
		if wants(t, err, code); p.ID() != string(named) || named == "" && p != (principal.Principal{}) {
			t.Errorf("%s names %+v, want %q", code, p, named)
		}
	}
	ask(principal.APIKey, other.Key.Reveal(), problem.InvalidCredentials, "")
	f.Key.RevokedAt, f.Key.ExpiresAt = 1, 1
	ask(principal.APIKey, other.Key.Reveal(), problem.InvalidCredentials, "")
	ask(principal.UserToken, key, problem.UserTokenRequired, "") // of a secret that nothing has compared
	ask(principal.APIKey, key, problem.KeyRevoked, f.Key.ID)
	f.Key.RevokedAt = 0
	ask(principal.APIKey, key, problem.KeyExpired, f.Key.ID)
	if f.Noted != 0 {
		t.Error("a refused key was noted as used")
	}
}

func TestAKeyEndsAtItsExpiryToTheMillisecond(t *testing.T) {
	key, f := minted(t)
	f.Key.ExpiresAt = 1_000_000
	a := authn.New(f, &authntest.Tokens{})
	for at, good := range map[int64]bool{999_999: true, 1_000_000: false, 1_000_001: false} {
		a.Now = func() time.Time { return time.UnixMilli(at) }
		_, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
		if (err == nil) != good {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

func TestEveryCheckReadsTheRowAndNotesUseOnceAnHour(t *testing.T) {
	key, f := minted(t)
	a := authn.New(f, &authntest.Tokens{})
	now := time.UnixMilli(1_700_000_000_000)
	a.Now = func() time.Time { return now }
	for range 10 {
		if _, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key}); err != nil {
			t.Fatal(err)
		}
	}
	if f.Reads != 10 || f.Noted != 1 {
		t.Errorf("%d reads and %d notes, want 10 and 1", f.Reads, f.Noted)
	}
	now = now.Add(time.Hour)
	if _, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key}); err != nil || f.Noted != 2 {
		t.Errorf("an hour later: %d notes, %v", f.Noted, err)
	}
}

// TestTheMemoryOfUsedKeysIsBounded: past 20,000 keys within an hour the first one is noted again.
func TestTheMemoryOfUsedKeysIsBounded(t *testing.T) {
	key, f := minted(t)
	a := authn.New(f, &authntest.Tokens{})
	at := time.UnixMilli(1_700_000_000_000)
	a.Now = func() time.Time { return at }
	use := func(key string) {
		if _, err := a.Key(context.Background(), []string{"Bearer " + key}); err != nil {
			t.Fatal(err)
		}
	}
	first := f.Key
	use(key)
	for range 20_000 {
		f.Key.ID = id.Source{}.NewKey(at)
		m, err := apikey.Mint("lk", f.Key.OrgID, f.Key.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.Key.Hash = m.Hash
		use(m.Key.Reveal())
	}
	f.Key = first
	if use(key); f.Noted != 20_002 {
		t.Errorf("%d notes: 20,001 keys are kept in memory", f.Noted)
	}
	if use(key); f.Noted != 20_002 {
		t.Errorf("%d notes: the memory keeps nothing", f.Noted)
	}
}

func TestADatabaseThatIsDownIsNeverA401(t *testing.T) {
	key, f := minted(t)
	f.Down = problem.New(problem.Unavailable, "down")
	a := authn.New(f, &authntest.Tokens{Claims: accesstoken.Claims{Subject: "a", Email: "a@b.c"}})
	_, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	wants(t, err, problem.Unavailable)
	_, err = a.Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	wants(t, err, problem.Unavailable)
}

func TestAnAPIKeyOnARouteOfUsersIsRefusedWithoutARead(t *testing.T) {
	key, f := minted(t)
	_, err := authn.New(f, &authntest.Tokens{}).Authorize(context.Background(), principal.UserToken, []string{"Bearer " + key})
	wants(t, err, problem.UserTokenRequired)
	if f.Reads != 0 {
		t.Errorf("%d reads", f.Reads)
	}
}

func TestARefusedTokenReadsNothing(t *testing.T) {
	_, f := minted(t)
	_, err := authn.New(f, &authntest.Tokens{Err: problem.New(problem.TokenExpired, "x")}).
		Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	wants(t, err, problem.TokenExpired)
	if f.Reads != 0 {
		t.Errorf("%d reads", f.Reads)
	}
}

func TestATokensProfileReachesTheTable(t *testing.T) {
	_, f := minted(t)
	at := time.Unix(1_700_000_000, 0)
	p, err := authn.New(f, &authntest.Tokens{Claims: accesstoken.Claims{
		Issuer: "i", Subject: "s", Email: "Ada@Example.com", EmailVerified: true, IssuedAt: at,
	}}).Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	if err != nil || p.Kind != principal.User || p.UserID != newUser {
		t.Fatalf("%+v, %v", p, err)
	}
	want := store.Seen{
		Issuer: "i", Subject: "s", Email: "Ada@Example.com", Folded: "ada@example.com", Verified: true,
		Name: "Ada", IssuedAt: at.Unix(),
	}
	if *f.Signed != want {
		t.Errorf("seen %+v, want %+v", *f.Signed, want)
	}
}

// TestWhatIsShownOfAUserIsVerified sends tokens of a known user, with a table that records its
// calls.
func TestWhatIsShownOfAUserIsVerified(t *testing.T) {
	for name, c := range map[string]struct {
		claims accesstoken.Claims
		want   store.Seen
	}{
		"no name is made of an unverified address": {accesstoken.Claims{Email: "ada@example.com"}, store.Seen{Email: "ada@example.com", Folded: "ada@example.com"}},
		"an address that no longer folds is none":  {accesstoken.Claims{Email: "ada@exämple.com", EmailVerified: true, Name: "Ada"}, store.Seen{Name: "Ada"}},
	} {
		_, f := minted(t)
		f.Known = &store.Identity{UserID: newUser, Email: "ada@example.com", Verified: true}
		if _, err := authn.New(f, &authntest.Tokens{Claims: c.claims}).Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt}); err != nil {
			t.Fatal(err)
		}
		if f.Signed == nil || *f.Signed != c.want {
			t.Errorf("%s: %+v, want %+v", name, f.Signed, c.want)
		}
	}
}

func TestATokenWithoutAnEmailAsksTheIssuerOnceADay(t *testing.T) {
	_, f := minted(t)
	now := time.UnixMilli(1_700_000_000_000)
	issuer := &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s"}, Profile: accesstoken.Profile{Email: "a@b.c", EmailVerified: true}}
	a := authn.New(f, issuer)
	a.Now = func() time.Time { return now }
	ask := func() principal.Principal {
		p, err := a.Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := ask(); p.UserID != newUser || issuer.Asked != 1 || f.Signed.AskedAt != now.UnixMilli() {
		t.Fatalf("first: %+v, asked %d, %+v", p, issuer.Asked, f.Signed)
	}
	f.Known = &store.Identity{UserID: newUser, Email: "a@b.c", AskedAt: now.UnixMilli()}
	now = now.Add(24*time.Hour - time.Second)
	if p := ask(); p.UserID != newUser || issuer.Asked != 1 {
		t.Fatalf("within a day: %+v, asked %d", p, issuer.Asked)
	}
	now = now.Add(time.Second)
	if ask(); issuer.Asked != 2 {
		t.Fatalf("after a day: asked %d", issuer.Asked)
	}
	// An issuer that is down is a 503, and never makes a known user unknown.
	issuer.AskErr = problem.New(problem.Unavailable, "down")
	f.Known.AskedAt = 0
	_, err := a.Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	wants(t, err, problem.Unavailable)
}

func TestATokenWithoutAnyEmailNamesNoUser(t *testing.T) {
	for _, email := range []string{"", "not an email", strings.Repeat("a", 300) + "@b.c"} {
		_, f := minted(t)
		p, err := authn.New(f, &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s", Email: email}}).
			Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
		if err != nil || p.Kind != principal.None || f.Signed != nil {
			t.Errorf("%.20q: %+v, %v, signed in: %v", email, p, err, f.Signed)
		}
	}
}

func TestEveryRefusalIsA401(t *testing.T) {
	key, f := minted(t)
	f.Key.RevokedAt = 1
	_, err := authn.New(f, &authntest.Tokens{}).Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	var p *problem.Error
	if !errors.As(err, &p) || p.Code.Status() != 401 || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}
