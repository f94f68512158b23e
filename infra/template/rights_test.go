package template_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
)

const writtenRights = "testdata/rights.txt"

// TestEveryRightIsWrittenDown compares the roles with a file that shows all rights on a few screens. The end-to-end
// tests prove that calls need all of them and no others. With UPDATE_GOLDEN=1 the test writes the file.
func TestEveryRightIsWrittenDown(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(writtenRights, []byte(strings.Join(rightsOf(template(t)), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, rights)
}

// rightsOf returns a line for each statement of a role.
func rightsOf(tpl *translated.Template) (lines []string) {
	all, wrong := statements(tpl)
	short := strings.NewReplacer("arn:aws:", "", "us-east-1:000000000000:", "")
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s: %s on %s if %s", s, strings.Join(s.actions, " "), short.Replace(strings.Join(s.resources, " ")), quoted(s.condition)))
	}
	return append(lines, wrong...)
}

// rights returns each line that only one of the roles and the file has.
func rights(tpl *translated.Template) (wrong []string) {
	text, err := os.ReadFile(writtenRights)
	if err != nil {
		return []string{err.Error()}
	}
	count := map[string]int{}
	for _, line := range rightsOf(tpl) {
		count[line]++
	}
	for line := range strings.Lines(string(text)) {
		count[strings.TrimSuffix(line, "\n")]--
	}
	for line, n := range count {
		if n != 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %+d times in the template's roles", line, n))
		}
	}
	return wrong
}
