package accesstoken_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

// nested returns an object in this number of nested objects.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + `{}` + strings.Repeat("}", levels)
}

// aliceAnd returns a profile of alice with a verified email and these further members.
func aliceAnd(more string) string {
	return `{"sub":"alice","email":"alice@example.com","email_verified":true,` + more + `}`
}

// TestNoAttributeOfAPersonHidesTheirProfile: a person may write any attribute into their profile.
func TestNoAttributeOfAPersonHidesTheirProfile(t *testing.T) {
	proved := accesstoken.Profile{Email: "alice@example.com", EmailVerified: true}
	named := func(name string) accesstoken.Profile {
		return accesstoken.Profile{Email: proved.Email, EmailVerified: true, Name: name}
	}
	for body, want := range map[string]accesstoken.Profile{
		aliceAnd("\"name\":\"Jos\xe9\""):                               named("Jos\ufffd"),
		aliceAnd("\"name\":\"Jos\xc3\""):                               named("Jos\ufffd"),
		aliceAnd("\"picture\":\"\xff\",\"\xfe\":1"):                    proved,
		aliceAnd(`"name":"\ud83d"`):                                    named("\ufffd"),
		aliceAnd(`"user_metadata":{"\ud83d":1,"` + "\ufffd" + `":1}`):  proved,
		aliceAnd(`"address":{"country":"DE","country":"DE"}`):          proved,
		aliceAnd(`"groups":["a","a"],"x":[{"a":1,"a":2}],"EMAIL":"x"`): proved,
		aliceAnd(`"user_metadata":` + nested(500)):                     proved,
		aliceAnd(`"n":1e999999,"name":5,"picture":null`):               proved,
		aliceAnd(`"picture":"` + strings.Repeat("A", 700<<10) + `"`):   proved,
		"\ufeff \n" + aliceAnd(`"name":"A"`) + "\r\n":                  named("A"),
		aliceAnd(`"name":"A","name":"B"`):                              proved, // it is not known which name is right
	} {
		i := newIssuer(t)
		i.userinfo = answerWith(body)
		if got, err := i.verifier().Userinfo(t.Context(), i.goodToken(), "alice"); err != nil || got != want {
			t.Errorf("%.100q: %+v, %v", body, got, err)
		}
		i.userinfo = answerSigned(signed(t, `{"alg":"ES256","kid":"ec"}`, body, jwt.SigningMethodES256, ecKey()))
		if got, err := i.verifier().Userinfo(t.Context(), i.goodToken(), "alice"); !strings.HasPrefix(body, "\ufeff") && (err != nil || got != want) {
			t.Errorf("signed, %.100q: %+v, %v", body, got, err)
		}
	}
}

