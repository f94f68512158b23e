package e2e_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/infra/harness/local/stack"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestFrontDoor tests the three ways in which an owner's own endpoints check credentials: an API with the shared
// authorizers, servers with package guard, and the function URL. `make doors` runs it.
func TestFrontDoor(t *testing.T) {
	f := openDoors(t)
	t.Run("ARevokedKeyIsRefusedAtEveryDoorAtOnce", f.revoked)
	t.Run("AnImportedKeyDiesAtEveryDoorAtOnce", f.imported)
	t.Run("AFallbackOnlyImports", f.fallsBack)
	t.Run("AFallbackOnlyImportsInOtherLanguages", f.fallsBackByHTTP)
	t.Run("ASuspendedOrgIsRefusedAtEveryDoorAtOnce", f.suspended)
	t.Run("AnOutsiderLearnsNothing", f.outsiders)
	t.Run("ADemotedAdminIsRefusedOnTheNextRequest", f.demoted)
	t.Run("AChangedKeyIsSeenByTheNextRequest", f.changed)
	t.Run("EachDoorLimitsAKeyOverItsLimits", f.limited)
	t.Run("AKeysUsageShowsWhyItWasRefused", f.refusals)
	t.Run("NoClientCanForgeThePrincipal", f.forged)
	t.Run("ACheckIsOneStrongRead", f.reads)
	t.Run("HTTPAPIsGetAnswersInTheirFormats", f.httpAPIs)
	t.Run("EachDoorWritesTheLastUse", f.noted)
	t.Run("ProgramsIntrospect", f.introspect)
	t.Run("CommonOAuthClientsCanIntrospect", f.oauthClients)
	t.Run("RealProxiesPassOnWhatTheCheckAnswers", f.proxies)
	t.Run("ForgedHeadersNeverReachProgramsThatReadCGINames", f.cgi)
	t.Run("ProxiesRefuseAPathThatIsNotCanonical", f.unclean)
	t.Run("EachPathNeedsItsOwnScope", f.severalPaths)
	t.Run("OnlyAnswersOfTheCheckDecide", f.answersOfACheck)
	t.Run("ACheckThatIsSilentIsA503", f.silentChecks)
	t.Run("NoClientIsToldToRepeatARequestThatBegan", f.failingPrograms)
	t.Run("NoHeaderChangesThePathThatIsChecked", f.otherPaths)
	t.Run("ProxiesAnswerBrowsers", f.browsers)
	t.Run("TheCheckDoesNotLimitBodySizes", f.bodies)
	t.Run("TheCheckGetsTheDocumentedHeadersOnly", f.headersOfACheck)
	t.Run("TwoCredentialsAreRefused", f.twoCredentials)
	t.Run("AProgramAnswersItsProxyOnly", f.aroundTheProxy)
	t.Run("FrameworksBehindAProxyReadThePrincipal", f.behindProxies)
	t.Run("FrameworksWorkWithoutAProxy", f.withoutProxy)
	t.Run("NginxSettingsDoNotChangeTheCheck", f.settings)
	t.Run("ADatabaseOutageIsA503", f.databaseOutage)
	t.Run("NoCredentialIsInALogOrTheTable", f.noCredentialIsKept)
	t.Run("TheRolesAllowNothingSpare", func(t *testing.T) {
		for _, spare := range f.Access.Spare() {
			if slices.Contains(doorRoles, strings.Fields(spare)[0]) {
				t.Errorf("not needed in the template's roles: %s", spare)
			}
		}
	})
	t.Run("OnlyProxiesWithTheSecretGetAnswers", f.secrets)
	t.Run("AnAuthorizerRefusesACachingGateway", f.misconfigured)
	t.Run("TheDocumentedAPIOfAnOwnerWorks", f.readme)
}

// key makes an API key with the scope that every door's keyPath needs.
func (f *frontDoor) key(t *testing.T) (id, key string) {
	t.Helper()
	return f.ada.key(t, f.org, `{"name":"Büro","scopes":["invoices:read"]}`)
}

