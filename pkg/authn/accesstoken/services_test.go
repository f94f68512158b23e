package accesstoken_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
	"latchkey/pkg/service"
)

const role = "arn:aws:iam::123456789012:role/billing"

// served returns a verifier with two services: billing at the users' issuer, and deploy at another one.
func served(t *testing.T, change func(*accesstoken.Config)) (v *accesstoken.Verifier, users, other *issuer) {
	users, other = newIssuer(t), newIssuer(t)
	other.clock = users.clock
	c := users.config()
	c.RequiredScope = "api"
	c.Services = []service.Service{{Name: "billing", Issuer: users.url(), Subject: "svc"}, {Name: "deploy", Issuer: other.url(), Subject: role}}
	if change != nil {
		change(&c)
	}
	return users.verifierOf(c), users, other
}

// ofService is the payload of a token that client_credentials gives.
func (i *issuer) ofService() object {
	return with(i.payload(), object{"sub": "svc", "client_id": "m2m", "scope": "api", "email": nil, "email_verified": nil, "name": nil})
}

// ofRole is the payload of a token of another issuer, with nothing that marks an access token.
func (i *issuer) ofRole() object {
	return with(i.ofService(), object{"sub": role, "client_id": nil, "scope": nil, "https://sts.amazonaws.com/": object{"aws_account": "123456789012"}})
}

func TestTheTokenOfAServiceNamesIt(t *testing.T) {
	v, users, other := served(t, nil)
	plain := object{"typ": "JWT", "alg": "RS256", "kid": "rsa"}
	for _, c := range []struct {
		raw, want string
	}{
		{users.token(users.header(), users.ofService()), "billing"},
		{users.token(object{"typ": "JWT", "alg": "ES256", "kid": "ec"}, users.ofService()), "billing"},
		{other.token(plain, other.ofRole()), "deploy"},
		{users.token(users.header(), with(users.payload(), object{"scope": "api"})), ""},
		{users.token(users.header(), with(users.ofService(), object{"sub": "another client"})), ""},
	} {
		for range 2 { // the second time it is known
			if got, err := v.Verify(t.Context(), c.raw); err != nil || got.Service != c.want || got.Subject == "" {
				t.Errorf("%+v, %v, want %q", got, err, c.want)
			}
		}
	}
}

func TestWhatIsNotExactlyAServiceIsRefused(t *testing.T) {
	v, users, other := served(t, nil)
	own, foreign := users.ofService(), other.ofRole()
	past := users.clock.now().Add(-time.Minute).Unix()
	for name, c := range map[string]struct {
		by      *issuer
		payload object
		code    problem.Code
	}{
		"another issuer's subject":         {other, with(foreign, object{"sub": "svc"}), problem.TokenInvalid},
		"another subject of that issuer":   {other, with(foreign, object{"sub": role + "2"}), problem.TokenInvalid},
		"its subject in capitals":          {other, with(foreign, object{"sub": strings.ToUpper(role)}), problem.TokenInvalid},
		"expired":                          {other, with(foreign, object{"exp": past}), problem.TokenExpired},
		"for another audience":             {other, with(foreign, object{"aud": "sts.amazonaws.com"}), problem.TokenInvalid},
		"an ID token":                      {users, with(own, object{"at_hash": "x"}), problem.TokenInvalid},
		"own issuer, without a mark":       {users, with(own, object{"client_id": nil, "scope": nil}), problem.TokenInvalid},
		"own issuer, without the scope":    {users, with(own, object{"scope": "openid"}), problem.TokenInvalid},
		"a person by email":                {users, with(own, object{"email": "alice@example.com"}), problem.TokenInvalid},
		"a person by email, null":          {users, with(own, object{"email": []any{}}), problem.TokenInvalid},
		"a person by nonce":                {users, with(own, object{"nonce": "n"}), problem.TokenInvalid},
		"a person by auth_time":            {users, with(own, object{"auth_time": past}), problem.TokenInvalid},
		"a person by sid":                  {users, with(own, object{"sid": "s"}), problem.TokenInvalid},
		"a person by sid in other letters": {users, with(own, object{"SID": "s"}), problem.TokenInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			header := c.by.header()
			if c.payload["client_id"] == nil {
				header["typ"] = "JWT"
			}
			raw := c.by.token(header, c.payload)
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, c.code, raw)
		})
	}
}

// TestAProgramForUsersKnowsTheServicesOfTheirIssuer: it tells their tokens from users', and calls no other issuer.
func TestAProgramForUsersKnowsTheServicesOfTheirIssuer(t *testing.T) {
	for _, audience := range []string{"", "services"} {
		var all accesstoken.Config
		_, users, other := served(t, func(c *accesstoken.Config) { c.ServiceAudience, all = audience, *c })
		all.ServiceAudience = audience
		v := users.verifierOf(all.ForUsers())
		own := users.token(users.header(), with(users.ofService(), object{"aud": cmp.Or(audience, users.config().Audience)}))
		if got, err := v.Verify(t.Context(), own); err != nil || got.Service != "billing" {
			t.Errorf("a service of the users' issuer: %+v, %v", got, err)
		}
		foreign := other.token(other.header(), other.ofRole())
		_, err := v.Verify(t.Context(), foreign)
		refused(t, err, problem.TokenInvalid, foreign)
		if asked := other.requests("/jwks") + other.requests("/.well-known/openid-configuration"); asked != 0 {
			t.Errorf("the issuer of other services was called %d times", asked)
		}
		if len(all.Services) != 2 {
			t.Error("the settings were changed")
		}
	}
}

