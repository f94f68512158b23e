package docs_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"latchkey/infra/contract"
	"latchkey/pkg/problem"
)

func load(t *testing.T) *openapi3.T {
	t.Helper()
	c, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c.Document()
}

// values returns the closed list of a schema.
func values(t *testing.T, schema string) (out []string) {
	t.Helper()
	for _, v := range load(t).Components.Schemas[schema].Value.Enum {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// rows returns the cells of the table under a heading, without the table's head.
func rows(t *testing.T, file, heading string) [][]string {
	t.Helper()
	_, section, ok := strings.Cut(document(t, file), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var out [][]string
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.TrimSpace(line), " |"); strings.HasPrefix(line, "| ") {
			for i, cell := range cells {
				cells[i] = strings.TrimSpace(strings.TrimPrefix(cell, "|"))
			}
			out = append(out, cells[:len(cells)-1])
		}
	}
	if !ok || len(out) < 2 {
		t.Fatalf("%s has no table under %s", file, heading)
	}
	return out[1:]
}

// same reports each value that only one of two lists has.
func same(t *testing.T, what string, documented, actual []string) {
	t.Helper()
	for _, s := range documented {
		if !slices.Contains(actual, s) {
			t.Errorf("%s: only documented: %s", what, s)
		}
	}
	for _, s := range actual {
		if !slices.Contains(documented, s) {
			t.Errorf("%s: not documented: %s", what, s)
		}
	}
}

// TestRoutesAreThoseOfTheOpenAPIDocument compares credentials and roles too.
func TestRoutesAreThoseOfTheOpenAPIDocument(t *testing.T) {
	var documented, actual []string
	all := values(t, "Role")
	for _, row := range rows(t, "infra/docs/api.md", "## Routes") {
		documented = append(documented, strings.Join(row[:3], " | "))
	}
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			if method == http.MethodOptions {
				continue
			}
			credential, role := "none", ""
			if op.Security != nil && len(*op.Security) > 0 {
				credential = "API key"
				if _, user := (*op.Security)[0]["userToken"]; user {
					credential, role = "access token", whoMay(contract.Roles(op), len(all))
				}
			}
			actual = append(actual, fmt.Sprintf("`%s %s` | %s | %s", method, path, credential, role))
		}
	}
	same(t, "routes", documented, actual)
}

// whoMay returns the documented text for a route's roles; all is the number of roles that there are.
func whoMay(roles []string, all int) string {
	switch len(roles) {
	case 0:
		return "any user"
	case all:
		return "any member"
	default:
		return strings.Join(roles, ", ")
	}
}

var codes = regexp.MustCompile("`([a-z_]+)`")

func TestErrorsAreThoseOfTheProduct(t *testing.T) {
	var documented, actual []string
	for _, row := range rows(t, "infra/docs/api.md", "## Errors") {
		for _, m := range codes.FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, row[0]+" "+m[1])
		}
	}
	for _, c := range problem.Codes() {
		actual = append(actual, fmt.Sprint(c.Status(), " ", c))
	}
	same(t, "errors", documented, actual)
}

func TestRolesAreThoseOfTheOpenAPIDocument(t *testing.T) {
	var documented []string
	for _, row := range rows(t, "infra/docs/contract.md", "## Roles") {
		documented = append(documented, row[0])
	}
	same(t, "roles", documented, values(t, "Role"))
}

func TestEventsAreThoseOfTheOpenAPIDocument(t *testing.T) {
	documented := []string{"*"} // every event
	for _, row := range rows(t, "infra/docs/webhooks.md", "## Events") {
		documented = append(documented, strings.Trim(row[0], "`"))
	}
	same(t, "events", documented, values(t, "EventFilter"))
}

func TestDocumentedParametersAreThoseOfTheTemplate(t *testing.T) {
	_, parameters, _ := strings.Cut(document(t, "template.yaml"), "\nParameters:\n")
	seen := 0
	for _, row := range rows(t, "infra/docs/deploy.md", "## Parameters") {
		for name := range strings.FieldsSeq(strings.ReplaceAll(row[0], "`", "")) {
			seen++
			if !strings.Contains("\n"+parameters, "\n  "+name+":\n    Type: ") {
				t.Errorf("the template has no parameter %s", name)
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d parameters were read", seen)
	}
}
