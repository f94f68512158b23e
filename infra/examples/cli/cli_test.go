package main_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"latchkey/pkg/api"
	"latchkey/pkg/authn"
	"latchkey/pkg/fetch"
	"latchkey/pkg/id"
	"latchkey/pkg/parallel"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	servicetest.Main(m)
}

// owner is the service that the program acts as.
var owner = store.Actor{Service: "owner"}

// world is the built program, and an API with its own table.
type world struct {
	*storetest.Table
	t       *testing.T
	url     string
	program string       // the file of the program
	ahead   atomic.Int64 // milliseconds by which the API's clock is ahead of the real time
	answer  atomic.Value // an answer, which handles each request
	token   string       // TOKEN_CMD; "": it counts its calls in program+".tokens"
}

// answer handles a request. serve lets the API handle it.
type answer func(w http.ResponseWriter, r *http.Request, serve func())

func unchanged(_ http.ResponseWriter, _ *http.Request, serve func()) { serve() }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Table: storetest.New(t), t: t, program: filepath.Join(t.TempDir(), "latchkey")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", w.program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.Now = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load()) * time.Millisecond) }
	functions := map[string]http.Handler{
		"orgs": api.Orgs(w.Store, nil, nil, "", nil, false), "keys": api.Keys(w.Store, "lk", false, 0, nil, nil, 0),
		"apps": api.Apps(w.Store, "lk", nil, nil), "webhooks": api.Webhooks(w.Store, nil, nil, nil, nil, 0),
	}
	mux, keys := http.NewServeMux(), authn.New(w.Store, nil)
	for _, r := range route.All() {
		if functions[r.Function] == nil {
			continue
		}
		mux.HandleFunc(r.Name(), func(out http.ResponseWriter, in *http.Request) {
			p, err := principal.Principal{Kind: principal.Service, Name: "owner"}, error(nil)
			if !strings.HasPrefix(in.Header.Get("Authorization"), "Bearer owner") {
				p, err = keys.Authorize(in.Context(), r, in.Header["Authorization"])
			}
			if err != nil {
				problem.Write(in.Context(), out, err)
				return
			}
			functions[r.Function].ServeHTTP(out, in.WithContext(principal.NewContext(in.Context(), p)))
		})
	}
	w.answer.Store(answer(unchanged))
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		w.answer.Load().(answer)(out, in, func() { mux.ServeHTTP(out, in) })
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// start starts the program. Once the program has ended, out has its standard output.
func (w *world) start(args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	w.t.Helper()
	out, log := &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(w.t.Context(), w.program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(w.program), "LATCHKEY_API=" + w.url, "KEY=lk_text", "TOKEN_CMD=" + cmp.Or(w.token, "echo >> "+w.program+".tokens; echo owner$(wc -l < "+w.program+".tokens)")}
	cmd.Stdout, cmd.Stderr = out, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%v\n%s", args, log)
		}
	})
	return cmd, out
}

// runAndMatch runs the program to its end, and returns its log. want is a regular expression for the program's output.
func (w *world) runAndMatch(want string, args ...string) (log string) {
	w.t.Helper()
	cmd, out := w.start(args...)
	if err := cmd.Wait(); err != nil || !regexp.MustCompile("^"+want+"\n$").MatchString(out.String()) {
		w.t.Errorf("%v: %v\n%swant\n%s", args, err, out, want)
	}
	return cmd.Stderr.(*bytes.Buffer).String()
}

// runAndRefuse runs the program, which must end with the exit status 1 within 20 seconds and say the text.
func (w *world) runAndRefuse(want string, args ...string) {
	w.t.Helper()
	cmd, _ := w.start(args...)
	defer time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	_ = cmd.Wait()
	if log := cmd.Stderr.(*bytes.Buffer).String(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(log, want) {
		w.t.Errorf("%v: %v: %s\nwant\n%s", args, cmd.ProcessState, log, want)
	}
}

// runAndKill runs the program and kills it at the nth request of a method: before the API has done the request, or, if isDone,
// after it and before the answer.
func (w *world) runAndKill(method string, nth int64, isDone bool, args ...string) {
	w.t.Helper()
	var n atomic.Int64
	dead, running := make(chan struct{}), make(chan *exec.Cmd, 1)
	w.answer.Store(answer(func(_ http.ResponseWriter, r *http.Request, serve func()) {
		at := int64(0)
		if r.Method == method {
			at = n.Add(1)
		}
		if at < nth || at == nth && isDone {
			serve()
		}
		if at == nth {
			_ = (<-running).Process.Kill()
			close(dead)
		}
		if at >= nth {
			<-dead
			panic(http.ErrAbortHandler)
		}
	}))
	defer w.answer.Store(answer(unchanged))
	cmd, _ := w.start(args...)
	running <- cmd
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		w.t.Errorf("%v: it was not killed: %v", args, err)
	}
}

