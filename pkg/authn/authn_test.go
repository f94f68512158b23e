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
	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

// table is a table of one key and one identity.
type table struct {
	key    store.APIKey
	known  *store.Identity
	down   error
	reads  int
	noted  int
	signed *store.Seen
}

func (f *table) APIKey(_ context.Context, o id.Org, k id.Key) (store.APIKey, bool, error) {
	f.reads++
	return f.key, o == f.key.OrgID && k == f.key.ID, f.down
}
func (f *table) NoteUse(context.Context, store.APIKey, int64) { f.noted++ }
func (f *table) Identity(context.Context, string, string) (store.Identity, bool, error) {
	f.reads++
	if f.known == nil {
		return store.Identity{}, false, f.down
	}
	return *f.known, true, f.down
}

func (f *table) SignIn(_ context.Context, known store.Identity, isKnown bool, seen store.Seen) (id.User, error) {
	f.signed = &seen
	if isKnown {
		return known.UserID, nil
	}
	return newUser, nil
}

var newUser = id.Source{}.NewUser()

// tokens is an issuer that has verified one token.
type tokens struct {
	claims  accesstoken.Claims
	err     error
	profile accesstoken.Profile
	asked   int
	askErr  error
}

func (f *tokens) Verify(context.Context, string) (accesstoken.Claims, error) { return f.claims, f.err }
func (f *tokens) Userinfo(context.Context, string, string) (accesstoken.Profile, error) {
	f.asked++
	return f.profile, f.askErr
}

const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"

func minted(t *testing.T) (string, *table) {
	t.Helper()
	o, k := id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now())
	m, err := apikey.Mint("lk", o, k, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Key.Reveal(), &table{key: store.APIKey{ID: k, OrgID: o, AppID: id.DefaultApp(o), Hash: m.Hash}}
}

func wants(t *testing.T, err error, code problem.Code) {
	t.Helper()
	if !problem.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestAGoodKeyIsItsAppsPrincipal(t *testing.T) {
	key, f := minted(t)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER ", "Bearer  ", "Bearer    "} {
		p, err := authn.New(f, &tokens{}).Authorize(context.Background(), principal.APIKey, []string{scheme + key})
		want := principal.Principal{Kind: principal.Key, OrgID: f.key.OrgID, AppID: f.key.AppID, KeyID: f.key.ID}
		if err != nil || p != want {
			t.Errorf("%s: %+v, %v", scheme, p, err)
		}
	}
}

func TestAHeaderThatIsNotOneBearerIsRefusedWithoutARead(t *testing.T) {
	key, f := minted(t)
	a := authn.New(f, &tokens{})
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
	if f.reads != 0 {
		t.Errorf("%d reads", f.reads)
	}
}

func TestTheStateOfAKeyNeedsItsSecret(t *testing.T) {
	key, f := minted(t)
	other, err := apikey.Mint("lk", f.key.OrgID, f.key.ID, nil) // this id, another secret
	if err != nil {
		t.Fatal(err)
	}
	a := authn.New(f, &tokens{})
	// ask requires a refusal. For the log, it names the key if the secret matched.
	ask := func(want principal.Credential, credential string, code problem.Code, named id.Key) {
		t.Helper()
		p, err := a.Authorize(context.Background(), want, []string{"Bearer " + credential})
		if wants(t, err, code); p.ID() != string(named) || named == "" && p != (principal.Principal{}) {
			t.Errorf("%s names %+v, want %q", code, p, named)
		}
	}
	ask(principal.APIKey, other.Key.Reveal(), problem.InvalidCredentials, "")
	f.key.RevokedAt, f.key.ExpiresAt = 1, 1
	ask(principal.APIKey, other.Key.Reveal(), problem.InvalidCredentials, "")
	ask(principal.UserToken, key, problem.UserTokenRequired, "") // of a secret that nothing has compared
	ask(principal.APIKey, key, problem.KeyRevoked, f.key.ID)
	f.key.RevokedAt = 0
	ask(principal.APIKey, key, problem.KeyExpired, f.key.ID)
	if f.noted != 0 {
		t.Error("a refused key was noted as used")
	}
}

func TestAKeyEndsAtItsExpiryToTheMillisecond(t *testing.T) {
	key, f := minted(t)
	f.key.ExpiresAt = 1_000_000
	a := authn.New(f, &tokens{})
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
	a := authn.New(f, &tokens{})
	now := time.UnixMilli(1_700_000_000_000)
	a.Now = func() time.Time { return now }
	for range 10 {
		if _, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key}); err != nil {
			t.Fatal(err)
		}
	}
	if f.reads != 10 || f.noted != 1 {
		t.Errorf("%d reads and %d notes, want 10 and 1", f.reads, f.noted)
	}
	now = now.Add(time.Hour)
	if _, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key}); err != nil || f.noted != 2 {
		t.Errorf("an hour later: %d notes, %v", f.noted, err)
	}
}

