package e2e_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
)

func trimmed(b []byte) string { return string(bytes.TrimSpace(b)) }

// tokenKinds sends kinds of tokens that the suite does not send. Only users with a verified address can be invited.
func tokenKinds(t *testing.T, tg *target) {
	ada, bob := tg.person(t, "ada"), tg.kind(t, "unverified", "bob")
	org := ada.org(t)
	bob.want(t, "GET", "/v1/orgs", "", 200, "")
	ada.want(t, "POST", "/v1/orgs/"+org+"/members", `{"email":"`+bob.email+`"}`, 422, "user_not_found")
	tg.kind(t, "service", "robot").want(t, "GET", "/v1/orgs", "", 403, "identity_incomplete")
	tg.kind(t, "idtoken", "carol").want(t, "GET", "/v1/orgs", "", 401, "token_invalid")
	tg.kind(t, "otheraudience", "dave").want(t, "GET", "/v1/orgs", "", 401, "token_invalid")
	eve := tg.kind(t, "userinfo", "eve") // her address is only at the issuer's userinfo endpoint
	eve.want(t, "GET", "/v1/orgs", "", 200, "")
	ada.want(t, "POST", "/v1/orgs/"+org+"/members", `{"email":"`+eve.email+`"}`, 201, "")
}

// copiesOf returns a counter of the calls that each copy of a function has answered, by the copy's id.
func copiesOf(s *stack.Stack, function string) func() map[int]int {
	return func() map[int]int {
		out := map[int]int{}
		for _, c := range s.Lambda.Copies(function) {
			out[c.ID] = c.Answered
		}
		return out
	}
}

// answering checks that at least `least` copies answer while do runs. copies returns the answers of each copy so far.
func answering(t *testing.T, copies func() map[int]int, least int, do func()) {
	t.Helper()
	before, answered := copies(), 0
	do()
	for id, n := range copies() {
		if n > before[id] {
			answered++
		}
	}
	if answered < least {
		t.Fatalf("%d copies have just answered, want %d", answered, least)
	}
}

// violations checks that at least the given number of copies of the authorizer accept a key, and revokes the key. It
// then sends a thousand requests from sixteen clients, and returns the number of answers other than 401 key_revoked.
func violations(t *testing.T, s *stack.Stack, tg *target, copies int) int64 {
	t.Helper()
	const requests = 1000
	ada := tg.person(t, "ada")
	org := ada.org(t)
	id, key := ada.key(t, org, `{}`)
	_, sibling := ada.key(t, org, `{}`)
	answering(t, copiesOf(s, "AuthorizerFunction"), copies, func() {
		if got := tg.storm(t, requests, key)["200"]; got != requests {
			t.Fatalf("before: %d of %d answered 200", got, requests)
		}
	})
	ada.want(t, "DELETE", "/v1/orgs/"+org+"/keys/"+id, "", 204, "")
	refused := tg.storm(t, requests, key)["401 key_revoked"]
	tg.want(t, call{method: "POST", path: "/app/get", bearer: sibling}, 200, "")
	return requests - refused
}

// copiesRefuse checks that four copies of the authorizer refuse a revoked key at once.
func copiesRefuse(t *testing.T, s *stack.Stack, tg *target) {
	if n := violations(t, s, tg, 4); n != 0 {
		t.Errorf("%d of 1,000 requests after the revocation were not refused with key_revoked", n)
	}
}

