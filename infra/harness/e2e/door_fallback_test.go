package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/id"
)

// tokenEndpoint answers like the token endpoint of an issuer. The token is good for a number of seconds.
func tokenEndpoint(token string, seconds int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		want := url.Values{"grant_type": {"client_credentials"}, "client_id": {"billing"}, "client_secret": {"s+c r&t"}, "audience": {"https://api.latchkey.test"}}
		if err := r.ParseForm(); err != nil || r.Method != "POST" || r.PostForm.Encode() != want.Encode() {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, seconds)
	}
}

// fallsBackByHTTP runs the examples in other languages. They import keys of an earlier system, with a service's token that an issuer
// gives them.
func (f *frontDoor) fallsBackByHTTP(t *testing.T) {
	issuer := newScripted(t)
	issuer.answers(tokenEndpoint(f.billing.token, 3600))
	env := append(clientOf(issuer), "LATCHKEY="+f.FunctionURLs["ForwardAuthFunction"], "API="+f.URL, "EARLIER_SYSTEM="+f.earlier.url)
	full := f.moreThanFull(t)
	for name, program := range frameworks(t, "ask", "", env, f.fallbackLines(t)...) {
		t.Run(name, func(t *testing.T) {
			issuer.answers(tokenEndpoint(f.billing.token, 3600))
			// changeEarlier changes the earlier system.
			changeEarlier := func(change func()) {
				f.earlier.mu.Lock()
				defer f.earlier.mu.Unlock()
				change()
			}
			// send sends a request with a key, and returns the status and the code of the answer.
			send := func(text string) string {
				r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", bearer: text})
				if err != nil {
					return err.Error()
				}
				return strings.TrimSpace(fmt.Sprint(r.status, " ", r.code()))
			}
			first, second, unknown := foreignKey(), foreignKey(), foreignKey()
			changeEarlier(func() { f.earlier.keys[first], f.earlier.keys[second] = f.org, f.org })
			if got := []string{send(first), send(unknown)}; !slices.Equal(got, []string{"200", "401 invalid_credentials"}) {
				t.Fatalf("%q", got)
			}
			if got := floodBy(4, 32, func(int) string { return send(second) }); got["200"] != 32 || issuer.n.Load() != 1 {
				t.Errorf("a key of the earlier system: %v, with %d requests for a token", got, issuer.n.Load())
			}
			before := 0
			changeEarlier(func() { f.earlier.down = true })
			if got := []string{send(unknown), send(second)}; !slices.Equal(got, []string{"503 unavailable", "200"}) {
				t.Errorf("the earlier system is away: %q", got)
			}
			changeEarlier(func() { f.earlier.down = false })
			ofNoOrg := foreignKey()
			changeEarlier(func() { f.earlier.keys[ofNoOrg] = "org_00000000000000000000000000" })
			for _, text := range []string{ofNoOrg, full} {
				if got := send(text); got != "503 unavailable" {
					t.Errorf("a key whose import is refused: %s", got)
				}
			}
			ours, err := apikey.Mint("lk", id.Org(f.org), id.Source{}.NewKey(time.Now()), nil) // of another deployment
			if err != nil {
				t.Fatal(err)
			}
			for _, values := range [][]string{{"Bearer " + ours.Key.Reveal()}, {"Basic " + foreignKey()}, {"Bearer " + foreignKey(), "Bearer x"}} {
				changeEarlier(func() { before = len(f.earlier.requests) })
				r, err := program.try(t.Context(), call{method: "GET", path: "/invoices", header: http.Header{"Authorization": values}})
				if changeEarlier(func() { before -= len(f.earlier.requests) }); err != nil || r.status != 401 || before != 0 {
					t.Errorf("%q: %d %v, and %d texts for the earlier system", values, r.status, err, -before)
				}
			}
			changeEarlier(func() { before = f.earlier.requests[second] })
			for _, k := range f.billing.want(t, "GET", "/v1/orgs/"+f.org+"/keys", "", 200, "").list("keys") {
				if key, _ := k["id"].(string); k["name"] == "moved" && k["revokedAt"] == nil {
					f.billing.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+key, "", 204, "")
				}
			}
			if got := send(second); got != "401 key_revoked" || f.earlier.requests[second] != before || before == 0 {
				t.Errorf("revoked: %s; the earlier system got %d requests before, and %d in all", got, before, f.earlier.requests[second])
			}
		})
	}
	f.tokens(t, issuer)
}

// clientOf returns the variables of a client of an issuer.
func clientOf(issuer *scripted) []string {
	return []string{"TOKEN_URL=" + issuer.URL + "/token", "CLIENT_ID=billing", "CLIENT_SECRET=s+c r&t", "AUDIENCE=https://api.latchkey.test"}
}

// fallbackLines returns the lines that infra/docs/moving.md adds to the examples without a proxy: an import, and the fallback of a route.
func (f *frontDoor) fallbackLines(t *testing.T) [][2]string {
	t.Helper()
	document := repositoryFile(t, "infra/docs/moving.md")
	var out [][2]string
	for old, line := range map[string]string{
		"from authorize import authorize\n": "from fallback import import_if_good\n", `key("invoices:read")`: `key("invoices:read", fallback=import_if_good)`,
		"import express from 'express'\n": "import { importIfGood } from './fallback.mjs'\n", "key(['invoices:read'])": "key(['invoices:read'], importIfGood)",
	} {
		if !strings.Contains(document, line) {
			t.Errorf("infra/docs/moving.md does not say %q", line)
		}
		if strings.HasSuffix(old, "\n") {
			line = old + line
		}
		out = append(out, [2]string{old, line})
	}
	return out
}

// tokens checks that the examples keep a token until a minute before it expires, and fail if the issuer gives no token.
func (f *frontDoor) tokens(t *testing.T, issuer *scripted) {
	elsewhere := newScripted(t)
	elsewhere.answers(tokenEndpoint("elsewhere", 3600))
	node := consumerNode(t)
	for name, cmd := range map[string]func() *exec.Cmd{
		"Python": func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), consumerPython(t), "-c", "from service_token import service_token as s; print(s(), s())")
			cmd.Dir = consumerPrograms(t)
			return cmd
		},
		"Node": func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", "import { serviceToken as s } from './service_token.mjs'; console.log(await s(), await s())")
			cmd.Dir = node
			return cmd
		},
	} {
		for what, c := range map[string]struct {
			answer   http.HandlerFunc
			requests int64
			out      string // "": it fails
		}{
			"an hour": {tokenEndpoint("t", 3600), 1, "t t\n"}, "70 seconds": {tokenEndpoint("t", 70), 1, "t t\n"}, "a minute": {tokenEndpoint("t", 60), 2, "t t\n"},
			"an error": {plain(401), 1, ""}, "a redirect": {plain(307, "Location", elsewhere.URL), 1, ""}, "no JSON": {plain(200), 1, ""},
		} {
			issuer.answers(c.answer)
			run := cmd()
			run.Env = append(clientOf(issuer), "PATH="+os.Getenv("PATH"))
			out, err := run.Output()
			if (err == nil) != (c.out != "") || string(out) != c.out || issuer.n.Load() != c.requests || elsewhere.n.Load() != 0 {
				t.Errorf("%s, %s: %q %v with %d requests, %d elsewhere", name, what, out, err, issuer.n.Load(), elsewhere.n.Load())
			}
		}
	}
}
