package principal_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
)

func TestACredentialFollowsItsScheme(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "BEARER   abc": "abc", "Bearer a b": "a b",
		"": "", "Bearer": "", "Bearer ": "", "Bearer   ": "", "Basic abc": "", "Bearerabc": "", " Bearer abc": "", "Bearer\tabc": "",
	} {
		if got, ok := principal.Bearer(header); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", header, got, ok)
		}
	}
}

// TestAChallengeHasAnErrorOnlyForABearerCredential (RFC 6750, section 3).
func TestAChallengeHasAnErrorOnlyForABearerCredential(t *testing.T) {
	for want, all := range map[string][][]string{
		"Bearer": {nil, {""}, {"Basic abc"}, {"Bearer "}}, `Bearer error="invalid_token"`: {{"Bearer a"}, {"Basic abc", "bearer a"}},
	} {
		for _, headers := range all {
			if got := principal.Challenge(headers); got != want {
				t.Errorf("%q: %s", headers, got)
			}
		}
	}
}

func TestACallerArrivesAsTheAuthorizerSentIt(t *testing.T) {
	ids, now := id.Source{}, time.Now()
	user, org, app, key := ids.NewUser(), ids.NewOrg(), ids.NewApp(now), ids.NewKey(now)
	for _, c := range []struct {
		p    principal.Principal
		sent map[string]string
		id   string
	}{
		{principal.Principal{Kind: principal.User, UserID: user}, map[string]string{"kind": "user", "userId": string(user)}, string(user)},
		{principal.Principal{Kind: principal.User, UserID: user, SignedInAt: 7}, map[string]string{"kind": "user", "userId": string(user), "signedInAt": "7"}, string(user)},
		{principal.Principal{Kind: principal.Key, OrgID: org, AppID: app, KeyID: key}, map[string]string{"kind": "key", "orgId": string(org), "appId": string(app), "keyId": string(key)}, string(key)},
		{principal.Principal{Kind: principal.None}, map[string]string{"kind": "none"}, ""},
	} {
		sent := c.p.Context()
		arrived := map[string]any{"principalId": "x"} // API Gateway adds members
		for name, value := range sent {
			arrived[name] = value
		}
		if got, err := principal.Parse(arrived); !maps.Equal(sent, c.sent) || err != nil || got != c.p || got.ID() != c.id {
			t.Errorf("%+v: sent %v, arrived as %+v, %v", c.p, sent, got, err)
		}
		for name := range c.sent {
			if name == "signedInAt" {
				continue // only this member may be missing
			}
			lost := maps.Clone(arrived)
			delete(lost, name)
			if got, err := principal.Parse(lost); !errors.Is(err, principal.ErrMissing) || got != (principal.Principal{}) {
				t.Errorf("without %s: %+v, %v", name, got, err)
			}
		}
		if got, err := principal.FromContext(principal.NewContext(t.Context(), c.p)); err != nil || got != c.p {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestAnInvalidContextHasNoCaller(t *testing.T) {
	org := string(id.Source{}.NewOrg())
	for name, m := range map[string]map[string]any{
		"nothing": nil, "another kind": {"kind": "root"}, "a kind in capitals": {"kind": "None"}, "a kind that is a number": {"kind": 1},
		"an org as a user": {"kind": "user", "userId": org}, "a user that is a number": {"kind": "user", "userId": 1}, "an org as everything": {"kind": "key", "orgId": org, "appId": org, "keyId": org},
	} {
		if got, err := principal.Parse(m); !errors.Is(err, principal.ErrMissing) || got != (principal.Principal{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := principal.FromContext(context.Background()); !errors.Is(err, principal.ErrMissing) {
		t.Error(err)
	}
	if text := principal.MisconfiguredError("no org").Error(); text != "authorizer_misconfigured: no org" {
		t.Error(text)
	}
}

func TestASubjectIsShortTextWithoutControls(t *testing.T) {
	for sub, want := range map[string]bool{
		"a": true, "é|日": true, strings.Repeat("s", 255): true, "": false, strings.Repeat("s", 256): false, "a\nb": false, "a\ufffdb": false,
	} {
		if principal.IsSubject(sub) != want {
			t.Errorf("%q: %v", sub, !want)
		}
	}
}

func TestAServiceNameHasOnlyAllowedCharacters(t *testing.T) {
	for c := range 256 {
		text := string([]byte{byte(c)})
		isLetterOrDigit := strings.Contains("abcdefghijklmnopqrstuvwxyz0123456789", text)
		if principal.IsServiceName(text) != isLetterOrDigit || principal.IsServiceName("a"+text) != (isLetterOrDigit || text == "-") {
			t.Errorf("%q: %v, %v", text, principal.IsServiceName(text), principal.IsServiceName("a"+text))
		}
	}
	for n, want := range map[int]bool{0: false, 32: true, 33: false} {
		if principal.IsServiceName(strings.Repeat("a", n)) != want {
			t.Errorf("%d characters: %v", n, !want)
		}
	}
}
