package accesstoken_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

func TestGoodTokenIsAcceptedWithEachAlgorithm(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	for alg, kid := range map[string]string{"ES256": "ec", "RS256": "rsa", "PS256": "rsa"} {
		raw := i.token(object{"alg": alg, "kid": kid, "typ": "at+jwt"}, i.payload())
		got, err := v.Verify(t.Context(), raw)
		if err != nil {
			t.Fatalf("%s: %v", alg, err)
		}
		want := accesstoken.Claims{
			Issuer: i.url(), Subject: "alice", Email: "alice@example.com", EmailVerified: true, Name: "Alice",
			IssuedAt: time.Unix(i.clock.now().Unix(), 0),
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", alg, got, want)
		}
	}
}

// TestGoodTokensOfCommonIssuersAreAccepted has variants of a good token. Other tests, such as TestClaimsThatBreakARuleAreRefused,
// refuse tokens that differ from these only a little.
func TestGoodTokensOfCommonIssuersAreAccepted(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	now := i.clock.now().Unix()
	for name, c := range map[string]struct{ header, payload object }{
		"no typ":                   {object{"typ": nil}, nil},
		"typ JWT":                  {object{"typ": "JWT"}, nil},
		"typ in another case":      {object{"typ": "AT+JWT"}, nil},
		"typ as a media type":      {object{"typ": "application/at+jwt"}, nil},
		"payload typ Bearer":       {object{"typ": "JWT"}, object{"typ": "Bearer"}},
		"token_use access":         {nil, object{"token_use": "access"}},
		"aud as an array":          {nil, object{"aud": []string{"other", audience}}},
		"no iat":                   {nil, object{"iat": nil}},
		"exp with a fraction":      {nil, object{"exp": float64(now) + 60.5}},
		"expired within leeway":    {nil, object{"exp": now - 29}},
		"nbf within leeway":        {nil, object{"nbf": now + 30}},
		"its own key, not used":    {object{"jwk": ecJWK("ec", otherEC()), "jku": "https://evil.example", "x5u": "https://evil.example", "x5c": []string{"AA"}}, nil},
		"unknown members":          {object{"x": 1}, object{"scope": "a", "nested": object{"SUB": "x", "a": []any{1, object{}}}}},
		"unicode in the name":      {nil, object{"name": "Zoë 🦊"}},
		"subject of 255 bytes":     {nil, object{"sub": long(255)}},
		"email_verified is absent": {nil, object{"email_verified": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			raw := i.token(with(i.header(), c.header), with(i.payload(), c.payload))
			if _, err := v.Verify(t.Context(), raw); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// long returns a text of n bytes.
func long(n int) string { return strings.Repeat("a", n) }

// TestCognitoTokenWithoutAudienceNeedsAnAllowedClient: Cognito's access tokens have no aud, so the client decides.
func TestCognitoTokenWithoutAudienceNeedsAnAllowedClient(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.Audience, c.ClientIDs = "", []string{"web", "cli"}
	v := i.verifierOf(c)
	cognito := with(i.payload(), object{"aud": nil, "token_use": "access", "client_id": "web"})
	for name, tc := range map[string]struct {
		edits object // changes of the claims
		ok    bool   // whether the token is accepted
	}{
		"allowed client_id":           {object{}, true},
		"allowed azp":                 {object{"client_id": nil, "azp": "cli"}, true},
		"both allowed":                {object{"azp": "cli"}, true},
		"another client_id":           {object{"client_id": "evil"}, false},
		"another azp":                 {object{"client_id": nil, "azp": "evil"}, false},
		"a good client, another azp":  {object{"azp": "evil"}, false},
		"no client":                   {object{"client_id": nil}, false},
		"client_id is empty":          {object{"client_id": ""}, false},
		"client_id is a list":         {object{"client_id": []string{"web"}}, false},
		"no token_use":                {object{"token_use": nil}, false},
		"token_use id":                {object{"token_use": "id"}, false},
		"token_use in another case":   {object{"token_use": "Access"}, false},
		"allowed client, foreign aud": {object{"token_use": nil, "aud": "web"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			raw := i.token(with(i.header(), object{"typ": nil}), with(cognito, tc.edits))
			_, err := v.Verify(t.Context(), raw)
			if tc.ok && err != nil {
				t.Fatalf("refused: %v", err)
			}
			if !tc.ok {
				refused(t, err, problem.TokenInvalid, raw)
			}
		})
	}
}

// TestOnlyTheListedClientsAreAccepted names the client in each of the claims that issuers use. The deployment also
// has an audience.
func TestOnlyTheListedClientsAreAccepted(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.ClientIDs = []string{"web", "cli"}
	for name, tc := range map[string]struct {
		edits object // changes of the claims
		ok    bool   // whether the token is accepted
	}{
		"client_id": {object{"client_id": "web"}, true}, "azp": {object{"azp": "cli"}, true},
		"cid": {object{"cid": "web"}, true}, "appid": {object{"appid": "web"}, true},
		"another client_id": {object{"client_id": "third"}, false}, "another azp": {object{"azp": "third"}, false},
		"another cid": {object{"cid": "third"}, false}, "another appid": {object{"appid": "third"}, false},
		"cid of another client": {object{"client_id": "web", "cid": "third"}, false},
		"no client":             {object{}, false},
		"another aud":           {object{"client_id": "web", "aud": "other"}, false},
	} {
		raw := i.token(i.header(), with(i.payload(), tc.edits))
		if _, err := i.verifierOf(c).Verify(t.Context(), raw); tc.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !tc.ok {
			refused(t, err, problem.TokenInvalid, raw)
		}
		isForUs := tc.edits["aud"] == nil
		if _, err := i.verifier().Verify(t.Context(), raw); isForUs && err != nil {
			t.Errorf("%s, without ClientIDs: %v", name, err)
		}
	}
}

// TestATokenNeedsTheRequiredScope has each way in which issuers write scopes.
func TestATokenNeedsTheRequiredScope(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.RequiredScope = "orgs:manage"
	for name, tc := range map[string]struct {
		edits object // changes of the claims
		ok    bool   // whether the token is accepted
	}{
		"one scope":       {object{"scope": "orgs:manage"}, true},
		"several scopes":  {object{"scope": "openid orgs:manage email"}, true},
		"Entra's scp":     {object{"scp": "User.Read orgs:manage"}, true},
		"Okta's scp":      {object{"scp": []string{"openid", "orgs:manage"}}, true},
		"a list":          {object{"scope": []string{"orgs:manage"}}, true},
		"no scope":        {object{"scope": nil}, false},
		"other scopes":    {object{"scope": "openid profile"}, false},
		"a longer scope":  {object{"scope": "orgs:manager"}, false},
		"a part of it":    {object{"scope": "all orgs:manage:not"}, false},
		"another case":    {object{"scope": "Orgs:Manage"}, false},
		"two in one text": {object{"scp": []string{"openid orgs:manage"}}, false},
		"a tab":           {object{"scope": "openid\torgs:manage"}, false},
		"an object":       {object{"scope": object{"orgs:manage": true}}, false},
	} {
		raw := i.token(i.header(), with(i.payload(), tc.edits))
		if _, err := i.verifierOf(c).Verify(t.Context(), raw); tc.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !tc.ok {
			refused(t, err, problem.TokenInvalid, raw)
		}
	}
}

func TestWithoutAudienceAndClientsNothingIsAccepted(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.Audience = ""
	raw := i.token(i.header(), with(i.payload(), object{"token_use": "access", "client_id": ""}))
	_, err := i.verifierOf(c).Verify(t.Context(), raw)
	refused(t, err, problem.TokenInvalid, raw)
}

func TestEmptyIssuerAcceptsNothing(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.Issuer = ""
	v := i.verifierOf(c)
	for _, iss := range []any{nil, ""} {
		raw := i.token(i.header(), with(i.payload(), object{"iss": iss}))
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.TokenInvalid, raw)
	}
}

// TestOnlyTrueVerifiesAnEmail tries the values that issuers write about an email, in a token and in userinfo's answer.
// EmailsAreVerified counts only when they write no value.
func TestOnlyTrueVerifiesAnEmail(t *testing.T) {
	i := newIssuer(t)
	trusting := i.config()
	trusting.EmailsAreVerified = true
	check := func(claim string, profile object, want, wantTrusting bool) {
		t.Helper()
		raw := i.token(i.header(), with(i.payload(), profile))
		i.set(func(i *issuer) {
			i.userinfo = answerWith(text(t, with(object{"sub": "alice", "email": "alice@example.com"}, profile)))
		})
		for _, c := range []struct {
			of   *accesstoken.Verifier
			want bool // whether the email is verified
		}{{i.verifier(), want}, {i.verifierOf(trusting), wantTrusting}} {
			if got, err := c.of.Verify(t.Context(), raw); err != nil || got.EmailVerified != c.want {
				t.Errorf("%s in a token: %+v %v, want verified %t", claim, got, err, c.want)
			}
			if got, err := c.of.Userinfo(t.Context(), raw, "alice"); err != nil || got.EmailVerified != c.want {
				t.Errorf("%s in userinfo: %+v %v, want verified %t", claim, got, err, c.want)
			}
		}
	}
	for _, yes := range []string{`true`, `"true"`} {
		check(yes, object{"email_verified": json.RawMessage(yes)}, true, true)
	}
	for _, no := range []string{
		`false`, `"false"`, `"False"`, `"FALSE"`, `" false"`, `"no"`, `"n"`, `"f"`, `"off"`, `0`, `0.0`, `-0`, `"0"`, `1`, `"1"`, `2`, `-1`,
		`""`, `" "`, `null`, `"null"`, `"yes"`, `"True"`, `"TRUE"`, `" true"`, `"unverified"`, `[]`, `[true]`, `["true"]`, `{}`, `{"a":true}`,
	} {
		check(no, object{"email_verified": json.RawMessage(no)}, false, false)
	}
	check("nothing", object{"email_verified": nil}, false, true)
	entra := i.config()
	entra.EmailVerifiedClaim = "xms_edov"
	for value, want := range map[string]bool{`true`: true, `"true"`: true, `"1"`: true, `"0"`: false, `0`: false, `"2"`: false, `false`: false} {
		got, err := i.verifierOf(entra).Verify(t.Context(), i.token(i.header(), with(i.payload(), object{"xms_edov": json.RawMessage(value)})))
		if err != nil || got.EmailVerified != want {
			t.Errorf("%s of Entra: %+v %v, want verified %t", value, got, err, want)
		}
	}
	raw := i.token(i.header(), with(i.payload(), object{"email": nil}))
	if got, err := i.verifierOf(trusting).Verify(t.Context(), raw); err != nil || got.Email != "" || got.EmailVerified {
		t.Errorf("no email cannot be verified: got %+v %v", got, err)
	}
}

func TestClaimsAreReadByTheirConfiguredNames(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.EmailClaim, c.EmailVerifiedClaim, c.NameClaim = "https://x.example/mail", "mail_ok", "given"
	raw := i.token(i.header(), with(i.payload(), object{
		"https://x.example/mail": "bob@example.com", "mail_ok": "true", "given": "Bob", "email_verified": false,
	}))
	got, err := i.verifierOf(c).Verify(t.Context(), raw)
	if err != nil || got.Email != "bob@example.com" || !got.EmailVerified || got.Name != "Bob" {
		t.Errorf("got %+v %v", got, err)
	}
	// With other names configured, the claims of the default names are not read.
	got, err = i.verifierOf(c).Verify(t.Context(), i.goodToken())
	if err != nil || got.Email != "" || got.EmailVerified || got.Name != "" {
		t.Errorf("got %+v %v", got, err)
	}
}

// TestClocksMayDiffer: a time of 0 means no time. iat may be 60 s in the future. exp and nbf have the leeway of 30 s.
func TestClocksMayDiffer(t *testing.T) {
	i := newIssuer(t)
	now := i.clock.now().Unix()
	for name, c := range map[string]struct {
		claims object
		want   problem.Code // "": the token is accepted
	}{
		"nbf 0": {object{"nbf": 0}, ""}, "nbf 0.0": {object{"nbf": json.RawMessage("0.0")}, ""}, "iat 0": {object{"iat": 0}, ""}, "both": {object{"nbf": 0, "iat": json.RawMessage("-0")}, ""}, "half a second": {object{"iat": 0.5}, ""},
		"iat a minute ahead": {object{"iat": now + 60}, ""}, "iat further ahead": {object{"iat": now + 62}, problem.TokenInvalid},
		"nbf ahead": {object{"nbf": now + 29}, ""}, "nbf further ahead": {object{"nbf": now + 32}, problem.TokenInvalid},
		"exp 0": {object{"exp": 0}, problem.TokenInvalid}, "exp a moment ago": {object{"exp": now - 29}, ""}, "exp before": {object{"exp": now - 31}, problem.TokenExpired},
		"nbf -1": {object{"nbf": -1}, problem.TokenInvalid}, "iat a text": {object{"iat": "0"}, problem.TokenInvalid}, "iat false": {object{"iat": false}, problem.TokenInvalid},
	} {
		_, err := i.verifier().Verify(t.Context(), i.token(i.header(), with(i.payload(), c.claims)))
		if c.want == "" && err != nil || c.want != "" && !problem.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTheTimeOfTheSignInIsRead(t *testing.T) {
	i := newIssuer(t)
	for value, want := range map[any]int64{
		nil: 0, 1_790_000_000: 1_790_000_000, 1_790_000_000.5: 1_790_000_000,
		"1790000000": 0, -1: 0, true: 0, // not times
	} {
		raw := i.token(i.header(), with(i.payload(), object{"auth_time": value}))
		if got, err := i.verifier().Verify(t.Context(), raw); err != nil || got.SignedInAt != want {
			t.Errorf("%v: %d, %v, want %d", value, got.SignedInAt, err, want)
		}
	}
}

func TestAListOfOneEmailIsRead(t *testing.T) {
	i := newIssuer(t)
	for value, want := range map[string]accesstoken.Profile{
		`["ada@example.com"]`: {Email: "ada@example.com", EmailVerified: true}, `[" ada@example.com\n"]`: {Email: "ada@example.com", EmailVerified: true},
		`["a@example.com","b@example.com"]`: {OddEmail: true}, `[]`: {OddEmail: true}, `[7]`: {OddEmail: true}, `[["a@example.com"]]`: {OddEmail: true}, `{"0":"a@example.com"}`: {OddEmail: true},
		`[null]`: {OddEmail: true}, `null`: {}, `""`: {}, `" "`: {}, `[""]`: {},
	} {
		i.set(func(i *issuer) {
			i.userinfo = answerWith(`{"sub":"alice","email_verified":true,"email":` + value + `}`)
		})
		raw := i.token(i.header(), with(i.payload(), object{"email": json.RawMessage(value), "name": nil}))
		got, err := i.verifier().Verify(t.Context(), raw)
		fromUserinfo, errUserinfo := i.verifier().Userinfo(t.Context(), raw, "alice")
		if shown := (accesstoken.Profile{Email: got.Email, EmailVerified: got.EmailVerified, OddEmail: got.OddEmail}); err != nil || shown != want || errUserinfo != nil || fromUserinfo != want {
			t.Errorf("%s: %+v, %v, and userinfo %+v, %v, want %+v", value, shown, err, fromUserinfo, errUserinfo, want)
		}
	}
}

// TestNoAttributeOfAPersonRefusesTheirToken: with any type and any length.
func TestNoAttributeOfAPersonRefusesTheirToken(t *testing.T) {
	i := newIssuer(t)
	values := []string{
		`null`, `""`, `7`, `-1e999`, `true`, `{}`, `[]`, `[null]`, `[["x"]]`, `{"a":{"b":[1]}}`, `"\ud83d"`, `"\ufffd"`, `"\u0000"`, `"\u202e"`, `"` + long(2000) + `"`, `"😀"`, `{"":1}`,
	}
	for _, name := range []string{
		"email", "email_verified", "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture", "website", "gender", "birthdate",
		"zoneinfo", "locale", "phone_number", "phone_number_verified", "address", "updated_at", "roles", "groups", "permissions", "acr", "amr", "upn", "auth_time", "sid",
	} {
		for _, value := range values {
			raw := i.token(i.header(), with(i.payload(), object{name: json.RawMessage(value)}))
			if got, err := i.verifier().Verify(t.Context(), raw); err != nil || got.Subject != "alice" {
				t.Errorf("%s: %.40s: %+v, %v", name, value, got, err)
			}
		}
	}
}

func TestProfileClaimsOfOtherTypesAreIgnored(t *testing.T) {
	i := newIssuer(t)
	raw := i.token(i.header(), with(i.payload(), object{"email": 7, "name": object{}, "iat": nil}))
	got, err := i.verifier().Verify(t.Context(), raw)
	if err != nil || got.Email != "" || got.EmailVerified || got.Name != "" || !got.IssuedAt.IsZero() {
		t.Errorf("got %+v %v", got, err)
	}
}

func TestAccessTokenIsDistinguishedFromAnAPIKey(t *testing.T) {
	for raw, want := range map[string]bool{
		newIssuer(t).goodToken(): true, "a.b.": true, "lk_abc_def": false, "a.b": false, "a.b.c.d": false, "": false,
	} {
		if accesstoken.LooksLikeJWT(raw) != want {
			t.Errorf("LooksLikeJWT(%.20q) is not %t", raw, want)
		}
	}
}

func TestATokenHasEightKiBAtMost(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	// sized returns a token of exactly this size. It tries several lengths of padding in the payload. Base64 text does
	// not have every length, so it also tries headers of different lengths.
	sized := func(size int) string {
		for extra := range 4 {
			h := with(i.header(), object{"x": long(extra)})
			estimate := (size - len(i.token(h, i.payload()))) * 3 / 4
			for n := estimate - 20; n < estimate+20; n++ {
				if raw := i.token(h, with(i.payload(), object{"pad": long(n)})); len(raw) == size {
					return raw
				}
			}
		}
		t.Fatalf("no token of %d bytes", size)
		return ""
	}
	for size, want := range map[int]bool{8 << 10: true, 8<<10 + 1: false} {
		if _, err := v.Verify(t.Context(), sized(size)); (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
