package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadSchemasAndExamplesAreRefused(t *testing.T) {
	for event, want := range map[string]string{
		`{"type":"a.b"}`: "", `{"type":"a.b","example":{}}`: "", `{"type":"a.b","schema":{"type":"object","required":["c"]}}`: "",
		`{"type":"a.b","schema":{"required":["c"]},"example":{"c":1}}`: "", `{"type":"a.b","schema":{"required":["c"]},"example":{"d":1}}`: "missing property 'c'",
		`{"type":"a.b","schema":{"type":"thing"}}`: "a.b: ", `{"type":"a.b","schema":{"pattern":"("}}`: "a.b: ",
		`{"type":"a.b","schema":{"$ref":"#/$defs/x","$defs":{"x":{"required":["c"]}}},"example":{}}`:         "missing property 'c'",
		`{"type":"a.b","schema":{"properties":{"c":{"$ref":"https://elsewhere.example/c.json"}}}}`:           "is outside of the document",
		`{"type":"a.b","schema":{"$ref":"file:///etc/passwd"}}`:                                              "is outside of the document",
		`{"type":"a.b","schema":{"allOf":[{"$dynamicRef":"https://json-schema.org/draft/2020-12/schema"}]}}`: "is outside of the document",
		`{"type":"a.b","schema":{"$schema":"https://elsewhere.example/schema"}}`:                             "a.b: ",
		`{"type":"a.b","schema":{"$ref":"#/$defs/none"}}`:                                                    "a.b: ",
	} {
		err := check([]byte(`{"scopes":[],"events":[` + event + `]}`))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", event, err, want)
		}
	}
}

func TestTheCatalogueIsSentWithTheTokenOfTheCommand(t *testing.T) {
	var got string
	status := http.StatusNoContent
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprint(r.Method, r.URL.Path, r.Header["Authorization"], r.Header["Content-Type"], string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no")
	}))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "catalogue.json")
	if err := os.WriteFile(file, []byte(`{"events":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), file, api.URL+"/", "echo abc"); err != nil || got != `PUT/v1/catalogue[Bearer abc] [application/json]{"events":[]}` {
		t.Errorf("%s, %v", got, err)
	}
	status = http.StatusUnprocessableEntity
	if err := run(t.Context(), file, api.URL, "echo abc"); err == nil || err.Error() != "422: no" {
		t.Error(err)
	}
	got = ""
	if err := run(t.Context(), file, api.URL, "exit 1"); err == nil || got != "" {
		t.Errorf("%s, %v", got, err)
	}
}

// TestTheRecipeUsesTheFolderOfTheMakefile has a file in a folder whose name has a blank. The default TOKEN_CMD calls make, so it needs
// the folder with the Makefile.
func TestTheRecipeUsesTheFolderOfTheMakefile(t *testing.T) {
	got := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "my catalogue.json")
	if err := os.WriteFile(file, []byte(`{"events":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, "infra/examples/catalogue.json"} {
		recipe := exec.Command("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "catalogue", "FILE="+file, "BASE_URL="+api.URL, "TOKEN_CMD=ls Makefile")
		recipe.Dir = "../../.."
		if out, err := recipe.CombinedOutput(); err != nil || got != "Bearer Makefile" {
			t.Errorf("%s: the token was %q; %v: %s", file, got, err, out)
		}
	}
}

func TestTheExampleCatalogueIsValid(t *testing.T) {
	text, err := os.ReadFile("../../examples/catalogue.json")
	if err == nil {
		err = check(text)
	}
	if err != nil {
		t.Error(err)
	}
}
