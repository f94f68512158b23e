package api_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
	"latchkey/pkg/leaks"
	"latchkey/pkg/link"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
)

const (
	leaksPath = "/key/leaks/github"
	leakPlace = "https://github.com/a/b/blob/c/d.txt"
)

// signedByGitHub replaces the check of a signature, which has its own tests.
func signedByGitHub(_ context.Context, identifier, signature string, _ []byte) (bool, error) {
	if identifier == "away" {
		return false, errors.New("the server of keys is down")
	}
	return signature == "good", nil
}

// report sends a report of texts in the form of GitHub.
func (f *keyStates) report(t *testing.T, status int, code problem.Code, url string, texts ...string) reply {
	t.Helper()
	var all []string
	for _, text := range texts {
		all = append(all, fmt.Sprintf(`{"token":%q,"type":"a_key","url":%q,"source":"content","new":[1]}`, text, url))
	}
	return f.want(t, request{method: "POST", path: leaksPath, body: "[" + strings.Join(all, ",") + "]", header: map[string]string{
		"Github-Public-Key-Identifier": "one", "Github-Public-Key-Signature": "good",
	}}, status, code)
}

// leaked returns the sources of the audit entries key.leaked, by key id.
func (f *keyStates) leaked(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries := f.want(t, f.request("GET", "/v1/orgs/{orgId}/audit?limit=100", service(), ""), 200, "").body["entries"].([]any)
	for _, e := range entries {
		if e := e.(map[string]any); e["action"] == "key.leaked" {
			source, _ := e["source"].(string)
			out[e["target"].(map[string]any)["id"].(string)] = source
		}
	}
	return out
}

func labelOf(text, label string) string {
	hash := apikey.HashOf(text)
	return `{"token_hash":"` + hex.EncodeToString(hash[:]) + `","token_type":"a_key","label":"` + label + `"}`
}

// table returns the texts and bytes of all rows.
func (f *keyStates) table(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, row := range f.Rows(t) {
		writeValue(t, &all, &types.AttributeValueMemberM{Value: row})
	}
	return all.String()
}

// TestAReportOfGitHubFollowsTheSetting: with "tell" a leaked key is reported, and with "revoke" it is also revoked. Native and
// imported keys are alike, and a repeated report writes nothing.
func TestAReportOfGitHubFollowsTheSetting(t *testing.T) {
	var logs bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, nil)))
	defer slog.SetDefault(was)
	token, err := link.Mint(id.NoApp, id.Source{}.NewLink(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for effect, refusal := range map[string]problem.Code{"tell": "", "revoke": problem.KeyRevoked} {
		f := newKeyStatesWith(t, settings{imports: true, leaks: effect})
		good := []string{f.texts["active"], f.texts["imported"]}
		unknown := []string{token.Text.Reveal(), "sk_live_2", f.texts["active"][:91], ""}
		unknown = append(unknown, slices.Repeat([]string{token.Text.Reveal()}, 200)...) // many texts beside a key must not save it
		want := "[" + labelOf(good[0], "true_positive") + "," + labelOf(good[1], "true_positive")
		for _, text := range unknown {
			want += "," + labelOf(text, "false_positive")
		}
		var before []map[string]types.AttributeValue
		for n := range 2 {
			if got := f.report(t, 200, "", leakPlace, slices.Concat(good, unknown)...); strings.TrimSpace(got.text) != want+"]" {
				t.Errorf("%s: %s, want %s]", effect, got.text, want)
			}
			now := f.Rows(t)
			if n == 1 && !reflect.DeepEqual(now, before) {
				t.Errorf("%s: the repeated report has written", effect)
			}
			before = now
		}
		for _, text := range good {
			if got := f.check(text); got != refusal {
				t.Errorf("%s: %q", effect, got)
			}
		}
		if got := f.leaked(t); len(got) != 2 || got[f.ids["active"]] != leakPlace || got[f.ids["imported"]] != leakPlace {
			t.Errorf("%s: %v", effect, got)
		}
		for _, k := range f.want(t, f.request("GET", "/v1/orgs/{orgId}/keys", service(), ""), 200, "").body["keys"].([]any) {
			k := k.(map[string]any)
			if isLeaked := k["id"] == f.ids["active"] || k["id"] == f.ids["imported"]; isLeaked != (k["leakedAt"] != nil) {
				t.Errorf("%s: listed as %v", effect, k)
			}
		}
		for place, text := range map[string]string{"logs": logs.String(), "rows": f.table(t)} {
			if strings.Contains(text, good[0]) || strings.Contains(text, good[1]) || !strings.Contains(text, f.ids["active"]) && place == "rows" {
				t.Errorf("%s: the %s have the key, or are not the right ones", effect, place)
			}
		}
	}
}

// TestAPlaceIsShownWithoutTheKey: a place is not shown if it is not a URL, or if it contains the key. A long place is cut.
func TestAPlaceIsShownWithoutTheKey(t *testing.T) {
	f := newKeyStatesWith(t, settings{leaks: "tell"})
	key := f.texts["active"]
	for url, want := range map[string]string{
		"": "", "javascript:alert(1)": "", "https://": "", "https://example.com/ä": "", leakPlace + "?" + key: "",
		"https://example.com/%" + fmt.Sprintf("%x", key[0]) + key[1:]: "", "https://example.com/" + strings.Repeat("a", 900): "https://example.com/" + strings.Repeat("a", 480),
	} {
		now := f.Now().Add(25 * time.Hour)
		f.Now = func() time.Time { return now }
		made := f.want(t, f.request("POST", "/v1/orgs/{orgId}/keys", service(), `{}`), 201, "")
		f.report(t, 200, "", url, made.str("key"), key)
		if got, ok := f.leaked(t)[made.str("id")]; got != want || !ok {
			t.Errorf("%s: %q, %v", url, got, ok)
		}
	}
}

// TestWithoutGitHubsKeysNothingIsRevoked: the server of the keys is down, or slow, or redirects to a private address, or has a
// private address.
func TestWithoutGitHubsKeysNothingIsRevoked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "https://10.0.0.1/keys", http.StatusFound)
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	away := httptest.NewServer(nil)
	away.Close()
	onLoopback := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
	for url, guard := range map[string]*outbound.Guard{
		away.URL: onLoopback, server.URL + "/slow": onLoopback, server.URL + "/moved": onLoopback, "https://10.0.0.1/keys": outbound.NewGuard(nil),
	} {
		sender := outbound.NewSender(guard, outbound.WithTimeouts(200*time.Millisecond, 100*time.Millisecond))
		f := newKeyStatesWith(t, settings{leaks: "revoke", gitHub: leaks.New(sender, url).Verify})
		f.report(t, 503, problem.Unavailable, leakPlace, f.texts["active"])
		if got := f.check(f.texts["active"]); got != "" || len(f.leaked(t)) != 0 {
			t.Errorf("%s: %q, %v", url, got, f.leaked(t))
		}
	}
}

