package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// aKey makes, uses, lists, changes and revokes a key. Another key of the org stays good.
func aKey(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	base := "/v1/orgs/" + org + "/keys"
	made := ada.want(t, "POST", base, `{"name":"server"}`, 201, "")
	key, id := made.str("key"), made.str("id")
	if !strings.HasPrefix(key, made.str("prefix")) || len(made.body) != 4 { // id, key, prefix and expiresAt
		t.Errorf("created: %d members, prefix %s", len(made.body), made.str("prefix"))
	}
	_, sibling := ada.key(t, org, `{}`)
	r := tg.want(t, call{method: "POST", path: "/app/get", body: `{}`, bearer: key}, 200, "")
	if o, _ := r.body["org"].(map[string]any); o["id"] != org {
		t.Errorf("app/get: %s", r.text)
	}
	listed := ada.want(t, "GET", base, "", 200, "")
	if strings.Contains(listed.text, key) || len(listed.list("keys")) != 2 {
		t.Errorf("keys: %s", listed.text)
	}
	if r := ada.want(t, "PATCH", base+"/"+id, `{"scopes":["invoices:read"]}`, 200, ""); fmt.Sprint(r.body["scopes"]) != "[invoices:read]" {
		t.Errorf("changed: %s", r.text)
	}
	for range 2 { // a second revocation gets the same answer
		ada.want(t, "DELETE", base+"/"+id, "", 204, "")
	}
	refused := tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 401, "key_revoked")
	if got := refused.header.Get("WWW-Authenticate"); tg.name != "sam" && got != `Bearer error="invalid_token"` {
		t.Errorf("WWW-Authenticate %q", got)
	}
	tg.want(t, call{method: "POST", path: "/app/get", bearer: sibling}, 200, "")
	for _, k := range ada.want(t, "GET", base, "", 200, "").list("keys") {
		if isRevoked := k["revokedAt"] != nil; isRevoked != (k["id"] == id) {
			t.Errorf("listed: %v", k)
		}
	}
}

// wrongCredentials sends no credential, credentials of the wrong kind, and damaged tokens.
func wrongCredentials(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	_, key := ada.key(t, ada.org(t), `{}`)
	none := tg.want(t, call{method: "GET", path: "/v1/orgs"}, 401, "missing_credentials")
	if got := none.header.Get("Access-Control-Allow-Origin"); tg.name != "sam" && got != "*" {
		t.Errorf("Access-Control-Allow-Origin %q", got)
	}
	tg.want(t, call{method: "POST", path: "/app/get"}, 401, "missing_credentials")
	tg.want(t, call{method: "GET", path: "/v1/orgs", bearer: key}, 401, "user_token_required")
	tg.want(t, call{method: "POST", path: "/app/get", bearer: ada.token}, 401, "api_key_required")
	for _, bad := range []string{ada.token[:len(ada.token)-4], ada.token + "AAAA", strings.ToLower(ada.token), "a.b.c", strings.Repeat("x", 9000)} {
		tg.want(t, call{method: "GET", path: "/v1/orgs", bearer: bad}, 401, "token_invalid")
	}
}

// unknownRoutes requests unknown paths and methods, with and without a credential.
func unknownRoutes(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	for _, c := range []call{
		{method: "GET", path: "/nope"}, {method: "GET", path: "/v1/orgs/x/y/z"}, {method: "GET", path: "/"},
		{method: "PUT", path: "/v1/orgs"}, {method: "DELETE", path: "/app/get"},
		{method: "GET", path: "/nope", bearer: ada.token}, {method: "PUT", path: "/v1/orgs", bearer: ada.token},
	} {
		tg.want(t, c, 404, "route_not_found")
	}
}

// revokedAtOnce revokes a key and then sends requests from all clients at once. Every request that begins after the answer to the
// revocation must be refused. On AWS an account may run too few functions for all requests: the throttled ones are noted.
func revokedAtOnce(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	id, key := ada.key(t, org, `{}`)
	_, sibling := ada.key(t, org, `{}`)
	requests := 200
	if tg.name == "sam" {
		requests = 32 // SAM local makes one call at a time, 31 a second
	}
	before := tg.storm(t, requests, key)
	if tg.name != "deployed" && before["200"] != int64(requests) {
		t.Fatalf("before: %v", before)
	}
	ada.want(t, "DELETE", "/v1/orgs/"+org+"/keys/"+id, "", 204, "")
	after := tg.storm(t, requests, key)
	want := "401 key_revoked"
	if tg.name == "sam" {
		want = "403" // see samDifferences
	}
	if tg.name == "deployed" {
		note(t, "Storm", "%d clients, %d requests: before the revocation %v, after it %v", tg.clients, requests, before, after)
		if fault := stormFault(before, after); fault != "" {
			t.Error(fault)
		}
	} else if after[want] != int64(requests) {
		t.Errorf("after: %v, want only %s", after, want)
	}
	tg.want(t, call{method: "POST", path: "/app/get", bearer: sibling}, 200, "")
}

