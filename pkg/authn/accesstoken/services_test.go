package accesstoken_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

const role = "arn:aws:iam::123456789012:role/billing"

// served returns a verifier with two services: billing at the users' issuer, and deploy at another one.
func served(t *testing.T, change func(*accesstoken.Config)) (v *accesstoken.Verifier, users, other *issuer) {
	users, other = newIssuer(t), newIssuer(t)
	other.clock = users.clock
	c := users.config()
	c.RequiredScope = "api"
	c.Services = []accesstoken.Service{{Name: "billing", Issuer: users.url(), Subject: "svc"}, {Name: "deploy", Issuer: other.url(), Subject: role}}
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
	c.Services = []accesstoken.Service{{Name: "deploy", Issuer: other.url(), Subject: role}}
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

func TestServicesAreRead(t *testing.T) {
	got, err := accesstoken.ParseServices("billing=https://id.example/#svc, deploy=https://ci.example#repo:a%2Fb:ref%23%25%2C")
	want := []accesstoken.Service{
		{Name: "billing", Issuer: "https://id.example/", Subject: "svc"}, {Name: "deploy", Issuer: "https://ci.example", Subject: "repo:a/b:ref#%,"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if none, err := accesstoken.ParseServices(""); none != nil || err != nil {
		t.Errorf("of nothing: %v, %v", none, err)
	}
	var ten []string
	for n := range 10 {
		ten = append(ten, fmt.Sprintf("s%d=http://localhost:1#%d", n, n))
	}
	most := strings.Join(ten, ",")
	most += strings.Repeat(" ", 2<<10-len(most))
	if got, err := accesstoken.ParseServices(most); len(got) != 10 || err != nil {
		t.Errorf("ten of 2 KB: %d, %v", len(got), err)
	}
	for name, bad := range map[string]string{
		"no issuer": "billing", "no subject": "billing=https://id.example", "an empty subject": "billing=https://id.example#",
		"a name in capitals": "Billing=https://id.example#s", "an empty name": "=https://id.example#s", "a name of 33": strings.Repeat("a", 33) + "=https://id.example#s",
		"a name with a colon": "a:b=https://id.example#s", "no URL": "billing=id.example#s", "another scheme": "billing=ftp://id.example#s",
		"a % alone": "billing=https://id.example#100%", "two #": "billing=https://id.example#a#b", "a control character": "billing=https://id.example#a%0A",
		"a name twice": "a=https://id.example#s,a=https://id.example#t", "a pair twice": "a=https://id.example#s,b=https://id.example#s",
		"an empty part": "a=https://id.example#s,", "a long subject": "a=https://id.example#" + strings.Repeat("s", 256),
		"2 KB and a byte": most + " ", "eleven": strings.Join(ten, ",") + ",s=https://id.example#s", "no host": "billing=https:///id#s",
		"plain text": "a=http://id.example#s", "plain text, escaped": "a=http%3A//id.example#s", "a name like this machine's": "a=http://localhost.example#s",
		"a user like this machine": "a=http://localhost@id.example#s", "an address of a network": "a=http://10.0.0.1#s",
		"no #": "billing=https://id.example,a=b", "no =": "billing#s",
	} {
		if got, err := accesstoken.ParseServices(bad); err == nil {
			t.Errorf("%s: taken: %+v", name, got)
		}
	}
}
