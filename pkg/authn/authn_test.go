package authn_test

import (
	"context"
	"errors"
	"fmt"
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
	"latchkey/pkg/route"
	"latchkey/pkg/store"
)

var (
	newUser = authntest.NewUser
	minted  = authntest.Minted
)

const jwt = authntest.JWT

// wantCode ends the test if the error does not have this code.
func wantCode(t *testing.T, err error, code problem.Code) {
	t.Helper()
	if !problem.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestAGoodKeyGivesThePrincipalOfItsApp(t *testing.T) {
	key, table := minted(t)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER ", "Bearer  ", "Bearer    "} {
		p, err := authn.New(table, &authntest.Tokens{}).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{scheme + key})
		want := principal.Principal{Kind: principal.Key, OrgID: table.Key.OrgID, AppID: table.Key.AppID, KeyID: table.Key.ID}
		if err != nil || p != want {
			t.Errorf("%s: %+v, %v", scheme, p, err)
		}
	}
}

func TestAHeaderThatIsNotOneBearerIsRefusedWithoutARead(t *testing.T) {
	key, table := minted(t)
	a := authn.New(table, &authntest.Tokens{})
	for name, c := range map[string]struct {
		headers []string
		code    problem.Code
	}{
		"no header":   {nil, problem.MissingCredentials},
		"empty":       {[]string{""}, problem.MissingCredentials},
		"two headers": {[]string{"Bearer " + key, "Bearer " + key}, problem.InvalidCredentials},
		"no scheme":   {[]string{key}, problem.InvalidCredentials},
		"Basic":       {[]string{"Basic " + key}, problem.InvalidCredentials},
		"scheme only": {[]string{"Bearer "}, problem.InvalidCredentials},
		"spaces only": {[]string{"Bearer   "}, problem.InvalidCredentials},
		"two in one":  {[]string{"Bearer " + key + ", Bearer " + key}, problem.InvalidCredentials},
		"truncated":   {[]string{"Bearer " + key[:len(key)-1]}, problem.InvalidCredentials},
		"JWT":         {[]string{"Bearer " + jwt}, problem.APIKeyRequired},
	} {
		_, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, c.headers)
		if !problem.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if table.Reads != 0 {
		t.Errorf("%d reads", table.Reads)
	}
}

// TestOnlyItsSecretShowsTheStateOfAKey: a caller with another secret cannot see whether the key is revoked or expired.
func TestOnlyItsSecretShowsTheStateOfAKey(t *testing.T) {
	key, table := minted(t)
	other, err := apikey.Mint("lk", table.Key.OrgID, table.Key.ID, nil) // the same id, another secret
	if err != nil {
		t.Fatal(err)
	}
	a := authn.New(table, &authntest.Tokens{})
	// refuses checks for a refusal with this code. The returned principal, which is for the log, must have the id named, or be
	// empty when named is "".
	refuses := func(want principal.Credential, credential string, code problem.Code, named id.Key) {
		t.Helper()
		p, err := a.Authorize(context.Background(), route.Route{Takes: want}, []string{"Bearer " + credential})
		wantCode(t, err, code)
		isEmpty := p == (principal.Principal{})
		if p.ID() != string(named) || isEmpty != (named == "") {
			t.Errorf("%s names %+v, want %q", code, p, named)
		}
	}
	refuses(principal.APIKey, other.Key.Reveal(), problem.InvalidCredentials, "")
	table.Key.RevokedAt, table.Key.ExpiresAt = 1, 1
	refuses(principal.APIKey, other.Key.Reveal(), problem.InvalidCredentials, "")
	// In this case the secret is not compared, so the refusal does not name the key.
	refuses(principal.UserToken, key, problem.UserTokenRequired, "")
	refuses(principal.APIKey, key, problem.KeyRevoked, table.Key.ID)
	table.Key.RevokedAt = 0
	refuses(principal.APIKey, key, problem.KeyExpired, table.Key.ID)
	if table.Noted != 0 {
		t.Error("a refused key was noted as used")
	}
}

func TestAKeyEndsAtItsExpiryToTheMillisecond(t *testing.T) {
	key, table := minted(t)
	table.Key.ExpiresAt = 1_000_000
	a := authn.New(table, &authntest.Tokens{})
	for at, good := range map[int64]bool{999_999: true, 1_000_000: false, 1_000_001: false} {
		a.Now = func() time.Time { return time.UnixMilli(at) }
		_, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
		if (err == nil) != good {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

func TestEveryCheckReadsTheRowAndNotesUseOnceAnHour(t *testing.T) {
	key, table := minted(t)
	a := authn.New(table, &authntest.Tokens{})
	now := time.UnixMilli(1_700_000_000_000)
	a.Now = func() time.Time { return now }
	for range 10 {
		if _, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key}); err != nil {
			t.Fatal(err)
		}
	}
	if table.Reads != 10 || table.Noted != 1 {
		t.Errorf("%d reads and %d notes, want 10 and 1", table.Reads, table.Noted)
	}
	now = now.Add(time.Hour)
	if _, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key}); err != nil || table.Noted != 2 {
		t.Errorf("an hour later: %d notes, %v", table.Noted, err)
	}
}