// stormFault returns the fault of the answers before and after a revocation, or "". It ignores throttled requests: 429 from the gateway,
// and 503 if the authorizer may not run.
func stormFault(before, after map[string]int64) string {
	for _, c := range []struct {
		counts map[string]int64
		want   string
	}{{before, "200"}, {after, "401 key_revoked"}} {
		for answer, n := range c.counts {
			if answer != c.want && !strings.HasPrefix(answer, "429") && !strings.HasPrefix(answer, "503") {
				return fmt.Sprintf("%d requests are answered %s, want %s", n, answer, c.want)
			}
		}
		if c.counts[c.want] == 0 {
			return fmt.Sprintf("no request is answered %s: %v", c.want, c.counts)
		}
	}
	return ""
}

// TestSmokeFailsOnA200AfterARevocation checks answers that AWS may give.
func TestSmokeFailsOnA200AfterARevocation(t *testing.T) {
	t.Parallel()
	good := map[string]int64{"200": 200}
	throttled := map[string]int64{"200": 20, "429 too_many_requests": 100, "503 unavailable": 80}
	for name, c := range map[string]struct {
		before, after map[string]int64
		passes        bool
	}{
		"all refused":     {good, map[string]int64{"401 key_revoked": 200}, true},
		"some throttled":  {throttled, map[string]int64{"401 key_revoked": 1, "429": 99, "503 unavailable": 100}, true},
		"one 200":         {good, map[string]int64{"401 key_revoked": 199, "200": 1}, false},
		"one 200, late":   {throttled, map[string]int64{"401 key_revoked": 1, "503 unavailable": 198, "200": 1}, false},
		"none refused":    {good, map[string]int64{"503 unavailable": 200}, false},
		"none accepted":   {map[string]int64{"503 unavailable": 200}, map[string]int64{"401 key_revoked": 200}, false},
		"another refusal": {good, map[string]int64{"401 invalid_credentials": 200}, false},
		"refused before":  {map[string]int64{"200": 199, "401 key_revoked": 1}, map[string]int64{"401 key_revoked": 200}, false},
		"a 500":           {good, map[string]int64{"401 key_revoked": 199, "500": 1}, false},
		"no answer":       {good, map[string]int64{"401 key_revoked": 199, "connection reset": 1}, false},
	} {
		if fault := stormFault(c.before, c.after); (fault == "") != c.passes {
			t.Errorf("%s: %q", name, fault)
		}
	}
}

// note logs how a platform behaves where Latchkey promises nothing. make trial shows it as the answer to a question.
func note(t *testing.T, name, format string, a ...any) {
	t.Helper()
	t.Logf("NOTED "+name+": "+format, a...)
}

// storm sends requests from the target's clients, with the keys in turn, and returns the number of
// answers by status and code.
func (tg *target) storm(t *testing.T, requests int, keys ...string) map[string]int64 {
	t.Helper()
	return floodBy(tg.clients, requests, func(n int) string {
		r, err := tg.try(t.Context(), call{method: "POST", path: "/app/get", bearer: keys[n%len(keys)]})
		return shortly(r, err)
	})
}

// shortly returns an answer's status and code, or the error of a request without an answer.
func shortly(r reply, err error) string {
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strconv.Itoa(r.status) + " " + r.code())
}

// flood calls send with the numbers from 1 to requests, from sixteen goroutines, and counts the equal answers.
func flood(requests int, send func(n int) string) map[string]int64 {
	return floodBy(16, requests, send)
}

// floodBy is flood with another number of goroutines.
func floodBy(clients, requests int, send func(n int) string) map[string]int64 {
	var mu sync.Mutex
	counts := map[string]int64{}
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for n := sent.Add(1); n <= int64(requests); n = sent.Add(1) {
				answer := send(int(n))
				mu.Lock()
				counts[answer]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counts
}
