package template_test

import (
	"fmt"
	"regexp"
	"testing"
)

// TestConsoleOriginsTakeOriginsAlone: CloudFormation wants the pattern to match the
// whole value.
func TestConsoleOriginsTakeOriginsAlone(t *testing.T) {
	tpl := template(t)
	pattern := fmt.Sprint(object(object(tpl.Raw["Parameters"])["ConsoleOrigins"])["AllowedPattern"])
	whole := regexp.MustCompile("^(?:" + pattern + ")$")
	for value, good := range map[string]bool{
		"": true, "https://console.example.com": true, "http://localhost:5173": true, "https://a.example,https://b.example": true,
		"https://a.example, https://b.example:8443": true, "*": false, "null": false, "https://*": false, "console.example.com": false,
		"https://a.example/": false, "https://A.example": false, "https://a.example,": false, "https://a.example;https://b.example": false,
		"https://a.example:": false, "ftp://a.example": false, "https://user@a.example": false,
	} {
		if whole.MatchString(value) != good {
			t.Errorf("%q is taken: %v", value, !good)
		}
	}
}
