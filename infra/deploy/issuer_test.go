package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/proof"
	"latchkey/infra/deploy/settings"
	"latchkey/infra/deploy/standin"
	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/problem"
)

// answers has the bodies of an issuer's answers, by the end of the path. An issuer without answers cannot be reached.
type answers map[string]string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(a) == 0 {
		return nil, fmt.Errorf("nothing listens at %s", r.URL.Host)
	}
	res := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}
	for end, body := range a {
		if strings.HasSuffix(r.URL.Path, end) {
			res.StatusCode, res.Body = http.StatusOK, io.NopCloser(strings.NewReader(body))
		}
	}
	return res, nil
}

// goodIssuer is an issuer with a discovery document and a key.
func goodIssuer(name string) answers {
	return answers{
		"/.well-known/openid-configuration": `{"issuer":"` + name + `","jwks_uri":"https://issuer.example/jwks"}`,
		"/jwks": `{"keys":[{"kid":"one","kty":"EC","crv":"P-256","alg":"ES256","use":"sig",` +
			`"x":"q-gkFWcL_pwuo6kNYjAMG4Z4fPKtfMSigO4b3dwrnHE","y":"UlvhH5hsDqUJ9gcaGgJokvD_pQE-eu2s9OshbFNGpg8"}]}`,
	}
}

// TestTheStrangersTokenIsRefusedOnlyForItsKey tries every combination of the parameters with rules for claims, once with an
// issuer that can be reached and once without. A token that breaks a rule would get token_invalid in both cases.
func TestTheStrangersTokenIsRefusedOnlyForItsKey(t *testing.T) {
	t.Parallel()
	for n := range 1 << 5 {
		p := &program{Settings: settings.Settings{Parameters: map[string]string{"Issuer": "https://issuer.example"}}}
		for i, parameter := range []string{"Audience=https://api.example", "ClientIds=web, app", "RequiredScope=api:use", "JwksUrl=https://issuer.example/jwks", "EmailClaim=sub"} {
			if name, value, _ := strings.Cut(parameter, "="); n&(1<<i) != 0 {
				p.Parameters[name] = value
			}
		}
		if p.value("Audience") == "" && p.value("ClientIds") == "" {
			continue // no deployment can have these values (settings.Template.CheckTogether)
		}
		for issuer, want := range map[string]problem.Code{"unreachable": problem.Unavailable, "reachable": problem.TokenInvalid} {
			client := &http.Client{}
			if issuer == "reachable" {
				client.Transport = goodIssuer("https://issuer.example")
			} else {
				client.Transport = answers{}
			}
			tokens := proof.TokensOf(p.value)
			given := accesstoken.Config{ // as a function reads them
				Issuer: "https://issuer.example", JWKSURL: p.Parameters["JwksUrl"], Audience: p.Parameters["Audience"],
				RequiredScope: p.Parameters["RequiredScope"], EmailClaim: p.Parameters["EmailClaim"],
			}
			if p.Parameters["ClientIds"] != "" {
				given.ClientIDs = []string{"web", "app"}
			}
			v := accesstoken.New(given, client, time.Now)
			for call := range 2 { // the first call may leave state in v
				if _, err := v.Verify(t.Context(), proof.StrangersToken(tokens, time.Now())); !problem.Is(err, want) {
					t.Errorf("%v, an issuer that is %s, call %d: %v, want %s", p.Parameters, issuer, call, err, want)
				}
			}
		}
	}
}

// TestAnIssuerThatCannotWorkIsRefusedBeforeABuild also checks that a deployment continues when only this machine cannot reach the
// issuer.
func TestAnIssuerThatCannotWorkIsRefusedBeforeABuild(t *testing.T) {
	t.Parallel()
	noKey := goodIssuer("https://issuer.example")
	noKey["/jwks"] = `{"keys":[]}`
	elsewhere := answers{"/keys": goodIssuer("")["/jwks"]} // and no discovery document
	for name, c := range map[string]struct {
		issuer answers
		words  []string // of the refusal; nil: the issuer is accepted
		prints string
		given  string // PARAMETERS
	}{
		"keys elsewhere":      {elsewhere, nil, "Issuer https://issuer.example: its keys were read", "JwksUrl=https://issuer.example/keys"},
		"keys that are gone":  {goodIssuer("https://issuer.example"), []string{"gives no keys", "404"}, "", "JwksUrl=https://issuer.example/keys"},
		"a new issuer":        {goodIssuer("https://new.example"), nil, "Issuer https://new.example: its keys were read", "Issuer=https://new.example"},
		"the deployed issuer": {goodIssuer("https://issuer.example"), []string{"the issuer https://new.example gives no keys"}, "", "Issuer=https://new.example"},
		"good":                {goodIssuer("https://issuer.example"), nil, "Issuer https://issuer.example: its keys were read", ""},
		"unreachable":         {answers{}, nil, "WARNING: the issuer https://issuer.example: it cannot be reached from this machine: nothing listens", ""},
		"with a slash":        {goodIssuer("https://issuer.example/"), []string{"the discovery document is another issuer's", "with or without a slash"}, "", ""},
		"without documents":   {answers{"/other": "{}"}, []string{"gives no keys", "JwksUrl="}, "", ""},
		"without a key":       {noKey, []string{"no key that can be used"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.issuer = c.issuer
			r.aws.Set(standin.Faults{KeyAtOnce: true})
			r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
			out, err := r.deploy("YES=1", "PARAMETERS="+c.given)
			if c.words == nil {
				succeeded(t, out, err)
				has(t, "the output", out, c.prints)
				return
			}
			refused(t, err, c.words...)
			if calls := r.calls(); calls != nil {
				t.Errorf("the SAM CLI was run: %q", calls)
			}
		})
	}
}
