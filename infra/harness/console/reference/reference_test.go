package reference

import (
	"bytes"
	"errors"
	"go/format"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra/tools"
)

var (
	anID       = regexp.MustCompile(`\sid="([^"]*)"`)
	aFragment  = regexp.MustCompile(`(?:href="|\(reference)#([^")]*)[")]`)
	aHeading   = regexp.MustCompile(`<h([1-6])[ >]`)
	anArticle  = regexp.MustCompile(`(?s)<article [^>]*id="(\w+)">(.*?)</article>`)
	aGoProgram = regexp.MustCompile(`(?s)data-lang="go">(.*?)</code>`)
	activePart = regexp.MustCompile(`<script|<[^>]*\s(style|on\w+)\s*=`)
)

// document returns infra/openapi.yaml and the two texts that Build makes from it.
func document(t *testing.T) (openapi []byte, page, llms string) {
	root, errRoot := tools.Root()
	openapi, errRead := os.ReadFile(filepath.Join(root, "infra/openapi.yaml"))
	files, errBuild := Build(openapi)
	if err := errors.Join(errRoot, errRead, errBuild); err != nil {
		t.Fatal(err)
	}
	return openapi, string(files["reference.html"]), string(files["llms.txt"])
}

func TestLinksResolveAndIDsAreUnique(t *testing.T) {
	_, page, llms := document(t)
	ids := map[string]bool{}
	for _, m := range anID.FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range aFragment.FindAllStringSubmatch(page+llms, -1) {
		if !ids[m[1]] {
			t.Errorf("no element has the id %s", m[1])
		}
	}
}

func TestPageHasOneScriptAndOrderedHeadings(t *testing.T) {
	_, page, _ := document(t)
	const own = `<script type="module" src="console/files/reference.js"></script>`
	if found := activePart.FindString(strings.Replace(page, own, "", 1)); found != "" {
		t.Errorf("the page has %s", found)
	}
	level := "0"
	for _, m := range aHeading.FindAllStringSubmatch(page, -1) {
		if m[1][0] > level[0]+1 || m[1] == "1" && level != "0" {
			t.Errorf("a heading of level %s follows one of level %s", m[1], level)
		}
		level = m[1]
	}
}

func TestEveryOperationHasItsErrorCodes(t *testing.T) {
	openapi, page, llms := document(t)
	articles := map[string]string{}
	for _, m := range anArticle.FindAllStringSubmatch(page, -1) {
		articles[m[1]] = m[2]
	}
	doc, _ := openapi3.NewLoader().LoadFromData(openapi) // Build has read it, so there is no error
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			if line := "- [" + method + " " + path + "](reference#" + o.OperationID + "): "; !strings.Contains(llms, line) {
				t.Errorf("llms.txt does not have %q", line)
			}
			for _, code := range o.Extensions["x-error-codes"].([]any) {
				link := "#error-" + code.(string)
				if !strings.Contains(articles[o.OperationID], `"`+link+`"`) || !strings.Contains(llms, link+")") {
					t.Errorf("%s of %s is missing", code, o.OperationID)
				}
			}
		}
	}
}

func TestThePageExplainsOperationsAndVariables(t *testing.T) {
	_, page, _ := document(t)
	for _, want := range []string{`<a href="#createKey">Make an API key, and show it once</a>`, `<code>API</code> is the address of this API`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if n := strings.Count(page, "As Name"); n != 0 { // it says nothing to a reader of the page
		t.Errorf("the page has the text As Name %d times", n)
	}
}

func TestGoExamplesAreFormatted(t *testing.T) {
	_, page, _ := document(t)
	programs := aGoProgram.FindAllStringSubmatch(page, -1)
	if len(programs) == 0 {
		t.Error("no program")
	}
	for _, m := range programs {
		source := []byte(html.UnescapeString(m[1]))
		if want, err := format.Source(source); err != nil || !bytes.Equal(bytes.TrimSpace(want), bytes.TrimSpace(source)) {
			t.Errorf("%s is not formatted: %v", source, err)
		}
	}
}

func TestMissingExampleIsAnError(t *testing.T) {
	openapi, _, _ := document(t)
	const example = "            example: { linkId: lnk_01kb5x8w3v0f7k1w2q3r4s5t6v }\n"
	_, err := Build(bytes.Replace(openapi, []byte(example), nil, 1))
	if err == nil || !strings.Contains(err.Error(), "the body has no example") {
		t.Errorf("want an error, got %v", err)
	}
}

func TestHTMLInDescriptionBecomesText(t *testing.T) {
	openapi, _, _ := document(t)
	files, err := Build(bytes.Replace(openapi, []byte("Make a link for one"), []byte("Make <img src=x onerror=alert(1)> for one"), 1))
	if page := string(files["reference.html"]); err != nil || !strings.Contains(page, "<p>Make &lt;img src=x onerror=alert(1)&gt; for one") {
		t.Errorf("the page does not show the HTML as text: %v", err)
	}
}
