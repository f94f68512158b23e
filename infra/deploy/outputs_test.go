package main

import (
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
)

// TestADeploymentUsesItsOwnOutputs deploys without a domain, with one, with the same, and without. Each time the called
// rotation and the printed next step must follow from the new outputs of the stack.
func TestADeploymentUsesItsOwnOutputs(t *testing.T) {
	r := newRig(t).withSAM()
	r.aws.Set(standin.Faults{KeyAtOnce: true})
	var called []string
	api := r.aws.URL + "/api/latchkey"
	r.aws.Deployed = func(_ string, parameters map[string]string) (*standin.Live, error) {
		outputs := map[string]string{"ApiUrl": api, "RotateFunctionName": "latchkey-RotateFunction-1"}
		if domain := parameters["DomainName"]; domain != "" {
			outputs = map[string]string{"ApiUrl": "https://" + domain, "ExecuteApiUrl": api, "DomainTarget": "d-7.example Z7", "RotateFunctionName": "latchkey-RotateFunction-2"}
		}
		return &standin.Live{Outputs: func() map[string]string { return outputs }, Invoke: func(function string, _ []byte) ([]byte, error) {
			called = append(called, function)
			return []byte("null"), nil
		}}, nil
	}
	for i, c := range []struct {
		given, rotation string
		hasDomain       bool
	}{
		{"", "latchkey-RotateFunction-1", false},
		{"DomainName=api.example.com CertificateArn=arn:aws:acm:eu-central-1:123456789012:certificate/0f3d6f0e-1a2b-4c5d-8e9f-1a2b3c4d5e6f", "latchkey-RotateFunction-2", true},
		{"", "latchkey-RotateFunction-2", true}, // nothing changes
		{"DomainName= CertificateArn=", "latchkey-RotateFunction-1", false},
	} {
		called = nil
		given := []string{"ISSUER=https://issuer.example", "AUDIENCE=https://api.example", "YES=1"}
		if c.given != "" {
			given = append(given, "PARAMETERS="+c.given)
		}
		out, err := r.deploy(given...)
		succeeded(t, out, err)
		printsDomain := strings.Contains(out, "DNS: point api.example.com to d-7.example (a CNAME, or an alias in the zone Z7).")
		if !slices.Equal(called, []string{c.rotation}) || printsDomain != c.hasDomain || !strings.Contains(out, "BASE_URL="+api+" ") {
			t.Errorf("deployment %d: called %q, and printed:\n%s", i+1, called, out)
		}
	}
}
