package settings_test

import (
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/tools/parameters"
)

// TestAnEmptyGivenValueStaysEmpty checks that an empty value, given or deployed, is used, and a missing value is not.
func TestAnEmptyGivenValueStaysEmpty(t *testing.T) {
	t.Parallel()
	standard := "d"
	template := settings.Template{Parameters: map[string]parameters.Parameter{"A": {Default: &standard}, "B": {}}}
	none, empty := map[string]string{"Other": "x"}, map[string]string{"A": "", "B": ""}
	both := func(v string) map[string]string { return map[string]string{"A": v, "B": v} }
	for _, c := range []struct {
		given, deployed map[string]string
		a, b            string
	}{
		{both("g"), both("s"), "g", "g"}, {empty, both("s"), "", ""}, {none, both("s"), "s", "s"}, {nil, empty, "", ""}, {none, nil, "d", ""},
		{empty, nil, "", ""}, {both("g"), empty, "g", "g"},
	} {
		if a, b := template.Value("A", c.given, c.deployed), template.Value("B", c.given, c.deployed); a != c.a || b != c.b {
			t.Errorf("given %v, deployed %v: %q, %q", c.given, c.deployed, a, b)
		}
	}
}
