package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var firstCell = regexp.MustCompile("(?m)^\\| (`.*?) \\|")

func TestDocumentedParametersAreThoseOfTheTemplate(t *testing.T) {
	_, parameters, _ := strings.Cut(document(t, "template.yaml"), "\nParameters:\n")
	_, section, _ := strings.Cut(document(t, "infra/docs/deploy.md"), "\n## Parameters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	seen := 0
	for _, m := range firstCell.FindAllStringSubmatch(section, -1) {
		for name := range strings.FieldsSeq(strings.ReplaceAll(m[1], "`", "")) {
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