// TestAServiceIsSignedByItsOwnIssuer: by no other, though we trust that one with tokens of its own.
func TestAServiceIsSignedByItsOwnIssuer(t *testing.T) {
	v, users, other := served(t, nil)
	other.keys = []any{ecJWK("ec", otherEC())}
	for _, c := range []struct {
		payload object
		key     any // of the issuer that signed it
	}{{other.ofRole(), ecKey()}, {users.ofService(), otherEC()}} {
		raw := signed(t, text(t, users.header()), text(t, c.payload), jwt.SigningMethodES256, c.key)
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.TokenInvalid, raw)
	}
}

// TestServicesHaveTheirOwnAudience: it counts for them in place of the users'.
func TestServicesHaveTheirOwnAudience(t *testing.T) {
	v, users, other := served(t, func(c *accesstoken.Config) { c.ServiceAudience = "services" })
	for _, i := range []struct {
		by      *issuer
		payload object
	}{{users, users.ofService()}, {other, other.ofRole()}} {
		raw := i.by.token(i.by.header(), i.payload)
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.TokenInvalid, raw)
		if _, err := v.Verify(t.Context(), i.by.token(i.by.header(), with(i.payload, object{"aud": "services"}))); err != nil {
			t.Error(err)
		}
	}
	raw := users.token(users.header(), with(users.payload(), object{"scope": "api", "aud": "services"}))
	_, err := v.Verify(t.Context(), raw)
	refused(t, err, problem.TokenInvalid, raw)
}

// TestWithoutAnAudienceTheClientOfAServiceIsListed as that of a user's token: Cognito's have no aud.
func TestWithoutAnAudienceTheClientOfAServiceIsListed(t *testing.T) {
	v, users, _ := served(t, func(c *accesstoken.Config) { c.Audience, c.ClientIDs = "", []string{"m2m"} })
	cognito := with(users.ofService(), object{"aud": nil, "token_use": "access"})
	if _, err := v.Verify(t.Context(), users.token(users.header(), cognito)); err != nil {
		t.Error(err)
	}
	raw := users.token(users.header(), with(cognito, object{"client_id": "third"}))
	_, err := v.Verify(t.Context(), raw)
	refused(t, err, problem.TokenInvalid, raw)
}

// TestAnotherIssuersClientIsAskedForOnlyWithoutAnAudience: its tokens of roles and jobs name none.
func TestAnotherIssuersClientIsAskedForOnlyWithoutAnAudience(t *testing.T) {
	for _, c := range []struct {
		audience    string
		aud, client any // of the token
		want        bool
	}{{"", nil, nil, false}, {"", nil, "m2m", true}, {"services", "services", nil, true}, {"services", "services", "m2m", true}} {
		v, _, other := served(t, func(to *accesstoken.Config) {
			to.Audience, to.ServiceAudience, to.ClientIDs = "", c.audience, []string{"m2m"}
		})
		raw := other.token(other.header(), with(other.ofRole(), object{"aud": c.aud, "client_id": c.client, "token_use": "access"}))
		if _, err := v.Verify(t.Context(), raw); (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestAHangingIssuerOfServicesHoldsUpNoUser: of many callers with made-up tokens, those of ten seconds wait together for
// one, and users do not.
func TestAHangingIssuerOfServicesHoldsUpNoUser(t *testing.T) {
	users, other := newIssuer(t), newIssuer(t)
	other.clock = users.clock
	asked := 0
	c := users.config()
	c.Services = []service.Service{{Name: "deploy", Issuer: other.url(), Subject: role}}
	good, madeUp := users.good(), other.token(other.header(), other.ofRole())
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(other.url(), "http://"+r.URL.Host) {
			asked++
			return hang(r)
		}
		return answer(http.StatusOK, text(t, object{"keys": users.keys})), nil
	})}
	synctest.Test(t, func(t *testing.T) {
		begun, wall := time.Now(), users.clock.now()
		v := accesstoken.New(c, client, func() time.Time { return wall.Add(time.Since(begun)) })
		for range 16 {
			go func() {
				_, err := v.Verify(t.Context(), madeUp)
				refused(t, err, problem.Unavailable, madeUp)
			}()
		}
		synctest.Wait()
		if _, err := v.Verify(t.Context(), good); err != nil || time.Since(begun) != 0 {
			t.Errorf("a user's token takes %s: %v", time.Since(begun), err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for range 100 {
			_, err := v.Verify(t.Context(), madeUp)
			refused(t, err, problem.Unavailable, madeUp)
		}
		if took := time.Since(begun); took != time.Second || asked != 1 {
			t.Errorf("the callers waited for %s, and the issuer was called %d times", took, asked)
		}
		time.Sleep(10 * time.Second)
		_, _ = v.Verify(t.Context(), madeUp)
		if took := time.Since(begun); took != 12*time.Second || asked != 2 {
			t.Errorf("ten seconds later: %s, %d calls", took, asked)
		}
	})
}