// revoked checks that four copies of each door accept a key. It revokes the key while sixteen clients use it. Each of
// the thousand requests that begin after the answer must be refused.
func (f *frontDoor) revoked(t *testing.T) {
	const requests = 1000
	for _, d := range f.doors {
		t.Run(d.name, func(t *testing.T) {
			id, key := f.key(t)
			answering(t, d.copies, 4, func() {
				if got := flood(requests, func(n int) string { return d.answered(t, n, key) }); got["200"] != requests {
					t.Fatalf("before: %v", got)
				}
			})
			f.refusedFrom(t, d, key, requests, func() { f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "") })
			// A revocation by the API may take longer than a short cache keeps a key. A write of the row is faster, so it
			// finds such a cache.
			for range 10 {
				id, key := f.key(t)
				f.refusedFrom(t, d, key, 100, func() {
					setRow(t, f.Stack, rowKey{"KEYS#" + f.org, "KEY#" + id}, "SET revokedAt = :at", map[string]types.AttributeValue{":at": millis(time.Now())})
				})
			}
		})
	}
}

// refusedFrom revokes a key while sixteen clients use it. At least the given number of requests must begin after
// the revocation, and all of them must be refused.
func (f *frontDoor) refusedFrom(t *testing.T, d *door, key string, requests int64, revoke func()) {
	t.Helper()
	var done atomic.Bool
	var after atomic.Int64
	go func() {
		time.Sleep(50 * time.Millisecond) // some requests come before
		revoke()
		done.Store(true)
	}()
	got := flood(100_000, func(n int) string { // a number that is never reached: after counts up to requests first
		if after.Load() >= requests {
			return "enough"
		}
		if !done.Load() {
			d.answered(t, n, key)
			return "before"
		}
		after.Add(1)
		return d.answered(t, n, key)
	})
	if total := after.Load(); got["401 key_revoked"] != total || total < requests || got["before"] == 0 {
		t.Errorf("of %d requests after the revocation: %v", total, got)
	}
}

// answered sends a request with a key, and returns the status and the code of the answer.
func (d *door) answered(t *testing.T, n int, key string) string {
	r, err := d.send(t, n, d.keyPath, key, nil)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(fmt.Sprint(r.status, " ", d.code(r)))
}

// suspended suspends and resumes an org twice. Each door refuses the org's key and member from the answer on, and later accepts both
// again, with the org's plan. Routes that allow suspended orgs stay open for the member. The answer for an outsider does not change.
func (f *frontDoor) suspended(t *testing.T) {
	eve, org := f.tg.person(t, "eve"), f.ada.org(t)
	_, key := f.ada.key(t, org, `{"scopes":["invoices:read"]}`)
	_, ownersKey := f.key(t) // the key that introspects
	path, url := "/v1/orgs/"+org, newTarget("url", f.FunctionURLs["ForwardAuthFunction"], nil)
	f.billing.want(t, "PATCH", path, `{"plan":"pro-2"}`, 200, "")
	for _, isSuspended := range []bool{false, true, false, true, false} {
		ofKey := "200 "
		if isSuspended {
			f.billing.want(t, "POST", path+"/suspension", `{"reason":"an open invoice"}`, 200, "")
			ofKey = "401 key_suspended"
		} else {
			f.billing.want(t, "DELETE", path+"/suspension", "", 204, "")
		}
		for _, d := range f.doors {
			ofMember := "200 "
			if isSuspended {
				ofMember = fmt.Sprint(d.noMember, " org_suspended")
			}
			for n := range 8 { // so that each copy answers
				type request struct{ path, credential string }
				for sent, want := range map[request]string{{d.keyPath, key}: ofKey, {d.member(org), f.ada.token}: ofMember} {
					r, err := d.send(t, n, sent.path, sent.credential, nil)
					if got := fmt.Sprint(r.status, " ", d.code(r)); err != nil || got != want || r.status == 200 && sent.credential == key && !strings.Contains(r.text+fmt.Sprint(r.header), "pro-2") {
						t.Errorf("%s %s, suspended %v: %s %s %v, want %s", d.name, sent.path, isSuspended, got, r.text, err, want)
					}
				}
			}
			if d.allows != "" {
				d.want(t, d.member(org)+d.allows, f.ada.token, 200, "")
				d.want(t, d.member(org)+d.allows, eve.token, 403, "insufficient_role")
			}
			d.want(t, d.member(org), eve.token, d.noMember, "insufficient_role")
		}
		// Introspection of the key, and of the member's token. Only the answer about a good key has the plan.
		for _, form := range []map[string][]string{{"token": {key}}, {"token": {f.ada.token}, "org": {org}}} {
			r, err := url.try(t.Context(), introspection(ownersKey, form))
			if err != nil || r.status != 200 || r.body["active"] == isSuspended || strings.Contains(r.text, `"plan":"pro-2"`) != (!isSuspended && form["org"] == nil) {
				t.Errorf("introspection, suspended %v: %d %s %v", isSuspended, r.status, r.text, err)
			}
		}
		// The shared authorizer for members, without and with the stage variable that allows suspended orgs.
		for stage, want := range map[string]bool{`{}`: !isSuspended, `{"LatchkeySuspended":"allow"}`: true} {
			event := `{"version":"1.0","type":"REQUEST","methodArn":"arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/x","headers":{"authorization":"Bearer ` + f.ada.token + `"},
				"pathParameters":{"orgId":"` + org + `"},"stageVariables":` + stage + `}`
			out, err := f.Lambda.Invoke(t.Context(), "MemberAuthorizerFunction", []byte(event))
			if err != nil || strings.Contains(string(out), `"Effect":"Allow"`) != want || strings.Contains(string(out), `"code":"org_suspended"`) == want {
				t.Errorf("suspended %v, stage variables %s: %s %v", isSuspended, stage, out, err)
			}
		}
	}
}

