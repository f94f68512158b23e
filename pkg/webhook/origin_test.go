package webhook_test

import (
	"testing"

	"latchkey/pkg/webhook"
)

func TestAnOriginIsSchemeHostAndPortInOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"https://hooks.example.com":                      "https://hooks.example.com",
		"https://hooks.example.com:443/a?token=secret":   "https://hooks.example.com",
		"HTTPS://Hooks.Example.COM/":                     "https://hooks.example.com",
		"https://hooks.example.com:8443/a":               "https://hooks.example.com:8443",
		"http://127.0.0.1:80/in":                         "http://127.0.0.1",
		"http://127.0.0.1:443/in":                        "http://127.0.0.1:443",
		"https://other.example.com/hooks.example.com":    "https://other.example.com",
		"https://[2606:4700:0:0::1111]/in":               "https://[2606:4700::1111]",
		"https://[2606:4700::1111]:8443/?hooks.example":  "https://[2606:4700::1111]:8443",
		"https://hooks.example.com?x=https://a.example/": "https://hooks.example.com",
		"no URL": "", "": "", "/in": "", "https://": "",
	} {
		if got := webhook.Origin(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
