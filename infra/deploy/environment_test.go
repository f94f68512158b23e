package main

import (
	"strings"
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/template/translated"
)

// TestEnvironmentsFitLambdasLimit counts the variables of each deployed function as JSON. If the check accepts the values, no
// function has more than 4,096 bytes. If it refuses them, the largest function has more than 3,796: the check may be a little too strict.
func TestEnvironmentsFitLambdasLimit(t *testing.T) {
	t.Parallel()
	template, err := settings.ReadTemplate("../..")
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := translated.Translate(t.Context(), "../../template.yaml", translated.Options{Parameters: switched})
	if err != nil {
		t.Fatal(err)
	}
	long := func(n int) string { return "https://issuer.example/" + strings.Repeat("a", n) }
	passed, refused := 0, 0
	for n := 0; n < 3000; n += 100 {
		for name, given := range map[string]map[string]string{
			"services":  {"Services": "billing=" + long(n/2) + "#" + strings.Repeat("s", n/2)},
			"the URLs":  {"Issuer": long(n / 3), "JwksUrl": long(n / 3), "UserinfoUrl": long(n / 3)},
			"clients":   {"ClientIds": strings.Repeat("client,", n/7) + "client"},
			"a console": {"ConsoleParameters": "a=" + strings.Repeat("x", n), "ConsoleClientId": strings.Repeat("c", n/3)},
			"origins":   {"ConsoleOrigins": strings.TrimSuffix(strings.Repeat("https://console.example,", 1+n/24), ",")},
			"a secret":  {"ForwardAuthSecret": strings.Repeat("s", 32), "Services": "billing=" + long(n) + "#s"},
			"no URL":    {"ForwardAuth": "false", "Audience": strings.Repeat("a", n/2), "Services": "billing=" + long(n/2) + "#s"},
			"none":      {"ForwardAuth": "false", "EventBusName": "", "ConsoleClientId": "", "ClientIds": strings.Repeat("client,", n/7) + "client", "WebhookIssuer": long(n / 3)},
			"all":       {"Services": "billing=" + long(n/2) + "#s", "ClientIds": strings.Repeat("client,", n/7) + "c", "JwksUrl": long(n / 2), "AwsEndpoint": "http://127.0.0.1/" + strings.Repeat("e", n/3)},
		} {
			for parameter, value := range switched {
				if _, isGiven := given[parameter]; !isGiven {
					given[parameter] = value
				}
			}
			value := func(parameter string) string { return template.Value(parameter, given, nil) }
			deployed, err := tpl.Resolve(translated.Options{Parameters: given})
			if err != nil {
				t.Fatal(name, n, err)
			}
			largest, largestFunction := 0, ""
			for _, function := range deployed.Named("AWS::Lambda::Function") {
				size := 1 // of the braces without the comma that the last variable lacks
				for _, v := range environmentOf(deployed, function) {
					if !strings.HasPrefix(v, "AWS_ACCESS_KEY_ID=") && !strings.HasPrefix(v, "AWS_SECRET_ACCESS_KEY=") && !strings.HasPrefix(v, "AWS_REGION=") {
						size += len(v) - len("=") + len(`"":"",`) // AWS measures JSON
					}
				}
				if size > largest {
					largest, largestFunction = size, function
				}
			}
			if err := template.CheckEnvironments(value); err == nil {
				passed++
				if largest > 4096 {
					t.Errorf("%s, %d: %s has %d bytes", name, n, largestFunction, largest)
				}
			} else if refused++; largest < 4096-300 || !strings.Contains(err.Error(), "Lambda allows 4096") {
				t.Errorf("%s, %d: %v, but the largest has %d bytes", name, n, err, largest)
			}
		}
	}
	if passed < 50 || refused < 10 {
		t.Errorf("%d passed, %d were refused", passed, refused)
	}
	if err := template.CheckEnvironments(func(parameter string) string { return template.Value(parameter, switched, nil) }); err != nil {
		t.Error(err)
	}
}