// outsiders checks that each door gives a user the same answer about a foreign org and about an org that does not exist. Each door
// must also refuse services, and credentials of the wrong kind.
func (f *frontDoor) outsiders(t *testing.T) {
	service, err := f.Token(t.Context(), stack.Service, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	eve := f.tg.person(t, "eve")
	eve.org(t)
	stranger := f.tg.person(t, "stranger") // has never signed in
	_, key := f.key(t)
	const none = "org_00000000000000000000000000"
	for _, d := range f.doors {
		for _, p := range []*person{eve, stranger} {
			for _, org := range []string{f.org, none, "acme"} {
				d.want(t, d.member(org), p.token, d.noMember, "insufficient_role")
			}
		}
		foreign := d.want(t, d.member(f.org), eve.token, d.noMember, "insufficient_role")
		unknown := d.want(t, d.member(none), eve.token, d.noMember, "insufficient_role")
		if normal(foreign.text) != normal(unknown.text) {
			t.Errorf("%s: %s, and %s where there is no org", d.name, foreign.text, unknown.text)
		}
		d.want(t, d.member(f.org), key, 401, "user_token_required")
		d.want(t, d.member(f.org), service, d.noMember, "insufficient_role")
		d.want(t, d.keyPath, service, 401, "api_key_required")
		d.want(t, d.keyPath, f.ada.token, 401, "api_key_required")
		d.want(t, d.keyPath, "", 401, "missing_credentials")
	}
	if r := eve.want(t, "GET", "/v1/orgs", "", 200, ""); len(r.list("orgs")) != 1 {
		t.Error("eve is a member of one org, and the list of her orgs is different")
	}
}

// demoted checks that each door refuses a member from the next request on after a demotion, and after a removal.
func (f *frontDoor) demoted(t *testing.T) {
	bob := f.tg.person(t, "bob")
	f.ada.invite(t, f.org, bob, "member")
	path := "/v1/orgs/" + f.org + "/members/" + f.ada.userID(t, f.org, bob.email)
	for _, d := range f.doors {
		d.want(t, d.member(f.org), bob.token, 200, "")
	}
	f.ada.want(t, "PATCH", path, `{"role":"viewer"}`, 200, "")
	for _, d := range f.doors {
		d.want(t, d.member(f.org), bob.token, 403, "insufficient_role")
	}
	f.ada.want(t, "DELETE", path, "", 204, "")
	for _, d := range f.doors {
		d.want(t, d.member(f.org), bob.token, d.noMember, "insufficient_role")
	}
}

// changed narrows a key and changes its metadata. Each door shows both to the next request.
func (f *frontDoor) changed(t *testing.T) {
	id, key := f.key(t)
	path := "/v1/orgs/" + f.org + "/keys/" + id
	for i, d := range f.doors {
		plan := fmt.Sprintf(`{"plan":"%d"}`, i)
		f.ada.want(t, "PATCH", path, `{"metadata":`+plan+`,"scopes":["invoices:read","more"]}`, 200, "")
		r := d.want(t, d.keyPath, key, 200, "")
		shown := r.text + r.header.Get("X-Latchkey-Scopes")
		if text, err := base64.RawURLEncoding.DecodeString(r.header.Get("X-Latchkey-Metadata")); err == nil {
			shown += string(text)
		}
		if shown = strings.ReplaceAll(shown, `\"`, `"`); !strings.Contains(shown, plan) || !strings.Contains(shown, "more") {
			t.Errorf("%s shows %s", d.name, shown)
		}
		f.ada.want(t, "PATCH", path, `{"scopes":["more"]}`, 200, "")
		d.want(t, d.keyPath, key, 403, "insufficient_scope")
	}
}

// limited spends the limits of a key at each door, which then answers 429. An admin can raise and remove the limits, but cannot
// change ceilings.
func (f *frontDoor) limited(t *testing.T) {
	for _, d := range f.doors {
		t.Run(d.name, func(t *testing.T) {
			id, key := f.ada.key(t, f.org, `{"scopes":["invoices:read"],"limits":[{"requests":5,"per":"day"},{"requests":100,"per":"hour"},{"requests":100,"per":"minute"}]}`)
			for n := range 5 {
				if r, err := d.send(t, n, d.keyPath, key, nil); err != nil || r.status != 200 {
					t.Fatalf("request %d: %d %s %v", n, r.status, r.text, err)
				}
			}
			for n := range 3 {
				r, err := d.send(t, n, d.keyPath, key, nil)
				if err != nil || r.status != 429 || d.code(r) != "rate_limited" || r.header.Get("Retry-After") == "" {
					t.Fatalf("over the limit: %d %s %v %v", r.status, r.text, r.header, err)
				}
				if !strings.Contains(r.header.Get("RateLimit"), `"day";r=0;t=`) {
					t.Errorf("RateLimit: %v", r.header)
				}
			}
			path := "/v1/orgs/" + f.org + "/keys/" + id
			f.ada.want(t, "PATCH", path, `{"limits":[{"requests":6,"per":"day"}]}`, 200, "")
			d.want(t, d.keyPath, key, 200, "")
			d.want(t, d.keyPath, key, 429, "rate_limited")
			f.ada.want(t, "PATCH", path, `{"limits":[]}`, 200, "")
			d.want(t, d.keyPath, key, 200, "")
			f.ada.want(t, "PATCH", path, `{"ceilings":[]}`, 403, "insufficient_role")
			f.withoutLease(t, d)
		})
	}
	for _, d := range f.doors { // a key without limits is counted too: a process counts its first request at once
		id, key := f.key(t)
		d.want(t, d.keyPath, key, 200, "")
		days := f.ada.want(t, "GET", "/v1/orgs/"+f.org+"/keys/"+id+"/usage", "", 200, "")
		if !strings.Contains(days.text, `"requests":1,"atMost":null`) {
			t.Errorf("%s: %s", d.name, days.text)
		}
	}
	f.eachProxy(t, func(t *testing.T, proxy *target) {
		_, key := f.ada.key(t, f.org, `{"scopes":["invoices:read"],"limits":[{"requests":1,"per":"day"}]}`)
		for _, want := range []int{200, 429, 429} {
			r, err := proxy.try(t.Context(), call{method: "GET", path: "/invoices", bearer: key})
			if err != nil || r.status != want || want == 429 && (r.header.Get("Retry-After") == "" || !strings.Contains(r.header.Get("RateLimit"), `"day";r=0;t=`)) {
				t.Errorf("%d %s %v %v, want %d", r.status, r.text, r.header, err, want)
			}
		}
	})
}

// refusals makes each door refuse a key for each reason. The key's use must show its first refusal at once.
func (f *frontDoor) refusals(t *testing.T) {
	for _, d := range f.doors {
		org := f.ada.org(t)
		for code, refuse := range map[string]func(path, key string){
			"key_revoked":        func(path, _ string) { f.ada.want(t, "DELETE", path, "", 204, "") },
			"key_expired":        func(path, _ string) { f.ada.want(t, "POST", path+"/rotate", `{"graceSeconds":0}`, 201, "") },
			"rate_limited":       func(_, key string) { d.want(t, d.keyPath, key, 200, "") },
			"key_suspended":      func(string, string) { f.billing.want(t, "POST", "/v1/orgs/"+org+"/suspension", "", 200, "") },
			"insufficient_scope": func(path, _ string) { f.ada.want(t, "PATCH", path, `{"scopes":[]}`, 200, "") },
		} {
			if code == "insufficient_scope" && d.name == "API Gateway" {
				continue // its API checks the scopes itself
			}
			id, key := f.ada.key(t, org, `{"scopes":["invoices:read"],"limits":[{"requests":1,"per":"day"}]}`)
			path := "/v1/orgs/" + org + "/keys/" + id
			refuse(path, key)
			d.want(t, d.keyPath, key, cmp.Or(map[string]int{"rate_limited": 429, "insufficient_scope": 403}[code], 401), code)
			if days := f.ada.want(t, "GET", path+"/usage", "", 200, ""); !strings.Contains(days.text, `"refused":{"`+code+`":1}}]`) {
				t.Errorf("%s, %s: %s", d.name, code, days.text)
			}
			if code == "key_suspended" {
				f.billing.want(t, "DELETE", "/v1/orgs/"+org+"/suspension", "", 204, "")
			}
		}
	}
}

// withoutLease makes the write of a lease fail while reads work: the row of the key's day has a text in place of a number.
func (f *frontDoor) withoutLease(t *testing.T, d *door) {
	t.Helper()
	id, key := f.ada.key(t, f.org, `{"scopes":["invoices:read"],"limits":[{"requests":9,"per":"day"}]}`)
	day := rowKey{"USAGE#" + f.org, time.Now().UTC().Format(time.DateOnly) + "#" + id}
	d.want(t, d.keyPath, key, 200, "") // its lease is used up
	setRow(t, f.Stack, day, "SET leased = :text", map[string]types.AttributeValue{":text": &types.AttributeValueMemberS{Value: "x"}})
	d.want(t, d.keyPath, key, 503, "unavailable")
	f.tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 503, "unavailable")
	setRow(t, f.Stack, day, "REMOVE leased", nil)
	d.want(t, d.keyPath, key, 200, "")
}