// TestEachMemoryIsBounded: 19,999 used keys and 20,000 imported texts are remembered. With one more, all are forgotten.
func TestEachMemoryIsBounded(t *testing.T) {
	_, table := minted(t)
	at := time.UnixMilli(1_700_000_000_000)
	table.Imports = map[apikey.Hash]store.Imported{}
	var a *authn.Authorizer
	first := id.Source{}.NewKey(at)
	for name, c := range map[string]struct {
		most   int         // how many keys or texts are remembered
		use    func(i int) // checks key or text i
		writes *int        // counts the calls of the table for keys or texts that are not remembered
	}{
		"used keys": {19_999, func(i int) {
			table.Key.ID = id.Source{}.NewKey(at)
			if i == 0 {
				table.Key.ID = first
			}
			m, err := apikey.Mint("lk", table.Key.OrgID, table.Key.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			table.Key.Hash = m.Hash
			if _, err := check(a, m.Key.Reveal()); err != nil {
				t.Fatal(err)
			}
		}, &table.Noted},
		"imported texts": {20_000, func(i int) {
			text := fmt.Sprintf("sk_live_%d", i)
			table.Key.ID, table.Key.Hash = first, apikey.HashOf(text)
			table.Imports[table.Key.Hash] = store.Imported{Org: table.Key.OrgID, Key: first}
			if _, err := check(a, text); err != nil {
				t.Fatal(err)
			}
		}, &table.Looked},
	} {
		a = acceptingImported(table, nil, 0)
		a.Now = func() time.Time { return at }
		table.Noted, table.Looked = 0, 0
		for i := range c.most {
			c.use(i)
		}
		if c.use(0); *c.writes != c.most {
			t.Errorf("%d %s: %d were new", c.most, name, *c.writes)
		}
		c.use(c.most)
		c.use(0)
		if c.use(0); *c.writes != c.most+2 {
			t.Errorf("one more than %d %s: %d were new", c.most, name, *c.writes)
		}
	}
}

func TestADatabaseThatIsDownIsNeverA401(t *testing.T) {
	key, table := minted(t)
	table.Down = problem.New(problem.Unavailable, "down")
	a := authn.New(table, &authntest.Tokens{Claims: accesstoken.Claims{Subject: "a", Email: "a@b.c"}})
	_, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
	wantCode(t, err, problem.Unavailable)
	_, err = a.Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
	wantCode(t, err, problem.Unavailable)
}

func TestAnAPIKeyOnARouteOfUsersIsRefusedWithoutARead(t *testing.T) {
	key, table := minted(t)
	_, err := authn.New(table, &authntest.Tokens{}).Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + key})
	wantCode(t, err, problem.UserTokenRequired)
	if table.Reads != 0 {
		t.Errorf("%d reads", table.Reads)
	}
}

func TestARefusedTokenReadsNothing(t *testing.T) {
	_, table := minted(t)
	_, err := authn.New(table, &authntest.Tokens{Err: problem.New(problem.TokenExpired, "x")}).
		Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
	wantCode(t, err, problem.TokenExpired)
	if table.Reads != 0 {
		t.Errorf("%d reads", table.Reads)
	}
}

func TestTheProfileOfATokenIsRecorded(t *testing.T) {
	_, table := minted(t)
	at := time.Unix(1_700_000_000, 0)
	p, err := authn.New(table, &authntest.Tokens{Claims: accesstoken.Claims{
		Issuer: "i", Subject: "s", Email: "Ada@Example.com", EmailVerified: true, IssuedAt: at,
	}}).Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
	if err != nil || p.Kind != principal.User || p.UserID != newUser {
		t.Fatalf("%+v, %v", p, err)
	}
	want := store.Seen{
		Issuer: "i", Subject: "s", Email: "Ada@Example.com", Folded: "ada@example.com", Verified: true,
		Name: "Ada", IssuedAt: at.Unix(), SignedInAt: at.Unix(),
	}
	if *table.Signed != want {
		t.Errorf("seen %+v, want %+v", *table.Signed, want)
	}
}