// databaseOutage stops the database, and then makes it hang. Every credential gets a 503, also a revoked one: it cannot
// be checked.
func databaseOutage(t *testing.T, s *stack.Stack, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	_, good := ada.key(t, org, `{}`)
	id, revoked := ada.key(t, org, `{}`)
	ada.want(t, "DELETE", "/v1/orgs/"+org+"/keys/"+id, "", 204, "")
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"stopped", s.DB.Stop, func() error { return s.DB.Start(t.Context()) }},
		{"hanging", s.DB.Pause, s.DB.Resume},
	} {
		t.Run(fault.name, func(t *testing.T) {
			if err := fault.begin(); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 4 {
				for _, c := range []call{
					{method: "POST", path: "/app/get", bearer: good}, {method: "POST", path: "/app/get", bearer: revoked},
					{method: "GET", path: "/v1/orgs", bearer: ada.token},
				} {
					wg.Go(func() {
						begun := time.Now()
						tg.want(t, c, 503, "unavailable")
						if took := time.Since(begun); took > 3*time.Second {
							t.Errorf("%s %s: the 503 took %s", c.method, c.path, took)
						}
					})
				}
			}
			wg.Wait()
			if err := fault.end(); err != nil {
				t.Fatal(err)
			}
			back := time.Now()
			for tg.do(t, call{method: "POST", path: "/app/get", bearer: good}).status != 200 {
				if time.Since(back) > 10*time.Second {
					t.Fatal("no 200 within 10 s of the database's return")
				}
				time.Sleep(50 * time.Millisecond)
			}
			tg.want(t, call{method: "POST", path: "/app/get", bearer: revoked}, 401, "key_revoked")
			if l := ada.want(t, "GET", "/v1/orgs/"+org+"/keys", "", 200, "").list("keys"); len(l) != 2 {
				t.Errorf("%d keys, want both", len(l))
			}
		})
	}
}