// forged sends a forged value for each field of the principal, in a header and in the query. No door may show one.
func (f *frontDoor) forged(t *testing.T) {
	_, key := f.key(t)
	header := http.Header{"X-Apigateway-Context": {`{"authorizer":{"orgId":"forged"}}`}, "X-Amzn-Request-Context": {"forged"}}
	query := ""
	for _, field := range []string{"V", "Kind", "Org-Id", "App-Id", "Key-Id", "Key-Name", "Scopes", "Metadata", "Plan", "User-Id", "Role", "Email"} {
		header.Set("X-Latchkey-"+field, "forged")
		query += "&" + strings.ToLower(field[:1]) + strings.ReplaceAll(field[1:], "-", "") + "=forged"
	}
	for _, d := range f.doors {
		path := d.keyPath
		if d.name != "forward auth" { // a proxy writes the query of this door, and no client
			path += "?" + query[1:]
		}
		r, err := d.send(t, 0, path, key, header)
		shown := r.text + fmt.Sprint(r.header)
		if err != nil || r.status != 200 || strings.Contains(shown, "forged") || !strings.Contains(shown, f.org) {
			t.Errorf("%s: %d %s %v %v", d.name, r.status, r.text, r.header, err)
		}
	}
}

// introspection returns a call that introspects a token. The caller's password is an API key.
func introspection(password string, form url.Values) call {
	return call{
		method: "POST", path: "/introspect", body: form.Encode(), contentType: "application/x-www-form-urlencoded",
		header: http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("gateway:"+password))}},
	}
}

