package api_test

import (
	"strings"
	"testing"

	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// TestKeysOfAnAppCanBeginDifferently creates an app with keysBeginWith. The keys of the default app still begin with the
// deployment's prefix.
func TestKeysOfAnAppCanBeginDifferently(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	ada := user(w.byRole[org.Admin])
	const path, one = "/v1/orgs/{orgId}/apps", "/v1/orgs/{orgId}/apps/{appId}"
	made := w.want(t, w.request("POST", path, ada, `{"name":"Test","keysBeginWith":"lktest"}`), 201, "")
	if made.str("keysBeginWith") != "lktest" {
		t.Error(made.text)
	}
	for app, begin := range map[string]string{made.str("id"): "lktest_", string(id.DefaultApp(w.org)): "lk_"} {
		key := w.want(t, w.request("POST", keysPath, ada, `{"appId":"`+app+`"}`), 201, "").str("key")
		if !strings.HasPrefix(key, begin) {
			t.Errorf("a key does not begin with %s", begin)
		}
	}
	if shown := w.want(t, w.request("GET", path, ada, ""), 200, ""); strings.Count(shown.text, `"keysBeginWith"`) != 1 {
		t.Errorf("only one of the apps must show keysBeginWith: %s", shown.text)
	}
	for _, begin := range []string{`"lkt"`, `""`, `"l"`, `"acme"`, `"lkTest"`, `"lk_test"`, `"lk-"`, `"lké"`, `"lk345678901234567"`, `1`} {
		for _, r := range []request{w.request("POST", path, ada, `{"name":"x","keysBeginWith":`+begin+`}`), w.request("PATCH", one, ada, `{"keysBeginWith":`+begin+`}`)} {
			if refused := w.want(t, r, 422, problem.ValidationFailed); !strings.Contains(refused.text, `"/keysBeginWith"`) {
				t.Error(refused.text)
			}
		}
	}
	for _, begin := range []string{`"lk"`, `"lkt1"`, `"lk34567890123456"`, `null`} {
		changed := w.want(t, w.request("PATCH", one, ada, `{"keysBeginWith":`+begin+`}`), 200, "")
		if changed.str("keysBeginWith") != strings.Trim(strings.TrimPrefix(begin, "null"), `"`) {
			t.Errorf("%s: %s", begin, changed.text)
		}
	}
}
