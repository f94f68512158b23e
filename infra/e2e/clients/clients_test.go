package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"latchkey/infra/tools"
)

// TestGeneratedClientsWork tries the generators of the short form; `make clients` tries all.
func TestGeneratedClientsWork(t *testing.T) {
	a, err := startAPI(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	tried := 0
	for _, g := range generators() {
		if !g.short {
			continue
		}
		tried++
		t.Run(g.name, func(t *testing.T) {
			err := g.try(t.Context(), a)
			var missing *tools.MissingError
			if errors.As(err, &missing) && os.Getenv("CI") == "" {
				fmt.Printf("SKIPPED: the client of %s was not tried: %v. CI never skips it.\n", g.name, missing)
				t.Skip(missing)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	if tried != 2 {
		t.Errorf("%d generators were tried", tried)
	}
}

// answer returns an answer of the API as a client gets it through a proxy.
func answer(t *testing.T, change func(any) any, status int, contentType, body string) (*http.Response, string) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // a client that went away sees no answer
	}))
	defer api.Close()
	base, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(changing(base, change))
	defer proxy.Close()
	res, err := http.Get(proxy.URL + "/v1/orgs")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestProxyAddsAMemberToEachObject(t *testing.T) {
	const added = `"x_new":{"deep":[1,null,"text"]}`
	for body, want := range map[string]string{
		`{}`: `{` + added + `}`,
		`{"orgs":[{"id":"a","createdAt":1790000000000}],"n":null}`: `{"n":null,"orgs":[{"createdAt":1790000000000,"id":"a",` + added + `}],` + added + `}`,
		`{"app":{"id":"a"}}`:         `{"app":{"id":"a",` + added + `},` + added + `}`,
		`{"metadata":{"plan":"p"}}`:  `{"metadata":{"plan":"p"},` + added + `}`,
		`{"changes":{"a":{"to":1}}}`: `{"changes":{"a":{"to":1}},` + added + `}`,
	} {
		if res, got := answer(t, withNewMember, 200, "application/json", body); got != want || res.StatusCode != 200 {
			t.Errorf("%s: %d %s, not %s", body, res.StatusCode, got, want)
		}
	}
}

func TestProxyGivesEachErrorANewCode(t *testing.T) {
	const body = `{"code":"validation_failed","errors":[{"code":"required","pointer":"/name"}],"status":422,"type":"urn:latchkey:problem:validation_failed"}`
	const want = `{"code":"code_new","errors":[{"code":"code_new","pointer":"/name"}],"status":422,"type":"urn:latchkey:problem:code_new"}`
	if res, got := answer(t, withNewCode, 422, "application/problem+json", body); got != want || res.StatusCode != 422 {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	if _, got := answer(t, withNewCode, 200, "application/json", `{"orgs":[]}`); got != `{"orgs":[]}` {
		t.Errorf("what is no error is %s", got)
	}
}

func TestProxyPassesOnWhatIsNotJSON(t *testing.T) {
	if res, got := answer(t, withNewMember, 204, "application/json", ""); got != "" || res.StatusCode != 204 {
		t.Errorf("%d %q", res.StatusCode, got)
	}
	if _, got := answer(t, withNewMember, 200, "text/plain", "{}"); got != "{}" {
		t.Errorf("%q", got)
	}
}

func TestUnlistedReportsFail(t *testing.T) {
	list := []noFault{{"linter", "a-rule", "some(where)?", "Because."}, {"linter", "b-rule", "here", "So."}, {"other", "a-rule", "x", "So."}}
	here := report{tool: "linter", rule: "b-rule", where: "here"}
	for name, c := range map[string]struct {
		found []report
		says  string
	}{
		"all are listed":     {[]report{here, {tool: "linter", rule: "a-rule", where: "some"}, here}, ""},
		"another place":      {[]report{here, {tool: "linter", rule: "a-rule", where: "somewhere else"}}, "linter a-rule somewhere else"},
		"another rule":       {[]report{here, {tool: "linter", rule: "c-rule", where: "some"}}, "linter c-rule some"},
		"not reported again": {[]report{here}, "listed and not reported: a-rule"},
	} {
		err := compare("linter", c.found, list)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, l := range listed {
		if _, err := regexp.Compile(l.where); err != nil || l.reason == "" {
			t.Errorf("%s %s %s: %v, the reason is %q", l.tool, l.rule, l.where, err, l.reason)
		}
	}
}

// finished is a line of Schemathesis's report: a scenario with one case.
func finished(check, status string) string {
	body, _ := json.Marshal(content{[]byte(`{"code":"validation_failed","errors":[{"pointer":"/url","code":"length"}]}`)}) // bytes always are
	return fmt.Sprintf(`{"ScenarioFinished":{"status":"failure","recorder":{"label":"POST /x","checks":{"c":[{"name":%q,"status":%q}]},`+
		`"interactions":{"c":{"request":{"body":null},"response":{"status_code":422,"content":%s}}}}}}`, check, status, body) + "\n"
}

func TestSchemathesisIsReadToItsEnd(t *testing.T) {
	const end = `{"EngineFinished":{"stop_reason":"completed"}}` + "\n"
	found, err := readEvents([]byte(finished("good", "success") + finished("bad", "failure") + end))
	if err != nil || len(found) != 1 || found[0].rule != "bad" || found[0].where != "POST /x 422 validation_failed /url length" {
		t.Errorf("%+v, %v", found, err)
	}
	follows := `"recorder":{"cases":{"c":{"parent_id":"p"}},`
	replayed := `"interactions":{"p":{"response":{"headers":{"idempotency-replayed":["true"]}}},`
	late := strings.NewReplacer(`"recorder":{`, follows, `"interactions":{`, replayed).Replace(finished("ensure_resource_availability", "failure"))
	for text, where := range map[string]string{
		late: "POST /x 422 validation_failed /url length after a replay",
		strings.Replace(late, "idempotency-replayed", "other", 1): "POST /x 422 validation_failed /url length",
	} {
		if found, err := readEvents([]byte(text + end)); err != nil || len(found) != 1 || found[0].where != where {
			t.Errorf("%+v, %v; want %s", found, err, where)
		}
	}
	for name, text := range map[string]string{
		"it tried nothing":       end,
		"it was stopped":         finished("good", "success") + strings.Replace(end, "completed", "interrupted", 1),
		"it has no end":          finished("good", "success"),
		"it failed on the way":   finished("good", "success") + `{"NonFatalError":{"value":"x"}}` + "\n" + end,
		"it failed at the start": `{"FatalError":{"value":"x"}}` + "\n" + end,
		"it prints no JSON":      "oops\n" + end,
	} {
		if _, err := readEvents([]byte(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestLockFilesNameNoHost lets the tools be installed from any registry.
func TestLockFilesNameNoHost(t *testing.T) {
	lock := pin("package-lock.json")
	if strings.Contains(lock, `"resolved"`) || !strings.Contains(lock, `"integrity"`) {
		t.Error("the lock file names where a package came from, or not what it was")
	}
	if bytes.Contains([]byte(pin("requirements.txt")), []byte("://")) {
		t.Error("the requirements name where a package came from")
	}
}
