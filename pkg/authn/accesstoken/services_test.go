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

// withServices returns a verifier with two services: billing at the users' issuer, and deploy at another issuer.
func withServices(t *testing.T, change func(*accesstoken.Config)) (v *accesstoken.Verifier, users, other *issuer) {
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

// servicePayload returns the payload of a token from the grant client_credentials.
func (i *issuer) servicePayload() object {
	return with(i.payload(), object{"sub": "svc", "client_id": "m2m", "scope": "api", "email": nil, "email_verified": nil, "name": nil})
}

// rolePayload returns the payload of a token of another issuer, without any mark of an access token.
func (i *issuer) rolePayload() object {
	return with(i.servicePayload(), object{"sub": role, "client_id": nil, "scope": nil, "https://sts.amazonaws.com/": object{"aws_account": "123456789012"}})
}

func TestTheTokenOfAServiceNamesIt(t *testing.T) {
	v, users, other := withServices(t, nil)
	plain := object{"typ": "JWT", "alg": "RS256", "kid": "rsa"}
	for _, c := range []struct {
		raw, want string // the token, and the name of its service; "": a user
	}{
		{users.token(users.header(), users.servicePayload()), "billing"},
		{users.token(object{"typ": "JWT", "alg": "ES256", "kid": "ec"}, users.servicePayload()), "billing"},
		{other.token(plain, other.rolePayload()), "deploy"},
		{users.token(users.header(), with(users.payload(), object{"scope": "api"})), ""},
		{users.token(users.header(), with(users.servicePayload(), object{"sub": "another client"})), ""},
	} {
		for range 2 { // the second time, the token is known
			if got, err := v.Verify(t.Context(), c.raw); err != nil || got.Service != c.want || got.Subject == "" {
				t.Errorf("%+v, %v, want %q", got, err, c.want)
			}
		}
	}
}

// TestTokensAlmostOfAServiceAreRefused has tokens that differ from a service's token in one claim.
func TestTokensAlmostOfAServiceAreRefused(t *testing.T) {
	v, users, other := withServices(t, nil)
	own, foreign := users.servicePayload(), other.rolePayload()
	past := users.clock.now().Add(-time.Minute).Unix()
	for name, c := range map[string]struct {
		by      *issuer // signs the token
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

// TestClientTokensOfCommonIssuersAreServices has a client's token of each issuer in infra/docs/issuers.md.
func TestClientTokensOfCommonIssuersAreServices(t *testing.T) {
	for name, claims := range map[string]object{
		"Auth0":                     {"sub": "c1@clients", "azp": "c1", "gty": "client-credentials", "https://example.com/tier": "gold", "permissions": []any{"api"}},
		"Auth0, RFC 9068":           {"sub": "c1@clients", "client_id": "c1", "jti": "j", "https://example.com/tier": "gold"},
		"Okta":                      {"sub": "0oa1", "cid": "0oa1", "scp": []any{"api"}, "scope": nil, "ver": 1, "jti": "j", "tier": "gold"},
		"Cognito":                   {"sub": "c1", "client_id": "c1", "token_use": "access", "auth_time": 1772366400, "version": 2, "jti": "j"},
		"Entra, version 2":          {"sub": "o1", "oid": "o1", "azp": "c1", "azpacr": "1", "roles": []any{"api"}, "tid": "t", "uti": "u", "rh": "h", "aio": "a", "ver": "2.0"},
		"Entra, version 1":          {"sub": "o1", "oid": "o1", "appid": "c1", "appidacr": "1", "idp": "i", "tid": "t", "uti": "u", "ver": "1.0"},
		"Entra, with idtyp":         {"sub": "o1", "azp": "c1", "idtyp": "app", "app_displayname": "billing"},
		"Keycloak":                  {"sub": "5b1e", "azp": "C1", "typ": "Bearer", "acr": "1", "scope": "api email profile", "email_verified": false, "preferred_username": "service-account-c1", "clientHost": "10.0.0.1", "clientAddress": "10.0.0.1", "client_id": "C1", "realm_access": object{"roles": []any{"a"}}},
		"Keycloak, with openid":     {"sub": "5b1e", "azp": "c1", "scope": "openid api", "preferred_username": "service-account-c1"},
		"Keycloak, without a name":  {"sub": "5b1e", "azp": "c1", "scope": "api", "clientHost": "10.0.0.1", "clientAddress": "10.0.0.1", "acr": "1"},
		"oidc-provider":             {"sub": "c1", "client_id": "c1", "jti": "j", "tier": "gold"},
		"a subject of its own":      {"sub": "svc", "client_id": "m2m", "jti": "j", "nbf": 1772366400, "roles": []any{"a"}},
		"without any other mark":    {"sub": "svc", "azp": nil, "client_id": "m2m"},
		"a scope with openid in it": {"sub": "svc", "client_id": "m2m", "scope": "api myopenid openid2"},
		"idtyp and another mark":    {"sub": "c1", "client_id": "c1", "idtyp": "app", "gty": "client-credentials"},
	} {
		if _, has := claims["client_id"]; !has {
			claims["client_id"] = nil
		}
		subject, _ := claims["sub"].(string)
		v, users, _ := withServices(t, func(c *accesstoken.Config) {
			c.Services, c.RequiredScope = []service.Service{{Name: "billing", Issuer: c.Issuer, Subject: subject}}, ""
		})
		if got, err := v.Verify(t.Context(), users.token(users.header(), with(users.servicePayload(), claims))); err != nil || got.Service != "billing" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestAPersonsTokenNeverCountsAsAServices: if an issuer lets users choose their subject, a person can have the subject of a service.
func TestAPersonsTokenNeverCountsAsAServices(t *testing.T) {
	own := object{"sub": "c1", "client_id": "c1"}
	keycloak := object{"sub": "c1", "azp": "web", "preferred_username": "service-account-web"}
	for name, claims := range map[string]object{
		"openid": {"scope": "openid api"}, "only openid": {"scope": "openid"}, "openid at the end": {"scope": "api openid"}, "openid in a list": {"scp": []any{"api", "openid"}},
		"openid in scp": {"scp": "openid"}, "a refresh token": {"scope": "api offline_access"}, "openid of a client": with(own, object{"scope": "openid api"}),
		"name": {"name": "Ada"}, "name of a client": with(own, object{"name": "Ada"}), "no name": {"name": ""}, "given_name": {"given_name": "Ada"}, "family_name": with(own, object{"family_name": "Lovelace"}),
		"idtyp": {"idtyp": "user"}, "idtyp of a client": with(own, object{"idtyp": "user"}), "idtyp in capitals": with(own, object{"idtyp": "APP"}), "another IDTYP": with(own, object{"IDTYP": "user"}), "idtyp in a list": {"idtyp": []any{"app"}},
		"gty": {"gty": "password"}, "gty of a client": with(own, object{"gty": "authorization_code"}),
		"amr": {"amr": []any{"pwd"}}, "amr of a client": with(own, object{"amr": []any{"mfa"}}), "email of a client": with(own, object{"email": "a@b.example"}),
		"nonce of a client": with(own, object{"nonce": "n"}), "sid of a client": with(own, object{"Sid": "s"}), "auth_time of a client": with(own, object{"auth_time": 1772366400}),
		"preferred_username": {"preferred_username": "ada"}, "of a client": with(own, object{"preferred_username": "ada"}), "of another client": with(keycloak, object{"preferred_username": "service-account-other"}),
		"a longer name": with(keycloak, object{"preferred_username": "service-account-web2"}), "hosts and a name": {"clientHost": "h", "clientAddress": "a", "preferred_username": "ada"},
		"one host": {"clientHost": "h"}, "one address": {"clientAddress": "a"}, "email of Keycloak": with(keycloak, object{"email": "a@b.example"}),
		"Cognito's username": with(own, object{"token_use": "access", "username": "ada"}), "Cognito's auth_time": {"token_use": "access", "auth_time": 1772366400},
		"Okta's uid": {"uid": "00u1", "cid": "0oa1"}, "Entra's scp": {"oid": "c1", "scp": "api", "sub": "c1"}, "Entra's oid": {"oid": "o2"}, "Entra's upn": {"upn": "a@b.example", "oid": "c1", "sub": "c1"},
		"a claim about a person": {"picture": "https://a.example"}, "phone_number": with(own, object{"phone_number": "+4"}), "acr": {"acr": "1"}, "groups": {"cognito:groups": []any{"a"}},
		"@clients of another": {"sub": "c1", "azp": "c2", "acr": "1"}, "a name claim of the deployment": with(own, object{"display": "Ada"}), "an email claim of the deployment": with(own, object{"mail": "a@b.example"}),
	} {
		v, users, _ := withServices(t, func(c *accesstoken.Config) {
			c.Services, c.RequiredScope = []service.Service{{Name: "billing", Issuer: c.Issuer, Subject: "c1"}}, ""
			c.NameClaim, c.EmailClaim = "display", "mail"
		})
		raw := users.token(users.header(), with(users.servicePayload(), with(object{"sub": "c1"}, claims)))
		_, err := v.Verify(t.Context(), raw)
		if err == nil || !strings.Contains(err.Error(), "but it shows a person or has no mark of a service") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAProgramForUsersKnowsTheServicesOfTheirIssuer: it distinguishes their tokens from users' tokens, and calls no other issuer.
func TestAProgramForUsersKnowsTheServicesOfTheirIssuer(t *testing.T) {
	for _, audience := range []string{"", "services"} {
		var all accesstoken.Config
		_, users, other := withServices(t, func(c *accesstoken.Config) { c.ServiceAudience, all = audience, *c })
		all.ServiceAudience = audience
		v := users.verifierOf(all.ForUsers())
		own := users.token(users.header(), with(users.servicePayload(), object{"aud": cmp.Or(audience, users.config().Audience)}))
		if got, err := v.Verify(t.Context(), own); err != nil || got.Service != "billing" {
			t.Errorf("a service of the users' issuer: %+v, %v", got, err)
		}
		foreign := other.token(other.header(), other.rolePayload())
		_, err := v.Verify(t.Context(), foreign)
		refused(t, err, problem.TokenInvalid, foreign)
		if calls := other.requests("/jwks") + other.requests("/.well-known/openid-configuration"); calls != 0 {
			t.Errorf("the issuer of other services was called %d times", calls)
		}
		if len(all.Services) != 2 {
			t.Error("the settings were changed")
		}
	}
}

// TestAServiceIsSignedByItsOwnIssuer: a signature of the other configured issuer is refused.
func TestAServiceIsSignedByItsOwnIssuer(t *testing.T) {
	v, users, other := withServices(t, nil)
	other.keys = []any{ecJWK("ec", otherEC())}
	for _, c := range []struct {
		payload object
		key     any // the key of the issuer that signed the token
	}{{other.rolePayload(), ecKey()}, {users.servicePayload(), otherEC()}} {
		raw := signed(t, text(t, users.header()), text(t, c.payload), jwt.SigningMethodES256, c.key)
		_, err := v.Verify(t.Context(), raw)
		refused(t, err, problem.TokenInvalid, raw)
	}
}

// TestServicesHaveTheirOwnAudience: ServiceAudience replaces the users' audience for them.
func TestServicesHaveTheirOwnAudience(t *testing.T) {
	v, users, other := withServices(t, func(c *accesstoken.Config) { c.ServiceAudience = "services" })
	for _, i := range []struct {
		by      *issuer // signs the token
		payload object
	}{{users, users.servicePayload()}, {other, other.rolePayload()}} {
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

// TestWithoutAnAudienceAServicesClientMustBeListed: Cognito's tokens have no aud, so ClientIDs must list the client.
func TestWithoutAnAudienceAServicesClientMustBeListed(t *testing.T) {
	v, users, _ := withServices(t, func(c *accesstoken.Config) { c.Audience, c.ClientIDs = "", []string{"m2m"} })
	cognito := with(users.servicePayload(), object{"aud": nil, "token_use": "access"})
	if _, err := v.Verify(t.Context(), users.token(users.header(), cognito)); err != nil {
		t.Error(err)
	}
	raw := users.token(users.header(), with(cognito, object{"client_id": "third"}))
	_, err := v.Verify(t.Context(), raw)
	refused(t, err, problem.TokenInvalid, raw)
}

// TestTheClientOfAnotherIssuerIsCheckedOnlyWithoutAnAudience: its tokens for roles and jobs name no client.
func TestTheClientOfAnotherIssuerIsCheckedOnlyWithoutAnAudience(t *testing.T) {
	for _, c := range []struct {
		audience    string // ServiceAudience
		aud, client any    // of the token
		want        bool   // whether the token is accepted
	}{{"", nil, nil, false}, {"", nil, "m2m", true}, {"services", "services", nil, true}, {"services", "services", "m2m", true}} {
		v, _, other := withServices(t, func(to *accesstoken.Config) {
			to.Audience, to.ServiceAudience, to.ClientIDs = "", c.audience, []string{"m2m"}
		})
		raw := other.token(other.header(), with(other.rolePayload(), object{"aud": c.aud, "client_id": c.client, "token_use": "access"}))
		if _, err := v.Verify(t.Context(), raw); (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestAHangingIssuerOfServicesDelaysNoUser: callers with made-up tokens wait for one request to the issuer in ten
// seconds. Users do not wait.
func TestAHangingIssuerOfServicesDelaysNoUser(t *testing.T) {
	users, other := newIssuer(t), newIssuer(t)
	other.clock = users.clock
	calls := 0
	c := users.config()
	c.Services = []service.Service{{Name: "deploy", Issuer: other.url(), Subject: role}}
	good, madeUp := users.goodToken(), other.token(other.header(), other.rolePayload())
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(other.url(), "http://"+r.URL.Host) {
			calls++
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
		if took := time.Since(begun); took != time.Second || calls != 1 {
			t.Errorf("the callers waited for %s, and the issuer was called %d times", took, calls)
		}
		time.Sleep(10 * time.Second)
		_, _ = v.Verify(t.Context(), madeUp)
		if took := time.Since(begun); took != 12*time.Second || calls != 2 {
			t.Errorf("ten seconds later: %s, %d calls", took, calls)
		}
	})
}
