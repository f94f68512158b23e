package template_test

import (
	"fmt"
	"regexp"
	"testing"
)

// TestWebhooksReachNoNetworkOfThePlatform tries values of WebhookAllowPrivateCidrs: at 169.254.169.254 a cloud gives
// credentials to its machines, and a wide network has everything inside.
func TestWebhooksReachNoNetworkOfThePlatform(t *testing.T) {
	pattern := object(object(template(t).Raw["Parameters"])["WebhookAllowPrivateCidrs"])["AllowedPattern"]
	whole, err := regexp.Compile("^(?:" + fmt.Sprint(pattern) + ")$") // CloudFormation compares the whole value
	if err != nil {
		t.Fatal(err)
	}
	for value, taken := range map[string]bool{
		"": true, "10.0.0.0/8": true, "10.0.0.0/8, 192.168.0.0/16": true, "172.16.0.0/12,fd00::/8": true, "10.1.2.3/32": true,
		"2001:db8:1::/48": true, "168.0.0.0/8": true, "170.1.0.0/16": true, "100.64.0.0/10": true,
		"0.0.0.0/0": false, "0.0.0.0/1,128.0.0.0/1": false, "10.0.0.0/7": false, "10.0.0.0/33": false, "::/0": false, "fc00::/7": false,
		"169.254.0.0/16": false, "10.0.0.0/8,169.254.169.254/32": false, "169.0.0.0/8": false, "fe80::/10": false, "febf::1/128": false,
		"::ffff:169.254.169.254/128": false, "::/8": false, "10.0.0.0": false, "localhost": false, "10.0.0.0/8 192.168.0.0/16": false,
	} {
		if whole.MatchString(value) != taken {
			t.Errorf("%q: %v, want %v", value, !taken, taken)
		}
	}
}