// TestOnlyVerifiedAddressesAreShown: the name and the address of a user that people see come from a verified address. The user is
// known already.
func TestOnlyVerifiedAddressesAreShown(t *testing.T) {
	for name, c := range map[string]struct {
		claims accesstoken.Claims
		want   store.Seen
	}{
		"an unverified address gives no name": {
			accesstoken.Claims{Email: "ada@example.com"},
			store.Seen{Email: "ada@example.com", Folded: "ada@example.com"},
		},
		"an unusable address removes the earlier address": {
			accesstoken.Claims{Email: "adä@example.com", EmailVerified: true, Name: "Ada"},
			store.Seen{Name: "Ada"},
		},
		"an email that is not a text removes it too": {
			accesstoken.Claims{OddEmail: true, Name: "Ada"},
			store.Seen{Name: "Ada", AskedAt: 1_700_000_000_000},
		},
	} {
		_, table := minted(t)
		table.Known = &store.Identity{UserID: newUser, Email: "ada@example.com", Verified: true}
		a := authn.New(table, &authntest.Tokens{Claims: c.claims})
		a.Now = func() time.Time { return time.UnixMilli(1_700_000_000_000) }
		if _, err := a.Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt}); err != nil {
			t.Fatal(err)
		}
		if table.Signed == nil || *table.Signed != c.want {
			t.Errorf("%s: %+v, want %+v", name, table.Signed, c.want)
		}
	}
}

// TestATokenWithoutANameKeepsTheName: clients of one person ask for different scopes, so some of the person's tokens have no name. A
// name that was made of the address follows the address.
func TestATokenWithoutANameKeepsTheName(t *testing.T) {
	named := store.Identity{UserID: newUser, Email: "ada@example.com", Verified: true, Holds: true, Name: "Ada Lindqvist"}
	unnamed, unverified := named, named
	unnamed.Name, unverified.Verified = "ada", false
	for name, c := range map[string]struct {
		known  store.Identity
		claims accesstoken.Claims
		want   string
	}{
		"a name":                           {named, accesstoken.Claims{Email: "ada@example.com", EmailVerified: true}, "Ada Lindqvist"},
		"a name, and another address":      {named, accesstoken.Claims{Email: "eve@example.com", EmailVerified: true}, "Ada Lindqvist"},
		"a name of hidden characters":      {named, accesstoken.Claims{Email: "ada@example.com", EmailVerified: true, Name: "\u200b"}, "Ada Lindqvist"},
		"another name":                     {named, accesstoken.Claims{Email: "ada@example.com", EmailVerified: true, Name: "Eve"}, "Eve"},
		"a name made of the address":       {unnamed, accesstoken.Claims{Email: "eve@example.com", EmailVerified: true}, "eve"},
		"a name, of an unverified address": {unverified, accesstoken.Claims{Email: "ada@example.com"}, "Ada Lindqvist"},
		"an unknown user":                  {store.Identity{}, accesstoken.Claims{Email: "ada@example.com", EmailVerified: true}, "ada"},
	} {
		_, table := minted(t)
		table.Known = &c.known
		if _, err := authn.New(table, &authntest.Tokens{Claims: c.claims}).Authorize(t.Context(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt}); err != nil {
			t.Fatal(err)
		}
		if table.Signed == nil || table.Signed.Name != c.want {
			t.Errorf("%s: %+v, want %q", name, table.Signed, c.want)
		}
	}
}

