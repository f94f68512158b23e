package main

import (
	"os/exec"
	"strings"
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/pkg/webhook"
)

// TestBadValuesAreRefusedBeforeAnythingIsInstalled checks that one line has all faults.
func TestBadValuesAreRefusedBeforeAnythingIsInstalled(t *testing.T) {
	t.Parallel()
	const issuer, audience, region = "ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "REGION=eu-central-1"
	for name, c := range map[string]struct {
		variables []string
		words     []string // of the refusal; nil: there is none
	}{
		"good":              {[]string{issuer, audience, region}, nil},
		"an update":         {[]string{region, "PARAMETERS=DisableExecuteApi=true"}, nil}, // the deployed stack may have a domain
		"nothing":           {nil, []string{"give REGION=", "ISSUER= and AUDIENCE="}},
		"no audience":       {[]string{issuer, region}, []string{"give AUDIENCE="}},
		"clients":           {[]string{issuer, region, "PARAMETERS=ClientIds=web"}, nil},
		"values":            {[]string{region, "PARAMETERS=WebAcl=on KeyPrefix=LK Emails=1 DeliverConcurrency=many", "YES=yes"}, []string{"YES=yes", "WebAcl=on: it must be one of", "KeyPrefix=LK", "no parameter Emails", "is not a number"}},
		"a domain alone":    {[]string{issuer, audience, region, "PARAMETERS=DomainName=api.example.com"}, []string{"DomainName needs CertificateArn"}},
		"a certificate":     {[]string{issuer, audience, region, "PARAMETERS=CertificateArn=arn:aws:acm:eu-central-1:123456789012:certificate/a"}, []string{"CertificateArn needs DomainName"}},
		"no address":        {[]string{issuer, audience, region, "PARAMETERS=DisableExecuteApi=true"}, []string{"DisableExecuteApi=true needs DomainName"}},
		"an owner":          {[]string{issuer, audience, region, "PARAMETERS=OwnerOrgId=org_5yt695b9bqryh4dy0xdqrpbr21"}, []string{"OwnerOrgId needs ForwardAuth=true"}},
		"two firewalls":     {[]string{issuer, audience, region, "PARAMETERS=WebAcl=rate-limited WebAclArn=arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/a/b"}, []string{"WebAclArn needs WebAcl=none"}},
		"several":           {[]string{issuer, region, "PARAMETERS=DisableExecuteApi=true OwnerOrgId=org_5yt695b9bqryh4dy0xdqrpbr21", "REPLACE=Domain"}, []string{"AUDIENCE", "DisableExecuteApi", "OwnerOrgId", "REPLACE=Domain"}},
		"a region set once": {[]string{issuer, audience, "AWS_DEFAULT_REGION=eu-central-1"}, nil},
	} {
		env := map[string]string{"AWS_CONFIG_FILE": "/dev/null/none"}
		for _, v := range c.variables {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		err := check("../../../..", func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if (err != nil) != (c.words != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if text := err.Error(); !strings.Contains(text, w) || strings.Contains(text, "\n") {
				t.Errorf("%s: no %q, or more than one line: %v", name, w, err)
			}
		}
	}
}

// TestNoRefusalHasASecret gives a secret in forms that are refused: of other characters, with a blank before it, twice.
func TestNoRefusalHasASecret(t *testing.T) {
	t.Parallel()
	const secret = "Zm9vYmFy"
	for _, parameters := range []string{
		"ForwardAuthSecret=" + secret + "+S/x==", "ForwardAuthSecret= " + secret + "==", "ForwardAuthSecret=" + strings.Repeat("s", 32) + "," + secret, "ForwardAuthSecret=a ForwardAuthSecret=" + secret, secret,
		"ForwardAuthSecret=a " + secret, "=" + secret, "ForwardAuthSecret = " + secret, "ForwardAuthSecret='" + secret + "'", "ForwardAuthSecret=" + strings.Repeat(secret, 17),
	} {
		err := check("../../../..", func(name string) (string, bool) {
			return map[string]string{"PARAMETERS": parameters, "AWS_REGION": "eu-central-1"}[name], name == "PARAMETERS" || name == "AWS_REGION"
		})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

// TestTheCheckCompilesInSeconds checks that the command imports no package that compiles slowly.
func TestTheCheckCompilesInSeconds(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		first, _, _ := strings.Cut(name, "/")
		isForeign := strings.Contains(first, ".") && !strings.HasPrefix(name, "latchkey/infra/") // the module's own path may have a dot
		if isForeign && name != "go.yaml.in/yaml/v3" || name == "net" || name == "net/http" || strings.HasPrefix(name, "latchkey/pkg/") {
			t.Errorf("the command imports %s", name)
		}
	}
}

// TestOurOwnTagsAreKnown compares the prefix with package webhook. The settings do not import webhook, which takes long to compile.
func TestOurOwnTagsAreKnown(t *testing.T) {
	t.Parallel()
	if !strings.HasPrefix(webhook.StackTag, settings.OurTagPrefix) {
		t.Errorf("the tag %s does not begin with %s", webhook.StackTag, settings.OurTagPrefix)
	}
}
