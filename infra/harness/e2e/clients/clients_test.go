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

// TestGeneratedClientsWork tries two generators; `make clients` tries all.
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
		if !g.tested {
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

// TestProxyChangesOnlyJSON: a proxy adds a member to each object, or a new code to each error, and changes nothing else.
func TestProxyChangesOnlyJSON(t *testing.T) {
	const added = `"x_new":{"deep":[1,null,"text"]}`
	for _, c := range []struct {
		change      func(any) any
		status      int
		media, body string // of the API's answer
		want        string // the body that the proxy passes on
	}{
		{withNewMember, 200, "application/json", `{}`, `{` + added + `}`},
		{withNewMember, 200, "application/json", `{"orgs":[{"createdAt":1790000000000}]}`, `{"orgs":[{"createdAt":1790000000000,` + added + `}],` + added + `}`},
		{withNewMember, 200, "application/json", `{"metadata":{"plan":"p"}}`, `{"metadata":{"plan":"p"},` + added + `}`},
		{withNewMember, 200, "application/json", `{"changes":{"a":{"to":1}}}`, `{"changes":{"a":{"to":1}},` + added + `}`},
		{withNewMember, 204, "application/json", "", ""},
		{withNewMember, 200, "text/plain", "{}", "{}"},
		{withNewCode, 200, "application/json", `{"orgs":[]}`, `{"orgs":[]}`},
		{
			withNewCode, 422, "application/problem+json",
			`{"code":"validation_failed","errors":[{"code":"required","pointer":"/name"}],"type":"urn:latchkey:problem:validation_failed"}`,
			`{"code":"code_new","errors":[{"code":"code_new","pointer":"/name"}],"type":"urn:latchkey:problem:code_new"}`,
		},
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body) // without it, the comparison below fails
		}))
		defer api.Close()
		base, err := url.Parse(api.URL)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		changing(base, c.change).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/orgs", nil))
		if got := w.Body.String(); got != c.want || w.Code != c.status {
			t.Errorf("%d %s: %d %s, not %s", c.status, c.body, w.Code, got, c.want)
		}
	}
}

// TestUnlistedReportsFail compares the reports of a tool with a list of reports that are not faults.
func TestUnlistedReportsFail(t *testing.T) {
	list := []noFault{{"linter", "a-rule", "some(where)?", "Because."}, {"linter", "b-rule", "here", "So."}, {"other", "a-rule", "x", "So."}}
	here := report{tool: "linter", rule: "b-rule", where: "here"}
	for name, c := range map[string]struct {
		found []report
		want  string // a part of the error; "": no error
	}{
		"all are listed":     {[]report{here, {tool: "linter", rule: "a-rule", where: "some"}, here}, ""},
		"another place":      {[]report{here, {tool: "linter", rule: "a-rule", where: "somewhere else"}}, "linter a-rule somewhere else"},
		"another rule":       {[]report{here, {tool: "linter", rule: "c-rule", where: "some"}}, "linter c-rule some"},
		"not reported again": {[]report{here}, "listed and not reported: a-rule"},
	} {
		switch err := compare("linter", c.found, list); {
		case c.want == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, l := range listed {
		if _, err := regexp.Compile(l.where); err != nil || l.reason == "" {
			t.Errorf("%s %s %s: %v, the reason is %q", l.tool, l.rule, l.where, err, l.reason)
		}
	}
}

// finished returns a line of Schemathesis's report: a scenario with one case, whose check has the status.
func finished(check, status string) string {
	body, _ := json.Marshal(content{[]byte(`{"code":"validation_failed","errors":[{"pointer":"/url","code":"length"}]}`)}) // bytes can always be marshaled
	return fmt.Sprintf(`{"ScenarioFinished":{"status":"failure","recorder":{"label":"POST /x","checks":{"c":[{"name":%q,"status":%q}]},`+
		`"interactions":{"c":{"request":{"body":null},"response":{"status_code":422,"content":%s}}}}}}`, check, status, body) + "\n"
}

// TestIncompleteSchemathesisReportsFail reads the failed checks of a complete report, and refuses incomplete ones.
func TestIncompleteSchemathesisReportsFail(t *testing.T) {
	const end = `{"EngineFinished":{"stop_reason":"completed"}}` + "\n"
	found, err := readEvents([]byte(finished("good", "success") + finished("bad", "failure") + end))
	if err != nil || len(found) != 1 || found[0].rule != "bad" || found[0].where != "POST /x 422 validation_failed /url length" {
		t.Errorf("%+v, %v", found, err)
	}
	// In afterReplay, the case c follows the case p, whose answer was a replay.
	parent := `"recorder":{"cases":{"c":{"parent_id":"p"}},`
	replayed := `"interactions":{"p":{"response":{"headers":{"idempotency-replayed":["true"]}}},`
	afterReplay := strings.NewReplacer(`"recorder":{`, parent, `"interactions":{`, replayed).Replace(finished("ensure_resource_availability", "failure"))
	for text, where := range map[string]string{
		afterReplay: "POST /x 422 validation_failed /url length after a replay",
		strings.Replace(afterReplay, "idempotency-replayed", "other", 1): "POST /x 422 validation_failed /url length",
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
			t.Errorf("%s: the report is accepted", name)
		}
	}
}

// TestLockFilesNameNoHost: the tools can be installed from any registry, because no lock file has an address.
func TestLockFilesNameNoHost(t *testing.T) {
	lock := pin("package-lock.json")
	if strings.Contains(lock, `"resolved"`) || !strings.Contains(lock, `"integrity"`) {
		t.Error("package-lock.json has the address of a package, or no hashes")
	}
	if bytes.Contains([]byte(pin("requirements.txt")), []byte("://")) {
		t.Error("requirements.txt has the address of a package")
	}
}