// TestAnUnsignedReportChangesNothing. After a 503 the same report can be sent again.
func TestAnUnsignedReportChangesNothing(t *testing.T) {
	var logs bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, nil)))
	defer slog.SetDefault(was)
	f := newKeyStatesWith(t, settings{leaks: "revoke"})
	key := f.texts["active"]
	body := `[{"token":"` + key + `","type":"a","url":""}]`
	send := func(identifier, signature, body string, status int, code problem.Code) {
		t.Helper()
		f.want(t, request{method: "POST", path: leaksPath, body: body, header: map[string]string{"Github-Public-Key-Identifier": identifier, "Github-Public-Key-Signature": signature}}, status, code)
	}
	send("one", "wrong", body, 401, problem.InvalidCredentials)
	send("away", "good", body, 503, problem.Unavailable)
	send("one", "wrong", "x", 401, problem.InvalidCredentials)
	send("one", "good", "x", 400, problem.InvalidJSON)
	send("one", "good", `{"token":"a"}`, 400, problem.InvalidJSON)
	send("one", "good", `["`+key+`"]`, 400, problem.InvalidJSON)
	send("one", "good", strings.Repeat(" ", 256<<10)+body, 413, problem.BodyTooLarge)
	off := newKeyStatesWith(t, settings{})
	off.report(t, 404, problem.RouteNotFound, "", off.texts["active"])
	for _, operation := range []string{"GetItem", "TransactWriteItems"} {
		f.Faults.Plan(operation, storetest.LostBefore, -1)
		send("one", "good", body, 503, problem.Unavailable)
		f.Faults.Heal()
	}
	if strings.Contains(logs.String(), key) || !strings.Contains(logs.String(), "DynamoDB: TransactWriteItems") {
		t.Error("the logs of a failure have the key, or lack the failed call")
	}
	now, step := f.Now(), time.Duration(0)
	f.Now = func() time.Time { now = now.Add(step); return now }
	step = 11 * time.Second
	send("one", "good", strings.Repeat(" ", 200<<10)+"["+strings.Repeat(`{"token":"a"},`, 99)+body[1:], 503, problem.Unavailable)
	step = 0
	if got := f.check(key); got != "" || len(f.leaked(t)) != 0 {
		t.Errorf("%s, %v", got, f.leaked(t))
	}
	send("one", "good", "["+strings.Repeat(`{"token":"a"},`, 99)+body[1:], 200, "")
	if got := f.check(key); got != problem.KeyRevoked {
		t.Errorf("the key: %q", got)
	}
	var slow *keyStates
	slow = newKeyStatesWith(t, settings{leaks: "revoke", gitHub: func(context.Context, string, string, []byte) (bool, error) {
		later := slow.Now().Add(21 * time.Second) // the time for reading GitHub's keys counts too
		slow.Now = func() time.Time { return later }
		return true, nil
	}})
	slow.report(t, 503, problem.Unavailable, "", slow.texts["active"])
}

// TestAFaultAtOneKeyStopsNoOtherOfAReport, because GitHub may not send the report again.
func TestAFaultAtOneKeyStopsNoOtherOfAReport(t *testing.T) {
	f := newKeyStatesWith(t, settings{imports: true, leaks: "revoke"})
	f.Faults.Plan("TransactWriteItems", storetest.Malformed, 1)
	f.report(t, 500, problem.Internal, leakPlace, f.texts["active"], f.texts["imported"])
	if first, second := f.check(f.texts["active"]), f.check(f.texts["imported"]); first != "" || second != problem.KeyRevoked || f.Faults.Pending() {
		t.Errorf("the key that failed: %q, the other one: %q", first, second)
	}
	f.report(t, 200, "", leakPlace, f.texts["active"], f.texts["imported"])
	if got := f.check(f.texts["active"]); got != problem.KeyRevoked {
		t.Errorf("after the same report again: %q", got)
	}
}