func TestADatabaseThatIsDownIsNeverA401(t *testing.T) {
	key, f := minted(t)
	f.down = problem.New(problem.Unavailable, "down")
	a := authn.New(f, &tokens{claims: accesstoken.Claims{Subject: "a", Email: "a@b.c"}})
	_, err := a.Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	wants(t, err, problem.Unavailable)
	_, err = a.Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	wants(t, err, problem.Unavailable)
}

func TestAnAPIKeyOnARouteOfUsersIsRefusedWithoutARead(t *testing.T) {
	key, f := minted(t)
	_, err := authn.New(f, &tokens{}).Authorize(context.Background(), principal.UserToken, []string{"Bearer " + key})
	wants(t, err, problem.UserTokenRequired)
	if f.reads != 0 {
		t.Errorf("%d reads", f.reads)
	}
}

func TestARefusedTokenReadsNothing(t *testing.T) {
	_, f := minted(t)
	_, err := authn.New(f, &tokens{err: problem.New(problem.TokenExpired, "x")}).
		Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	wants(t, err, problem.TokenExpired)
	if f.reads != 0 {
		t.Errorf("%d reads", f.reads)
	}
}

func TestATokensProfileReachesTheTable(t *testing.T) {
	_, f := minted(t)
	at := time.Unix(1_700_000_000, 0)
	p, err := authn.New(f, &tokens{claims: accesstoken.Claims{
		Issuer: "i", Subject: "s", Email: "Ada@Example.com", EmailVerified: true, IssuedAt: at,
	}}).Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	if err != nil || p.Kind != principal.User || p.UserID != newUser {
		t.Fatalf("%+v, %v", p, err)
	}
	want := store.Seen{
		Issuer: "i", Subject: "s", Email: "Ada@Example.com", Folded: "ada@example.com", Verified: true,
		Name: "Ada", IssuedAt: at.Unix(),
	}
	if *f.signed != want {
		t.Errorf("seen %+v, want %+v", *f.signed, want)
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
		f.known = &store.Identity{UserID: newUser, Email: "ada@example.com", Verified: true}
		if _, err := authn.New(f, &tokens{claims: c.claims}).Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt}); err != nil {
			t.Fatal(err)
		}
		if f.signed == nil || *f.signed != c.want {
			t.Errorf("%s: %+v, want %+v", name, f.signed, c.want)
		}
	}
}

func TestATokenWithoutAnEmailAsksTheIssuerOnceADay(t *testing.T) {
	_, f := minted(t)
	now := time.UnixMilli(1_700_000_000_000)
	issuer := &tokens{claims: accesstoken.Claims{Issuer: "i", Subject: "s"}, profile: accesstoken.Profile{Email: "a@b.c", EmailVerified: true}}
	a := authn.New(f, issuer)
	a.Now = func() time.Time { return now }
	ask := func() principal.Principal {
		p, err := a.Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := ask(); p.UserID != newUser || issuer.asked != 1 || f.signed.AskedAt != now.UnixMilli() {
		t.Fatalf("first: %+v, asked %d, %+v", p, issuer.asked, f.signed)
	}
	f.known = &store.Identity{UserID: newUser, Email: "a@b.c", AskedAt: now.UnixMilli()}
	now = now.Add(24*time.Hour - time.Second)
	if p := ask(); p.UserID != newUser || issuer.asked != 1 {
		t.Fatalf("within a day: %+v, asked %d", p, issuer.asked)
	}
	now = now.Add(time.Second)
	if ask(); issuer.asked != 2 {
		t.Fatalf("after a day: asked %d", issuer.asked)
	}
	// An issuer that is down is a 503, and never makes a known user unknown.
	issuer.askErr = problem.New(problem.Unavailable, "down")
	f.known.AskedAt = 0
	_, err := a.Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
	wants(t, err, problem.Unavailable)
}

func TestATokenWithoutAnyEmailNamesNoUser(t *testing.T) {
	for _, email := range []string{"", "not an email", strings.Repeat("a", 300) + "@b.c"} {
		_, f := minted(t)
		p, err := authn.New(f, &tokens{claims: accesstoken.Claims{Issuer: "i", Subject: "s", Email: email}}).
			Authorize(context.Background(), principal.UserToken, []string{"Bearer " + jwt})
		if err != nil || p.Kind != principal.None || f.signed != nil {
			t.Errorf("%.20q: %+v, %v, signed in: %v", email, p, err, f.signed)
		}
	}
}

func TestEveryRefusalIsA401(t *testing.T) {
	key, f := minted(t)
	f.key.RevokedAt = 1
	_, err := authn.New(f, &tokens{}).Authorize(context.Background(), principal.APIKey, []string{"Bearer " + key})
	var p *problem.Error
	if !errors.As(err, &p) || p.Code.Status() != 401 || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}