// secretsAreNowhere makes secrets, and searches for every form of them in the logs, in the whole table, on the bus, and in
// all answers except the ones that show a new secret.
func secretsAreNowhere(t *testing.T, s *stack.Stack, tg *target, bus *onBus) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	const once = "e2e-idempotency-key-that-is-never-stored-0001"
	c := call{
		method: "POST", path: "/v1/orgs/" + org + "/keys", body: `{}`, bearer: ada.token,
		header: map[string][]string{"Idempotency-Key": {once}},
	}
	made := tg.want(t, c, 201, "")
	tg.want(t, c, 201, "") // the replay shows the key too
	key := made.str("key")
	c.path = strings.Replace(c.path, "/keys", "/keys/"+made.str("id")+"/rotate", 1)
	c.body = `{"graceSeconds":60}`
	rotated := tg.want(t, c, 201, "").str("key")
	foreign := foreignKey()
	imported := serviceOf(t, s, tg).imports(t, org, "", foreign)[0]
	answers := tg.do(t, call{method: "POST", path: "/app/get", bearer: key}).text + tg.do(t, call{method: "POST", path: "/app/get", bearer: foreign}).text +
		tg.do(t, call{method: "POST", path: "/app/get", bearer: key[:len(key)-1]}).text +
		ada.do(t, "GET", "/v1/orgs/"+org+"/keys", "").text + ada.do(t, "GET", "/v1/orgs/"+org+"/audit", "").text +
		tg.do(t, call{method: "GET", path: "/v1/orgs", bearer: key}).text
	for _, text := range []string{rotated, foreign, key[:len(key)-1]} {
		answers += tg.do(t, call{method: "POST", path: "/key/revoke", body: `{"key":"` + text + `","source":"https://example.com/leaks"}`}).text
	}
	revoker, found := newGitHub(t, s, "revoke"), foreignKey()
	leakedID, leaked := ada.key(t, org, `{}`)
	serviceOf(t, s, tg).imports(t, org, "", found)
	for _, texts := range [][]string{{leaked, found, leaked[:len(leaked)-1]}, {leaked}} {
		answer, _ := revoker.report(t, texts...)
		answers += answer
	}
	for _, text := range []string{leaked, foreign} {
		answers += tg.do(t, call{method: "POST", path: "/v1/keys/find", body: `{"key":"` + text + `"}`, bearer: serviceOf(t, s, tg).token}).text
	}
	for _, text := range []string{rotated, foreign, leaked, found} {
		answers += tg.want(t, call{method: "POST", path: "/app/get", bearer: text}, 401, "key_revoked").text
	}
	answers += ada.do(t, "GET", "/v1/orgs/"+org+"/audit", "").text
	if strings.Count(answers, `"source":"https://example.com/leaks"`) != 2 || strings.Count(answers, `"source":"`+leakPlace+`"`) != 4 || strings.Count(answers, `"status":"revoked"`) != 2 {
		t.Errorf("the audit log lacks keys that were revoked by sending their text: %s", answers)
	}
	within(t, "the imported key's entry on the bus", func() bool { return bus.has(imported) })
	within(t, "two entries and an event of the leaked key on the bus", func() bool {
		n := 0
		for line := range strings.Lines(bus.text()) {
			if strings.Contains(line, leakedID) && strings.Contains(line, leakPlace) {
				n++
			}
		}
		return n >= 3
	})
	_, server := ada.key(t, org, `{}`)
	token, phone := tg.want(t, call{method: "POST", path: "/link/create", body: `{"clientUserId":"u"}`, bearer: server}, 201, "").str("token"), newDevice()
	answers += tg.want(t, phone.claims(token), 200, "").text + tg.want(t, newDevice().claims(token), 409, "link_already_claimed").text
	if err := s.DB.Stop(); err != nil {
		t.Fatal(err)
	}
	answers += tg.want(t, phone.claims(token), 503, "unavailable").text + tg.want(t, c, 503, "unavailable").text // an error has a line with its cause
	if err := s.DB.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	within(t, "the database answers", func() bool { return tg.do(t, call{method: "POST", path: "/app/get", bearer: server}).status == 200 })
	places := map[string][]byte{"answers": []byte(answers), "table": dump(t, s), "logs": logs(t, s), "bus": []byte(bus.text())}
	inNoPlace(t, map[string]string{
		"key": key, "rotated key": rotated, "imported key": foreign, "leaked key": leaked, "leaked imported key": found, "Idempotency-Key": once, "access token": ada.token,
		"link token": token, "claim key": phone.key,
	}, places)
	// The search must find a planted secret. The table and the logs must have the texts that are always there.
	planted := filepath.Join(s.LogDir, "planted.log")
	if err := os.WriteFile(planted, []byte(`{"key":"`+key+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if findSecret(logs(t, s), key) == "" {
		t.Error("a planted log line was not found")
	}
	_ = os.Remove(planted)
	if !bytes.Contains(places["table"], []byte(made.str("prefix"))) || !bytes.Contains(places["logs"], []byte(`"route":"POST /v1/orgs/{orgId}/keys"`)) {
		t.Error("the table or the logs were not read: texts that are always there are missing")
	}
}

// inNoPlace fails the test for each secret that findSecret finds in a place.
func inNoPlace(t *testing.T, secrets map[string]string, places map[string][]byte) {
	t.Helper()
	for name, secret := range secrets {
		for place, text := range places {
			if form := findSecret(text, secret); form != "" {
				t.Errorf("the %s is, %s, in the %s", name, form, place)
			}
		}
	}
}

// findSecret searches for a secret raw, in base64, in hex and URL-escaped. It also searches for the last part of an
// API key or a link token, which alone is secret, with and without the checksum. It returns the form that it found, or "".
func findSecret(text []byte, secret string) string {
	const checksum = 6 // characters
	parts := []string{secret}
	if i := strings.LastIndex(secret, "_"); strings.HasPrefix(secret, "lk") && i > 0 {
		parts = append(parts, secret[i+1:], secret[i+1:len(secret)-checksum])
	}
	for _, p := range parts {
		forms := map[string]string{
			"raw": p, "in hex": hex.EncodeToString([]byte(p)), "URL-escaped": url.QueryEscape(p),
			"in base64": base64.RawStdEncoding.EncodeToString([]byte(p)), "in base64url": base64.RawURLEncoding.EncodeToString([]byte(p)),
		}
		for form, f := range forms {
			if bytes.Contains(text, []byte(f)) || bytes.Contains(text, []byte(strings.ToUpper(f))) { // hex has two cases
				return form
			}
		}
	}
	return ""
}

// dump returns every row of the table as JSON, and its binary values raw.
func dump(t *testing.T, s *stack.Stack) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, row := range allRows(t, s) {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
		for _, v := range row {
			if b, ok := v.(*types.AttributeValueMemberB); ok {
				out.Write(b.Value)
			}
		}
	}
	return out.Bytes()
}