// orgs makes n orgs, several at once.
func (w *world) orgs(n int) []id.Org {
	made := make([]id.Org, n)
	_ = parallel.Each(16, made, func(i int, _ id.Org) error {
		o, err := w.CreateOrgAs(w.t.Context(), owner, store.NewOrg{Name: "Acme"}, store.Once[store.Org]{})
		if made[i] = o.Made.ID; err != nil {
			w.t.Error(err)
		}
		return nil
	})
	return made
}

// keys makes a key for each org, created at the given time, and returns the keys' texts.
func (w *world) keys(at time.Time, orgs ...id.Org) []string {
	w.ahead.Store(time.Until(at).Milliseconds() + 1)
	defer w.ahead.Store(0)
	made := make([]string, len(orgs))
	_ = parallel.Each(16, orgs, func(i int, o id.Org) error {
		k, err := w.CreateKey(w.t.Context(), owner, o, store.NewKey{Prefix: "lk"}, store.Once[store.MintedKey]{})
		if made[i] = k.Made.Minted.Key.Reveal(); err != nil {
			w.t.Error(err)
		}
		return nil
	})
	return made
}

// checkKeys checks that each key is refused with the code; "": the key is good.
func (w *world) checkKeys(code string, keys ...string) {
	w.t.Helper()
	for _, k := range keys {
		_, err := authn.New(w.Store, nil).Key(w.t.Context(), []string{"Bearer " + k})
		if got := map[bool]string{true: "", false: string(problem.From(err).Code)}[err == nil]; got != code {
			w.t.Fatalf("a key has the code %q, want %q", got, code)
		}
	}
}

func TestRevokeAllRevokesEachOlderKeyDespiteTenKills(t *testing.T) {
	w, moment := newWorld(t), time.Now().Add(-90*time.Second).Truncate(time.Second)
	args := []string{"revoke", "--all", "--made-before", moment.UTC().Format(time.RFC3339)}
	w.orgs(299)
	var orgs []id.Org // in the order of the list
	for next := ""; len(orgs) < 299; {
		page, more, err := w.AllOrgs(t.Context(), store.Page{After: next})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page {
			orgs = append(orgs, o.ID)
		}
		next = more
	}
	before := append(w.keys(moment.Add(-time.Hour), orgs...), w.keys(moment.Add(-2*time.Millisecond), orgs[0])...)
	after := w.keys(moment.Add(time.Second), orgs[:2]...)
	w.runAndMatch(`300 keys of 299 orgs are good, made before .*Z. 0 other orgs have none, and 0 are deleted. Nothing was changed: this needs --yes.`, args...)
	w.checkKeys("", before...)
	args = append(args, "--state", w.program+".run", "--yes")
	for kill := range 10 {
		w.runAndKill("DELETE", int64(5+2*kill), kill%2 == 0, args...)
		if kill == 1 {
			if err := w.DeleteOrg(t.Context(), owner, orgs[298]); err != nil {
				t.Fatal(err)
			}
		}
		after = append(after, w.keys(time.Now(), orgs[kill], w.orgs(1)[0])...)
	}
	w.runAndMatch(`299 keys of 298 orgs are revoked, made before `+args[3]+`. \d+ other orgs have none, and 1 are deleted.`, args...)
	w.checkKeys("key_revoked", before...)
	w.checkKeys("", after...)
}