// TestDuplicateMembersAreIgnored: a member that comes twice proves neither the subject nor the email, even if all emails
// count as verified.
func TestDuplicateMembersAreIgnored(t *testing.T) {
	for body, want := range map[string]accesstoken.Profile{
		`{"sub":"mallory","sub":"alice","email":"a@example.com"}`:                                               {},
		`{"sub":"alice","sub":"mallory","sub":"alice","email":"a@example.com"}`:                                 {},
		`{"sub":"alice","email":"a@example.com","email":"b@example.com","email_verified":true}`:                 {},
		`{"sub":"alice","email":"a@example.com","email_verified":false,"email_verified":true}`:                  {Email: "a@example.com"},
		`{"sub":"alice","email":"a@example.com","email_verified":true,"\u0065mail_verified":true}`:              {Email: "a@example.com"},
		`{"sub":"alice","email":"a@example.com","email_verified":1,"email_verified":2,"email_verified":"true"}`: {Email: "a@example.com"},
		`{"sub":"alice","email":"jos` + "\xe9" + `@example.com","email_verified":true}`:                         {Email: "jos\ufffd@example.com", EmailVerified: true}, // not a valid address
		`{"sub":"alice` + "\xff" + `","email":"a@example.com"}`:                                                 {},
		`{"sub":"alice","email":"a@example.com"}`:                                                               {Email: "a@example.com", EmailVerified: true},
	} {
		i := newIssuer(t)
		c := i.config()
		c.EmailsAreVerified = true
		i.userinfo = answerWith(body)
		if got, err := i.verifierOf(c).Userinfo(t.Context(), i.goodToken(), "alice"); err != nil || got != want {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
		i.userinfo = answerSigned(signed(t, `{"alg":"ES256","kid":"ec"}`, body, jwt.SigningMethodES256, ecKey()))
		if got, err := i.verifierOf(c).Userinfo(t.Context(), i.goodToken(), "alice"); err != nil || got != want {
			t.Errorf("signed, %q: %+v, %v", body, got, err)
		}
	}
}

// TestAnUnreadableAnswerIsNoFault: it concerns one person, so no alarm counts it. It is remembered for 10 s.
func TestAnUnreadableAnswerIsNoFault(t *testing.T) {
	for _, body := range []string{
		``, ` `, `email=alice`, `["alice"]`, `null`, `"alice"`, `{`, aliceAnd(`"name":"A"`)[:40], aliceAnd("\"name\":\"a\nb\""), aliceAnd(`"n":NaN`), aliceAnd(`"a":1,`), aliceAnd(`"a" 1`), aliceAnd(`1:1`),
		aliceAnd(`"n":1`) + `{}`, aliceAnd(`"n":1`) + "\x00", "{\x00\"\x00s\x00", aliceAnd(`"x":` + nested(10_001)), aliceAnd(`"picture":"` + strings.Repeat("A", 1<<20) + `"`),
	} {
		i := newIssuer(t)
		i.userinfo = answerWith(body)
		v, raw := i.verifier(), i.goodToken()
		for second, requests := range []int{1, 1, 2} {
			if p, err := v.Userinfo(t.Context(), raw, "alice"); err != nil || p != (accesstoken.Profile{Unreadable: true}) || i.requests("/userinfo") != requests {
				t.Fatalf("%.60q, after %d times: %+v, %v, %d requests", body, second, p, err, i.requests("/userinfo"))
			}
			i.clock.pass(5 * time.Second)
		}
	}
}

// TestAFaultOfUserinfoIsRememberedFor10Seconds: so a person's requests do not become a flood. A fault that one person can cause is marked,
// so that it does not ring an alarm.
func TestAFaultOfUserinfoIsRememberedFor10Seconds(t *testing.T) {
	for name, c := range map[string]struct {
		userinfo http.HandlerFunc
		atWill   bool // one person can cause the fault
	}{
		"429": {status(http.StatusTooManyRequests), true}, "500": {status(http.StatusInternalServerError), false}, "503": {status(http.StatusServiceUnavailable), false},
		"408": {status(http.StatusRequestTimeout), false}, "302": {status(http.StatusFound), false}, "202": {status(http.StatusAccepted), false},
		"a closed connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		"a page":              {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, false},
	} {
		i := newIssuer(t)
		i.userinfo = c.userinfo
		v, raw := i.verifier(), i.goodToken()
		for n, requests := range []int{1, 1, 2} {
			_, err := v.Userinfo(t.Context(), raw, "alice")
			refused(t, err, problem.Unavailable, raw)
			if errors.Is(err, problem.ErrAtWill) != c.atWill || n < 2 && name != "a closed connection" && i.requests("/userinfo") != requests {
				t.Errorf("%s: %v, %d requests", name, err, i.requests("/userinfo"))
			}
			i.clock.pass(5 * time.Second)
		}
		i.set(func(i *issuer) { i.userinfo = answerWith(`{"sub":"alice","email":"alice@example.com"}`) })
		if p, err := v.Userinfo(t.Context(), i.token(i.header(), with(i.payload(), object{"jti": "2"})), "alice"); err != nil || p.Email == "" {
			t.Errorf("%s: another token: %+v, %v", name, p, err)
		}
	}
}