func TestATokenWithoutAnEmailCausesOneCallADay(t *testing.T) {
	_, table := minted(t)
	now := time.UnixMilli(1_700_000_000_000)
	issuer := &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s"}, Profile: accesstoken.Profile{Email: "a@b.c", EmailVerified: true}}
	a := authn.New(table, issuer)
	a.Now = func() time.Time { return now }
	authorize := func() principal.Principal {
		p, err := a.Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := authorize(); p.UserID != newUser || issuer.Asked != 1 || table.Signed.AskedAt != now.UnixMilli() {
		t.Fatalf("first: %+v, %d calls of userinfo, %+v", p, issuer.Asked, table.Signed)
	}
	table.Known = &store.Identity{UserID: newUser, Email: "a@b.c", AskedAt: now.UnixMilli()}
	now = now.Add(24*time.Hour - time.Second)
	if p := authorize(); p.UserID != newUser || issuer.Asked != 1 {
		t.Fatalf("within a day: %+v, %d calls of userinfo", p, issuer.Asked)
	}
	now = now.Add(time.Second)
	authorize()
	if issuer.Asked != 2 {
		t.Fatalf("after a day: %d calls of userinfo", issuer.Asked)
	}
}

// TestAKnownUserDoesNotNeedUserinfo: while the issuer's userinfo fails, a known user can still act, for example revoke a key. Nothing
// about the user is recorded. A new user gets 503.
func TestAKnownUserDoesNotNeedUserinfo(t *testing.T) {
	_, table := minted(t)
	issuer := &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s", SignedInAt: 7}, AskErr: problem.New(problem.Unavailable, "down")}
	a := authn.New(table, issuer)
	for asked, known := range []*store.Identity{nil, {UserID: newUser, Email: "a@b.c", AskedAt: 1}} {
		table.Known = known
		p, err := a.Authorize(t.Context(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
		if known == nil {
			wantCode(t, err, problem.Unavailable)
		} else if err != nil || p != (principal.Principal{Kind: principal.User, UserID: newUser, SignedInAt: 7}) {
			t.Errorf("a known user: %+v, %v", p, err)
		}
		if issuer.Asked != asked+1 || table.Signed != nil {
			t.Errorf("%d calls of userinfo, recorded: %+v", issuer.Asked, table.Signed)
		}
	}
}

// TestAnUnreadableProfileLocksNoOneOut: a new user gets no address, and a known user keeps the address.
func TestAnUnreadableProfileLocksNoOneOut(t *testing.T) {
	for name, known := range map[string]*store.Identity{"new": nil, "known": {UserID: newUser, Email: "a@b.c"}} {
		_, table := minted(t)
		table.Known = known
		issuer := &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s", Name: "Ada"}, Profile: accesstoken.Profile{Unreadable: true}}
		p, err := authn.New(table, issuer).Authorize(t.Context(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
		isRecorded := table.Signed != nil && table.Signed.Email == "" && !table.Signed.Verified && table.Signed.Name == "Ada" && table.Signed.AskedAt != 0
		if err != nil || p.UserID != newUser || isRecorded != (known == nil) {
			t.Errorf("%s: %+v, %v, signed in: %+v", name, p, err, table.Signed)
		}
	}
}

func TestATokenWithoutAnyEmailNamesNoUser(t *testing.T) {
	_, table := minted(t)
	p, err := authn.New(table, &authntest.Tokens{Claims: accesstoken.Claims{Issuer: "i", Subject: "s"}}).
		Authorize(context.Background(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
	if err != nil || p.Kind != principal.None || table.Signed != nil {
		t.Errorf("%+v, %v, signed in: %v", p, err, table.Signed)
	}
}

// TestAnUnusableEmailIsNotRecorded: the token still names a new user, by issuer and subject.
func TestAnUnusableEmailIsNotRecorded(t *testing.T) {
	for _, address := range []string{
		"not an email", strings.Repeat("a", 300) + "@b.c", "adä@example.com", "ada@bücher..example", `"a b"@c.d`, "ada@[127.0.0.1]", "Ada <ada@example.com>",
		"a@b.c, d@e.f", "a\x00@b.c", "a@\ufffd.c", "mailto:", "@", "ada@b\u200dc.example", "", // "": the email is not a text
	} {
		odd := address == ""
		for from, issuer := range map[string]*authntest.Tokens{
			"token":    {Claims: accesstoken.Claims{Email: address, EmailVerified: !odd, OddEmail: odd, Name: "Ada"}},
			"userinfo": {Profile: accesstoken.Profile{Email: address, EmailVerified: !odd, OddEmail: odd}, Claims: accesstoken.Claims{Name: "Ada"}},
		} {
			_, table := minted(t)
			p, err := authn.New(table, issuer).Authorize(t.Context(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt})
			if err != nil || p.UserID != newUser || table.Signed == nil {
				t.Errorf("%.20q in %s: %+v, %v", address, from, p, err)
			} else if seen := *table.Signed; seen.Email != "" || seen.Folded != "" || seen.Verified || seen.Name != "Ada" {
				t.Errorf("%.20q in %s: %+v", address, from, seen)
			}
		}
	}
}

func TestAnInternationalAddressIsRecorded(t *testing.T) {
	_, table := minted(t)
	claims := accesstoken.Claims{Issuer: "i", Subject: "s", Email: "Ada@Bücher.example", EmailVerified: true}
	if _, err := authn.New(table, &authntest.Tokens{Claims: claims}).Authorize(t.Context(), route.Route{Takes: principal.UserToken}, []string{"Bearer " + jwt}); err != nil {
		t.Fatal(err)
	}
	want := store.Seen{Issuer: "i", Subject: "s", Email: "Ada@Bücher.example", Folded: "ada@xn--bcher-kva.example", Verified: true, Name: "Ada"}
	if table.Signed == nil || *table.Signed != want {
		t.Errorf("%+v, want %+v", table.Signed, want)
	}
}

func TestEveryRefusalIsA401(t *testing.T) {
	key, table := minted(t)
	table.Key.RevokedAt = 1
	_, err := authn.New(table, &authntest.Tokens{}).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
	var p *problem.Error
	if !errors.As(err, &p) || p.Code.Status() != 401 || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}