func TestResumeFromResumesOnlyTheOrgsOfItsRun(t *testing.T) {
	w := newWorld(t)
	file, orgs := w.program+".run", w.orgs(40)
	keys := w.keys(time.Now(), orgs...)
	set := func(suspended bool, orgs ...id.Org) {
		for _, o := range orgs {
			if _, err := w.ChangeOrg(t.Context(), owner, o, store.OrgChange{Suspended: &suspended}); err != nil {
				t.Fatal(err)
			}
		}
	}
	set(true, orgs[:5]...)
	w.runAndMatch("35 orgs are to suspend, 5 were suspended before, and 0 are deleted. Nothing was changed: this needs --yes.", "suspend", "--all")
	w.checkKeys("", keys[5:]...)
	args := []string{"suspend", "--all", "--state", file, "--yes"}
	for kill := range 4 {
		w.runAndKill("POST", int64(3+kill), kill%2 == 0, args...)
		orgs = append(orgs, w.orgs(1)...)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begun := regexp.MustCompile(`"at":\d+`).FindIndex(text) // make the run old, so that its last walk need not wait
	text = append(append(append([]byte{}, text[:begun[0]]...), `"at":1000`...), text[begun[1]:]...)
	if err := os.WriteFile(file, append(text, `{"do":"try","org":"`...), 0o600); err != nil { // with an incomplete last line, as after a crash
		t.Fatal(err)
	}
	var once sync.Once
	w.answer.Store(answer(func(_ http.ResponseWriter, r *http.Request, serve func()) {
		if r.Method == "POST" {
			once.Do(func() { orgs = append(orgs, w.orgs(1)...) }) // make an org after the program has read the list
		}
		serve()
	}))
	w.runAndMatch("40 orgs are suspended by this run, 5 were suspended before, and 0 are deleted.", args...)
	w.checkKeys("key_suspended", keys...)
	w.runAndRefuse("the run of 1970-01-01T00:00:01Z in "+file+" has ended: it has suspended 40 orgs, and 0 others are resumed. Use another file for a new run", args...)
	set(false, orgs[6])
	set(true, orgs[6])
	set(false, orgs[7])
	w.runAndMatch("40 orgs were suspended by this run, and 0 may be. Nothing was changed: this needs --yes.", "resume", "--from", file)
	w.checkKeys("key_suspended", keys[8:]...)
	w.runAndKill("DELETE", 10, true, "resume", "--from", file, "--yes")
	w.runAndMatch("39 orgs are resumed, 1 were suspended again by someone else, and 0 are deleted.", "resume", "--from", file, "--yes")
	w.checkKeys("key_suspended", append(keys[:5], keys[6])...)
	w.checkKeys("", append(keys[7:], w.keys(time.Now(), orgs[40:]...)...)...)
	if err := os.WriteFile(file, []byte(`{"do":"suspend","api":"`+w.url+`","at":1000}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.runAndMatch("0 orgs are resumed, .*", "resume", "--from", file, "--yes") // this also ends the run of suspend --all
	w.runAndRefuse("has ended", args...)
}

// TestACallWaitsForRetryAfter also checks that a walk begins a minute after the time in --made-before.
func TestACallWaitsForRetryAfter(t *testing.T) {
	w, moment := newWorld(t), time.Now().Add(-53*time.Second).Truncate(time.Second)
	orgs := w.orgs(1)
	keys := w.keys(moment.Add(-2*time.Millisecond), orgs...)
	var at []time.Time // of each call; no two calls run at once
	w.answer.Store(answer(func(out http.ResponseWriter, r *http.Request, serve func()) {
		switch at = append(at, time.Now()); len(at) {
		case 1:
			problem.Write(r.Context(), out, problem.New(problem.TokenExpired, ""))
		case 2:
			problem.Write(r.Context(), out, &problem.Error{Code: problem.RateLimited, RetryAfter: 4 * time.Second})
		case 3: // a key is created while the run waits
			keys = append(keys, w.keys(moment.Add(-time.Second), orgs...)...)
			fallthrough
		default:
			serve()
		}
	}))
	w.runAndMatch("2 keys of 1 orgs are revoked, .*", "revoke", "--all", "--made-before", moment.UTC().Format(time.RFC3339), "--state", w.program+".run", "--yes")
	w.checkKeys("key_revoked", keys...)
	if at[2].Sub(at[1]) < 4*time.Second || at[4].Before(moment.Add(time.Minute)) {
		t.Errorf("a run for keys from before %s has called at %s", moment, at)
	}
	if tokens, _ := os.ReadFile(w.program + ".tokens"); string(tokens) != "\n\n" {
		t.Errorf("%d tokens, want 2", len(tokens))
	}
}

func TestEachCommandSendsOneRequest(t *testing.T) {
	w := newWorld(t)
	w.runAndMatch(`\{"id":"org_[^\n]*,"name":"Acme","externalId":"cus_1",[^\n]*`, "org", "make", "--name", "Acme", "--external-id", "cus_1")
	w.runAndMatch("orgId,[^\n]*\r\norg_[^\n]*,Acme,cus_1,,active,0,,false\r", "usage", "--csv")
	var got atomic.Value
	w.answer.Store(answer(func(out http.ResponseWriter, r *http.Request, _ func()) {
		body, _ := io.ReadAll(r.Body)
		got.Store(r.Method + " " + r.URL.String() + " " + string(body) + r.Header.Get("Accept") + r.Header.Get("Latchkey-Reason"))
		_, _ = io.WriteString(out, "{}")
	}))
	for line, want := range map[string]string{
		"org make --name Acme --external-id cus_1": `POST /v1/orgs {"externalId":"cus_1","name":"Acme"}`,
		"org show org_1":                        "GET /v1/orgs/org_1 ",
		"org show --external-id a/b&c":          "GET /v1/orgs?externalId=a%2Fb%26c ",
		"find --locator lk_1":                   `POST /v1/keys/find {"locator":"lk_1"}`,
		"find --key -":                          `POST /v1/keys/find {"key":"lk_text"}`,
		"find --email ada+1@example.com":        "GET /v1/users?email=ada%2B1%40example.com ",
		"suspend org_1 --reason unpaid":         "POST /v1/orgs/org_1/suspension {}unpaid",
		"resume org_1":                          "DELETE /v1/orgs/org_1/suspension ",
		"stop usr_1":                            "POST /v1/users/usr_1/stop {}",
		"resume usr_1":                          "DELETE /v1/users/usr_1/stop ",
		"revoke key_1 --org org_1":              "DELETE /v1/orgs/org_1/keys/key_1 ",
		"revoke --org org_1 --created-by usr_1": "DELETE /v1/orgs/org_1/keys?createdBy=usr_1 ",
		"revoke --key -":                        `POST /key/revoke {"key":"lk_text"}`,
		"usage --csv --month 2026-11":           "GET /v1/usage?month=2026-11 text/csv",
		"suspend usr_1":                         "", "revoke --all": "", "suspend --all --yes": "", "org show org_1 --csv": "", "stop": "",
	} {
		got.Store("")
		cmd, _ := w.start(strings.Fields(line)...)
		if err := cmd.Wait(); got.Load() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %v: %q, want %q", line, err, got.Load(), want)
		}
	}
}

func TestListenForwardsEachEventDespiteAKill(t *testing.T) {
	w := newWorld(t)
	org := w.orgs(1)[0]
	app, begun := id.DefaultApp(org), time.Now()
	publish := func(kinds ...webhook.Type) {
		for _, kind := range kinds {
			event := []store.Publication{{Type: kind, Data: json.RawMessage(`{"note":"<é>&","n":1.50}`)}}
			if _, err := w.Publish(t.Context(), owner, org, app, event, store.Once[[]id.Event]{}); err != nil {
				t.Fatal(err)
			}
		}
		w.ahead.Add(12_000) // the feed shows them
	}
	arrived, polled := make(chan string), make(chan bool, 100)
	answers := make(chan int)
	receiver := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- r.Header.Get("webhook-id") + " " + string(body)
		out.WriteHeader(<-answers)
	}))
	defer receiver.Close()
	w.answer.Store(answer(func(_ http.ResponseWriter, r *http.Request, serve func()) {
		serve()
		polled <- r.URL.Path == "/webhook_event/list"
	}))
	args := []string{"listen", "--key", w.keys(time.Now(), org)[0], "--forward", receiver.URL, "--types", "invoice.*, order.made"}
	first, _ := w.start(args...)
	for !<-polled {
	}
	publish("invoice.paid", "invoices.paid", "order.made")
	var got []string
	for _, status := range []int{500, 204} {
		got = append(got, <-arrived)
		answers <- status
	}
	got = append(got, <-arrived)
	_ = first.Process.Kill() // before the answer: listen does not know that the receiver has the event
	_ = first.Wait()
	answers <- 204
	publish("invoice.sent")
	second, _ := w.start(args...)
	for range 2 {
		got = append(got, <-arrived)
		answers <- 204
	}
	_ = second.Process.Kill()
	_ = second.Wait()
	all, _, err := w.Events(t.Context(), app, id.FirstEvent(begun), 100)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for _, e := range all {
		text, err := json.Marshal(e) // as in the token of a webhook
		if err != nil {
			t.Fatal(err)
		}
		for range map[webhook.Type]int{"invoice.paid": 2, "order.made": 2, "invoice.sent": 1}[e.Type] {
			wanted = append(wanted, string(e.ID)+" "+string(text))
		}
	}
	if len(got) != 5 || !slices.Equal(got, wanted) {
		t.Errorf("forwarded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

func TestAnIncompleteCommandIsExplained(t *testing.T) {
	w := newWorld(t)
	for args, want := range map[string]string{
		"usage --month 2026-11": "usage is one of: usage --csv, usage --csv --month\n", "stop": "stop is one of: stop usr_\n", "resume ORG": "resume is one of: resume --from, ",
		"fnd --email a@b.example": "there is no such command", "": "there is no such command", "help": "", "--help": "",
	} {
		cmd, out := w.start(strings.Fields(args)...)
		log := cmd.Stderr.(*bytes.Buffer)
		err := cmd.Wait()
		if (err == nil) != (want == "") || !strings.Contains(log.String(), want) || strings.Contains(out.String(), "listen --key") != (want == "") {
			t.Errorf("%q: %v, %s%s, want %q", args, err, log, out, want)
		}
	}
}

// listen refuses types that no event has, before it asks the API. It says which address gets the key, and tries a wrong one only four times.
func TestListenRefusesWrongTypesAndEndsAtAWrongAddress(t *testing.T) {
	w := newWorld(t)
	w.answer.Store(answer(func(out http.ResponseWriter, _ *http.Request, _ func()) { out.WriteHeader(http.StatusBadGateway) }))
	for types, want := range map[string]string{
		"key.revokd": `--types has "key.revokd"`, "invoice": `--types has "invoice"`, "a.b,": `--types has ""`, "a.b,keys*": `--types has "keys*"`,
		"a.b": "The events come from " + w.url + ",",
	} {
		isRight, within := types == "a.b", 8*time.Second
		if isRight {
			within = 25 * time.Second // it waits 1, 2 and 4 seconds between its four tries
		}
		cmd, _ := w.start("listen", "--key", "lk_a", "--forward", w.url, "--types", types)
		stop := time.AfterFunc(within, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		log := cmd.Stderr.(*bytes.Buffer).String()
		if hasAsked := strings.Contains(log, "The events come from "); !stop.Stop() || err == nil || !strings.Contains(log, want) || hasAsked != isRight {
			t.Fatalf("%s: %v: %s, want %q", types, err, log, want)
		}
	}
}

// A signal ends a command before its work is done. A script must see that in the exit status; only listen always ends so.
func TestOnlyAnInterruptedListenSucceeds(t *testing.T) {
	w := newWorld(t)
	org := w.orgs(1)[0]
	key := w.keys(time.Now(), org)[0]
	for line, want := range map[string]int{
		"revoke key_1 --org org_1": 130, "suspend --all --yes --state " + w.program + ".run": 130, "listen --key " + key + " --forward " + w.url: 0,
	} {
		reached := make(chan bool, 100)
		w.answer.Store(answer(func(out http.ResponseWriter, r *http.Request, serve func()) {
			if want == 0 {
				serve()
			} else {
				out.WriteHeader(http.StatusServiceUnavailable)
			}
			reached <- want != 0 || r.URL.Path == "/webhook_event/list"
		}))
		cmd, _ := w.start(strings.Fields(line)...)
		for !<-reached {
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: exit status %d, want %d", line, cmd.ProcessState.ExitCode(), want)
		}
	}
}

// TestASignalEndsAWaitForAToken has a TOKEN_CMD whose child still holds the standard output when the command is killed.
func TestASignalEndsAWaitForAToken(t *testing.T) {
	w := newWorld(t)
	w.token = "echo >> " + w.program + ".tokens; sleep 20 2> /dev/null; echo owner"
	cmd, _ := w.start("org", "show", "org_1")
	for _, err := os.Stat(w.program + ".tokens"); err != nil; _, err = os.Stat(w.program + ".tokens") {
		time.Sleep(10 * time.Millisecond)
	}
	sent := time.Now()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if took := time.Since(sent); cmd.ProcessState.ExitCode() != 130 || took > 10*time.Second {
		t.Errorf("exit status %d after %s, want 130 in a second", cmd.ProcessState.ExitCode(), took)
	}
	w.token = "sleep 20 2> /dev/null & echo owner" // the child holds the output of a command that has succeeded
	made := w.orgs(1)
	w.runAndMatch(`(?s:.*"id": ?"`+string(made[0])+`".*)`, "org", "show", string(made[0]))
}

// A header with a line break can never be sent, and a walk without a token never succeeds, so neither may be tried again without end.
func TestAHeaderThatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.orgs(1)
	args := []string{"suspend", "--all", "--yes", "--state", w.program + ".run"}
	for _, flag := range []string{"--reason", "--operator"} {
		w.runAndRefuse("must be one line", append(args, flag, "unpaid\nsince May")...)
	}
	w.token = "true"
	w.runAndRefuse("TOKEN_CMD has printed no token", args...)
}

func TestAKeyDeletedMeanwhileDoesNotStopARun(t *testing.T) {
	w, moment := newWorld(t), time.Now().Add(-90*time.Second).Truncate(time.Second)
	w.keys(moment.Add(-time.Hour), w.orgs(1)...)
	w.answer.Store(answer(func(out http.ResponseWriter, r *http.Request, serve func()) {
		if r.Method == http.MethodDelete {
			problem.Write(r.Context(), out, problem.New(problem.KeyNotFound, ""))
			return
		}
		serve()
	}))
	w.runAndMatch("1 keys of 1 orgs are revoked, .*", "revoke", "--all", "--made-before", moment.UTC().Format(time.RFC3339), "--yes", "--state", w.program+".run")
}

// TestAContinuedRunWalksOnceMore has an org that was made after the run passed its place in the list.
func TestAContinuedRunWalksOnceMore(t *testing.T) {
	w := newWorld(t)
	orgs := w.orgs(2)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/orgs?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	a, err := fetch.Do(http.DefaultClient, req, 1<<16)
	var first struct {
		Orgs       []struct{ ID id.Org }
		NextCursor string
	}
	if err := errors.Join(err, json.Unmarshal(a.Body, &first)); err != nil || len(first.Orgs) != 1 {
		t.Fatal(err, first)
	}
	other := orgs[1-slices.Index(orgs, first.Orgs[0].ID)]
	journal := fmt.Sprintf("{\"do\":\"suspend\",\"api\":%q,\"at\":1000}\n{\"do\":\"left\",\"org\":%q}\n{\"do\":\"page\",\"cursor\":%q}\n", w.url, other, first.NextCursor)
	if err := os.WriteFile(w.program+".run", []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	log := w.runAndMatch("1 orgs are suspended by this run, .*", "suspend", "--all", "--yes", "--state", w.program+".run")
	if want := "continues the run of 1970-01-01T00:00:01Z"; !strings.Contains(log, want) {
		t.Errorf("%s, want %q", log, want)
	}
}

// TestAnOrgThatIsBeingDeletedIsReported has an org whose deletion was cut short before it revoked a key.
func TestAnOrgThatIsBeingDeletedIsReported(t *testing.T) {
	w := newWorld(t)
	orgs := w.orgs(2)
	keys := w.keys(time.Now(), orgs...)
	w.Faults.Plan("Query", storetest.Malformed, 1)
	if err := w.DeleteOrg(t.Context(), owner, orgs[0]); err == nil {
		t.Fatal("the deletion was not cut short")
	}
	w.checkKeys("", keys...)
	if err := os.WriteFile(w.program+".run", fmt.Appendf(nil, "{\"do\":\"suspend\",\"api\":%q,\"at\":1000}\n", w.url), 0o600); err != nil {
		t.Fatal(err)
	}
	const warning = " 1 are being deleted, and their keys may work: delete them again."
	w.runAndMatch("1 orgs are to suspend, 0 were suspended before, and 0 are deleted."+warning+" Nothing .*", "suspend", "--all")
	args := []string{"suspend", "--all", "--yes", "--state", w.program + ".run"}
	log := w.runAndMatch("1 orgs are suspended by this run, 0 were suspended before, and 0 are deleted."+warning, args...)
	if want := string(orgs[0]) + "  is being deleted"; !strings.Contains(log, want) {
		t.Errorf("%s, want %q", log, want)
	}
	w.checkKeys("key_suspended", keys[1])
	w.runAndRefuse("0 others are resumed."+warning, args...)
}

// TestATryThatSucceedsLateIsOfItsRun has an API that refuses a suspension for two minutes, and a run that is killed when it has succeeded.
func TestATryThatSucceedsLateIsOfItsRun(t *testing.T) {
	w := newWorld(t)
	keys := w.keys(time.Now(), w.orgs(1)...)
	args := []string{"suspend", "--all", "--yes", "--state", w.program + ".run"}
	var posts atomic.Int64
	dead, running := make(chan struct{}), make(chan *exec.Cmd, 1)
	w.answer.Store(answer(func(out http.ResponseWriter, r *http.Request, serve func()) {
		out.Header().Set("Date", w.Now().UTC().Format(http.TimeFormat))
		switch {
		case r.Method == http.MethodGet:
			serve()
		case posts.Add(1) == 1:
			w.ahead.Add(2 * time.Minute.Milliseconds())
			problem.Write(r.Context(), out, problem.New(problem.Unavailable, ""))
		default:
			serve()
			_ = (<-running).Process.Kill()
			close(dead)
			panic(http.ErrAbortHandler)
		}
	}))
	cmd, _ := w.start(args...)
	running <- cmd
	_ = cmd.Wait()
	<-dead
	w.checkKeys("key_suspended", keys...)
	w.answer.Store(answer(unchanged))
	w.runAndMatch("0 orgs were suspended by this run, and 1 may be. .*", "resume", "--from", w.program+".run")
	w.answer.Store(answer(func(out http.ResponseWriter, _ *http.Request, serve func()) {
		out.Header().Set("Date", w.Now().Add(time.Hour).UTC().Format(http.TimeFormat)) // so that no run waits
		serve()
	}))
	w.runAndMatch("1 orgs are suspended by this run, 0 were suspended before, and 0 are deleted.", args...)
	w.runAndMatch("1 orgs are resumed, .*", "resume", "--from", w.program+".run", "--yes")
	w.checkKeys("", keys...)
}

// TestASuspensionByOthersThatWasCutShortIsEnded: some of the org's keys may still be good, and the run says that it is suspended.
func TestASuspensionByOthersThatWasCutShortIsEnded(t *testing.T) {
	w := newWorld(t)
	org := w.orgs(1)[0]
	keys := w.keys(time.Now(), org)
	w.Faults.Plan("Query", storetest.Malformed, 1)
	if _, err := w.ChangeOrg(t.Context(), owner, org, store.OrgChange{Suspended: new(true)}); err == nil {
		t.Fatal("the suspension was not cut short")
	}
	w.checkKeys("", keys...)
	file := w.program + ".run"
	if err := os.WriteFile(file, fmt.Appendf(nil, "{\"do\":\"suspend\",\"api\":%q,\"at\":1000}\n", w.url), 0o600); err != nil {
		t.Fatal(err)
	}
	w.runAndMatch("0 orgs are suspended by this run, 1 were suspended before, and 0 are deleted.", "suspend", "--all", "--yes", "--state", file)
	w.checkKeys("key_suspended", keys...)
	w.runAndMatch("0 orgs are resumed.*", "resume", "--from", file, "--yes")
	w.checkKeys("key_suspended", keys...)
}

// TestATryOfAResumptionLeavesASuspensionByOthers that comes while the answer to an earlier try is lost.
func TestATryOfAResumptionLeavesASuspensionByOthers(t *testing.T) {
	w := newWorld(t)
	org := w.orgs(1)[0]
	keys := w.keys(time.Now(), org)
	made, err := w.ChangeOrg(t.Context(), owner, org, store.OrgChange{Suspended: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	journal := fmt.Sprintf("{\"do\":\"suspend\",\"api\":%q,\"at\":1000}\n{\"do\":\"done\",\"org\":%q,\"at\":%d}\n", w.url, org, made.SuspendedAt)
	if err := os.WriteFile(w.program+".run", []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	w.answer.Store(answer(func(_ http.ResponseWriter, r *http.Request, serve func()) {
		serve = sync.OnceFunc(serve)
		if r.Method == http.MethodDelete {
			once.Do(func() {
				serve()
				_, err = w.ChangeOrg(t.Context(), owner, org, store.OrgChange{Suspended: new(true)})
				panic(http.ErrAbortHandler)
			})
		}
		serve()
	}))
	w.runAndMatch("0 orgs are resumed, 1 were suspended again by someone else, and 0 are deleted.", "resume", "--from", w.program+".run", "--yes")
	if err != nil {
		t.Error(err)
	}
	w.checkKeys("key_suspended", keys...)
}
