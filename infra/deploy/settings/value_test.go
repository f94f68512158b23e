package settings_test

import (
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/tools/parameters"
)

// TestAValueThatIsGivenEmptyIsEmpty: absent and empty differ in each place that has a value.
func TestAValueThatIsGivenEmptyIsEmpty(t *testing.T) {
	t.Parallel()
	standard := "d"
	template := settings.Template{Parameters: map[string]parameters.Parameter{"A": {Default: &standard}, "B": {}}}
	none, empty := map[string]string{"Other": "x"}, map[string]string{"A": "", "B": ""}
	as := func(v string) map[string]string { return map[string]string{"A": v, "B": v} }
	for _, c := range []struct {
		given, deployed map[string]string
		a, b            string
	}{
		{as("g"), as("s"), "g", "g"}, {empty, as("s"), "", ""}, {none, as("s"), "s", "s"}, {nil, empty, "", ""}, {none, nil, "d", ""}, {empty, nil, "", ""}, {as("g"), empty, "g", "g"},
	} {
		if a, b := template.Value("A", c.given, c.deployed), template.Value("B", c.given, c.deployed); a != c.a || b != c.b {
			t.Errorf("given %v, deployed %v: %q, %q", c.given, c.deployed, a, b)
		}
	}
}