// logs returns all logs of the stack's processes.
func logs(t *testing.T, s *stack.Stack) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.LogDir, "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("log files %v, %v", files, err)
	}
	var out []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text...)
	}
	return out
}

// ownPrograms gets tokens of the local issuer like ordinary OAuth clients, without the parameters that make token sends.
func ownPrograms(t *testing.T, s *stack.Stack, tg *target) {
	send := func(method, address, basic string, form url.Values) (answer http.Header, body []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if basic != "" {
			req.SetBasicAuth(basic, "secret")
		}
		res, err := tg.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err = io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		return res.Header, body
	}
	token := func(basic string, form url.Values) (bearer *person, refresh string) {
		t.Helper()
		_, body := send("POST", s.Issuer+"/token", basic, form)
		var given struct {
			Access  string `json:"access_token"`
			Refresh string `json:"refresh_token"`
		}
		if err := json.Unmarshal(body, &given); err != nil || given.Access == "" {
			t.Fatalf("no token: %s, %v", body, err)
		}
		return &person{tg: tg, token: given.Access}, given.Refresh
	}
	billing, _ := token("billing", url.Values{"grant_type": {"client_credentials"}})
	support, _ := token("", url.Values{"grant_type": {"client_credentials"}, "client_id": {"support"}, "client_secret": {"secret"}})
	org := "/v1/orgs/" + billing.want(t, "POST", "/v1/orgs", `{"name":"Customer"}`, 201, "").str("id")
	support.want(t, "GET", org, "", 200, "")
	support.want(t, "DELETE", org, "", 403, "insufficient_role")
	billing.want(t, "DELETE", org, "", 204, "")
	stranger, _ := token("stranger", url.Values{"grant_type": {"client_credentials"}})
	stranger.want(t, "GET", "/v1/orgs", "", 401, "token_invalid")

	email, verifier := "ruth-"+tg.run+"@example.com", rand.Text()+rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	grant := url.Values{"client_id": {"billing"}, "redirect_uri": {"http://localhost:4321/back"}} // also the client id of a service
	answer, page := send("POST", s.Issuer+"/authorize?"+grant.Encode()+"&"+url.Values{
		"response_type": {"code"}, "scope": {"openid email"}, "state": {"s"}, "nonce": {"n"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode(), "", url.Values{"username": {email}})
	back, err := url.Parse(answer.Get("Location"))
	if err != nil || back.Host != "localhost:4321" || back.Query().Get("state") != "s" {
		t.Fatalf("the sign-in leads to %v: %s", back, page)
	}
	grant["grant_type"], grant["code"], grant["code_verifier"] = []string{"authorization_code"}, []string{back.Query().Get("code")}, []string{verifier}
	ruth, refresh := token("", grant)
	ruth.want(t, "GET", "/v1/orgs", "", 200, "")
	renewed, _ := token("", url.Values{"grant_type": {"refresh_token"}, "client_id": {"billing"}, "refresh_token": {refresh}})
	org = "/v1/orgs/" + renewed.want(t, "POST", "/v1/orgs", `{"name":"Own"}`, 201, "").str("id")
	if members := ruth.want(t, "GET", org+"/members", "", 200, "").list("members"); len(members) != 1 || members[0]["email"] != email {
		t.Errorf("the members of Ruth's org: %v", members)
	}
	ruth.want(t, "DELETE", org, "", 204, "")
}