// introspect introspects a key and an access token. Only an active key of the owner's org may introspect.
func (f *frontDoor) introspect(t *testing.T) {
	id, key := f.key(t)
	eve := f.tg.person(t, "eve")
	_, foreign := eve.key(t, eve.org(t), `{"scopes":["introspect"]}`)
	// send introspects a token. password is the API key of the caller.
	send := func(password, token, org string) reply {
		t.Helper()
		r, err := newTarget("url", f.FunctionURLs["ForwardAuthFunction"], nil).try(t.Context(), introspection(password, url.Values{"token": {token}, "org": {org}}))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := send(key, key, ""); r.status != 200 || r.body["active"] != true || r.str("sub") != id || r.str("scope") != "invoices:read" || r.str("orgId") != f.org {
		t.Errorf("%d %s", r.status, r.text)
	}
	if r := send(key, f.ada.token, f.org); r.status != 200 || r.body["active"] != true || r.str("role") != "admin" || r.str("email") != f.ada.email {
		t.Errorf("%d %s", r.status, r.text)
	}
	if r := send(foreign, key, ""); r.status != 401 || r.str("error") != "invalid_client" {
		t.Errorf("a key of another org: %d %s", r.status, r.text)
	}
	_, second := f.key(t)
	f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
	if r := send(second, key, ""); r.status != 200 || strings.TrimSpace(r.text) != `{"active":false}` {
		t.Errorf("revoked: %d %s", r.status, r.text)
	}
	if r := send(key, second, ""); r.status != 401 || r.str("error") != "invalid_client" {
		t.Errorf("a revoked caller: %d %s", r.status, r.text)
	}
}

// secrets changes the proxies' secret. The old secret is good as long as the parameter has it too. The proxies of this test
// always send doorSecret.
func (f *frontDoor) secrets(t *testing.T) {
	_, key := f.key(t)
	deploy := func(secrets string) {
		t.Helper()
		if err := f.Deploy(t.Context(), map[string]string{"ForwardAuthSecret": secrets}); err != nil {
			t.Fatal(err)
		}
	}
	defer deploy("")
	const other = "another-secret-of-the-proxies-0123456789"
	for _, c := range []struct {
		secrets       string
		proxy, direct int // the status of a request by a proxy, and without one
	}{{doorSecret, 200, 503}, {other + "," + doorSecret, 200, 503}, {doorSecret + ", " + other, 200, 503}, {other, 503, 503}} {
		deploy(c.secrets)
		f.eachProxy(t, func(t *testing.T, proxy *target) {
			if r, err := proxy.try(t.Context(), call{method: "GET", path: "/invoices", bearer: key}); err != nil || r.status != c.proxy {
				t.Errorf("%+v: %d %s %v", c, r.status, r.text, err)
			}
		})
		url := newTarget("url", f.FunctionURLs["ForwardAuthFunction"], nil)
		if r, err := url.try(t.Context(), call{method: "GET", path: "/authorize", bearer: key}); err != nil || r.status != c.direct {
			t.Errorf("%+v: without a proxy: %d %s %v", c, r.status, r.text, err)
		}
	}
}

// databaseOutage stops the database, and then makes it hang: each door answers 503 within 3 s, and works again afterwards.
func (f *frontDoor) databaseOutage(t *testing.T) {
	_, key := f.key(t)
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"stopped", f.DB.Stop, func() error { return f.DB.Start(t.Context()) }},
		{"hanging", f.DB.Pause, f.DB.Resume},
	} {
		t.Run(fault.name, func(t *testing.T) {
			if err := fault.begin(); err != nil {
				t.Fatal(err)
			}
			for _, d := range f.doors {
				for path, credential := range map[string]string{d.keyPath: key, d.member(f.org): f.ada.token} {
					begun := time.Now()
					d.want(t, path, credential, 503, "unavailable")
					if took := time.Since(begun); took > 3*time.Second {
						t.Errorf("%s %s: the 503 took %s", d.name, path, took)
					}
				}
			}
			if err := fault.end(); err != nil {
				t.Fatal(err)
			}
			f.waitForDatabase(t)
			for _, d := range f.doors {
				d.want(t, d.keyPath, key, 200, "")
			}
		})
	}
}

// waitForDatabase waits until the API works again, because a database that has just started is slow.
func (f *frontDoor) waitForDatabase(t *testing.T) {
	t.Helper()
	eventually(t, 30*time.Second, "the database answers", func() bool {
		r, err := f.tg.try(t.Context(), call{method: "POST", path: "/v1/orgs", body: `{"name":"Back"}`, bearer: f.ada.token})
		return err == nil && r.status == 201
	})
}
